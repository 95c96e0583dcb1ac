// Workers with every client, and on connections that break. What both languages promise is in scenarios.test.js.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { Schedule, Worker } from 'redis-rank-client';
import { exponential } from '../src/worker.js';
import { Proxy } from './proxy.js';
import { until } from './servers.js';
import { CLIENTS, close, flushAll, ioredis, nodeRedis, onEachNode, url } from './support.js';

let admin;
before(async () => {
  admin = await ioredis();
});
beforeEach(flushAll);
after(() => close(admin));

/** How many clients wait for an item, on any server. */
async function waiting() {
  const shown = [await admin.info('clients'), ...(await onEachNode((node) => node.info('clients')))];
  return shown.reduce((sum, text) => sum + Number(/blocked_clients:(\d+)/.exec(text)[1]), 0);
}

const names = { data: '{jobs}:data' };
const quiet = { signals: false, log: () => {} };

for (const [name, connect] of Object.entries(CLIENTS)) {
  test(`a worker: ${name}`, async () => {
    const client = await connect();
    try {
      const jobs = new Schedule(client, '{jobs}', names);
      for (let n = 0; n < 20; n++) await jobs.add(`job${n}`, { after: 0, data: { n } });
      const seen = [];
      let [running, most] = [0, 0];
      const worker = new Worker(jobs, async (job) => {
        most = Math.max(most, ++running);
        await sleep(10);
        running--;
        seen.push(job);
        if (seen.length === 20) worker.stop();
      }, { ...quiet, concurrency: 4 });
      await worker.run();
      assert.deepEqual(seen.map(({ item, data }) => [item, data.n]).sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true })), Array.from({ length: 20 }, (_, n) => [`job${n}`, n]));
      assert.ok(most > 1 && most <= 4, `${most}`);
      const [{ attempt, due, token, lost, signal }] = seen;
      assert.ok(attempt === 1 && due instanceof Date && token > 0 && !lost && !signal.aborted);
      assert.equal((await jobs.info()).items, 0);
      assert.deepEqual(await jobs.pop(), []);
      // A worker does not stall the calls of its client.
      const idle = new Worker(jobs, () => {}, quiet);
      const ended = idle.run();
      await until(async () => (await waiting()) > 0, 'a claim that waits');
      await jobs.info();
      await idle.stop();
      await ended;
    } finally {
      await close(client);
    }
  });
}

async function withJobs(act) {
  const client = await nodeRedis();
  try {
    await act(new Schedule(client, '{jobs}', names), client);
  } finally {
    close(client);
  }
}

test('a connection that breaks', async () => {
  const proxy = await new Proxy(new URL(url).port).start();
  for (const connect of [() => nodeRedis({ url: proxy.url, socket: { reconnectStrategy: () => 50 } }), () => ioredis({ url: proxy.url, retryStrategy: () => 50 })]) {
    await flushAll();
    const client = await connect();
    const jobs = new Schedule(client, '{jobs}', names);
    const direct = new Schedule(admin, '{jobs}', names);
    const done = new Set();
    const worker = new Worker(jobs, async ({ item }) => {
      await sleep(20);
      done.add(item);
    }, { ...quiet, concurrency: 3, lease: 500 });
    const ended = worker.run();
    for (let at = 0; at < 30; at++) {
      await direct.add(`job${at}`, { after: 0, data: at });
      if (at % 3 === 0) proxy.breakAt(['DUE.ACK', 'DUE.CLAIM', 'DUE.MOVE'][(at / 3) % 3], ['after', 'before', 'middle'][Math.floor(at / 9) % 3]);
      if (at % 10 === 9) {
        await proxy.down();
        await sleep(50);
        await proxy.up();
      }
      await sleep(30);
    }
    proxy.disarm();
    await until(async () => done.size === 30 && (await direct.info()).items === 0, 'all items');
    await worker.stop();
    await ended;
    close(client);
  }
  await proxy.stop();
});

test('mistakes are errors at once', async () => {
  await withJobs(async (jobs, client) => {
    const wrong = [{ concurrency: 0 }, { concurency: 2 }, { lease: '30' }, { lease: 5 }, { attempts: 3 }, { dead: 'x' }];
    for (const options of wrong) assert.throws(() => new Worker(jobs, () => {}, options), TypeError, JSON.stringify(options));
    assert.throws(() => new Worker(jobs), TypeError);
    await client.set('text', 'x');
    await assert.rejects(new Worker(new Schedule(client, 'text'), () => {}, quiet).run(), { code: 'WRONGTYPE' });
  });
  for (const [attempt, most] of [[1, 1000], [2, 2000], [5, 16_000], [99, 3_600_000]]) {
    const wait = exponential(attempt);
    assert.ok(wait >= most / 2 && wait <= most, `${attempt}: ${wait}`);
  }
});
