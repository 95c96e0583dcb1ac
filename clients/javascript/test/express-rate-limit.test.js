// The store for express-rate-limit, with that package.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';

import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { OutcomeUnknown } from 'redis-rank-client';
import { RankStore } from 'redis-rank-client/express-rate-limit';
import { until } from './servers.js';
import { close, flushAll, ioredis, nodeRedis } from './support.js';

let clients;
before(async () => {
  clients = [await nodeRedis(), await ioredis()];
});
beforeEach(flushAll);
after(() => clients.forEach(close));

/** Requests to an application with this limit; `act` gets a function that sends one. */
async function serving(options, act) {
  const limit = rateLimit({ windowMs: 60_000, limit: 2, standardHeaders: 'draft-8', legacyHeaders: false, ...options });
  const app = express();
  app.use(limit);
  app.get('/', (_, response) => void response.send('fine'));
  app.get('/broken', (_, response) => void response.status(500).send('broken'));
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const get = async (path = '/') => {
    const { status, headers } = await fetch(`http://127.0.0.1:${server.address().port}${path}`, { headers: { connection: 'close' } });
    return { status, limit: headers.get('ratelimit'), retryAfter: headers.get('retry-after') };
  };
  try {
    await act(get, limit);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}

const onEach = (name, act) => test(name, async () => {
  for (const client of clients) {
    await flushAll();
    await act((options) => new RankStore(client, { timeout: '30s', ...options }));
  }
});

onEach('requests are limited, by all processes together, and a key can be looked at and reset', async (store) => {
  await serving({ store: store() }, (first) => serving({ store: store() }, async (second, limit) => {
    assert.equal((await first()).status, 200);
    const last = await second();
    assert.equal(last.status, 200);
    assert.match(last.limit, /r=0; t=\d+/);
    const denied = await first();
    assert.equal(denied.status, 429);
    assert.ok(denied.retryAfter > 0 && denied.retryAfter <= 60);
    const { totalHits, resetTime } = await limit.getKey('127.0.0.1');
    assert.ok(totalHits === 3 && resetTime > new Date());
    await limit.resetKey('127.0.0.1');
    assert.equal(await limit.getKey('127.0.0.1'), undefined);
    assert.equal((await first()).status, 200);
  }));
});

onEach('failed requests are given back if the application says so', (store) =>
  serving({ store: store(), skipFailedRequests: true }, async (get, limit) => {
    for (let at = 0; at < 4; at++) {
      assert.equal((await get('/broken')).status, 500);
      // A key without hits is not kept.
      await until(async () => (await limit.getKey('127.0.0.1')) === undefined, 'the hit to be given back');
    }
    assert.equal((await get()).status, 200);
  }));

onEach('a window ends, and prefixes are apart', async (store) => {
  const own = store({ prefix: 'own:' });
  own.init({ windowMs: 100 });
  assert.equal((await own.increment('x')).totalHits, 1);
  await until(async () => (await own.get('x')) === undefined, 'the window to end');
  assert.equal((await own.increment('x')).totalHits, 1);
  assert.equal((await store().increment('x')).totalHits, 1);
});

test('while the server is away it throws, and passOnStoreError lets requests pass', async () => {
  const client = await ioredis({ url: 'redis://127.0.0.1:1', retryStrategy: () => 1000 });
  const store = () => new RankStore(client, { timeout: 20 });
  await assert.rejects(store().increment('x'), OutcomeUnknown);
  await serving({ store: store() }, async (get) => assert.equal((await get()).status, 500));
  await serving({ store: store(), passOnStoreError: true, logger: { error() {}, warn() {} } }, async (get) => assert.equal((await get()).status, 200));
  close(client);
});
