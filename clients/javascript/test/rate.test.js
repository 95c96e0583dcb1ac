// Limiters and leases: the same values from every client.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { Lease, LeaseDenied, LeaseLost, RateLimited, RateLimiter } from 'redis-rank-client';
import { CLIENTS, close, flushAll } from './support.js';

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
