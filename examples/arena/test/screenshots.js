// Renews the pictures of the page in docs/pictures: make test-page SCREENSHOTS=1

import { mkdirSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { createClient } from 'redis';

import { Arena } from '../arena.js';
import { App, Redis, SERVERS, startBrowser, until } from './support.js';

const folder = new URL('../../../docs/pictures/', import.meta.url);

test('the same moment, in light and in dark', async () => {
  const redis = await Redis.start(SERVERS.Redis);
  const app = await App.start(redis);
  const browser = await startBrowser();
  const client = await createClient({ url: redis.url }).connect();
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await page.goto(app.url);
    await page.getByLabel('Name').fill('Ada');
    await page.getByLabel('Name').press('Enter');
    await page.getByText('Ada').waitFor();
    const { board } = new Arena(client);
    const player = (await client.hKeys('{arena}:players')).find((id) => id.startsWith('player:'));
    const rival = (await board.range(180, 180, { period: 'day' }))[0];
    await board.incr(player, rival.score);

    await until('a sale', async () => (await page.locator('#sale').getAttribute('data-state')) === 'open');
    for (let hit = 0; hit < 3; hit++) await page.locator('#score').click();
    await until('some are sold', async () => (await page.locator('#stock .left').count()) < 5);
    await page.locator('[data-moved=up] >> nth=0').waitFor();
    await page.mouse.move(0, 0);
    mkdirSync(folder, { recursive: true });
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.screenshot({ path: fileURLToPath(new URL(`arena-${colorScheme}.png`, folder)), animations: 'disabled' });
    }
  } finally {
    client.destroy();
    await browser.close();
    await app.stop();
    await redis.end();
  }
});
