// Boards of days and seasons: the same values from every client.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import { Leaderboard } from 'redis-rank-client';
import { CLIENTS, close, flushAll } from './support.js';

beforeEach(flushAll);
// It is noon, and the season began ten days ago: neither ends while the test runs.
const DAY = 86_400_000;
const noon = () => {
  const hours = 12 - new Date().getUTCHours();
  return `${hours < 0 ? '-' : '+'}${String(Math.abs(hours)).padStart(2, '0')}:00`;
};
const season = () => `EVERY 14d FROM ${Math.floor((Date.now() - 24 * DAY) / 1000) * 1000}`;
const names = (rows) => rows.map(({ member }) => member);

for (const [name, connect] of Object.entries(CLIENTS)) {
  test(`periods: ${name}`, async () => {
    const client = await connect();
    try {
      const board = new Leaderboard(client, '{game}', {
        update: 'BEST',
        offset: noon(),
        periods: [
          { unit: 'day', prefix: '{game}:day:', past: 3 },
          { unit: season(), prefix: '{game}:season:' },
        ],
      });
      assert.equal((await board.addRanked('ann', 5, { period: 'day' })).rank, 1);
      const [today, yesterday] = await board.periods('day');
      await board.add('bob', 9, { at: yesterday.start });
      assert.deepEqual(names(await board.top(3, { period: 'day' })), ['ann']);
      assert.deepEqual(names(await board.top(3, { period: ['day', -1] })), ['bob']);
      assert.deepEqual(names(await board.top(3, { period: ['day', yesterday.id] })), ['bob']);
      assert.deepEqual(names(await board.top(3)), ['bob', 'ann']);
      assert.deepEqual([today.members, today.end - today.start, today.key], [1, DAY, `{game}:day:${today.id}`]);
      assert.deepEqual((await board.info()).periods.map(({ unit, prefix, past }) => [unit, prefix, past]), [
        ['day', '{game}:day:', 3],
        ['every', '{game}:season:', 1],
      ]);
      await board.alter({ dropPeriods: ['day'] });
      assert.deepEqual((await board.periods()).map(({ unit }) => unit), ['every', 'every']);
    } finally {
      await close(client);
    }
  });
}
