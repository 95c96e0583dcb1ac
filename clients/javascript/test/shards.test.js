// A board over many keys answers as one board with the same members does.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';

import { Leaderboard, OutOfMemory, ShardedLeaderboard, ValueOutOfRange } from 'redis-rank-client';
import { calls, close, flushAll, ioredis, ioredisCluster, nodeRedisCluster, resetStatistics } from './support.js';

const SCHEMAS = [
  {},
  { order: 'ASC' },
  { fields: ['score BITS 4'], ties: 'LAST' },
  { fields: ['gold INT', 'time ASC FLOAT'], ties: 'JOINED' },
];
const start = 1_700_000_000_000;

let single;
let clusters;
before(async () => {
  single = await ioredis();
  clusters = [await nodeRedisCluster(), await ioredisCluster()];
});
beforeEach(flushAll);
after(() => [single, ...clusters].forEach(close));

async function boards(cluster, schema, members) {
  const whole = new Leaderboard(single, 'whole', schema);
  const cut = new ShardedLeaderboard(cluster, 'cut', 8, schema);
  // A small generator of numbers, so that a failure can be repeated.
  let seed = members;
  const roll = (sides) => (seed = (seed * 48271) % 2147483647) % sides;
  const names = [...Array.from({ length: members - 1 }, (_, number) => `member ${number}`), Buffer.from([255])];
  const groups = new Map();
  for (const name of names) {
    const time = roll(5);
    const scores = (schema.fields ?? [1]).map(() => roll(8));
    groups.set(time, (groups.get(time) ?? new Map()).set(name, scores));
  }
  for (const [time, scores] of groups) {
    for (const board of [whole, cut]) await board.addMany(scores, { at: start + time });
  }
  return { whole, cut, names };
}

for (const schema of SCHEMAS) {
  test(`every answer: ${JSON.stringify(schema)}`, async () => {
    for (const cluster of clusters) {
      await flushAll();
      const { whole, cut, names } = await boards(cluster, schema, 200);
      for (const kind of ['COMPETITION', 'ORDINAL']) {
        const timed = { kind, time: true };
        assert.deepEqual(await cut.top(20, timed), await whole.top(20, timed));
        assert.deepEqual(await cut.top(1000, timed), await whole.top(1000, timed));
        for (const [from, to] of [[1, 1], [77, 106], [150, 150], [195, 224], [999, 1003], [9, 3], [-20, -1], [-300, 4], [190, -3], [-2, -5]]) {
          assert.deepEqual(await cut.range(from, to, { kind }), await whole.range(from, to, { kind }), `${from} ${to}`);
        }
        assert.deepEqual(await cut.page(4, 40, timed), await whole.page(4, 40, timed));
        for (const name of [names[0], names[99], names.at(-1), 'nobody']) {
          assert.deepEqual(await cut.get(name, timed), await whole.get(name, timed));
          assert.deepEqual(await cut.percentile(name), await whole.percentile(name));
          for (const distance of [0, 3, 150]) {
            assert.deepEqual(await cut.around(name, distance, timed), await whole.around(name, distance, timed));
          }
        }
        const group = [...names.filter((_, at) => at % 7 === 0), 'nobody', names[0]];
        assert.deepEqual(await cut.among(group, { kind }), await whole.among(group, { kind }));
      }
      assert.equal(await cut.count(3, 5), await whole.count(3, 5));
      assert.equal(await cut.remove(...names.slice(0, 9), 'nobody'), 9);
      assert.equal(await cut.count(), 191);
    }
  });
}

test('attributes, errors and keys', async () => {
  for (const cluster of clusters) {
    await flushAll();
    const board = new ShardedLeaderboard(cluster, 'game', 4, { fields: ['score BITS 4'], data: 'who' });
    await Promise.all(Array.from({ length: 9 }, (_, n) => board.add(`m${n}`, n, { data: { n } })));
    assert.deepEqual((await board.top(2, { data: true })).map(({ data }) => data), [{ n: 8 }, { n: 7 }]);
    assert.deepEqual([await board.incr('m0', 3), await board.score('m0'), await board.score('nobody')], [3, 3, null]);
    await assert.rejects(board.add('ann', 99), ValueOutOfRange);
    assert.deepEqual(await board.shards(), board.keys);
    for (const name of ['ann', '{x}', Buffer.from([255, 0])]) assert.ok(board.keys.includes(await board.shard(name)));
    await assert.rejects(async () => board.top(3, { kind: 'DENSE' }), TypeError);
    assert.throws(() => new ShardedLeaderboard(cluster, 'game', 3), RangeError);
    const wrong = [board.range(0, 5), board.range(1, 0), board.top(-1), board.page(0, 5), board.page(1, 0), board.around('ann', -1)];
    for (const question of wrong) await assert.rejects(question, { name: 'RangeError', message: /(takes [01] or more|positions begin at 1.*), got/ });
  }
});

test('what the server refuses is not asked again', async () => {
  const board = new ShardedLeaderboard(single, 'game', 4, { timeout: '60s' });
  await single.config('SET', 'maxmemory', '1');
  try {
    await assert.rejects(board.add('ann', 1), OutOfMemory);
  } finally {
    await single.config('SET', 'maxmemory', '0');
  }
});

test('a top and a rank ask each shard once, and a page anywhere a few times', async () => {
  for (const cluster of clusters) {
    await flushAll();
    const { cut, names } = await boards(cluster, { ties: 'FIRST' }, 3000);
    const asked = async (question) => {
      await resetStatistics();
      await question();
      const counts = await Promise.all(['range', 'count', 'get', 'forscore'].map((name) => calls(`rank.${name}`)));
      return counts.map(({ primaries }) => primaries);
    };
    assert.deepEqual(await asked(() => cut.top(100)), [8, 0, 0, 0]);
    assert.deepEqual(await asked(() => cut.get(names[7])), [0, 0, 1, 7]);
    const [range, count, , forScore] = await asked(() => cut.range(1500, 1549));
    assert.ok(range <= 8 * 5 && count === 8 && forScore <= 8 * 4, `${range} ${count} ${forScore}`);
  }
});
