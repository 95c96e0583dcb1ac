// Schedules: the same values from every client.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import { Schedule } from 'redis-rank-client';
import { CLIENTS, close, flushAll, ioredis, ioredisCluster, nodeRedis, nodeRedisCluster } from './support.js';

const now = 1_700_000_000_000;
beforeEach(flushAll);

for (const [name, connect] of Object.entries(CLIENTS)) {
  test(`schedules: ${name}`, async () => {
    const client = await connect();
    try {
      const jobs = new Schedule(client, 'jobs');
      assert.deepEqual([await jobs.add(['a', 'b'], { at: now }), await jobs.add('c', { at: now + 5000 })], [2, 1]);
      const claims = await jobs.claim({ count: 2, lease: '10s', now });
      assert.deepEqual(claims.map(({ item, attempt, dueMs }) => [item, attempt, dueMs]), [['a', 1, now], ['b', 1, now]]);
      assert.deepEqual(await jobs.claim({ now }), []);
      const moved = await jobs.move(claims[0], { at: now + 60_000 });
      assert.ok(moved.item === 'a' && moved.token !== claims[0].token);
      assert.equal(await jobs.move(claims[0], { after: '1s' }), null);
      assert.equal(await jobs.ack(claims[1], claims[1]), 1);
      assert.deepEqual(await jobs.info({ now: now + 5000 }), { items: 2, due: 1, claimed: 1, invalid: 0, nextMs: now + 5000 });
      assert.deepEqual(await jobs.pop({ count: 9, now: now + 5000 }), [{ item: 'c', dueMs: now + 5000 }]);
      assert.equal(await jobs.cancel('a', 'none'), 1);
      assert.throws(() => jobs.calls.add('a', {}), TypeError);

      const paid = new Schedule(client, '{paid}', { data: '{paid}:data' });
      assert.deepEqual([await paid.add('x', { at: now, data: { n: 1 } }), await paid.add('y', { at: now, data: [2] }), await paid.add('z', { at: now })], [1, 1, 1]);
      const [x] = await paid.claim({ now });
      assert.deepEqual([x.item, x.data, x.attempt], ['x', { n: 1 }, 1]);
      // A trigger meanwhile is not lost, and brings its own payload.
      assert.equal(await paid.again('x', { data: 'again' }), 0);
      assert.equal(await paid.ack(x), 1);
      assert.equal(await paid.cancel('y'), 1);
      assert.deepEqual((await paid.pop({ count: 9 })).map(({ item, data }) => [item, data]).sort(), [['x', 'again'], ['z', null]]);
      assert.equal(Number(await client.exists('{paid}:data')), 0);

      await jobs.add('later', { after: 200 });
      assert.deepEqual((await jobs.pop({ block: '20s' })).map(({ item }) => item), ['later']);
      assert.deepEqual(await jobs.claim({ block: '10ms' }), []);
      // Not 0, which is for ever.
      assert.deepEqual(await jobs.claim({ block: 0.1 }), []);
      for (const block of ['soon', -1, '30', NaN]) await assert.rejects(jobs.claim({ block }), TypeError);
    } finally {
      await close(client);
    }
  });
}

const IMPATIENT = {
  'node-redis, timeout of commands': () => nodeRedis({ commandOptions: { timeout: 1000 } }),
  'node-redis, timeout of the socket': () => nodeRedis({ pingInterval: 300, socket: { socketTimeout: 1000 } }),
  'node-redis cluster': () => nodeRedisCluster({ defaults: { socket: { socketTimeout: 1000 } } }),
  'ioredis, timeout of commands': () => ioredis({ commandTimeout: 1000 }),
  'ioredis, timeout of the socket': () => ioredis({ socketTimeout: 1000 }),
  'ioredis cluster': () => ioredisCluster({ redisOptions: { commandTimeout: 1000 } }),
};

for (const [name, connect] of Object.entries(IMPATIENT)) {
  test(`waiting for longer than the client waits for a reply: ${name}`, async () => {
    const client = await connect();
    try {
      const jobs = new Schedule(client, 'jobs');
      await jobs.add('late', { after: 3000 });
      assert.deepEqual(await jobs.claim({ block: '1200ms' }), []);
      assert.deepEqual((await jobs.pop({ block: 0 })).map(({ item }) => item), ['late']);
    } finally {
      await close(client);
    }
  });
}
