// What a person sees and can do, in a real browser, with real servers.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { createClient } from 'redis';

import { contrasts, layout } from './look.js';
import { App, Redis, SALE_ITEMS, SALE_SECONDS, SERVERS, startBrowser, startPlay, until } from './support.js';
import { Visitor, numberIn } from './visitor.js';

let browser;
before(async () => (browser = await startBrowser()));
after(() => browser.close());

/** A page as one person has it open. */
const open = (app, options) => Visitor.open(browser, app, options);

function assertInOrder(rows) {
  rows.slice(1).forEach((row, index) => {
    assert.equal(row.rank, rows[index].rank + 1);
    assert.ok(row.points <= rows[index].points, JSON.stringify(rows));
  });
}

async function hasMoved(visitor) {
  const names = async () => (await visitor.rows('top')).map(({ name }) => name).join();
  const first = await names();
  await until('the order of the best ten changes', async () => (await names()) !== first);
}

for (const [kind, program] of Object.entries(SERVERS)) {
  describe(`the page on ${kind}`, { skip: program === null && 'no valkey-server: `make test-page` fetches one' }, () => {
    let redis;
    let app;
    before(async () => {
      redis = await Redis.start(program);
      app = await App.start(redis);
    });
    after(async () => {
      await app.stop();
      await redis.end();
    });

    test('shows the best ten, and you among your neighbours', async () => {
      const visitor = await open(app);
      const [top, around] = [await visitor.rows('top'), await visitor.rows('around')];
      assertInOrder(top);
      assertInOrder(around);
      assert.deepEqual([top[0].rank, top.length, around.length], [1, 10, 5]);
      assert.ok([...top, ...around].every(({ name }) => /^\w+ \w+$/.test(name)), JSON.stringify(top));
      assert.deepEqual(around.filter(({ isMe }) => isMe).map(({ points }) => points), [0]);
      assert.ok(numberIn(await visitor.text('#members')) >= 1001);
      await visitor.close();
    });

    test('ranks move, and arrows say where to', async () => {
      const visitor = await open(app);
      await hasMoved(visitor);
      await until('arrows up and down', async () => {
        const moved = (await visitor.rows('top')).map((row) => row.moved).join();
        return /▲\d/.test(moved) && /▼\d/.test(moved);
      });
      await visitor.close();
    });

    test('a hit adds points and lifts you', async () => {
      const visitor = await open(app);
      const before = await visitor.me();
      await visitor.hit();
      const after = await until('points', async () => ((await visitor.me()).points >= before.points + 100) && visitor.me());
      assert.ok(after.rank < before.rank, `${before.rank} -> ${after.rank}`);
      await until('the large number is my rank', async () => numberIn(await visitor.text('#rank')) === (await visitor.me()).rank);
      await until('the message says so', async () => {
        const message = await visitor.text('#message');
        // News of the sale may have replaced it.
        if (message.includes('sale')) await visitor.hit();
        return /^\d+ points\. Rank \d+, was \d+\.$/.test(message);
      });
      await visitor.close();
    });

    test('who hits too often runs into the limit, watches it refill, and hits again', async () => {
      const visitor = await open(app);
      assert.equal(await visitor.level(), 5);
      await until('the limit', async () => {
        await visitor.hit();
        return (await visitor.text('#message')).startsWith('Out of hits.');
      });
      await until('the note says so', async () => /^Limit reached\. Next hit in [\d.]+ s$/.test(await visitor.text('#hit-note')));
      const { points } = await visitor.me();
      // It refills smoothly, not by whole hits.
      const low = await visitor.level();
      await until('part of a hit', async () => {
        const level = await visitor.level();
        return level > low && level % 1 > 0.05;
      });
      assert.equal((await visitor.me()).points, points);
      await until('a whole hit', async () => (await visitor.hitsLeft()) > 0);
      await visitor.hit();
      await until('more points', async () => (await visitor.me()).points > points);
      await visitor.close();
    });

    test('the flash sale opens at its second, sells one to each, and is sold out', async () => {
      const visitor = await open(app, { viewport: { width: 390, height: 844 } });
      await visitor.page.evaluate(() => {
        window.openings = [];
        window.layouts = new Set();
        (function look() {
          const parts = [...document.querySelectorAll('.sale, .tabs, .board, .you, #buy, #score')];
          const boxes = parts.map((part) => part.getBoundingClientRect());
          window.layouts.add(boxes.map(({ top, height }) => `${top} ${height}`).join());
          requestAnimationFrame(look);
        })();
        const sale = document.getElementById('sale');
        const note = () => sale.dataset.state === 'open' && window.openings.push(Date.now());
        new MutationObserver(note).observe(sale, { attributeFilter: ['data-state'] });
      });
      const buy = () => visitor.page.locator('#buy').click({ force: true });
      await until('a sale to come', async () => !(await visitor.sale()).startsWith('open'));
      await buy();
      await until('a refusal', async () => ['Not open yet.', 'Sold out.'].includes(await visitor.text('#sale-text')));
      await until('a countdown', async () => /^0:\d\d$/.test(await visitor.text('#clock')));

      await until('one of them is mine', async () => {
        await until('the sale opens', async () => (await visitor.sale()) === 'open Open');
        const { points } = await visitor.me();
        await buy();
        // On a busy machine the bots may be faster.
        const answer = await until('an answer', async () => /^(Bought|Sold out)$/.exec(await visitor.text('#buy'))?.[0]);
        return answer === 'Bought' && until('2,000 points', async () => (await visitor.me()).points >= points + 2000);
      });
      const [opened] = await visitor.page.evaluate(() => window.openings);
      const late = opened % (SALE_SECONDS * 1000);
      assert.ok(late < 4000, `the sale opened ${late} ms after its second`);

      await until('sold out', async () => (await visitor.sale()).startsWith('sold'));
      assert.match(await visitor.text('#sale-text'), /^Sold out\. You got 2,000 points\.$/);
      assert.equal(await visitor.page.locator('#stock li').count(), SALE_ITEMS);
      assert.equal(await visitor.page.evaluate(() => window.layouts.size), 1, 'the page jumps');
      await visitor.close();
    });

    test('goes on when the server is started again, with and without its data, and when it is emptied', async (t) => {
      const visitor = await open(app);
      await visitor.hit();
      const { points } = await until('points', async () => ((await visitor.me()).points > 0) && visitor.me());
      for (const isLost of [false, true]) {
        await redis.stop();
        await until('the page says so', async () => (await visitor.text('#status')) === 'Reconnecting…');
        await visitor.hit();
        if (isLost) redis.loseData();
        await redis.restart();
        await visitor.isLive();
        await until('a thousand players', async () => numberIn(await visitor.text('#members')) > 1000);
        await hasMoved(visitor);
        assert.equal((await visitor.me()).points >= points, !isLost);
      }
      const client = await createClient({ url: redis.url }).connect();
      t.after(() => client.destroy());
      await client.flushAll();
      await hasMoved(visitor);
      await until('a thousand players', async () => (await client.zCard('{arena}')) > 1000);
      await visitor.isLive();
      await until('the next sale', async () => /^0:\d\d|Open$/.test(await visitor.text('#clock')));
      await visitor.close({ errors: ['503'] });
    });

    if (kind !== 'Redis') return;

    test('goes on when the application is started again', async () => {
      const visitor = await open(app);
      await visitor.hit();
      const { points } = await until('points', async () => ((await visitor.me()).points > 0) && visitor.me());
      await app.stop('SIGKILL');
      await until('the page says so', async () => (await visitor.text('#status')) === 'Reconnecting…');
      await app.restart();
      await visitor.isLive();
      await hasMoved(visitor);
      assert.ok((await visitor.me()).points >= points);
      await visitor.close({ errors: ['net::ERR_'] });
    });

    test('tabs show today, this week and all time, by mouse and by arrow keys', async () => {
      const visitor = await open(app);
      const { page } = visitor;
      const selected = () => page.locator('[role=tab][aria-selected=true]').innerText();
      const leader = () => until('a leader', async () => (await visitor.rows('top'))[0]?.points);
      const today = await leader();
      await page.getByRole('tab', { name: 'This week' }).click();
      assert.equal(await selected(), 'This week');
      const week = await until('the week', async () => (await visitor.rows('around')).length === 5 && leader());
      await page.keyboard.press('ArrowRight');
      assert.equal(await selected(), 'All time');
      assert.equal(await page.evaluate(() => document.activeElement.textContent), 'All time');
      const all = await until('all time', async () => (await visitor.rows('around')).length === 5 && leader());
      assert.ok(today < week && week < all, `${today} ${week} ${all}`);
      assert.equal(await page.locator('[role=tabpanel]').getAttribute('aria-labelledby'), 'tab-all');
      for (const [key, tab] of [['ArrowRight', 'Today'], ['ArrowLeft', 'All time'], ['Home', 'Today'], ['End', 'All time']]) {
        await page.keyboard.press(key);
        assert.equal(await selected(), tab);
      }
      await visitor.close();
    });

    test('everything can be done by keyboard, and the focus is visible', async () => {
      const visitor = await open(app);
      const { page } = visitor;
      const order = [];
      for (let step = 0; step < 5; step++) {
        await page.keyboard.press('Tab');
        const focused = await page.evaluate(() => {
          const { id } = document.activeElement;
          return { id, outline: getComputedStyle(document.activeElement).outlineStyle };
        });
        order.push(focused.id);
        if (focused.id) assert.equal(focused.outline, 'solid', focused.id);
      }
      assert.deepEqual(order.slice(0, 4), ['buy', 'tab-day', 'name', 'score']);
      await page.keyboard.press('Shift+Tab');
      for (const [key, least] of [['Enter', 100], ['Space', 200]]) {
        await page.keyboard.press(key);
        await until(`${key} scores`, async () => (await visitor.me()).points >= least);
      }
      await page.keyboard.press('Shift+Tab');
      await page.keyboard.press('Control+A');
      await page.keyboard.type('Ada');
      await page.keyboard.press('Enter');
      await until('my name', async () => (await visitor.me()).name === 'Ada');
      await visitor.close();
    });

    test('a name is shown as it was typed, and is never taken for HTML', async () => {
      const visitor = await open(app);
      await visitor.page.getByLabel('Name').fill('<img src=x>&amp; Zoë');
      await visitor.page.getByLabel('Name').press('Enter');
      await until('my name', async () => (await visitor.me()).name === '<img src=x>&amp; Zoë');
      assert.equal(await visitor.page.locator('#around img').count(), 0);
      await visitor.page.reload();
      await visitor.isLive();
      await until('my name is still there', async () => (await visitor.me()).name === '<img src=x>&amp; Zoë');
      await visitor.close();
    });

    test('light and dark differ, and every text can be read in both', async () => {
      const papers = [];
      for (const colorScheme of ['light', 'dark']) {
        const visitor = await open(app, { colorScheme, reducedMotion: 'reduce' });
        papers.push(await visitor.page.evaluate(() => getComputedStyle(document.body).backgroundColor));
        const faint = await visitor.page.evaluate(contrasts);
        assert.deepEqual(faint, []);
        await visitor.close();
      }
      assert.equal(new Set(papers).size, 2);
    });

    test('fits a phone and a desk', async () => {
      for (const [width, height] of [[360, 640], [390, 844], [768, 1024], [1280, 800], [1920, 1080]]) {
        const visitor = await open(app, { viewport: { width, height } });
        const seen = await visitor.page.evaluate(layout);
        const expected = { isWide: false, hiddenButtons: [], smallButtons: [], isMyRowVisible: true, overlapping: [] };
        assert.deepEqual(seen, expected, `${width} x ${height}`);
        await visitor.close();
      }
    });

    test('nothing glides for those who asked for less motion', async () => {
      const visitor = await open(app, { reducedMotion: 'reduce' });
      await visitor.page.evaluate(() => {
        window.animations = 0;
        (function look() {
          window.animations += document.getAnimations().length;
          requestAnimationFrame(look);
        })();
      });
      await hasMoved(visitor);
      await visitor.hit();
      await until('points', async () => (await visitor.me()).points > 0);
      assert.equal(await visitor.page.evaluate(() => window.animations), 0);
      await visitor.close();
    });

    test('only its own page may talk to it', async () => {
      const ask = (headers, { method = 'GET', path = '/', body } = {}) => new Promise((done, fail) => {
        const sent = request({ host: '127.0.0.1', port: app.port, path, method, headers }, (response) => {
          response.resume();
          done({ status: response.statusCode, headers: response.headers });
        });
        sent.on('error', fail).end(body);
      });
      const home = await ask({});
      assert.match(home.headers['content-security-policy'], /default-src 'none'; script-src 'self'/);
      const [cookie] = home.headers['set-cookie'][0].split(';');
      assert.match(home.headers['set-cookie'][0], /HttpOnly; SameSite=Strict/);
      const name = { method: 'POST', path: '/name', body: 'x' };
      assert.equal((await ask({ cookie }, name)).status, 200);
      for (const [headers, options, status] of [
        [{ host: 'example.com' }, {}, 403], [{ cookie, 'sec-fetch-site': 'cross-site' }, name, 403], [{}, name, 403],
        [{ cookie }, { ...name, body: 'x'.repeat(5000) }, 413], [{ cookie }, { path: '/events?tab=toString' }, 403],
        [{ cookie }, { path: '/../server.js' }, 404], [{ cookie }, { method: 'POST', path: '/__proto__' }, 404],
      ]) assert.equal((await ask(headers, options)).status, status, JSON.stringify([headers, options]));
    });

    test('make play starts everything, starts again what ended, and leaves nothing', async (t) => {
      const directory = mkdtempSync(join(tmpdir(), 'arena-play-'));
      t.after(() => rmSync(directory, { recursive: true }));
      const play = await startPlay(program, directory);
      t.after(() => play.stop('SIGINT'));
      const url = /open: (\S+)/.exec(play.output)[1];
      const port = /-p (\d+)/.exec(play.output)[1];
      const visitor = await open({ url });
      const client = await createClient({ url: `redis://127.0.0.1:${port}` }).on('error', () => {}).connect();
      t.after(() => client.destroy());
      const server = async () => /process_id:(\d+)/.exec(await client.info('server').catch(() => ''))?.[1];
      const first = await server();
      await client.sendCommand(['SHUTDOWN']).catch(() => {});
      await until('another server', async () => ![first, undefined].includes(await server()));
      await visitor.isLive();
      await hasMoved(visitor);
      await visitor.close();
      await play.stop('SIGINT');
      assert.deepEqual(readdirSync(directory), []);
    });
  });
}
