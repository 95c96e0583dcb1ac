// RATE.*: limiters and leases, as values.

import { Call, Key, NONE, duration, flags, integer, json, listOf, milliseconds, moment, noMore, numeric, option, timed } from './call.js';

const now = (when) => timed('NOW', when, moment);

const verdict = (limited, limit, remaining, retryAfterMs, resetAfterMs, rule) =>
  ({ allowed: !limited, limited, limit, remaining, retryAfterMs, resetAfterMs, rule, source: 'server' });

// What a call may add to the six numbers of a reply, in this order.
const EXTRAS = { granted: 'granted', waitMs: 'wait_ms', atMs: 'at_ms', settled: 'settled' };

/** The reply for one rule: six numbers, and those that the call has asked for. */
function parserOf(extras) {
  return numeric((reply) => {
    const isLimited = Number(reply[0]) === 1;
    const numbers = [Number(reply[1]), Number(reply[2]), Number(reply[3]), Number(reply[4]), Number(reply[5])];
    const whole = verdict(isLimited, ...numbers);
    const rule = verdict(isLimited, ...numbers);
    for (let at = 0; at < extras.length; at++) whole[extras[at]] = rule[extras[at]] = Number(reply[6 + at]);
    whole.rules = [rule];
    return whole;
  });
}

const verdictOf = parserOf([]);

/** The reply with EACH and JSON. */
function verdictOfAll(reply) {
  const parts = ({ limited, limit, remaining, retry_after_ms: retry, reset_after_ms: reset, rule, ...more }) => {
    const one = verdict(limited, limit, remaining, retry, reset, rule);
    for (const [name, sent] of Object.entries(EXTRAS)) if (sent in more) one[name] = more[sent];
    return one;
  };
  const { rules, ...whole } = json(reply);
  return { ...parts(whole), rules: rules.map(parts) };
}

// limit/window, or limit/window/burst; a window may be a unit in words.
const RULE = /^(\d+)\/(?:(\d+)(ms|[smhd]?)|([a-z]+))(?:\/(\d+))?$/i;
const UNITS = { ms: 1, '': 1000, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const CALENDAR = { hour: 3_600_000, day: 86_400_000, week: 604_800_000, month: 30 * 86_400_000, year: 365 * 86_400_000 };
const WORDS = { second: '1s', minute: '1m', hour: '1h', day: '1d' };

/** The parts of a rule; a mistake is an error before anything is sent. */
export function parseRule(rule, algorithm = 'SLIDING') {
  const [, limit, number, unit, word, burst] = RULE.exec(rule) ?? [];
  const wrong = (what) => new TypeError(`${what}, got ${rule}`);
  if (limit === undefined) throw wrong("a rule is limit/window, such as '100/1m' or '5/minute'");
  const kind = algorithm.toUpperCase();
  const name = word?.toLowerCase();
  if (kind === 'CALENDAR' ? !Object.hasOwn(CALENDAR, name ?? '') : name !== undefined && !Object.hasOwn(WORDS, name)) {
    throw wrong(kind === 'CALENDAR' ? 'with CALENDAR the window of a rule is hour, day, week, month or year' : 'the window of a rule is such as 30s, or second, minute, hour or day');
  }
  if (burst !== undefined && kind !== 'GCRA') throw wrong('only GCRA takes a burst');
  const isCalendar = kind === 'CALENDAR';
  const length = isCalendar ? CALENDAR[name] : name !== undefined ? milliseconds(WORDS[name]) : Number(number) * UNITS[unit.toLowerCase()];
  const units = [limit, burst ?? 1].map(Number);
  if (units.some((each) => each < 1 || each > 1e9)) throw wrong('limit and burst are 1 to 1000000000');
  if (length < 1 || length > 366 * UNITS.d) throw wrong('a window is 1ms to 366d');
  const sent = isCalendar || name === undefined ? rule : `${limit}/${WORDS[name]}${burst === undefined ? '' : `/${burst}`}`;
  return { limit: Number(limit), window: length, burst: burst && Number(burst), calendar: isCalendar ? name : undefined, sent };
}

/** A rule as the server knows it. */
export const ruleWord = (rule, algorithm) => parseRule(rule, algorithm).sent;

const ALGORITHMS = ['SLIDING', 'FIXED', 'COUNTER', 'GCRA', 'CALENDAR'];

/** What is counted: text or a number. Anything else would be one key for all, such as [object Promise]. */
export function keyText(name) {
  if (typeof name === 'string') return name;
  if (typeof name === 'bigint' || Number.isFinite(name)) return String(name);
  const hint = typeof name?.then === 'function' ? ': await it first' : '';
  throw new TypeError(`the key of a limiter is text, bytes or a number, got ${name === null ? null : typeof name}${hint}`);
}

/** The commands of limiters that share their rules. Each method returns a Call. */
export class LimiterCalls {
  #words;

  constructor(rules, { algorithm, burst, offset, prefix = '', ...rest } = {}) {
    noMore(rest);
    if (algorithm !== undefined && !ALGORITHMS.includes(algorithm)) throw new TypeError(`algorithm takes ${ALGORITHMS.join(', ')}, got ${algorithm}`);
    this.rules = [rules].flat().map((rule) => ruleWord(rule, algorithm));
    this.algorithm = algorithm;
    this.prefix = prefix;
    this.#words = [...(algorithm ? [algorithm] : []), ...option('BURST', burst), ...option('OFFSET', offset)];
  }

  #key(name) {
    if (Buffer.isBuffer(name)) return new Key(Buffer.concat([Buffer.from(this.prefix), name]));
    return new Key(this.prefix + keyText(name));
  }

  #ask(name, keys, rules, { cost, now: when, ...rest } = NONE, more = [], extras = []) {
    noMore(rest);
    const words = [...keys, ...rules, ...this.#words, ...option('COST', cost), ...more, ...now(when)];
    if (rules.length === 1) return new Call(`RATE.${name}`, words, extras.length === 0 ? verdictOf : parserOf(extras));
    words.push('EACH', 'JSON');
    return new Call(`RATE.${name}`, words, verdictOfAll);
  }

  #spend(name, keys, rules, { upTo = false, force, penalty, wait, stamp = false, ...rest } = NONE) {
    if (upTo && rest.cost === undefined) throw new TypeError('upTo is for a cost: { cost: 500, upTo: true }');
    if (wait !== undefined && this.algorithm !== 'GCRA') throw new TypeError("wait needs { algorithm: 'GCRA' }");
    if (stamp) this.#checkStamps();
    const words = [...flags({ upTo, force }), ...timed('PENALTY', penalty, duration), ...timed('WAIT', wait, duration), ...flags({ stamp })];
    const extras = [...(upTo ? ['granted'] : []), ...(wait === undefined ? [] : ['waitMs']), ...(stamp ? ['atMs'] : [])];
    return this.#ask(name, keys, rules, rest, words, extras);
  }

  /** What is settled later must know its window. */
  #checkStamps() {
    if (this.algorithm === undefined || this.algorithm === 'SLIDING') {
      throw new TypeError('a SLIDING limiter cannot settle: use GCRA, COUNTER, FIXED or CALENDAR as algorithm');
    }
  }

  check(key, options) {
    // What is asked for every request is described with fewer lists.
    if (options === undefined && this.rules.length === 1) return new Call('RATE.CHECK', [this.#key(key), this.rules[0], ...this.#words], verdictOf);
    return this.#spend('CHECK', [this.#key(key)], this.rules, options);
  }

  peek(key, options = NONE) {
    const { force, penalty, stamp, ...rest } = options;
    noMore({ ...(force !== undefined && { force }), ...(penalty !== undefined && { penalty }), ...(stamp !== undefined && { stamp }) });
    return this.#spend('PEEK', [this.#key(key)], this.rules, rest);
  }

  refund(key, options) {
    return this.#ask('REFUND', [this.#key(key)], this.rules, options);
  }

  /** Corrects a call that took `reserved` units `at` a time, of which `used` were used. */
  settle(key, { reserved, used, at, now: when, ...rest }) {
    noMore(rest);
    this.#checkStamps();
    for (const [name, units] of Object.entries({ reserved, used })) {
      if (!Number.isInteger(units) || units < 0) throw new TypeError(`${name} takes a whole number of units, got ${units}`);
    }
    return this.#ask('SETTLE', [this.#key(key)], this.rules, { cost: reserved, now: when }, ['ACTUAL', used, 'AT', moment(at)], ['settled']);
  }

  checkAll(rules, options) {
    const pairs = Array.isArray(rules) ? rules : Object.entries(rules);
    if (pairs.length === 0) return Call.nothing({ ...verdict(false, 0, 0, 0, 0, 0), rules: [] });
    return this.#spend('ALL', [pairs.length, ...pairs.map(([key]) => this.#key(key))], pairs.map(([, rule]) => ruleWord(rule, this.algorithm)), options);
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
  constructor(key, { limit = 1, lease = '30s', ...rest } = {}) {
    noMore(rest);
    this.key = key;
    this.limit = limit;
    this.lease = duration(lease);
  }

  #call(name, words, parse) {
    return new Call(`RATE.${name}`, [new Key(this.key), ...words], parse);
  }

  acquire({ now: when, ...rest } = {}) {
    noMore(rest);
    return this.#call('ACQUIRE', [this.limit, this.lease, ...now(when)], (reply) => {
      const [limited, limit, remaining, retryAfterMs, resetAfterMs, token] = reply.map(integer);
      return { allowed: limited !== 1, limited: limited === 1, limit, remaining, retryAfterMs, resetAfterMs, token };
    });
  }

  renewToken(token, { lease = this.lease, now: when, ...rest } = {}) {
    noMore(rest);
    return this.#call('RENEW', [token, duration(lease), ...now(when)], (reply) => integer(reply) === 1);
  }

  release(...tokens) {
    return tokens.length === 0 ? Call.nothing(0) : this.#call('RELEASE', tokens, integer);
  }

  held({ now: when, ...rest } = {}) {
    noMore(rest);
    return this.#call('HELD', now(when), (reply) => {
      const [held, next] = reply.map(integer);
      return { held, nextEndMs: next < 0 ? null : next };
    });
  }
}
