// Limiters and leases: the same values from every client.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { Lease, LeaseDenied, LeaseLost, OutcomeUnknown, RateLimited, RateLimiter } from 'redis-rank-client';
import { Proxy } from './proxy.js';
import { until } from './servers.js';
import { CLIENTS, close, flushAll, ioredis, nodeRedis, url } from './support.js';

const now = 1_700_000_000_000;
beforeEach(flushAll);

for (const [name, connect] of Object.entries(CLIENTS)) {
  test(`limiters and leases: ${name}`, async () => {
    const client = await connect();
    try {
      const limiter = new RateLimiter(client, ['2/1s', '3/1m'], { prefix: '{limit}:' });
      const verdicts = [];
      for (let second = 0; second < 4; second++) verdicts.push(await limiter.check('ann', { now: now + second * 1000 }));
      assert.deepEqual(
        verdicts.map(({ allowed, remaining, rule, retryAfterMs }) => [allowed, remaining, rule, retryAfterMs]),
        [[true, 1, 1, 0], [true, 1, 1, 0], [true, 0, 2, 0], [false, 0, 2, 57_000]],
      );
      assert.deepEqual(verdicts[0].rules.map(({ limit, remaining }) => [limit, remaining]), [[2, 1], [3, 2]]);
      assert.equal((await limiter.peek('ann', { now: now + 3000 })).remaining, 0);
      assert.equal((await limiter.refund('ann', { now: now + 3000 })).remaining, 1);
      const all = await limiter.checkAll([['ann', '3/1m'], ['all', '9/1m']], { now: now + 3000 });
      assert.deepEqual(all.rules.map(({ remaining }) => remaining), [0, 8]);
      assert.deepEqual([await limiter.reset('ann'), await limiter.reset('ann')], [true, false]);

      const once = new RateLimiter(client, '1/1h');
      await once.enforce('bob');
      await assert.rejects(once.enforce('bob'), (error) => error instanceof RateLimited && error.verdict.retryAfterMs > 0);

      const lease = new Lease(client, 'place', { limit: 1, lease: '10s' });
      const token = await lease.run(async (held) => {
        assert.equal(await held.renew(), true);
        await assert.rejects(new Lease(client, 'place').hold(), LeaseDenied);
        return held.token;
      });
      assert.ok(token > 0);
      assert.deepEqual(await lease.held(), { held: 0, nextEndMs: null });
      await assert.rejects(lease.run((held) => held.release(held.token)), LeaseLost);

      const shared = new Lease(client, 'shared', { limit: 3 });
      const tokens = await Promise.all([1, 2, 3].map(() => shared.run(async (held) => {
        await sleep(50);
        assert.equal(await held.renew(), true);
        return held.token;
      })));
      assert.deepEqual([new Set(tokens).size, (await shared.held()).held], [3, 0]);
      await assert.rejects(shared.run(() => Promise.reject(new RangeError('work'))), RangeError);
      assert.equal((await shared.held()).held, 0);

      await new Lease(client, 'place', { lease: '200ms' }).acquire();
      assert.ok((await new Lease(client, 'place', { wait: '20s' }).hold()).token > token);
    } finally {
      await close(client);
    }
  });
}

test('while the server is away, a limiter of this process checks, peeks, refunds and resets', async () => {
  const client = await ioredis({ url: 'redis://127.0.0.1:1', retryStrategy: () => 1000 });
  const limiter = new RateLimiter(client, '2/1h', { failing: 'local', timeout: 20 });
  const seen = [];
  for (const act of ['check', 'peek', 'check', 'check', 'peek', 'refund', 'peek', 'check', 'check']) {
    const { allowed, remaining, source } = await limiter[act]('ann');
    seen.push([act, allowed, remaining]);
    assert.equal(source, 'local');
  }
  assert.deepEqual(seen, [
    ['check', true, 1], ['peek', true, 1], ['check', true, 0], ['check', false, 0], ['peek', false, 0], ['refund', true, 1], ['peek', true, 1],
    ['check', true, 0], ['check', false, 0],
  ]);
  assert.deepEqual([await limiter.reset('ann'), await limiter.reset('ann'), await limiter.allows('ann')], [true, false, true]);
  const failing = new RateLimiter(client, '2/1h', { timeout: 20 });
  for (const act of ['check', 'peek', 'refund', 'reset']) await assert.rejects(failing[act]('ann'), OutcomeUnknown);
  close(client);
});

test('a key that was denied is denied without a round trip, until its time has passed', async () => {
  const client = await nodeRedis();
  const calls = async () => Number(/cmdstat_rate.check:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0);
  const asked = async (act) => {
    const before = await calls();
    const verdict = await act();
    return [verdict.allowed, verdict.source, (await calls()) - before];
  };
  const limiter = new RateLimiter(client, ['5/1h', '9/1d'], { rememberDenied: 2 });
  const check = (key, options) => asked(() => limiter.check(key, options));
  assert.deepEqual(await check('ann', { cost: 4 }), [true, 'server', 1]);
  assert.deepEqual(await check('ann', { cost: 2 }), [false, 'server', 1]);
  assert.deepEqual(await check('ann', { cost: 2 }), [false, 'remembered', 0]);
  const { rules, retryAfterMs, remaining, rule } = await limiter.check('ann', { cost: 2 });
  assert.ok(retryAfterMs > 0 && retryAfterMs <= 3_600_000);
  assert.deepEqual([remaining, rule, rules.length, rules[0].limited, rules[1].limited], [1, 1, 2, true, false]);
  // Another cost is another question, and a call with special options always is one.
  assert.deepEqual(await check('ann'), [true, 'server', 1]);
  assert.deepEqual(await check('ann', { cost: 2, force: true }), [false, 'server', 1]);
  // Giving units back forgets it.
  await limiter.refund('ann', { cost: 5 });
  assert.deepEqual(await check('ann', { cost: 2 }), [true, 'server', 1]);
  // It is bounded: the first one is forgotten.
  for (const key of ['x', 'y', 'z']) {
    await limiter.check(key, { cost: 5 });
    assert.deepEqual(await check(key), [false, 'server', 1]);
  }
  assert.deepEqual([await check('x'), await check('z')], [[false, 'server', 1], [false, 'remembered', 0]]);
  // What can never pass has no time.
  assert.deepEqual(await check('never', { cost: 99 }), [false, 'server', 1]);
  assert.deepEqual(await check('never', { cost: 99 }), [false, 'server', 1]);
  const soon = new RateLimiter(client, '1/50ms', { rememberDenied: true, prefix: 'soon:' });
  assert.deepEqual([await soon.allows('ann'), await soon.allows('ann')], [true, false]);
  await until(() => soon.allows('ann'), 'the next unit');
  for (const wrong of [0, -1, 'yes', 1.5]) assert.throws(() => new RateLimiter(client, '5/1h', { rememberDenied: wrong }), TypeError);
  close(client);
});

test('a lease renews itself while its work runs, and waiting for one asks once for each lease', async () => {
  for (const client of [await nodeRedis(), await ioredis()]) {
    await flushAll();
    const ran = async (command) => Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await client.info('commandstats'))?.[1] ?? 0);
    const renewed = await ran('rate.renew');
    const lease = new Lease(client, 'render', { lease: '2s' });
    await lease.run(async ({ signal }) => {
      // Longer than the lease.
      await until(async () => (await ran('rate.renew')) >= renewed + 4, 'renewals');
      assert.deepEqual([(await lease.acquire()).allowed, signal.aborted], [false, false]);
    });
    assert.equal((await lease.held()).held, 0);

    await new Lease(client, 'slow', { lease: '1500ms' }).acquire();
    const before = await ran('rate.acquire');
    await new Lease(client, 'slow', { wait: '1m' }).run(() => {});
    const times = (await ran('rate.acquire')) - before;
    assert.ok(times === 2 || times === 3, `${times}`);

    await new Lease(client, 'taken', { lease: '1m' }).acquire();
    const waiting = new Lease(client, 'taken', { wait: '1m' });
    const controller = new AbortController();
    const aborted = assert.rejects(waiting.hold({ signal: controller.signal }), { name: 'AbortError' });
    controller.abort();
    await aborted;
    await assert.rejects(waiting.run(() => {}, { signal: AbortSignal.abort(new RangeError('no')) }), RangeError);
    close(client);
  }
});

test('work is told that its lease is lost: taken away, and in a black hole', async () => {
  const proxy = await new Proxy(new URL(url).port).start();
  for (const connect of [() => nodeRedis({ url: proxy.url, commandOptions: {}, socket: { reconnectStrategy: () => 20 } }), () => ioredis({ url: proxy.url, retryStrategy: () => 20 })]) {
    for (const lose of [(lease) => lease.reset(), () => proxy.blackHole()]) {
      await flushAll();
      const client = await connect();
      const lease = new Lease(client, 'render', { lease: 300 });
      let isTold = false;
      await assert.rejects(lease.run(async ({ signal, token }) => {
        await lose({ reset: () => lease.release(token) });
        await new Promise((done) => signal.addEventListener('abort', done));
        isTold = signal.reason instanceof LeaseLost;
      }), LeaseLost);
      assert.ok(isTold);
      proxy.release();
      close(client);
    }
  }
  await proxy.stop();
});

/** Tests of options that a module may not have yet. */
const withModule = (command, word, name, act) => test(name, async (context) => {
  for (const client of [await nodeRedis(), await ioredis()]) {
    await flushAll();
    try {
      const known = JSON.stringify(await (client.call?.('COMMAND', 'DOCS', command) ?? client.sendCommand(['COMMAND', 'DOCS', command])));
      if (!known.includes(`"${word}"`)) return context.skip(`the module has no ${command} … ${word}`);
      await act(client);
    } finally {
      close(client);
    }
  }
});

withModule('RATE.CHECK', 'STAMP', 'units are reserved, and settled when it is known how many were used', async (client) => {
  for (const rules of ['1000/1h', ['1000/1h', '5000/1d']]) {
    const limiter = new RateLimiter(client, rules, { algorithm: 'FIXED', prefix: `${rules}:` });
    const left = async () => (await limiter.peek('ann')).remaining;
    const hold = await limiter.reserve('ann', { cost: 800 });
    assert.deepEqual([hold.reserved, hold.verdict.remaining, await left()], [800, 200, 200]);
    await assert.rejects(limiter.reserve('ann', { cost: 300 }), RateLimited);
    const settled = await hold.settle(350);
    assert.deepEqual([settled.settled, settled.remaining, await left()], [450, 650, 650]);
    await assert.rejects(hold.settle(350), /once/);
    const more = await (await limiter.reserve('ann', { cost: 100 })).settle(250);
    assert.deepEqual([more.settled, await left()], [-150, 400]);
    // Without settle the estimate stays taken.
    await limiter.reserve('ann', { cost: 100 });
    assert.equal(await left(), 300);
    assert.deepEqual((({ granted, allowed }) => [granted, allowed])(await limiter.check('ann', { cost: 1000, upTo: true })), [300, true]);
  }
  for (const algorithm of [undefined, 'SLIDING']) await assert.rejects(new RateLimiter(client, '9/1h', { algorithm }).reserve('ann'), /SLIDING/);
});

withModule('RATE.CHECK', 'WAIT', 'a call waits for its turn, and who asks later waits longer', async (client) => {
  const limiter = new RateLimiter(client, '1/200ms/1', { algorithm: 'GCRA' });
  const turns = [];
  await Promise.all([1, 2, 3].map(async (turn) => {
    const { waitMs } = await limiter.wait('ann');
    turns.push([turn, waitMs]);
  }));
  assert.deepEqual(turns.map(([turn]) => turn), [1, 2, 3]);
  assert.ok(turns[0][1] === 0 && turns[1][1] > 0 && turns[2][1] > turns[1][1]);
  const hourly = new RateLimiter(client, '1/1h', { algorithm: 'GCRA', prefix: 'hourly:' });
  await hourly.wait('ann');
  await assert.rejects(hourly.wait('ann', { timeout: '1s' }), RateLimited);
  // Whoever gives the wait up has taken the units.
  const controller = new AbortController();
  const waiting = assert.rejects(hourly.wait('ann', { timeout: '1h', signal: controller.signal }), { name: 'AbortError' });
  await until(async () => (await hourly.peek('ann')).resetAfterMs > 3_600_000, 'the units to be taken');
  controller.abort();
  await waiting;
  assert.ok((await hourly.peek('ann')).resetAfterMs > 3_600_000);
  await assert.rejects(new RateLimiter(client, '1/1h').wait('ann'), /GCRA/);
});

test('what failing answered is not settled', async () => {
  const client = await ioredis({ url: 'redis://127.0.0.1:1', retryStrategy: () => 1000 });
  const limiter = new RateLimiter(client, '1000/1h', { algorithm: 'GCRA', failing: 'local', timeout: 20 });
  assert.equal(await (await limiter.reserve('ann', { cost: 800 })).settle(100), null);
  assert.equal((await limiter.wait('bob')).allowed, true);
  close(client);
});
