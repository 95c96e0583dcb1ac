// Limiters, and what they do while the server is away.

import { milliseconds, noMore } from './call.js';
import { RateLimited, isOutage } from './errors.js';
import { LimiterCalls, parseRule } from './rate.js';
import { run, sends, within } from './run.js';

const MOST_KEYS = 10_000;

/** GCRA in this process, for at most 10,000 keys: those that were used least recently are forgotten. */
export class LocalLimiter {
  #free = new Map();

  constructor(clock = Date.now) {
    this.clock = clock;
  }

  /** The verdict for several rules, each with the key that it counts: [key, rule] …. */
  check(asked, cost, algorithm) {
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
      const next = limited ? full : full + cost * unit;
      this.#set(name, next, now);
      const remaining = Math.floor(burst - (next - now) / unit + 1e-9);
      const retryAfterMs = !state.limited ? 0 : cost > burst ? -1 : Math.ceil(wait);
      return {
        allowed: !state.limited, limited: state.limited, limit: burst, remaining, retryAfterMs,
        resetAfterMs: Math.ceil(next - now), rule: at + 1, source: 'local',
      };
    });
    return { ...tightest(rules), rules };
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
export function fallback(failing, local, asked, cost, algorithm) {
  if (failing === 'local') return local.check(asked, cost, algorithm);
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

/** Limiters with the same rules, one per key. */
export class RateLimiter extends sends(LimiterCalls) {
  #local = new LocalLimiter();

  constructor(client, rules, { failing, timeout = 1000, ...options } = {}) {
    super(client, new LimiterCalls(rules, options));
    if (failing !== undefined && !FAILING.includes(failing)) throw new TypeError(`failing takes ${FAILING.join(', ')}, got ${failing}`);
    this.failing = failing;
    this.algorithm = options.algorithm;
    this.rules = this.calls.rules.map((rule) => (options.burst === undefined ? rule : `${rule}/${options.burst}`));
    this.timeout = milliseconds(timeout);
  }

  /** What is not sent within the timeout never is. */
  #decide(describe, asked, cost = 1) {
    let call;
    try {
      call = describe();
    } catch (error) {
      return Promise.reject(error);
    }
    const answer = within(this.timeout, (limit) => run(this.client, call, limit));
    if (this.failing === undefined || call.name === null) return answer;
    return answer.catch((error) => {
      if (!isOutage(error)) throw error;
      return fallback(this.failing, this.#local, asked(), cost, this.algorithm);
    });
  }

  check(key, options) {
    return this.#decide(() => this.calls.check(key, options), () => this.rules.map((rule) => [key, rule]), options?.cost);
  }

  checkAll(rules, options) {
    const pairs = Array.isArray(rules) ? rules : Object.entries(rules);
    return this.#decide(() => this.calls.checkAll(pairs, options), () => pairs, options?.cost);
  }

  async enforce(key, options) {
    const verdict = await this.check(key, options);
    if (verdict.limited) throw new RateLimited(key, verdict);
    return verdict;
  }
}
