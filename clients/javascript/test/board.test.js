// What happens with boards: made by the first write, errors.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';

import * as rank from 'redis-rank-client';
import { close, flushAll, ioredis, ioredisCluster, nodeRedis, nodeRedisCluster } from './support.js';

const { Leaderboard } = rank;
let clients;
before(async () => {
  clients = [await nodeRedis(), await ioredis()];
});
beforeEach(flushAll);
after(() => clients.forEach(close));

const onEach = (name, body) => test(name, async () => {
  for (const client of clients) {
    await flushAll();
    await body(client);
  }
});

onEach('the first write makes the board', async (client) => {
  const board = new Leaderboard(client, 'game', { fields: ['score BITS 20'], keep: 2 });
  assert.deepEqual(await board.top(3), []);
  assert.equal(await board.info(), null);
  await board.addMany({ ann: 1, bob: 2, cid: 3 });
  assert.deepEqual((await board.top(3)).map(({ member }) => member), ['cid', 'bob']);
  assert.equal((await board.info()).keep, 2);
});

onEach('errors are classes', async (client) => {
  const board = new Leaderboard(client, 'game', { fields: ['gold BITS 10'] });
  const rejects = (promise, Kind) => assert.rejects(promise, (error) => {
    assert.ok(error instanceof rank.RankError && error instanceof rank.CommandError);
    assert.equal(error.constructor, Kind);
    // Not Kind.name, which a bundler may have changed.
    assert.equal(error.name, Object.entries(rank).find(([, each]) => each === Kind)[0]);
    return true;
  });
  await assert.rejects(board.add('ann', 2000), { code: 'OUTOFRANGE', message: "field 'gold' takes 0 to 1023, got 2000 (RANK.ADD game)" });
  await rejects(board.add('ann', 2000), rank.ValueOutOfRange);
  await rejects(board.add('ann', [1, 2]), rank.CommandError);
  await board.add('ann', 1);
  await rejects(new Leaderboard(client, 'game', { fields: ['gold BITS 10', 'silver BITS 10'] }).add('ann', [1, 1]), rank.SchemaError);
  await rejects(new Leaderboard(client, 'game', { keep: 3 }).create(), rank.SchemaError);
  await rejects(new Leaderboard(client, 'other', { keep: 3, create: 'never' }).add('ann', 1), rank.NoBoard);
  await client.set('text', 'x');
  await rejects(new Leaderboard(client, 'text').top(1), rank.WrongType);
  await rank.execute(client, rank.raw('ZADD', 'game', 0.5, 'stranger'));
  await rejects(board.top(5), rank.DamagedBoard);
  await rank.execute(client, rank.raw('CONFIG', 'SET', 'rank.max-rows', 1));
  try {
    await rank.execute(client, rank.raw('ZADD', 'plain', 1, 'a', 2, 'b'));
    await rejects(new Leaderboard(client, 'plain').top(5), rank.TooBig);
  } finally {
    await rank.execute(client, rank.raw('CONFIG', 'SET', 'rank.max-rows', 0));
  }
  await rejects(rank.execute(client, rank.raw('RANK.NONE', 'x')), rank.ModuleNotLoaded);
});

onEach('what a board lacks', async (client) => {
  const board = new Leaderboard(client, 'game');
  await board.add('ann', 1);
  await assert.rejects(board.get('ann', { data: true }), rank.SchemaError);
  await assert.rejects(board.top(1, { period: 'day' }), rank.SchemaError);
});

test('keys of a schema in another slot', async () => {
  for (const cluster of [await nodeRedisCluster(), await ioredisCluster()]) {
    const board = new Leaderboard(cluster, 'game', { periods: [{ unit: 'DAY', prefix: 'day:' }] });
    await assert.rejects(board.add('ann', 1), rank.CrossSlot);
    close(cluster);
  }
});

onEach('permissions', async (client) => {
  await clients[1].call('ACL', 'SETUSER', 'reader', 'on', 'nopass', '~game*', '+@connection', '+info', '+rank.topn');
  const user = await (client === clients[0] ? nodeRedis : ioredis)({ username: 'reader', password: 'x' });
  try {
    assert.deepEqual(await new Leaderboard(user, 'game').top(1), []);
    await assert.rejects(new Leaderboard(user, 'game').add('ann', 1), rank.NotPermitted);
    await assert.rejects(new Leaderboard(user, 'other').top(1), rank.NotPermitted);
  } finally {
    close(user);
    await clients[1].call('ACL', 'DELUSER', 'reader');
  }
});

onEach('an import of old times', async (client) => {
  for (const [since, overflow] of [[new Date('2020-01-01'), 0], [undefined, 1]]) {
    await flushAll();
    const schema = { fields: ['points INT'], ties: 'FIRST' };
    const board = new Leaderboard(client, 'game', { ...schema, since });
    await board.add('ann', 100000, { at: new Date('2020-03-01') });
    assert.equal((await board.info()).overflow, overflow);
    assert.equal((await board.get('ann', { time: true })).time, 1583020800000);
    // Who writes later needs not know it.
    assert.equal(await new Leaderboard(client, 'game', schema).add('bob', 1), 1);
    await assert.rejects(new Leaderboard(client, 'game', { ...schema, since: 0 }).create(), rank.SchemaError);
  }
});

onEach('names decide nothing', async (client) => {
  const board = new Leaderboard(client, 'game', { fields: [' schema  BITS 4 '], data: '{game}:who', owned: true });
  await assert.rejects(board.add('ann', 99), rank.ValueOutOfRange);
  await board.add('ann', 1);
  for (const name of ['the schema', 'RANK.VERIFY x', 'NOPERM x', "field 'x' takes 5"]) {
    await assert.rejects(board.putData(name, { x: 1 }), ({ constructor }) => constructor === rank.CommandError);
  }
});

test('what is no number or name is refused', () => {
  const board = new Leaderboard(clients[0], 'game');
  for (const value of [undefined, null, NaN, {}, true]) assert.throws(() => board.calls.add('ann', value), TypeError);
});
