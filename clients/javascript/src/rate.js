// RATE.*: limiters and leases, as values.

import { Call, Key, duration, flags, integer, json, listOf, moment, option, timed } from './call.js';

const now = (when) => timed('NOW', when, moment);

function verdict({ limited, rule, rules = [], ...rest }) {
  const { limit, remaining, retry_after_ms: retryAfterMs, reset_after_ms: resetAfterMs } = rest;
  return { limited, allowed: !limited, limit, remaining, retryAfterMs, resetAfterMs, rule, rules: rules.map(verdict) };
}

/** The commands of limiters that share their rules. Each method returns a Call. */
export class LimiterCalls {
  #words;

  constructor(rules, { algorithm, burst, offset, prefix = '' } = {}) {
    this.rules = [rules].flat();
    this.prefix = prefix;
    this.#words = [...(algorithm ? [algorithm] : []), ...option('BURST', burst), ...option('OFFSET', offset)];
  }

  #key(name) {
    return new Key(Buffer.isBuffer(name) ? Buffer.concat([Buffer.from(this.prefix), name]) : this.prefix + name);
  }

  #ask(name, keys, rules, { cost, force, penalty, now: when } = {}) {
    const options = [...option('COST', cost), ...flags({ force }), ...timed('PENALTY', penalty, duration), ...now(when)];
    const words = [...keys, ...rules, ...this.#words, ...options, 'EACH', 'JSON'];
    return new Call(`RATE.${name}`, words, (reply) => verdict(json(reply)));
  }

  check(key, options) {
    return this.#ask('CHECK', [this.#key(key)], this.rules, options);
  }

  peek(key, options) {
    return this.#ask('PEEK', [this.#key(key)], this.rules, options);
  }

  refund(key, options) {
    return this.#ask('REFUND', [this.#key(key)], this.rules, options);
  }

  checkAll(rules, options) {
    const pairs = Array.isArray(rules) ? rules : Object.entries(rules);
    return this.#ask('ALL', [pairs.length, ...pairs.map(([key]) => this.#key(key))], pairs.map(([, rule]) => rule), options);
  }

  reset(key) {
    return new Call('RATE.RESET', [this.#key(key)], (reply) => integer(reply) === 1);
  }

  throttle(key, maxBurst, count, period, quantity = 1) {
    return new Call('CL.THROTTLE', [this.#key(key), maxBurst, count, period, quantity], listOf(integer));
  }
}

/** The commands of the leases of one key. Each method returns a Call. */
export class LeaseCalls {
  constructor(key, { limit = 1, lease = '30s' } = {}) {
    this.key = key;
    this.limit = limit;
    this.lease = lease;
  }

  #call(name, words, parse) {
    return new Call(`RATE.${name}`, [new Key(this.key), ...words], parse);
  }

  acquire(options = {}) {
    return this.#call('ACQUIRE', [this.limit, duration(this.lease), ...now(options.now)], (reply) => {
      const [limited, limit, remaining, retryAfterMs, resetAfterMs, token] = reply.map(integer);
      return { limited: limited === 1, limit, remaining, retryAfterMs, resetAfterMs, token };
    });
  }

  renewToken(token, { lease = this.lease, now: when } = {}) {
    return this.#call('RENEW', [token, duration(lease), ...now(when)], (reply) => integer(reply) === 1);
  }

  release(...tokens) {
    return this.#call('RELEASE', tokens, integer);
  }

  held(options = {}) {
    return this.#call('HELD', now(options.now), (reply) => {
      const [held, next] = reply.map(integer);
      return { held, nextEndMs: next < 0 ? null : next };
    });
  }
}
