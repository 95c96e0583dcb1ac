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
            const filled = { ...timed, fill: true };
            assert.deepEqual(await cut.around(name, distance, filled), await whole.around(name, distance, filled));
          }
        }
        for (const [n, score, place] of await places(whole, names)) {
          const options = { ...timed, ...place };
          assert.deepEqual(await cut.after(n, score, options), await whole.after(n, score, options), `after ${n} ${score} ${JSON.stringify(place)}`);
          assert.deepEqual(await cut.before(n, score, options), await whole.before(n, score, options), `before ${n} ${score} ${JSON.stringify(place)}`);
        }
        for (const [low, high] of [[3, 5], ['(3', 5n], [3, '(5'], ['(3', '(4'], [5, 3], ['-inf', Infinity], [9, 12], [-Infinity, 0]]) {
          for (const limit of [undefined, [0, 3], [2, 10], [40, -1], [999, 5]]) {
            const options = { kind, limit };
            assert.deepEqual(await cut.byScore(low, high, options), await whole.byScore(low, high, options), `${low} ${high} ${limit}`);
          }
        }
        const { scores } = await whole.get(names[9]);
        assert.equal(await cut.forScore(scores, { kind }), await whole.forScore(scores, { kind }));
        const group = [...names.filter((_, at) => at % 7 === 0), 'nobody', names[0]];
        assert.deepEqual(await cut.among(group, { kind }), await whole.among(group, { kind }));
      }
      assert.equal(await cut.count(3, 5), await whole.count(3, 5));
      assert.equal(await cut.remove(...names.slice(0, 9), 'nobody'), 9);
      assert.equal(await cut.count(), 191);
    }
  });
}

/** Of members, of equals, between members, and at both ends; of each a few rows, and all. */
async function places(whole, names) {
  const found = [];
  for (const name of [names[0], names[99], names.at(-1)]) {
    const { scores, time } = await whole.get(name, { time: true });
    const at = time === null ? {} : { at: time };
    for (const place of [{}, { member: name }, { ...at, member: name }, { ...at, member: 'member 5x' }, at]) {
      for (const n of [0, 1, 20, 1000]) found.push([n, scores, place]);
    }
    found.push([20, scores.map(() => 0), {}], [20, scores.map(() => 7n), {}]);
  }
  return found;
}

test('integers beyond 2^53, and tie times in seconds', async () => {
  const schema = { fields: ['score INT'], ties: 'LAST S', since: start };
  const large = 2n ** 60n;
  for (const cluster of clusters) {
    await flushAll();
    const boards = [new Leaderboard(single, 'whole', schema), new ShardedLeaderboard(cluster, 'cut', 4, schema)];
    for (const board of boards) {
      for (let n = 0; n < 20; n++) await board.add(`m${n}`, large + BigInt(n % 5), { at: start + 1000 * (n % 3) });
    }
    const ask = (board) => Promise.all([
      board.after(9, large + 3n), board.before(9, large + 1n, { at: start + 1999 }),
      board.after(9, large + 1n, { at: start + 1999 }), board.before(9, large + 2n, { at: start + 1000, member: 'm7' }),
      board.byScore(large + 1n, large + 2n), board.byScore(`(${large + 1n}`, '+inf'),
    ]);
    const [expected, got] = await Promise.all(boards.map(ask));
    assert.deepEqual(got, expected);
    assert.ok(expected.every((rows) => rows.length > 3), JSON.stringify(expected));
  }
});

test('scans, RANK.INFO, ALTER and CLEAR', async () => {
  const sorted = async (entries) => {
    const all = [];
    for await (const entry of entries) all.push(entry);
    return all.sort((a, b) => Buffer.compare(Buffer.from(a.member), Buffer.from(b.member)));
  };
  for (const cluster of clusters) {
    await flushAll();
    const schema = { fields: ['gold INT'], ties: 'FIRST', keep: 900, data: 'who' };
    const empty = new ShardedLeaderboard(cluster, 'cut', 8, schema);
    assert.deepEqual([await empty.info(), await empty.clear(), await empty.after(3, 5), await empty.byScore(3, 5)], [null, 0, [], []]);
    const { whole, cut, names } = await boards(cluster, schema, 100);
    assert.deepEqual(await sorted(cut.scanAll({ count: 5, time: true })), await sorted(whole.scanAll({ time: true })));
    const other = new ShardedLeaderboard(cluster, 'other', 4, schema);
    for (let [cursor, lines] = ['0', []]; ;) {
      ({ cursor, lines } = await cut.scanLines(cursor, { count: 5, time: true }));
      await other.load(lines);
      if (cursor === '0') break;
    }
    assert.deepEqual(await other.top(200, { time: true }), await whole.top(200, { time: true }));
    let checked = 0;
    for (let step = { cursor: '0' }, first = true; first || step.cursor !== '0'; first = false) {
      step = await cut.verify({ cursor: step.cursor, count: 5 });
      checked += step.checked;
    }
    assert.equal(checked, 100);
    for (const cursor of ['x', '8:0', '-1:0', '1', '1:', '']) await assert.rejects(cut.scan(cursor), { name: 'RangeError', message: /a cursor that a step returned/ });

    const info = async (board) => ({ ...(await board.info()), shard: null, schema: null, since: null });
    for (const changes of [{}, { keep: 500, update: 'BEST' }, { keep: null, data: null }, { data: 'others', owned: true }]) {
      if (Object.keys(changes).length) for (const board of [whole, cut]) await board.alter(changes);
      assert.deepEqual(await info(cut), await info(whole));
    }
    assert.equal((await cut.info()).data, 'others');
    for (const board of [whole, cut]) {
      await board.setData(names[3], { team: 'red' });
      assert.deepEqual(await board.getAttributes(names[3], 'team', 'size'), ['red', null]);
      assert.deepEqual([await board.clear(), await board.count()], [100, 0]);
    }
    for (const wrong of [cut.alter({ periods: [] }), cut.score('ann', { period: 'day' }), cut.after(3, 5, { n: 1 })]) {
      await assert.rejects(wrong, { name: 'TypeError', message: /unknown option/ });
    }
  }
});

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
    const wrong = [board.range(0, 5), board.range(1, 0), board.top(-1), board.page(0, 5), board.page(1, 0), board.around('ann', -1), board.after(-1, 5), board.byScore(0, 5, { limit: [-1, 5] })];
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
