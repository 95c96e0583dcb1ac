// Commands go to the right node at once, reads to replicas, and a prefix goes before every key.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import { Leaderboard } from 'redis-rank-client';
import { calls, close, flushAll, ioredis, ioredisCluster, nodeRedis, nodeRedisCluster, resetStatistics } from './support.js';

beforeEach(flushAll);

async function withClient(connected, act) {
  const client = await connected;
  try {
    await act(client);
  } finally {
    await close(client);
  }
}

const CLUSTERS = { 'node-redis': nodeRedisCluster, ioredis: ioredisCluster };
const REPLICAS = {
  'node-redis': () => nodeRedisCluster({ useReplicas: true }),
  ioredis: () => ioredisCluster({ scaleReads: 'slave' }),
};

for (const [name, connect] of Object.entries(CLUSTERS)) {
  test(`${name} sends to the right node`, () => withClient(connect(), async (client) => {
    await resetStatistics();
    for (let index = 0; index < 100; index++) {
      const board = new Leaderboard(client, `game${index}`, { ties: 'FIRST' });
      await board.add('ann', index);
      assert.equal((await board.get('ann')).score, index);
    }
    const { primaries, moved } = await calls('rank.get');
    assert.equal(primaries, 100);
    assert.ok(moved < 5, `${moved} of 300 calls were sent to another node first`);
  }));
}

for (const [name, connect] of Object.entries(REPLICAS)) {
  test(`${name} reads from replicas`, () => withClient(connect(), async (client) => {
    await resetStatistics();
    for (let index = 0; index < 60; index++) {
      const board = new Leaderboard(client, `game${index}`);
      await board.add('ann', index);
      await board.top(1);
    }
    const reads = await calls('rank.topn');
    assert.ok(reads.replicas > 10, `${reads.replicas} of 60 reads were on replicas`);
    assert.equal(reads.replicas + reads.primaries, 60);
    const writes = await calls('rank.add');
    assert.deepEqual([writes.primaries, writes.replicas], [60, 0]);
  }));
}

const PREFIXED = {
  'node-redis': () => nodeRedis({ keyPrefix: 'app:' }),
  'node-redis cluster': () => nodeRedisCluster({ keyPrefix: 'app:' }),
  ioredis: () => ioredis({ keyPrefix: 'app:' }),
  'ioredis cluster': () => ioredisCluster({ redisOptions: { keyPrefix: 'app:' } }),
};

for (const [name, connect] of Object.entries(PREFIXED)) {
  test(`${name} puts its prefix before each key`, () => withClient(connect(), async (client) => {
    const board = new Leaderboard(client, '{game}', { data: '{game}:who' });
    await board.add('ann', 5, { data: { name: 'Ann' } });
    assert.equal((await board.info()).data, 'app:{game}:who');
    assert.equal(await client.exists('{game}:who'), 1);
    assert.equal(await board.rotate('{game}:old'), 1);
    assert.equal(await client.exists('{game}:old'), 1);
    await resetStatistics();
    await board.count();
    assert.ok((await calls('rank.count')).moved < 1);
  }));
}
