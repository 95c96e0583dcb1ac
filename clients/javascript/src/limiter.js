// Limiters, and what they do while the server is away.

import { setTimeout as sleep } from 'node:timers/promises';

import { milliseconds, noMore } from './call.js';
import { RateLimited, isOutage } from './errors.js';
import { LimiterCalls, parseRule } from './rate.js';
import { sendWithin, sends } from './run.js';

const MOST_KEYS = 10_000;

/** GCRA in this process, for at most 10,000 keys: those that were used least recently are forgotten. */
export class LocalLimiter {
  #free = new Map();

  constructor(clock = Date.now) {
    this.clock = clock;
  }

  /** The verdict for several rules, each with the key that it counts: [key, rule] …. `isPeek` counts nothing. */
  check(asked, cost, algorithm, isPeek = false) {
    const now = this.clock();
    const states = asked.map(([key, rule]) => {
      const { limit, window, burst = limit } = parseRule(rule, algorithm);
      const unit = window / limit;
      const name = `${rule} ${key}`;
      // When it is full again; a unit more moves it by `unit`.
      const full = Math.max(this.#free.get(name) ?? now, now);
      const wait = full + cost * unit - now - burst * unit;
      return { name, full, unit, burst, wait, limited: cost > 0 && wait > 0 };
    });
    const limited = states.some((state) => state.limited);
    const rules = states.map(({ name, full, unit, burst, wait, ...state }, at) => {
      const next = limited || isPeek ? full : full + cost * unit;
      if (!isPeek) this.#set(name, next, now);
      const remaining = Math.floor(burst - (next - now) / unit + 1e-9);
      const retryAfterMs = !state.limited ? 0 : cost > burst ? -1 : Math.ceil(wait);
      return {
        allowed: !state.limited, limited: state.limited, limit: burst, remaining, retryAfterMs,
        resetAfterMs: Math.ceil(next - now), rule: at + 1, source: 'local',
      };
    });
    return { ...tightest(rules), rules };
  }

  refund(asked, cost, algorithm) {
    const now = this.clock();
    for (const [key, rule] of asked) {
      const { limit, window } = parseRule(rule, algorithm);
      const name = `${rule} ${key}`;
      if (this.#free.has(name)) this.#set(name, this.#free.get(name) - (cost * window) / limit, now);
    }
    return this.check(asked, 0, algorithm, true);
  }

  reset(asked) {
    return asked.map(([key, rule]) => this.#free.delete(`${rule} ${key}`)).includes(true);
  }

  #set(name, full, now) {
    this.#free.delete(name);
    if (full > now) this.#free.set(name, full);
    if (this.#free.size > MOST_KEYS) this.#free.delete(this.#free.keys().next().value);
  }
}

/** The rule that a verdict is about: the longest wait of those that deny, or the one with the fewest units left. */
export function tightest(rules) {
  const wait = ({ retryAfterMs }) => (retryAfterMs < 0 ? Infinity : retryAfterMs);
  const denied = rules.filter(({ limited }) => limited);
  if (denied.length) return denied.reduce((worst, rule) => (wait(rule) > wait(worst) ? rule : worst));
  return rules.reduce((least, rule) => (rule.remaining < least.remaining ? rule : least));
}

/** The verdict while the server is away. */
export function fallback(failing, asked, algorithm) {
  const isClosed = failing === 'closed';
  const rules = asked.map(([, rule], at) => {
    const { limit, burst = limit } = parseRule(rule, algorithm);
    return {
      allowed: !isClosed, limited: isClosed, limit: burst, remaining: isClosed ? 0 : burst, retryAfterMs: isClosed ? 1000 : 0,
      resetAfterMs: 0, rule: at + 1, source: failing,
    };
  });
  return { ...rules[0], rules };
}

export const FAILING = ['open', 'closed', 'local'];

/** Denials that still hold, by key and cost; those that were remembered first are forgotten. */
class Denials {
  #keys = new Map();
  #most;

  constructor(most) {
    this.#most = most;
  }

  remember(key, cost, verdict) {
    const costs = this.#keys.get(key) ?? new Map();
    this.#keys.delete(key);
    this.#keys.set(key, costs.set(cost, { verdict, since: performance.now() }));
    // Many costs of one key are no use to anybody.
    if (costs.size > 16) costs.delete(costs.keys().next().value);
    if (this.#keys.size > this.#most) this.#keys.delete(this.#keys.keys().next().value);
  }

  find(key, cost) {
    const found = this.#keys.get(key)?.get(cost);
    if (found === undefined) return null;
    const { verdict, since } = found;
    const passed = performance.now() - since;
    if (passed >= verdict.retryAfterMs) {
      this.#keys.delete(key);
      return null;
    }
    const later = (each) => ({
      ...each, retryAfterMs: Math.max(Math.ceil(each.retryAfterMs - passed), each.limited ? 1 : 0),
      resetAfterMs: Math.max(Math.ceil(each.resetAfterMs - passed), 0), source: 'remembered',
    });
    return { ...later(verdict), rules: verdict.rules.map(later) };
  }

  forget(key) {
    this.#keys.delete(key);
  }
}

/** Units that were taken before it was known how many there would be. */
class Reservation {
  #limiter;
  #key;
  #isSettled = false;

  constructor(limiter, key, reserved, verdict) {
    this.#limiter = limiter;
    this.#key = key;
    this.reserved = reserved;
    this.verdict = verdict;
  }

  /** So many were used. Null if nobody but this process has counted them. */
  async settle(used) {
    if (this.#isSettled) throw new Error('this reservation was settled before: it counts once');
    this.#isSettled = true;
    if (this.verdict.source !== 'server') return null;
    return this.#limiter.settle(this.#key, { reserved: this.reserved, used, at: this.verdict.atMs });
  }
}

/** Limiters with the same rules, one per key. */
export class RateLimiter extends sends(LimiterCalls) {
  #local = new LocalLimiter();
  #denials = null;

  constructor(client, rules, { failing, timeout = 1000, rememberDenied = false, ...options } = {}) {
    super(client, new LimiterCalls(rules, options));
    if (failing !== undefined && !FAILING.includes(failing)) throw new TypeError(`failing takes ${FAILING.join(', ')}, got ${failing}`);
    if (rememberDenied !== true && rememberDenied !== false && !(Number.isInteger(rememberDenied) && rememberDenied > 0)) {
      throw new TypeError(`rememberDenied takes true, or how many keys are remembered, got ${rememberDenied}`);
    }
    this.failing = failing;
    this.algorithm = options.algorithm;
    this.rules = this.calls.rules.map((rule) => (options.burst === undefined ? rule : `${rule}/${options.burst}`));
    this.timeout = milliseconds(timeout);
    if (rememberDenied) this.#denials = new Denials(rememberDenied === true ? MOST_KEYS : rememberDenied);
  }

  /** What is not sent within the timeout never is. While the server is away, `failing` says what counts. */
  #decide(call, instead) {
    const answer = sendWithin(this.timeout, this.client, call);
    if (this.failing === undefined || call.name === null) return answer;
    return answer.catch((error) => {
      if (!isOutage(error)) throw error;
      return instead();
    });
  }

  #asked(key) {
    return this.rules.map((rule) => [key, rule]);
  }

  #fallback(asked, ifLocal) {
    return this.failing === 'local' ? ifLocal(this.#local) : fallback(this.failing, asked, this.algorithm);
  }

  #check(asked, call, cost = 1, isPeek = false) {
    return this.#decide(call, () => this.#fallback(asked(), (local) => local.check(asked(), cost, this.algorithm, isPeek)));
  }

  /** No async function, for the sake of speed: each would add promises to a call that is made for every request. */
  check(key, options) {
    try {
      const call = this.calls.check(key, options);
      if (this.#denials !== null) return this.#checkOrRemember(key, call, options);
      return this.#check(() => this.#asked(key), call, options?.cost);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async #checkOrRemember(key, call, { cost = 1, ...special } = {}) {
    const isPlain = Object.keys(special).length === 0;
    const name = String(key);
    const denied = isPlain ? this.#denials.find(name, cost) : null;
    if (denied !== null) return denied;
    const verdict = await this.#check(() => this.#asked(key), call, cost);
    if (isPlain && verdict.limited && verdict.source === 'server' && verdict.retryAfterMs > 0) this.#denials.remember(name, cost, verdict);
    return verdict;
  }

  async peek(key, options) {
    return this.#check(() => this.#asked(key), this.calls.peek(key, options), options?.cost, true);
  }

  async checkAll(rules, options) {
    const pairs = Array.isArray(rules) ? rules : Object.entries(rules);
    return this.#check(() => pairs, this.calls.checkAll(pairs, options), options?.cost);
  }

  async refund(key, options) {
    this.#denials?.forget(String(key));
    const asked = this.#asked(key);
    const call = this.calls.refund(key, options);
    return this.#decide(call, () => this.#fallback(asked, (local) => local.refund(asked, options?.cost ?? 1, this.algorithm)));
  }

  /** While the server is away, only what was counted here is forgotten. */
  async reset(key) {
    this.#denials?.forget(String(key));
    return this.#decide(this.calls.reset(key), () => this.#local.reset(this.#asked(key)));
  }

  async throttle(...args) {
    return sendWithin(this.timeout, this.client, this.calls.throttle(...args));
  }

  /**
   * Takes units whose number is known only afterwards: `settle` of what it resolves to says how many were used. Throws
   * RateLimited if they are not there.
   */
  async reserve(key, options = {}) {
    const verdict = await this.enforce(key, { ...options, stamp: true });
    return new Reservation(this, key, options.cost ?? 1, verdict);
  }

  /** Corrects a reservation. It is sent once: nobody knows whether it happened if the connection breaks. */
  async settle(key, options) {
    this.#denials?.forget(String(key));
    return sendWithin(this.timeout, this.client, this.calls.settle(key, options));
  }

  /**
   * Takes its units now, and resolves when it is its turn. Throws RateLimited if that would be later than `timeout`. A signal
   * ends the wait; the units stay taken.
   */
  async wait(key, { timeout = '1m', signal, ...options } = {}) {
    signal?.throwIfAborted();
    const verdict = await this.enforce(key, { ...options, wait: timeout });
    if (verdict.waitMs > 0) await sleep(verdict.waitMs, undefined, { signal });
    return verdict;
  }

  /** Whether the call may pass. (The verdict of `check` is an object, which `if` takes for true.) */
  async allows(key, options) {
    return (await this.check(key, options)).allowed;
  }

  async enforce(key, options) {
    const verdict = await this.check(key, options);
    if (verdict.limited) throw new RateLimited(key, verdict);
    return verdict;
  }
}
