// A store for express-rate-limit 8: it counts here, and decides there.

import { milliseconds, noMore } from './call.js';
import { RateLimiter } from './limiter.js';

// More hits than anybody has: whether there are too many is for express-rate-limit to say.
const MOST = 1_000_000_000;

/** rateLimit({ limit: 100, windowMs: 60_000, store: new RankStore(client) }) */
export class RankStore {
  localKeys = false;

  constructor(client, { prefix = 'limit:', timeout = 500, ...rest } = {}) {
    noMore(rest);
    this.client = client;
    this.prefix = prefix;
    this.timeout = milliseconds(timeout);
    this.init({ windowMs: 60_000 });
  }

  init({ windowMs }) {
    this.limiter = new RateLimiter(this.client, `${MOST}/${Math.ceil(windowMs)}ms`, { algorithm: 'FIXED', prefix: this.prefix, timeout: this.timeout });
  }

  #info({ remaining, resetAfterMs }) {
    return { totalHits: MOST - remaining, resetTime: new Date(Date.now() + resetAfterMs) };
  }

  async increment(key) {
    return this.#info(await this.limiter.check(key));
  }

  async get(key) {
    const state = await this.limiter.peek(key);
    return state.resetAfterMs > 0 ? this.#info(state) : undefined;
  }

  async decrement(key) {
    await this.limiter.refund(key);
  }

  async resetKey(key) {
    await this.limiter.reset(key);
  }
}
