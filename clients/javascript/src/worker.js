// A worker: claims items of a schedule, and works on them.

import { setTimeout as sleep } from 'node:timers/promises';

import { milliseconds, noMore } from './call.js';
import { LeaseLost, isOutage } from './errors.js';

// How long one call waits for items; a worker that is stopped waits no longer.
const BLOCK_MS = 1000;
const SIGNALS = ['SIGINT', 'SIGTERM'];

/** 1 s, 2 s, 4 s … at most an hour, half of it at random. */
export const exponential = (attempt) => Math.min(1000 * 2 ** (attempt - 1), 3_600_000) * (0.5 + Math.random() / 2);

/** What a handler gets. `signal` aborts when the lease is lost: the item is somebody else's then. */
class Job {
  #gone = new AbortController();

  constructor(claim) {
    Object.assign(this, { item: claim.item, data: claim.data, attempt: claim.attempt, due: new Date(claim.dueMs), token: claim.token, lost: false });
    this.signal = this.#gone.signal;
  }

  static lose(job) {
    job.lost = true;
    job.#gone.abort(new LeaseLost(`${job.item}: the lease ended, somebody else may have the item`));
  }
}

/** Runs `handle` for each item that is due, `concurrency` at a time. */
export class Worker {
  #running = new Set();
  #stop = new AbortController();
  #ended = null;

  constructor(schedule, handle, options = {}) {
    const { concurrency = 1, lease = '30s', attempts, dead, backoff = exponential, signals = true, log = console.error, ...rest } = options;
    noMore(rest);
    if (typeof handle !== 'function') throw new TypeError('the second argument is a function that takes a job');
    if (!Number.isInteger(concurrency) || concurrency < 1) throw new TypeError(`concurrency takes 1 or more, got ${concurrency}`);
    this.schedule = schedule;
    this.handle = handle;
    this.concurrency = concurrency;
    this.lease = milliseconds(lease);
    if (this.lease < 30) throw new TypeError(`a lease takes 30 ms or more, got ${lease}`);
    this.claims = { lease: this.lease, attempts, dead };
    // A mistake is an error here, not in the loop.
    schedule.calls.claim(this.claims);
    this.attempts = attempts ?? Infinity;
    this.backoff = backoff;
    this.signals = signals;
    this.log = log;
  }

  /** Works until `stop`, SIGINT or SIGTERM, and ends when all that runs is done. What the server refuses ends it too. */
  run() {
    this.#ended ??= this.#run();
    return this.#ended;
  }

  /** Claims no more. Resolves when what runs is done. */
  async stop() {
    this.#stop.abort();
    await this.#ended?.catch(() => {});
  }

  async #run() {
    const onSignal = () => this.#stop.abort();
    if (this.signals) for (const name of SIGNALS) process.once(name, onSignal);
    try {
      await this.#loop();
    } finally {
      await Promise.all(this.#running);
      for (const name of SIGNALS) process.removeListener(name, onSignal);
    }
  }

  async #loop() {
    let failures = 0;
    while (!this.#stop.signal.aborted) {
      const free = this.concurrency - this.#running.size;
      if (free === 0) {
        await Promise.race(this.#running);
        continue;
      }
      try {
        for (const claim of await this.schedule.claim({ ...this.claims, count: free, block: BLOCK_MS })) {
          const work = this.#work(claim).finally(() => this.#running.delete(work));
          this.#running.add(work);
        }
        failures = 0;
      } catch (error) {
        if (!isOutage(error) && error.code !== 'OOM' && error.code !== 'UNBLOCKED') throw error;
        this.log(error);
        await this.#pause(Math.min(100 * 2 ** failures++, 5000) * (0.5 + Math.random() / 2));
      }
    }
  }

  #pause(time) {
    return sleep(time, undefined, { signal: this.#stop.signal }).catch(() => {});
  }

  async #work(claim) {
    const job = new Job(claim);
    const held = { claim, ends: Date.now() + this.lease };
    const done = new AbortController();
    const renewing = this.#renew(held, job, done.signal);
    let error = null;
    try {
      await this.handle(job);
    } catch (thrown) {
      error = thrown ?? new Error('the handler failed');
    }
    done.abort();
    await renewing;
    if (error) this.log(error, job);
    if (job.lost) return;
    try {
      if (error) await this.#retry(held, job);
      // To acknowledge twice does no harm.
      else if ((await this.#insist(held, () => this.schedule.ack(held.claim))) === 0) this.log(new LeaseLost(`${job.item} is done, but may be done again: its lease had ended`), job);
    } catch (failure) {
      // The item is due again when its lease ends.
      this.log(failure, job);
    }
  }

  /** After the last attempt it is due at once, for the next claim to move it to the dead. */
  #retry({ claim }, { attempt }) {
    return this.schedule.move(claim, { after: attempt >= this.attempts ? 0 : this.backoff(attempt) });
  }

  /** Holds the item for as long as its handler runs. */
  async #renew(held, job, signal) {
    let pause = this.lease / 3;
    while (!signal.aborted) {
      await sleep(pause, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      pause = this.lease / 3;
      const started = Date.now();
      try {
        const moved = await this.schedule.move(held.claim, { after: this.lease });
        if (moved === null) return Job.lose(job);
        held.claim = moved;
        held.ends = started + this.lease;
        job.token = moved.token;
      } catch (error) {
        this.log(error, job);
        if (Date.now() >= held.ends) return Job.lose(job);
        pause = this.lease / 10;
      }
    }
  }

  /** Tries again while the server is away, until the lease ends. */
  async #insist({ ends }, act) {
    for (;;) {
      try {
        return await act();
      } catch (error) {
        if (!isOutage(error) || Date.now() >= ends) throw error;
        await sleep(Math.min(100, this.lease / 10));
      }
    }
  }
}
