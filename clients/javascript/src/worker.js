// A worker: claims items of a schedule, and works on them.
//
// A lease counts from before its claim, or its renewal, was sent: it never ends later on the server than here. One timer
// watches all jobs. Acknowledgements of one turn of the event loop travel together, in front of the next claim if there is
// one to send.

import { isGeneratorFunction } from 'node:util/types';

import { milliseconds, noMore } from './call.js';
import { Dead, LeaseLost, NotSent, OutcomeUnknown, Retry, WrongPayload, codeOf, isOutage } from './errors.js';
import { OwnConnection, isClosed, run, send, within } from './run.js';

// How long one call waits for items; a worker that is stopped waits no longer.
const BLOCK_MS = 1000;
// How long it waits for the answer after that, and when it is being stopped.
const PATIENCE_MS = 10_000;
const LAST_PATIENCE_MS = 1000;
// If a claim is not answered by then, it blocks, and acknowledgements go ahead without it.
const ACK_MS = 5;
const SIGNALS = ['SIGINT', 'SIGTERM'];
// What may pass, of what a server says while it is there.
const PASSING = new Set(['OOM', 'UNBLOCKED']);

const now = () => performance.now();
const mayPass = (error) => isOutage(error) || PASSING.has(codeOf(error));

/** 1 s, 2 s, 4 s … at most an hour, half of it at random. */
export const exponential = (attempt) => Math.min(1000 * 2 ** (attempt - 1), 3_600_000) * (0.5 + Math.random() / 2);

/** Payloads are nobody's business but the handler's. */
function logTo(error, job) {
  console.error(job === undefined ? (error?.stack ?? error) : `${job.item}, attempt ${job.attempt}: ${error?.stack ?? error}`);
}

/** What a handler gets. `signal` aborts when the lease is lost: the item is somebody else's then. */
class Job {
  #gone = null;
  #reason = null;

  constructor({ item, data, attempt, dueMs, token }) {
    this.item = item;
    this.data = data;
    this.attempt = attempt;
    this.due = new Date(dueMs);
    this.token = token;
  }

  get lost() {
    return this.#reason !== null;
  }

  get signal() {
    this.#gone ??= new AbortController();
    if (this.lost) this.#gone.abort(this.#reason);
    return this.#gone.signal;
  }

  static lose(job, reason) {
    job.#reason ??= reason;
    job.#gone?.abort(job.#reason);
  }
}

/** An item that a run holds, until its handler has ended and the server knows it. */
class Held {
  constructor(claim, sent, { lease, timeLimit }) {
    this.job = new Job(claim);
    this.claim = claim;
    this.started = now();
    this.limit = this.started + timeLimit;
    this.isRunning = true;
    this.isRenewing = false;
    this.afterRenewal = null;
    this.extend(sent, lease);
  }

  extend(sent, lease) {
    this.ends = sent + lease;
    this.renewAt = sent + lease / 3;
  }

  /** When this has to be looked at again. */
  get next() {
    return this.isRunning ? Math.min(this.ends, this.limit, this.isRenewing ? Infinity : this.renewAt) : this.ends;
  }
}

/** From `run` to its end. */
class Run {
  #held = new Set();
  #done = [];
  // The claim that is under way, and when it is given up.
  #claiming = null;
  #isStopping = false;
  #isTurning = false;
  #stopsAt = Infinity;
  #pausedUntil = 0;
  #failures = 0;
  #timer = null;
  #wakesAt = Infinity;
  #ackTimer = null;
  #failure = null;
  #running = 0;

  constructor(worker) {
    this.options = worker.options;
    this.handle = worker.handle;
    this.calls = worker.schedule.calls;
    this.client = worker.schedule.client;
    this.own = new OwnConnection(this.client);
    this.promise = new Promise((resolve, reject) => {
      this.settle = () => (this.#failure === null ? resolve() : reject(this.#failure));
    });
  }

  begin() {
    if (isClosed(this.client)) throw new NotSent('the client is closed: connect it first');
    this.#turn();
    return this.promise;
  }

  stop() {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#stopsAt = now() + this.options.grace;
    if (this.#claiming) this.#claiming.ends = now() + Math.min(this.options.block + LAST_PATIENCE_MS, this.options.grace);
    this.#wakeAt(Math.min(this.#stopsAt, this.#claiming?.ends ?? Infinity));
    this.#turnSoon();
  }

  /** What the server refuses ends the run, when what runs has ended. */
  #fail(error) {
    this.#failure ??= error;
    this.stop();
  }

  #log(error, job) {
    try {
      this.options.log(error, job);
    } catch {
      // A log that fails must not stop the work.
    }
  }

  // --- turns ----------------------------------------------------------------------------------------------

  #turnSoon() {
    if (this.#isTurning) return;
    this.#isTurning = true;
    setImmediate(() => {
      this.#isTurning = false;
      this.#turn();
    });
  }

  /** Sends what there is to send: acknowledgements, and a claim if there is room. */
  #turn() {
    if (isClosed(this.client)) this.stop();
    const free = this.options.concurrency - this.#running;
    if (!this.#isStopping && this.#claiming === null && free > 0 && now() >= this.#pausedUntil) {
      this.#claim(free, this.#taken());
    } else if (this.#done.length > 0) {
      if (this.#claiming !== null && !this.#isStopping) this.#ackTimer ??= setTimeout(() => this.#acknowledge(this.#taken()), ACK_MS);
      else this.#acknowledge(this.#taken());
    }
    if (this.#isStopping && this.#held.size === 0 && this.#claiming === null) this.#end();
  }

  /** Those whose handlers have returned since the last time. */
  #taken() {
    clearTimeout(this.#ackTimer);
    this.#ackTimer = null;
    const done = this.#done;
    this.#done = [];
    return done.filter((held) => this.#held.has(held));
  }

  #end() {
    clearTimeout(this.#timer);
    clearTimeout(this.#ackTimer);
    this.own.close();
    this.settle();
  }

  // --- claims ---------------------------------------------------------------------------------------------

  async #claim(count, done) {
    const { block, lease, claims } = this.options;
    const claiming = { ends: now() + block + PATIENCE_MS };
    this.#claiming = claiming;
    this.#wakeAt(claiming.ends);
    let [sent, acked] = [0, null];
    try {
      const rows = await this.own.use(async (own) => {
        sent = now();
        if (done.length > 0) this.#acknowledge(done, (acked = send(own, this.#ack(done))));
        const claimed = send(own, this.calls.claim({ ...claims, count, block }));
        claimed.catch(() => {});
        // What may not be acknowledged ends the run before more is begun.
        await acked?.catch(() => {});
        return claimed;
      });
      if (this.#claiming !== claiming) return;
      this.#failures = 0;
      if (this.#failure === null) for (const row of rows) this.#begin(new Held(row, sent, this.options));
    } catch (error) {
      if (acked === null) this.#acknowledge(done);
      if (this.#claiming !== claiming) return;
      if (!mayPass(error)) this.#fail(error);
      else if (!this.#isStopping) this.#pause(error);
    }
    this.#claiming = null;
    this.#turnSoon();
  }

  #giveUpClaim() {
    this.#claiming = null;
    this.own.drop();
    if (!this.#isStopping) this.#pause(new OutcomeUnknown('a claim got no answer: what it may have claimed is due again when its lease ends'));
  }

  #pause(error) {
    this.#log(error);
    const pause = Math.min(100 * 2 ** this.#failures++, 5000) * (0.5 + Math.random() / 2);
    this.#pausedUntil = now() + pause;
    this.#wakeAt(this.#pausedUntil);
  }

  // --- handlers -------------------------------------------------------------------------------------------

  #begin(held) {
    if (now() >= held.ends) return this.#log(new LeaseLost(`${held.job.item}: the claim was answered too late, somebody else may have the item`), held.job);
    this.#held.add(held);
    this.#running++;
    this.#wakeAt(held.next);
    const { job } = held;
    if (job.data instanceof WrongPayload) return this.#ended(held, job.data);
    let result;
    try {
      result = this.handle(job);
    } catch (error) {
      return this.#ended(held, error ?? new Error('the handler failed'));
    }
    if (typeof result?.then === 'function') result.then(() => this.#ended(held, null), (error) => this.#ended(held, error ?? new Error('the handler failed')));
    else this.#ended(held, null);
  }

  #ended(held, error) {
    if (held.job.lost) return;
    if (now() >= held.ends) return this.#lose(held);
    this.#stopRunning(held);
    const settle = () => this.#decide(held, error);
    // The renewal on its way brings another token.
    if (held.isRenewing) held.afterRenewal = settle;
    else settle();
  }

  #stopRunning(held) {
    held.isRunning = false;
    held.took = now() - held.started;
    this.#running--;
    this.#turnSoon();
  }

  /** What becomes of an item, which its handler said by returning or by throwing. */
  #decide(held, error) {
    const { job } = held;
    if (error === null) {
      this.#observe(held, 'done');
      this.#done.push(held);
      this.#turnSoon();
    } else if (error instanceof Retry) {
      this.#observe(held, 'retry');
      this.#insist(held, (limit) => this.#moved(held, error.after ?? this.options.backoff(job.attempt), limit));
    } else if (error instanceof Dead) {
      this.#observe(held, 'dead');
      this.#log(error, job);
      if (this.options.dead !== undefined) return void this.#insist(held, (limit) => run(this.client, this.calls.bury(held.claim, this.options.dead), limit));
      this.#remove(held);
      this.#fail(new TypeError('a handler threw Dead: the worker needs the option dead, the key of the dead schedule', { cause: error }));
    } else this.#failed(held, error);
  }

  #failed(held, error) {
    const { job } = held;
    this.#observe(held, 'failed');
    this.#log(error, job);
    // After the last attempt it is due at once, for the next claim to move it to the dead.
    const { attempts, backoff } = this.options;
    this.#insist(held, (limit) => this.#moved(held, job.attempt >= attempts ? 0 : backoff(job.attempt), limit));
  }

  #observe({ job, took }, kind) {
    const { observe } = this.options;
    if (observe === undefined) return;
    try {
      Promise.resolve(observe({ kind, item: job.item, attempt: job.attempt, ms: took })).catch(() => {});
    } catch {
      // Whoever only watches harms nothing.
    }
  }

  #remove(held) {
    this.#held.delete(held);
    this.#turnSoon();
  }

  #lose(held, reason = new LeaseLost(`${held.job.item}: the lease ended, somebody else may have the item`)) {
    const { job, isRunning } = held;
    if (isRunning) this.#stopRunning(held);
    Job.lose(job, reason);
    if (isRunning) this.#observe(held, 'lost');
    this.#log(reason, job);
    this.#remove(held);
  }

  // --- the clock ------------------------------------------------------------------------------------------

  #wakeAt(time) {
    if (time >= this.#wakesAt) return;
    clearTimeout(this.#timer);
    this.#wakesAt = time;
    this.#timer = setTimeout(() => this.#look(), Math.max(Math.ceil(time - now()), 1));
  }

  /** Renews, and finds what has ended: leases, limits of time, claims without an answer, the grace after a stop. */
  #look() {
    this.#wakesAt = Infinity;
    const time = now();
    if (time >= this.#stopsAt) {
      for (const held of [...this.#held]) this.#lose(held, new LeaseLost(`${held.job.item}: the worker was stopped, and its time to end is over`));
      this.#stopsAt = Infinity;
    }
    let next = Math.min(this.#stopsAt, this.#pausedUntil > time ? this.#pausedUntil : Infinity);
    for (const held of [...this.#held]) {
      if (time >= held.ends) this.#lose(held);
      else if (held.isRunning && time >= held.limit) this.#expire(held);
      else if (held.isRunning && !held.isRenewing && time >= held.renewAt) this.#renew(held);
      if (this.#held.has(held)) next = Math.min(next, held.next);
    }
    if (time >= this.#claiming?.ends) this.#giveUpClaim();
    this.#wakeAt(Math.min(next, this.#claiming?.ends ?? Infinity));
    this.#turnSoon();
  }

  /** The handler has had its time: it is told, and its item is tried again. */
  #expire(held) {
    const error = new LeaseLost(`${held.job.item}: the handler took longer than its time limit`);
    this.#stopRunning(held);
    Job.lose(held.job, error);
    const settle = () => this.#failed(held, error);
    if (held.isRenewing) held.afterRenewal = settle;
    else settle();
  }

  async #renew(held) {
    const { lease } = this.options;
    const sent = now();
    held.isRenewing = true;
    try {
      const moved = await within(held.ends - sent, (limit) => run(this.client, this.calls.move(held.claim, { after: lease }), limit));
      held.isRenewing = false;
      // Too late: what is lost stays lost.
      if (!this.#held.has(held)) return;
      if (moved === null || now() >= held.ends) return this.#lose(held);
      held.claim = moved;
      held.job.token = moved.token;
      held.extend(sent, lease);
    } catch (error) {
      held.isRenewing = false;
      if (!this.#held.has(held)) return;
      this.#log(error, held.job);
      if (!mayPass(error)) this.#fail(error);
      held.renewAt = now() + lease / 10;
    }
    held.afterRenewal?.();
    this.#wakeAt(held.next);
  }

  // --- what the server is told ----------------------------------------------------------------------------

  #ack(done) {
    const { every } = this.options;
    const claims = done.map(({ claim }) => claim);
    return every === null ? this.calls.ack(claims) : this.calls.ack(claims, { at: (Math.floor(Date.now() / every) + 1) * every });
  }

  /** Acknowledges items, of which the first try may be on its way; again while the server is away, until their leases end. */
  async #acknowledge(done, first = null) {
    for (let tries = 0; done.length > 0; tries++) {
      try {
        const count = await (first ?? within(Math.min(...done.map(({ ends }) => ends)) - now(), (limit) => send(this.client, this.#ack(done), limit)));
        // What was repeated may have been acknowledged the first time.
        if (count < done.length && tries === 0) this.#log(new LeaseLost(`done, but may be done again, since a lease had ended: ${done.map(({ job }) => job.item).join(', ')}`));
        break;
      } catch (error) {
        if (!mayPass(error)) {
          this.#fail(error);
          break;
        }
        this.#log(error);
        if (isClosed(this.client)) break;
      }
      first = null;
      await this.#shortly();
      done = done.filter((held) => this.#held.has(held));
    }
    for (const held of done) this.#remove(held);
  }

  #shortly() {
    return new Promise((done) => setTimeout(done, Math.min(100, this.options.lease / 10)));
  }

  /** Tries again while the server is away, until the lease ends. */
  async #insist(held, act) {
    while (this.#held.has(held)) {
      try {
        await within(held.ends - now(), act);
        break;
      } catch (error) {
        if (!mayPass(error)) {
          this.#fail(error);
          break;
        }
        this.#log(error, held.job);
        if (isClosed(this.client)) break;
      }
      await this.#shortly();
    }
    this.#remove(held);
  }

  #moved({ claim }, after, limit) {
    return run(this.client, this.calls.move(claim, { after }), limit);
  }
}

const atLeast = (least, name, value) => {
  if (value < least) throw new TypeError(`${name} takes ${least} ms or more, got ${value}`);
  return value;
};

/** Runs `handle` for each item that is due, `concurrency` at a time. */
export class Worker {
  #run = null;

  constructor(schedule, handle, options = {}) {
    const {
      concurrency = 1, lease: held = '30s', attempts, dead, backoff = exponential, grace = '30s', timeLimit, every, rate, observe,
      signals = true, log = logTo, ...rest
    } = options;
    noMore(rest);
    if (typeof handle !== 'function') throw new TypeError(`the second argument is a function that takes a job, got ${handle}`);
    if (isGeneratorFunction(handle)) throw new TypeError('the handler is a generator function, which does nothing when it is called: it takes a function, async or not');
    if (typeof schedule?.calls?.claim !== 'function') throw new TypeError('the first argument is a Schedule');
    if (!Number.isInteger(concurrency) || concurrency < 1) throw new TypeError(`concurrency takes 1 or more, got ${concurrency}`);
    for (const [name, value] of Object.entries({ backoff, log, ...(observe && { observe }) })) {
      if (typeof value !== 'function') throw new TypeError(`${name} takes a function, got ${value}`);
    }
    this.schedule = schedule;
    this.handle = handle;
    this.signals = signals;
    const lease = atLeast(30, 'a lease', milliseconds(held));
    const claims = { lease, attempts, dead, ...(rate && { rate }) };
    // A mistake is an error here, not in the loop.
    schedule.calls.claim(claims);
    this.options = {
      concurrency, lease, claims, dead, backoff, observe, log, attempts: attempts ?? Infinity,
      // A claim must not take long, since its lease counts from when it was sent.
      block: Math.min(BLOCK_MS, Math.floor(lease / 3)),
      grace: milliseconds(grace),
      timeLimit: timeLimit === undefined ? Infinity : atLeast(1, 'timeLimit', milliseconds(timeLimit)),
      every: every === undefined ? null : atLeast(1, 'every', milliseconds(every)),
    };
  }

  /**
   * Works until `stop`, SIGINT or SIGTERM, or until the client is closed, and ends when all that runs is done. What the
   * server refuses ends it too.
   */
  async run() {
    if (this.#run !== null) throw new Error('this worker is running: stop() it first, or make another one');
    const run = new Run(this);
    this.#run = run;
    const onSignal = () => run.stop();
    if (this.signals) for (const name of SIGNALS) process.once(name, onSignal);
    try {
      await run.begin();
    } finally {
      this.#run = null;
      for (const name of SIGNALS) process.removeListener(name, onSignal);
    }
  }

  /** Claims no more. Resolves when what runs is done, or the grace time is over. */
  async stop() {
    const run = this.#run;
    run?.stop();
    await run?.promise.catch(() => {});
  }
}
