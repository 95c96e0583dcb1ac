// Declared boards: one command for a write, whatever happened to the board meanwhile.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { Leaderboard, Lease, NoBoard, NotPermitted, RateLimiter, Schedule, SchemaError, ShardedLeaderboard, Worker, execute } from 'redis-rank-client';
import { close, flushAll, ioredis, ioredisCluster, nodeRedis, nodeRedisCluster } from './support.js';

let admin;
let clients;
before(async () => {
  admin = await ioredis();
  // The users of the example, with a password.
  const example = readFileSync(new URL('../../../redis.conf.example', import.meta.url), 'utf8');
  for (const line of example.split('\n')) {
    const [word, name, ...rules] = line.split(' ');
    if (word === 'user' && ['reader', 'writer', 'worker', 'operator'].includes(name)) await admin.acl('SETUSER', name, 'reset', ...rules, '>secret');
  }
  clients = [await nodeRedis({ username: 'writer', password: 'secret' }), await ioredis({ enableReadyCheck: false, username: 'writer', password: 'secret' })];
});
beforeEach(flushAll);
after(async () => {
  for (const name of ['reader', 'writer', 'worker', 'operator']) await admin.acl('DELUSER', name);
  [admin, ...clients].forEach(close);
});

const onEach = (name, body) => test(name, async () => {
  for (const client of clients) {
    await flushAll();
    await body(client);
  }
});

async function commands(act) {
  await admin.config('RESETSTAT');
  await act();
  const stats = await admin.info('commandstats');
  return Object.fromEntries([...stats.matchAll(/cmdstat_(rank\.\w+):calls=(\d+)/g)].map(([, name, calls]) => [name, Number(calls)]));
}

const schema = { fields: ['points INT'], ties: 'FIRST', update: 'BEST', data: 'board:{g}:who', periods: [{ unit: 'DAY', prefix: 'board:{g}:day:' }] };

onEach('the user writer declares, and each write is one command', async (client) => {
  const board = new Leaderboard(client, 'board:{g}', schema);
  const first = await commands(() => board.add('ann', 5, { data: { name: 'Ann' } }));
  assert.deepEqual(first, { 'rank.add': 2, 'rank.create': 1 });
  const later = await commands(async () => {
    await board.add('ann', 3);
    await board.addMany({ bob: 1, cid: 2 });
    await board.incr('bob', 1);
    await board.addManyRanked({ dan: 5 });
    await board.setData('ann', { level: '9' });
  });
  assert.deepEqual(later, { 'rank.add': 3, 'rank.incr': 1, 'rank.setdata': 1 });
  assert.equal(await board.score('ann'), 5);
});

const WRITES = {
  add: (board) => board.add('ann', 5), addMany: (board) => board.addMany({ ann: 5, bob: 1 }), addRanked: (board) => board.addRanked('ann', 5),
  addManyRanked: (board) => board.addManyRanked({ ann: 5 }), incr: (board) => board.incr('ann', 5), incrRanked: (board) => board.incrRanked('ann', 5),
  setData: (board) => board.setData('ann', { x: '1' }), putData: (board) => board.putData('ann', { x: 1 }),
};

onEach('after DEL, expiry and FLUSHALL, every write creates the board again', async (client) => {
  const losses = {
    del: () => admin.del('board:{g}'), flush: () => admin.flushall(),
    expire: async () => {
      await admin.pexpire('board:{g}', 1);
      await sleep(5);
    },
  };
  const board = new Leaderboard(client, 'board:{g}', schema);
  for (const lose of Object.values(losses)) {
    for (const [name, write] of Object.entries(WRITES)) {
      await board.add('eve', 1);
      await lose();
      await write(board);
      const info = await board.info();
      assert.deepEqual([info.ties, info.update, info.data, info.periods.length], ['FIRST', 'BEST', 'board:{g}:who', 1], name);
    }
  }
});

onEach('a user who may not create hears of it', async (client) => {
  await admin.acl('SETUSER', 'writer', '-rank.create');
  try {
    const board = new Leaderboard(client, 'board:{g}', schema);
    for (const write of Object.values(WRITES)) await assert.rejects(write(board), NotPermitted);
    assert.equal(await admin.exists('board:{g}'), 0);
  } finally {
    await admin.acl('SETUSER', 'writer', '+rank.create');
  }
});

onEach('what an operator altered stays, and is no error', async (client) => {
  const board = new Leaderboard(client, 'board:{g}', schema);
  await board.addMany({ ann: 1, bob: 2, cid: 3 });
  await admin.call('RANK.ALTER', 'board:{g}', 'KEEP', 2, 'UPDATE', 'SET', 'NOPERIOD', 'DAY');
  for (const each of [board, new Leaderboard(client, 'board:{g}', schema)]) {
    for (const write of Object.values(WRITES)) await write(each);
  }
  assert.deepEqual([(await board.info()).keep, (await board.info()).update, await board.count()], [2, 'SET', 2]);
});

onEach('a rolling deploy', async (client) => {
  const versions = [{ ...schema, keep: 100 }, { ...schema, keep: 500 }, { ...schema, periods: [] }];
  const boards = versions.map((version) => new Leaderboard(client, 'board:{g}', version));
  for (let round = 0; round < 10; round++) {
    await admin.del('board:{g}');
    await Promise.all(boards.flatMap((board, at) => [board.incr('ann', 1), board.add(`member${at}`, at)]));
    assert.deepEqual([await boards[0].score('ann'), await boards[1].count()], [3, 4]);
  }
  // Another number of fields cannot be meant.
  await assert.rejects(new Leaderboard(client, 'board:{g}', { fields: ['a', 'b'] }).add('ann', [1, 2]), SchemaError);
});

onEach('creating never, at once, and with another schema', async (client) => {
  const never = new Leaderboard(client, 'board:{g}', { ...schema, create: 'never' });
  await assert.rejects(never.add('ann', 1), (error) => error instanceof NoBoard && error.code === 'NOBOARD');
  await never.create();
  assert.equal(await never.add('ann', 1), 1);
  await never.create();
  await assert.rejects(new Leaderboard(client, 'board:{g}', { fields: ['a', 'b'] }).create(), SchemaError);
  // Somebody's own sorted set.
  await admin.zadd('board:own', 5, 'ann');
  await assert.rejects(new Leaderboard(client, 'board:own', schema).add('ann', 1), SchemaError);
  assert.equal(await admin.zscore('board:own', 'ann'), '5');
});

onEach('nothing is created within execute', async (client) => {
  const { calls } = new Leaderboard(client, 'board:{g}', schema);
  await assert.rejects(execute(client, calls.add('ann', 1), calls.top(1)), NoBoard);
  assert.equal(await admin.exists('board:{g}'), 0);
  const results = await execute(client, calls.create(), calls.add('ann', 1), calls.top(1), calls.incr('ann', 2), calls.score('ann'), calls.remove('ann'), calls.count());
  assert.deepEqual(results.map((result) => result?.[0]?.score ?? result), [undefined, 1, 1, 3, 3, 1, 0]);
  assert.deepEqual(await execute(client), []);
});

onEach('migrate', async () => {
  for (const operator of [await nodeRedis({ username: 'operator', password: 'secret' }), await ioredis({ enableReadyCheck: false, username: 'operator', password: 'secret' })]) {
    await flushAll();
    const old = { fields: ['points int desc', 'time ASC'], ties: 'first ms', since: 1_700_000_000_000 };
    const season = { unit: 'EVERY 14d FROM 1767225600000', prefix: 'board:{g}:season:' };
    await new Leaderboard(operator, 'board:{g}', { ...old, keep: 10, update: 'BEST', data: 'board:{g}:who', periods: schema.periods, offset: '+03:00' }).migrate();
    const next = new Leaderboard(operator, 'board:{g}', { ...old, since: undefined, periods: [{ unit: 'week', prefix: 'board:{g}:week:', past: 5 }, season] });
    for (const _ of [1, 2]) {
      await next.migrate();
      const info = await next.info();
      assert.deepEqual([info.keep, info.update, info.data, info.periods.map(({ unit, past }) => [unit, past])], [null, 'SET', null, [['week', 5], ['every', 1]]]);
    }
    for (const other of [{ fields: ['points INT', 'time'], ties: 'FIRST' }, { fields: ['points INT'], ties: 'FIRST' }, { ...old, ties: 'LAST' }]) {
      await assert.rejects(new Leaderboard(operator, 'board:{g}', other).migrate(), (error) => error instanceof SchemaError && /cannot change from/.test(error.message));
    }
    const sharded = (more) => new ShardedLeaderboard(operator, 'board:cut', 2, { ties: 'FIRST', ...more });
    await sharded({ keep: 5 }).create();
    await sharded({ keep: 7 }).migrate();
    await sharded({ keep: 7 }).create();
    close(operator);
  }
});

test('sharded boards are created by their writes, and by nobody else', async () => {
  for (const cluster of [await nodeRedisCluster(), await ioredisCluster()]) {
    await flushAll();
    const board = new ShardedLeaderboard(cluster, 'game', 4, { ties: 'FIRST' });
    assert.equal(await board.add('ann', 1), 1);
    await flushAll();
    assert.equal(await board.incr('ann', 2), 2);
    await assert.rejects(new ShardedLeaderboard(cluster, 'other', 4, { ties: 'FIRST', create: 'never' }).add('ann', 1), NoBoard);
    close(cluster);
  }
});

onEach('the users of the example may do what the README says', async (client) => {
  const users = await Promise.all(['reader', 'worker', 'operator'].map((username) => ioredis({ enableReadyCheck: false, username, password: 'secret' })));
  const [reader, worker, operator] = users;
  try {
    const board = new Leaderboard(client, 'board:{g}', schema);
    await board.addRanked('ann', 5, { data: { name: 'Ann' } });
    const [ann] = await new Leaderboard(reader, 'board:{g}').top(1, { data: true, period: 'day' });
    assert.deepEqual([ann.member, ann.data], ['ann', { name: 'Ann' }]);
    await assert.rejects(new Leaderboard(reader, 'board:{g}').add('ann', 1), NotPermitted);

    const limiter = new RateLimiter(client, '5/1s', { prefix: 'limit:' });
    assert.equal((await limiter.check('ann')).allowed, true);
    assert.equal((await new RateLimiter(reader, '5/1s', { prefix: 'limit:' }).peek('ann')).remaining, 4);
    await limiter.refund('ann');
    assert.equal(await new RateLimiter(operator, '5/1s', { prefix: 'limit:' }).reset('ann'), true);
    assert.equal(await new Lease(client, 'limit:place').run(async () => 7), 7);

    await new Schedule(client, 'due:{x}', { data: 'due:{x}:data' }).add('a', { after: 0, data: 1 });
    const jobs = new Schedule(worker, 'due:{x}', { data: 'due:{x}:data' });
    const done = [];
    const one = new Worker(jobs, ({ item, data }) => {
      done.push([item, data]);
      one.stop();
    }, { attempts: 3, dead: 'due:{x}:dead' });
    await one.run();
    assert.deepEqual(done, [['a', 1]]);
    await assert.rejects(new Worker(new Schedule(reader, 'due:{x}'), () => {}).run(), NotPermitted);

    await new Leaderboard(operator, 'board:{g}', { ...schema, keep: 3 }).migrate();
    assert.equal(await new Leaderboard(operator, 'board:{g}').clear(), 1);
  } finally {
    users.forEach(close);
  }
});

test('a board whose fields were renamed has the scores under the names of the server', async () => {
  for (const client of [await nodeRedis(), await ioredis()]) {
    await flushAll();
    await new Leaderboard(client, 'medals', { fields: ['gold DIGITS 3', 'silver DIGITS 3'] }).add('USA', [46, 37]);
    const renamed = new Leaderboard(client, 'medals', { fields: ['first DIGITS 3', 'second DIGITS 3'] });
    await renamed.add('GBR', [27, 23]);
    assert.deepEqual((await renamed.top(2)).map(({ member, score, scores }) => [member, score, scores]), [['USA', 46, [46, 37]], ['GBR', 27, [27, 23]]]);
    close(client);
  }
});

test('attributes may be the first thing that is written to a declared board', async () => {
  for (const client of [await nodeRedis(), await ioredis()]) {
    for (const [act, expected] of [['setData', { name: 'Ann' }], ['putData', { name: 'Ann' }]]) {
      await flushAll();
      const board = new Leaderboard(client, '{game}', { ties: 'FIRST', data: '{game}:names' });
      await board[act]('ann', { name: 'Ann' });
      assert.deepEqual([await board.getData('ann'), (await board.info()).data], [expected, '{game}:names']);
    }
    close(client);
  }
});
