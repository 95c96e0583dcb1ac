// Workers: every item is done at least once, whatever ends.

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { LeaseLost, Schedule, Worker } from 'redis-rank-client';
import { exponential } from '../src/worker.js';
import { Proxy } from './proxy.js';
import { until } from './servers.js';
import { CLIENTS, close, flushAll, ioredis, nodeRedis, url } from './support.js';

let admin;
before(async () => {
  admin = await ioredis();
});
beforeEach(flushAll);
after(() => close(admin));

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
      const blocked = async () => (await admin.call('CLIENT', 'LIST')).split('\n').find((line) => / flags=b.* cmd=due\.claim /.test(line));
      const waiting = await until(blocked, 'a claim that waits');
      const own = client.call ? client.call('CLIENT', 'ID') : client.sendCommand(['CLIENT', 'ID']);
      assert.ok(!waiting.startsWith(`id=${await own} `));
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

test('retries with back-off, then the dead', () => withJobs(async (jobs, client) => {
  await jobs.add('bad', { after: 0, data: 'payload' });
  await jobs.add('good', { after: 0 });
  const [runs, errors] = [[], []];
  const worker = new Worker(jobs, ({ item, attempt }) => {
    runs.push([item, attempt, Date.now()]);
    if (item === 'bad') throw new RangeError('no');
  }, { ...quiet, attempts: 3, dead: '{jobs}:dead', backoff: (attempt) => attempt * 150, log: (error, job) => errors.push([error.name, job?.item]) });
  const ended = worker.run();
  const dead = new Schedule(client, '{jobs}:dead', names);
  await until(async () => (await dead.info()).items === 1, 'the dead');
  await worker.stop();
  await ended;
  const bad = runs.filter(([item]) => item === 'bad');
  assert.deepEqual(bad.map(([, attempt]) => attempt), [1, 2, 3]);
  for (const at of [1, 2]) assert.ok(bad[at][2] >= bad[at - 1][2] + at * 150, 'too early');
  assert.deepEqual(errors, Array.from({ length: 3 }, () => ['RangeError', 'bad']));
  assert.deepEqual((await dead.pop()).map(({ item, data }) => [item, data]), [['bad', 'payload']]);
  assert.equal((await jobs.info()).items, 0);
}));

test('a long handler keeps its lease, and one that lost it is told', () => withJobs(async (jobs) => {
  await jobs.add('long', { after: 0 });
  const other = new Schedule(admin, '{jobs}', names);
  const jobsSeen = [];
  const worker = new Worker(jobs, async (job) => {
    jobsSeen.push(job);
    for (let at = 0; at < 12; at++) {
      await sleep(100);
      assert.deepEqual(await other.claim(), []);
    }
    if (jobsSeen.length === 1) worker.stop();
  }, { ...quiet, lease: 300 });
  await worker.run();
  assert.equal(jobsSeen[0].lost, false);
  assert.equal((await jobs.info()).items, 0);

  await jobs.add('stolen', { after: 0 });
  const loser = new Worker(jobs, async (job) => {
    jobsSeen.push(job);
    // An operator starts it over.
    await admin.zrem('{jobs}', 'stolen');
    await new Promise((gone) => job.signal.addEventListener('abort', gone));
    loser.stop();
  }, { ...quiet, lease: 300 });
  await loser.run();
  assert.ok(jobsSeen.at(-1).lost && jobsSeen.at(-1).signal.reason instanceof LeaseLost);
}));

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

const program = fileURLToPath(new URL('work.js', import.meta.url));
const lines = async (key) => (await admin.lrange(key, 0, -1)).map((line) => JSON.parse(line));

async function startWorker(lease, pause, concurrency) {
  const child = fork(program, [url, lease, pause, concurrency], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  await new Promise((ready) => child.once('message', ready));
  return child;
}

const ended = (child) => new Promise((done) => (child.exitCode ?? child.signalCode) === null ? child.once('exit', (code, signal) => done(code ?? signal)) : done(child.exitCode ?? child.signalCode));

test('kill -9 under load: nothing is lost, and what was held comes back at the end of its lease', async () => {
  const lease = 1000;
  const jobs = new Schedule(admin, '{jobs}', names);
  const total = 400;
  const workers = await Promise.all(Array.from({ length: 3 }, () => startWorker(lease, 30, 8)));
  const killed = new Set();
  const feeding = (async () => {
    for (let n = 0; n < total; n++) {
      await jobs.add(`job${n}`, { after: n % 7, data: { n } });
      if (n % 10 === 9) await sleep(20);
    }
  })();
  for (let round = 0; round < 5; round++) {
    await sleep(250);
    const victim = workers.shift();
    killed.add(victim.pid);
    victim.kill('SIGKILL');
    await ended(victim);
    workers.push(await startWorker(lease, 30, 8));
  }
  await feeding;
  await until(async () => (await jobs.info()).items === 0, 'all jobs');
  for (const worker of workers) worker.kill('SIGTERM');
  assert.deepEqual(await Promise.all(workers.map(ended)), [0, 0, 0]);

  const done = await lines('ended');
  assert.deepEqual(new Set(done.map(([item]) => item)), new Set(Array.from({ length: total }, (_, n) => `job${n}`)));
  for (const [item, data] of done) assert.equal(item, `job${data.n}`);
  // What a killed worker held began again, and nothing else.
  const begun = await lines('begun');
  const again = begun.filter(([, attempt]) => attempt > 1);
  assert.ok(again.length > 0);
  for (const [item, attempt] of again) {
    const before = begun.find(([same, earlier]) => same === item && earlier === attempt - 1);
    // It may have been killed between its claim and its first line.
    if (!before) continue;
    assert.ok(killed.has(before[2]), `${item} was done twice, but ${before[2]} was not killed`);
  }
  assert.deepEqual(await admin.hlen('{jobs}:data'), 0);
});

test('a clean stop loses nothing and does nothing twice', async () => {
  const jobs = new Schedule(admin, '{jobs}', names);
  for (let n = 0; n < 40; n++) await jobs.add(`job${n}`, { after: 0, data: { n } });
  for (const signal of ['SIGTERM', 'SIGINT']) {
    const before = await admin.llen('begun');
    const worker = await startWorker(30_000, 100, 5);
    await until(async () => (await admin.llen('begun')) > before + 3, 'work');
    worker.kill(signal);
    assert.equal(await ended(worker), 0);
    // Nothing is held, and what began has ended.
    assert.equal((await jobs.info()).claimed, 0);
    assert.equal(await admin.llen('begun'), await admin.llen('ended'));
  }
  const last = await startWorker(30_000, 1, 20);
  await until(async () => (await jobs.info()).items === 0, 'all jobs');
  last.kill('SIGTERM');
  await ended(last);
  assert.deepEqual((await lines('ended')).map(([item]) => item).sort(), Array.from({ length: 40 }, (_, n) => `job${n}`).sort());
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
