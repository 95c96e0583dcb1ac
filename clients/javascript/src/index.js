// Leaderboards, rate limits and schedules in Redis and Valkey, with the module redis-rank.

import { setTimeout as sleep } from 'node:timers/promises';

import { BoardCalls } from './board.js';
import { raw } from './call.js';
import { ScheduleCalls } from './due.js';
import { LeaseDenied, LeaseLost, RateLimited } from './errors.js';
import { LeaseCalls, LimiterCalls } from './rate.js';
import { execute, sends } from './run.js';

export * from './errors.js';
export { ShardedLeaderboard } from './shards.js';
export { execute, raw };

/** A board, declared once and created by its first write. */
export class Leaderboard extends sends(BoardCalls) {
  constructor(client, key, schema) {
    super(client, new BoardCalls(key, schema));
  }

  async *scanAll(options) {
    let cursor = '0';
    do {
      const step = await this.scan(cursor, options);
      yield* step.entries;
      cursor = step.cursor;
    } while (cursor !== '0');
  }
}

/** Limiters with the same rules, one per key. */
export class RateLimiter extends sends(LimiterCalls) {
  constructor(client, rules, options) {
    super(client, new LimiterCalls(rules, options));
  }

  async enforce(key, options) {
    const verdict = await this.check(key, options);
    if (verdict.limited) throw new RateLimited(key, verdict);
    return verdict;
  }
}

/** One of `limit` places, held for `lease` unless it is renewed. */
export class Lease extends sends(LeaseCalls) {
  constructor(client, key, { wait = 0, ...options } = {}) {
    super(client, new LeaseCalls(key, options));
    this.wait = wait;
    this.token = 0;
  }

  renew() {
    return this.renewToken(this.token);
  }

  async hold() {
    let left = this.wait * 1000;
    let grant = await this.acquire();
    while (grant.limited) {
      if (left <= 0) throw new LeaseDenied(this.calls.key, grant);
      // Others may release earlier than their leases end.
      const pause = Math.min(left, Math.max(grant.retryAfterMs, 1), 100);
      await sleep(pause);
      left -= pause;
      grant = await this.acquire();
    }
    this.token = grant.token;
    return this;
  }

  async run(work) {
    // A token of its own, so that several may run at once.
    const held = await Object.create(this).hold();
    let result;
    try {
      result = await work(held);
    } catch (error) {
      // The error of the work is the one to see.
      await held.release(held.token).catch(() => {});
      throw error;
    }
    if ((await held.release(held.token)) === 0) throw new LeaseLost(`${this.calls.key}: the lease ended before it was released`);
    return result;
  }
}

/** Items that are released at a time. */
export class Schedule extends sends(ScheduleCalls) {
  constructor(client, key) {
    super(client, new ScheduleCalls(key));
  }
}
