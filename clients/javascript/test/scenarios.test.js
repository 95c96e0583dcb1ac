// What both workers must do: clients/scenarios/worker.json, which the Python client's tests read too.

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';

import { Dead, LeaseLost, NotPermitted, RateLimiter, Retry, Schedule, Worker, WrongPayload, WrongType } from 'redis-rank-client';
import { Proxy } from './proxy.js';
import { startServer, until, withNode } from './servers.js';
import { close, ioredis, nodeRedis, url } from './support.js';

const { scenarios } = JSON.parse(readFileSync(fileURLToPath(new URL('../../scenarios/worker.json', import.meta.url)), 'utf8'));
const wanted = new Set(scenarios.filter(({ in: languages = ['javascript'] }) => languages.includes('javascript')).map(({ name }) => name));
const tested = new Set();

const KEY = '{jobs}';
const DATA = '{jobs}:data';
const DEAD = '{jobs}:dead';
const options = { data: DATA, dead: DEAD };

let admin;
let direct;
before(async () => {
  admin = await ioredis();
  direct = new Schedule(admin, KEY, options);
});
beforeEach(() => admin.flushall());
after(() => close(admin));

const LIBRARIES = {
  'node-redis': (to = url) => nodeRedis({ url: to, socket: { reconnectStrategy: () => 20 }, commandOptions: {} }),
  ioredis: (to = url) => ioredis({ url: to, retryStrategy: () => 20 }),
};

/** What a worker does, noted. */
class Watched {
  jobs = [];
  errors = [];
  events = [];

  constructor(client, handle, { schedule = options, ...more } = {}) {
    this.client = client;
    this.schedule = new Schedule(client, KEY, schedule);
    this.worker = new Worker(this.schedule, (job) => {
      this.jobs.push(job);
      return handle(job, this.jobs.length);
    }, { signals: false, ...('log' in more ? {} : { log: (error, job) => this.errors.push([error, job]) }), ...more });
  }

  start() {
    this.ended = this.worker.run();
    this.ended.catch(() => {});
    return this;
  }

  get lost() {
    return this.jobs.filter(({ lost }) => lost).map(({ item, attempt }) => [item, attempt]);
  }

  async stop() {
    await this.worker.stop();
    await this.ended;
  }
}

const gone = async () => (await direct.info()).items === 0 && (await admin.hlen(DATA)) === 0;

/** Whether a command of the server has an option. */
const has = async (command, word) => JSON.stringify(await admin.call('COMMAND', 'DOCS', command)).includes(`"${word}"`);

/** How often the server has run a command. */
const calls = async (command) => Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await admin.info('commandstats'))?.[1] ?? 0);

/** A test of a scenario with both libraries. `act` gets a function that makes a worker, and one that makes a client. */
function scenario(name, act, needs = null) {
  assert.ok(wanted.has(name), `clients/scenarios/worker.json has no scenario ${name}`);
  tested.add(name);
  // Without a client, it is about processes of their own.
  const libraries = Object.entries(LIBRARIES).slice(0, act.length === 0 ? 1 : undefined);
  for (const [library, connect] of libraries) {
    test(`${name}: ${library}`, async (context) => {
      if (needs && !(await has(...needs))) return context.skip(`the module has no ${needs.join(' … ')}`);
      const clients = [];
      const workers = [];
      const connected = async (to) => {
        const client = await connect(to);
        clients.push(client);
        return client;
      };
      const watch = async (handle, more, to) => {
        const watched = new Watched(await connected(to), handle, more);
        workers.push(watched);
        return watched;
      };
      try {
        await act(watch, connected);
      } finally {
        for (const { worker } of workers) await worker.stop();
        for (const client of clients) {
          try {
            close(client);
          } catch {
            // The test has closed it.
          }
        }
      }
    });
  }
}

const never = () => new Promise(() => {});
const aborted = ({ signal }) => new Promise((done) => (signal.aborted ? done() : signal.addEventListener('abort', done)));

scenario('done', async (watch) => {
  await direct.add('a', { after: 0, data: { to: 'ann' } });
  const watched = (await watch(() => {})).start();
  await until(gone, 'the end');
  const [{ item, data, attempt, due, token, lost, signal }] = watched.jobs;
  assert.deepEqual([watched.jobs.length, item, data, attempt, lost, signal.aborted], [1, 'a', { to: 'ann' }, 1, false, false]);
  assert.ok(due instanceof Date && Number.isSafeInteger(token) && token > 0);
});

scenario('fails and is retried', async (watch) => {
  await direct.add('a', { after: 0, data: 1 });
  const times = [];
  const watched = (await watch(({ attempt }) => {
    times.push(Date.now());
    if (attempt === 1) throw new RangeError('no');
  }, { backoff: () => 50 })).start();
  await until(gone, 'the end');
  assert.deepEqual(watched.jobs.map(({ attempt }) => attempt), [1, 2]);
  assert.ok(times[1] - times[0] >= 50);
  assert.deepEqual(watched.errors.map(([error, job]) => [error.name, job.item]), [['RangeError', 'a']]);
});

scenario('fails too often', async (watch) => {
  await direct.add('a', { after: 0, data: 'payload' });
  const watched = (await watch(() => Promise.reject(new Error('no')), { attempts: 3, dead: DEAD, backoff: () => 0 })).start();
  await until(async () => (await direct.dead.list()).length === 1, 'the dead');
  assert.equal(watched.jobs.length, 3);
  assert.deepEqual((await direct.dead.list()).map(({ item, data, claimed }) => [item, data, claimed]), [['a', 'payload', false]]);
  assert.deepEqual(await direct.list(), []);
});

scenario('wrong kind of handler', async (watch) => {
  await direct.add('a', { after: 0 });
  for (const handle of [undefined, 'handle', {}, function* () {}, async function* () {}]) {
    await assert.rejects(watch(handle).then(({ schedule }) => new Worker(schedule, handle)), TypeError);
  }
  assert.equal((await direct.get('a')).claimed, false);
});

scenario('renewed while the handler runs', async (watch) => {
  await direct.add('a', { after: 0 });
  await admin.config('RESETSTAT');
  const claimed = [];
  const watched = (await watch(async () => {
    // Longer than the lease.
    await until(async () => (await calls('due.move')) >= 4, 'renewals');
    claimed.push(...(await direct.claim()));
  }, { lease: 2000 })).start();
  await until(gone, 'the end');
  assert.deepEqual([watched.jobs.length, claimed, watched.lost], [1, [], []]);
});

/** Runs a handler while `separate` cuts it off, until it is told that its lease is lost. */
async function isLost(watch, separate, rejoin) {
  const proxy = await new Proxy(new URL(url).port).start();
  try {
    await direct.add('a', { after: 0 });
    let isBack = false;
    let release;
    const released = new Promise((done) => (release = done));
    const states = [];
    const watched = (await watch(async (job) => {
      await separate(proxy);
      await aborted(job);
      states.push(isBack, job.lost, job.signal.reason instanceof LeaseLost);
      await released;
    }, { lease: 1500 }, proxy.url)).start();
    await until(() => Promise.resolve(states.length > 0), 'the handler to be told');
    isBack = true;
    await rejoin(proxy);
    release();
    await watched.stop();
    assert.deepEqual(states, [false, true, true]);
    const [claim] = await until(async () => {
      const claims = await direct.claim();
      return claims.length > 0 && claims;
    }, 'the item');
    return { claim, watched };
  } finally {
    proxy.release();
    await proxy.stop();
  }
}

const hole = [(proxy) => proxy.blackHole(), (proxy) => proxy.release()];
const cut = [(proxy) => proxy.down(), (proxy) => proxy.up()];
for (const [name, [separate, rejoin]] of Object.entries({ 'lost in a black hole': hole, 'lost in a cut': cut })) {
  scenario(name, async (watch) => {
    const { claim } = await isLost(watch, separate, rejoin);
    assert.deepEqual([claim.item, claim.attempt, await direct.ack(claim)], ['a', 2, 1]);
  });
}

scenario('late renewal', async (watch) => {
  await admin.config('RESETSTAT');
  const { claim, watched } = await isLost(watch, (proxy) => proxy.holdBack('requests'), async (proxy) => {
    proxy.release();
    await until(async () => (await calls('due.move')) === 1, 'the renewal');
    // It has succeeded.
    assert.equal((await direct.get('a')).claimed, true);
    assert.deepEqual(await direct.claim(), []);
  });
  assert.deepEqual([claim.attempt, watched.lost, await calls('due.move'), await calls('due.ack')], [2, [['a', 1]], 1, 0]);
});

scenario('taken by somebody else', async (watch) => {
  await direct.add('a', { after: 0 });
  const watched = (await watch(async (job) => {
    if (job.item === 'b') return;
    await admin.zrem(KEY, 'a');
    await aborted(job);
  }, { lease: 1500 })).start();
  await until(() => Promise.resolve(watched.lost.length === 1), 'the loss');
  await direct.add('b', { after: 0 });
  await until(gone, 'the end');
  assert.deepEqual([watched.lost, watched.jobs.map(({ item }) => item)], [[['a', 1]], ['a', 'b']]);
});

/** A client of a user who may run these commands. */
async function asUser(connect, ...commands) {
  await admin.call('ACL', 'SETUSER', 'someone', 'reset', 'on', '>x', '~*', '+@connection', ...commands.map((command) => `+${command}`));
  return connect(`redis://someone:x@127.0.0.1:${new URL(url).port}`);
}

scenario('may claim but not acknowledge', async (_watch, connect) => {
  for (const item of ['a', 'b', 'c']) await direct.add(item, { after: 0 });
  const watched = new Watched(await asUser(connect, 'due.claim', 'due.move'), () => {}).start();
  await assert.rejects(watched.ended, NotPermitted);
  assert.deepEqual([watched.jobs.length, (await direct.info()).items], [1, 3]);
});

scenario('may not claim', async (watch, connect) => {
  await assert.rejects(new Watched(await asUser(connect, 'due.ack'), () => {}).start().ended, NotPermitted);
  await admin.set(KEY, 'x');
  await assert.rejects((await watch(() => {})).start().ended, (error) => error instanceof WrongType && error.message.includes(KEY));
});

scenario('stop waits for handlers', async (watch) => {
  for (const item of ['a', 'b', 'c', 'd']) await direct.add(item, { after: 0 });
  let release;
  const released = new Promise((done) => (release = done));
  const watched = (await watch(() => released, { concurrency: 2 })).start();
  await until(() => Promise.resolve(watched.jobs.length === 2), 'two handlers');
  const stopped = watched.worker.stop();
  release();
  await stopped;
  await watched.ended;
  assert.deepEqual([watched.jobs.length, (await direct.list()).map(({ item, claimed }) => [item, claimed])], [2, [['c', false], ['d', false]]]);
});

scenario('stop has a grace time', async (watch) => {
  await direct.add('a', { after: 0 });
  const watched = (await watch(never, { grace: 300, lease: 4000 })).start();
  await until(() => Promise.resolve(watched.jobs.length === 1), 'the handler');
  await watched.stop();
  assert.deepEqual([watched.lost, await direct.claim()], [[['a', 1]], []]);
  assert.equal((await direct.claim({ block: '1m' }))[0].attempt, 2);
});

scenario('stop with a vanished host', async (watch) => {
  const proxy = await new Proxy(new URL(url).port).start();
  const watched = (await watch(() => {}, {}, proxy.url)).start();
  await until(async () => (await admin.info('clients')).includes('blocked_clients:1'), 'the worker to wait');
  proxy.blackHole();
  await watched.stop();
  proxy.release();
  await proxy.stop();
});

scenario('stop with a vanished host and a running handler', async (watch) => {
  const proxy = await new Proxy(new URL(url).port).start();
  await direct.add('a', { after: 0 });
  let release;
  const released = new Promise((done) => (release = done));
  const watched = (await watch(() => released, { lease: 1000, grace: 500 }, proxy.url)).start();
  await until(() => Promise.resolve(watched.jobs.length === 1), 'the handler');
  proxy.blackHole();
  const stopped = watched.worker.stop();
  release();
  await stopped;
  await watched.ended;
  proxy.release();
  await proxy.stop();
});

scenario('client is closed', async (watch) => {
  const watched = (await watch(() => {})).start();
  await until(async () => (await admin.info('clients')).includes('blocked_clients:1'), 'the worker to wait');
  close(watched.client);
  await watched.ended;
});

scenario('runs again after stop', async (watch) => {
  const watched = (await watch(() => {})).start();
  await watched.stop();
  await direct.add('a', { after: 0 });
  watched.start();
  await until(gone, 'the second run');
});

scenario('runs once at a time', async (watch) => {
  const watched = (await watch(() => {})).start();
  await assert.rejects(watched.worker.run(), /running/);
  await watched.stop();
});

scenario('stop before run', async (watch) => {
  await direct.add('a', { after: 0 });
  const watched = await watch(() => {});
  await watched.worker.stop();
  watched.start();
  await until(gone, 'the item');
});

scenario('server goes away and comes back', async (_watch, connect) => {
  const server = await startServer({ appendonly: 'yes', appendfsync: 'always' });
  try {
    const items = Array.from({ length: 40 }, (_, at) => `job${at}`);
    await withNode(server.port, (node) => Promise.all(items.map((item) => node.call('DUE.ADD', KEY, 'IN', '0', item))));
    const done = new Set();
    let isKilled = false;
    const watched = new Watched(await connect(server.url), async ({ item }) => {
      await sleep(5);
      done.add(item);
      if (done.size < 10 || isKilled) return;
      isKilled = true;
      await server.kill();
      await sleep(100);
      await server.start();
    }, { lease: 1000, concurrency: 3 }).start();
    await until(async () => done.size === 40 && (await withNode(server.port, (node) => node.zcard(KEY))) === 0, 'all items');
    await watched.stop();
    assert.ok(isKilled);
  } finally {
    await server.stop();
  }
});

const program = fileURLToPath(new URL('work.js', import.meta.url));
const lines = async (key) => (await admin.lrange(key, 0, -1)).map((line) => JSON.parse(line));

async function startProcess(...words) {
  const child = fork(program, [url, ...words.map(String)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  await new Promise((ready) => child.once('message', ready));
  child.ended = new Promise((done) => child.once('exit', (code, signal) => done(code ?? signal)));
  return child;
}

scenario('signal ends it', async () => {
  for (let n = 0; n < 40; n++) await direct.add(`job${n}`, { after: 0, data: { n } });
  for (const signal of ['SIGTERM', 'SIGINT']) {
    const begun = await admin.llen('begun');
    const child = await startProcess(30_000, 100, 5);
    await until(async () => (await admin.llen('begun')) > begun + 3, 'work');
    child.kill(signal);
    assert.equal(await child.ended, 0);
    // Nothing is held, what began has ended, and the program's own listener was called and is still there.
    assert.equal((await direct.info()).claimed, 0);
    assert.equal(await admin.llen('begun'), await admin.llen('ended'));
    assert.deepEqual(await lines('signals'), [[signal, 1]]);
    await admin.del('signals');
  }
});

scenario('embedded it leaves signals alone', async () => {
  await direct.add('job', { after: 0, data: { n: 0 } });
  const child = await startProcess(30_000, 0, 1, 'embedded');
  await until(async () => (await admin.llen('ended')) === 1, 'work');
  child.kill('SIGTERM');
  assert.equal(await child.ended, 0);
  assert.deepEqual(await lines('signals'), [['SIGTERM', 1]]);
});

scenario('killed', async () => {
  const lease = 1000;
  const total = 400;
  const children = await Promise.all(Array.from({ length: 3 }, () => startProcess(lease, 30, 8)));
  const killed = new Set();
  const feeding = (async () => {
    for (let n = 0; n < total; n++) {
      await direct.add(`job${n}`, { after: n % 7, data: { n } });
      if (n % 10 === 9) await sleep(20);
    }
  })();
  for (let round = 0; round < 5; round++) {
    await sleep(250);
    const victim = children.shift();
    killed.add(victim.pid);
    victim.kill('SIGKILL');
    await victim.ended;
    children.push(await startProcess(lease, 30, 8));
  }
  await feeding;
  await until(gone, 'all jobs');
  for (const child of children) child.kill('SIGTERM');
  assert.deepEqual(await Promise.all(children.map(({ ended }) => ended)), [0, 0, 0]);

  const done = await lines('ended');
  assert.deepEqual(new Set(done.map(([item]) => item)), new Set(Array.from({ length: total }, (_, n) => `job${n}`)));
  for (const [item, data] of done) assert.equal(item, `job${data.n}`);
  // What a killed worker held began again, and nothing else.
  const begun = await lines('begun');
  const again = begun.filter(([, attempt]) => attempt > 1);
  assert.ok(again.length > 0);
  for (const [item, attempt] of again) {
    const first = begun.find(([same, earlier]) => same === item && earlier === attempt - 1);
    // It may have been killed between its claim and its first line.
    if (!first) continue;
    assert.ok(killed.has(first[2]), `${item} was done twice, but ${first[2]} was not killed`);
  }
});

scenario('handler says retry', async (watch) => {
  await direct.add('a', { after: 0, data: 'payload' });
  const times = [];
  const watched = (await watch(({ attempt }) => {
    times.push(Date.now());
    if (attempt === 1) throw new Retry({ after: 200 });
  })).start();
  await until(gone, 'the end');
  assert.deepEqual(watched.jobs.map(({ attempt, data }) => [attempt, data]), [[1, 'payload'], [2, 'payload']]);
  assert.ok(times[1] - times[0] >= 200);
  assert.deepEqual(watched.errors, []);
});

scenario('handler says dead', async (watch) => {
  await direct.add('a', { after: 0, data: 'payload' });
  const watched = (await watch(() => {
    throw new Dead('no such address');
  }, { attempts: 5, dead: DEAD })).start();
  await until(async () => (await direct.dead.list()).length === 1 && (await direct.info()).items === 0, 'the dead');
  assert.equal(watched.jobs.length, 1);
  assert.deepEqual([(await direct.dead.get('a')).data, await direct.get('a')], ['payload', null]);
  assert.deepEqual(watched.errors.map(([error]) => error.message), ['no such address']);
});

scenario('dead without a dead schedule', async (watch) => {
  await direct.add('a', { after: 0 });
  const watched = (await watch(() => {
    throw new Dead('no');
  }, { schedule: { data: DATA } })).start();
  await assert.rejects(watched.ended, /dead/);
  assert.equal((await direct.get('a')).item, 'a');
});

scenario('time limit', async (watch) => {
  await direct.add('a', { after: 0 });
  let release;
  const released = new Promise((done) => (release = done));
  const watched = (await watch(({ attempt }) => (attempt === 1 ? released : undefined), { timeLimit: 200, backoff: () => 0 })).start();
  await until(gone, 'the second attempt');
  assert.deepEqual([watched.jobs.map(({ attempt }) => attempt), watched.lost], [[1, 2], [['a', 1]]]);
  assert.equal(watched.jobs[0].signal.aborted, true);
  const acknowledged = await calls('due.ack');
  release();
  await sleep(20);
  await watched.stop();
  assert.equal(await calls('due.ack'), acknowledged);
});

scenario('every', async (watch) => {
  await direct.add('a', { after: 0, data: 'payload' });
  const watched = (await watch(() => {}, { every: '1s' })).start();
  await until(() => Promise.resolve(watched.jobs.length >= 2), 'the second time');
  await watched.stop();
  for (const { attempt, data } of watched.jobs) assert.deepEqual([attempt, data], [1, 'payload']);
  assert.equal(watched.jobs[1].due.getTime() % 1000, 0);
  const { claimed, dueMs, data } = await direct.get('a');
  assert.deepEqual([claimed, dueMs % 1000, data], [false, 0, 'payload']);
}, ['DUE.ACK', 'AT']);

scenario('rate', async (watch) => {
  for (const item of 'abcde') await direct.add(item, { after: 0 });
  const watched = (await watch(() => {}, { rate: ['{jobs}:limit', '2/1h'], concurrency: 5 })).start();
  await until(async () => (await direct.info()).items === 3, 'two items');
  await watched.stop();
  assert.deepEqual([watched.jobs.length, (await direct.info()).claimed], [2, 0]);
  assert.equal((await new RateLimiter(admin, '2/1h').peek('{jobs}:limit')).remaining, 0);
}, ['DUE.CLAIM', 'RATE']);

scenario('observed', async (watch) => {
  const ends = {
    done: () => {}, failed: () => Promise.reject(new Error('no')),
    retry() {
      throw new Retry({ after: '1h' });
    },
    dead() {
      throw new Dead('no');
    },
    async lost(job) {
      await admin.zrem(KEY, 'lost');
      await aborted(job);
    },
  };
  for (const item of Object.keys(ends)) await direct.add(item, { after: 0 });
  const events = [];
  const observe = (event) => {
    events.push(event);
    throw new Error('who only watches harms nothing');
  };
  const watched = (await watch((job) => ends[job.item](job), { observe, attempts: 2, dead: DEAD, backoff: () => 3_600_000, lease: 1500, concurrency: 5 })).start();
  await until(() => Promise.resolve(events.length === 5), 'all events');
  await watched.stop();
  assert.deepEqual(events.map(({ kind, item, attempt }) => [kind, item, attempt]).sort(), Object.keys(ends).map((kind) => [kind, kind, 1]).sort());
  assert.ok(events.every(({ ms }) => ms >= 0) && events.find(({ kind }) => kind === 'lost').ms > 0);
  assert.equal((await direct.info()).items, 2);
});

scenario('payloads are JSON', async (watch) => {
  await direct.add('a', { after: 0, data: { to: 'ann', n: [1, null] } });
  assert.equal(await admin.hget(DATA, 'a'), '{"to":"ann","n":[1,null]}');
  const watched = (await watch(() => {}, { attempts: 2, dead: DEAD, backoff: () => 0 })).start();
  await until(gone, 'the end');
  assert.deepEqual(watched.jobs[0].data, { to: 'ann', n: [1, null] });
  await admin.call('DUE.ADD', KEY, 'DATA', DATA, 'no JSON', 'IN', '0', 'b');
  await until(async () => (await direct.dead.list()).length === 1, 'the dead');
  assert.equal(watched.jobs.length, 1);
  assert.ok(watched.errors.every(([error, { item }]) => error instanceof WrongPayload && item === 'b'));
});

scenario('payloads as text', async (watch) => {
  const texts = new Schedule(admin, KEY, { data: DATA, payload: 'text' });
  await texts.add('a', { after: 0, data: 'no "JSON"' });
  assert.equal(await admin.hget(DATA, 'a'), 'no "JSON"');
  const watched = (await watch(() => {}, { schedule: { data: DATA, payload: 'text' } })).start();
  await until(gone, 'the end');
  assert.equal(watched.jobs[0].data, 'no "JSON"');
});

scenario('logs show no payload', async (watch) => {
  const logged = [];
  const { error } = console;
  console.error = (...words) => logged.push(words.map((word) => (typeof word === 'string' ? word : inspect(word, { depth: 9 }))).join(' '));
  try {
    await direct.add('bad', { after: 0, data: 'secret' });
    await direct.add('lost', { after: 0, data: 'secret' });
    await admin.call('DUE.ADD', KEY, 'DATA', DATA, '{secret', 'IN', '0', 'wrong');
    await watch(async (job) => {
      if (job.item === 'bad') throw new Error('no');
      await admin.zrem(KEY, 'lost');
      await aborted(job);
    }, { log: undefined, attempts: 2, dead: DEAD, backoff: () => 0, lease: 1500 }).then((watched) => watched.start());
    await until(async () => (await direct.dead.list()).length === 2 && (await direct.info()).items === 0, 'all ends');
    await until(() => Promise.resolve(['bad', 'lost', 'wrong'].every((item) => logged.some((line) => line.includes(item)))), 'the log');
    assert.ok(!logged.join('\n').includes('secret'), logged.join('\n'));
  } finally {
    console.error = error;
  }
});

scenario('revived', async (watch) => {
  await direct.add('a', { after: 0, data: 'payload' });
  const watched = (await watch(({ attempt }, time) => {
    if (time === 1) throw new Dead('no');
    assert.equal(attempt, 1);
  }, { attempts: 5, dead: DEAD })).start();
  await until(async () => (await direct.dead.list()).length === 1 && (await direct.info()).items === 0, 'the dead');
  assert.deepEqual([await direct.revive('b'), await direct.info().then(({ items }) => items)], [false, 0]);
  assert.equal(await direct.revive('a'), true);
  await until(gone, 'the end');
  assert.deepEqual([watched.jobs.map(({ attempt, data }) => [attempt, data]), await direct.dead.list()], [[[1, 'payload'], [1, 'payload']], []]);

  // A payload is that of a live item, too.
  await direct.add('a', { after: '1h', data: 'live' });
  await admin.zadd(DEAD, 1, 'a', 2, 'c');
  await admin.hset(DATA, 'c', '"dead"');
  assert.deepEqual([await direct.dead.discard('a'), await direct.dead.discard('c'), await direct.dead.discard('c')], [true, true, false]);
  assert.deepEqual(await admin.hgetall(DATA), { a: '"live"' });
});

test('every scenario has a test', () => assert.deepEqual([...wanted].filter((name) => !tested.has(name)), []));
