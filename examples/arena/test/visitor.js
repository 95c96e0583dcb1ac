// A person at a page, and what the page shows.

import assert from 'node:assert/strict';

import { until } from './support.js';

const DESK = { width: 1280, height: 800 };

export const numberIn = (text) => Number(text.replace(/[^\d-]/g, ''));

/** A page as one person has it open, with what it shows. */
export class Visitor {
  static async open(browser, app, options = {}) {
    const context = await browser.newContext({ viewport: DESK, ...options });
    const page = await context.newPage();
    const visitor = new Visitor();
    Object.assign(visitor, { context, page, errors: [] });
    page.on('console', (message) => message.type() === 'error' && visitor.errors.push(message.text()));
    page.on('pageerror', (error) => visitor.errors.push(String(error)));
    await page.goto(app.url);
    await visitor.isLive();
    await until('all rows', async () => (await visitor.rows('top')).length === 10 && (await visitor.rows('around')).length === 5);
    return visitor;
  }

  async close({ errors = [] } = {}) {
    await this.context.close();
    assert.deepEqual(this.errors.filter((text) => !errors.some((known) => text.includes(known))), []);
  }

  text(selector) {
    return this.page.locator(selector).innerText();
  }

  isLive() {
    return until('the page is live', async () => (await this.text('#status')) === 'Live');
  }

  /** The rows of a table as they are shown, at one moment. */
  rows(table) {
    return this.page.evaluate((id) => {
      const number = (text) => Number(text.replace(/[^\d-]/g, ''));
      return [...document.querySelectorAll(`#${id} tbody tr`)].map((row) => ({
        rank: number(row.querySelector('.rank span').textContent), moved: row.querySelector('.moved').textContent,
        name: row.querySelector('.player').textContent, points: number(row.querySelector('.points').textContent),
        isMe: row.classList.contains('me'),
      }));
    }, table);
  }

  me() {
    return until('my row is shown', async () => (await this.rows('around')).find(({ isMe }) => isMe));
  }

  hit() {
    return this.page.getByRole('button', { name: 'Score' }).click();
  }

  async hitsLeft() {
    return Number(await this.page.locator('#meter').getAttribute('aria-valuenow'));
  }

  /** How full the meter is drawn, from 0 to 5. */
  level() {
    return this.page.evaluate(() => {
      const cells = [...document.querySelectorAll('#meter i')];
      return cells.reduce((sum, cell) => sum + Number(cell.style.getPropertyValue('--full')), 0);
    });
  }

  /** The state of the sale, and what its clock shows at that moment. */
  sale() {
    return this.page.evaluate(() => {
      const [sale, clock] = ['sale', 'clock'].map((id) => document.getElementById(id));
      return `${sale.dataset.state} ${clock.textContent}`;
    });
  }
}
