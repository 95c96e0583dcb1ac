// Leases: one of a number of places, held for a time.

import { setTimeout as sleep } from 'node:timers/promises';

import { milliseconds, noMore } from './call.js';
import { LeaseDenied, LeaseLost, isOutage } from './errors.js';
import { LeaseCalls } from './rate.js';
import { run, sends, within } from './run.js';

const now = () => performance.now();

/** One of `limit` places, held for `lease` unless it is renewed. */
export class Lease extends sends(LeaseCalls) {
  #options;
  #ends = 0;
  #gone = new AbortController();

  constructor(client, key, options = {}) {
    const { wait = 0, ...rest } = options;
    super(client, new LeaseCalls(key, rest));
    this.#options = options;
    this.wait = milliseconds(wait);
    this.token = 0;
  }

  /** Aborts when the lease is lost while `run` holds it. */
  get signal() {
    return this.#gone.signal;
  }

  renew() {
    return this.renewToken(this.token);
  }

  async hold({ signal, ...rest } = {}) {
    noMore(rest);
    const end = now() + this.wait;
    for (;;) {
      signal?.throwIfAborted();
      const sent = now();
      const grant = await this.acquire();
      if (grant.allowed) {
        this.token = grant.token;
        // It never ends later on the server than here.
        this.#ends = sent + milliseconds(this.calls.lease);
        return this;
      }
      const left = end - now();
      if (left <= 0) throw new LeaseDenied(this.calls.key, grant);
      // Before the next lease ends, it is of no use to ask again.
      await sleep(Math.min(left, Math.max(grant.retryAfterMs, 1)), undefined, { signal });
    }
  }

  async run(work, options) {
    // A lease of its own, so that several may run at once.
    const held = await new Lease(this.client, this.calls.key, this.#options).hold(options);
    return held.#keep(work);
  }

  async #keep(work) {
    const done = new AbortController();
    const renewing = this.#renewUntil(done.signal);
    let result;
    try {
      result = await work(this);
    } catch (error) {
      done.abort();
      // The error of the work is the one to see.
      if (!this.signal.aborted) await this.release(this.token).catch(() => {});
      throw error;
    }
    done.abort();
    await renewing;
    if (this.signal.aborted) throw this.signal.reason;
    if ((await this.release(this.token)) === 0) throw this.#lost();
    return result;
  }

  #lost(cause) {
    return new LeaseLost(`${this.calls.key}: the lease ended before the work did`, { cause });
  }

  /** While the server is away, it tries again until the lease ends by this process's clock. */
  async #renewUntil(done) {
    const lease = milliseconds(this.calls.lease);
    let pause = lease / 3;
    let cause;
    for (;;) {
      await sleep(Math.max(Math.min(pause, this.#ends - now()), 0), undefined, { signal: done }).catch(() => {});
      if (done.aborted) return;
      const sent = now();
      if (sent >= this.#ends) return this.#gone.abort(this.#lost(cause));
      try {
        const isHeld = await within(this.#ends - sent, (limit) => Promise.race([run(this.client, this.calls.renewToken(this.token), limit), ended(done)]));
        if (done.aborted) return;
        if (!isHeld || now() >= this.#ends) return this.#gone.abort(this.#lost());
        this.#ends = sent + lease;
        pause = lease / 3;
      } catch (error) {
        cause = error;
        if (!isOutage(error)) return this.#gone.abort(this.#lost(error));
        pause = lease / 10;
      }
    }
  }
}

/** Work that has ended waits for no renewal. */
const ended = (signal) => new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true })));
