// Limiters and leases: the same values from every client.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { Lease, LeaseDenied, LeaseLost, OutcomeUnknown, RateLimited, RateLimiter } from 'redis-rank-client';
import { until } from './servers.js';
import { CLIENTS, close, flushAll, ioredis, nodeRedis } from './support.js';

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
