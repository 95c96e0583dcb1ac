// DUE.*: items that are released at a time, as values.

import {
  Call, Key, duration, flags, integer, listOf, milliseconds, moment, noMore, number, numeric, option, optional, record, text, timed,
} from './call.js';
import { WrongPayload } from './errors.js';
import { ruleWord } from './rate.js';

const now = (when) => timed('NOW', when, moment);

function when({ at, after, ...rest }) {
  noMore(rest);
  if ((at === undefined) === (after === undefined)) throw new TypeError('give one of at and after');
  return at === undefined ? ['IN', duration(after)] : ['AT', moment(at)];
}

// What a claimed item's score is: SPEC names the bits.
const CLAIMED = 2 ** 53;
const EPOCH = 1_577_836_800_000;

/** An item as it waits, or as somebody holds it. */
function entry(item, score) {
  if (score >= 0) return { item, dueMs: Math.floor(score), claimed: false, attempt: 0 };
  const bits = BigInt(score) + BigInt(CLAIMED);
  return { item, dueMs: Number(bits >> 12n) + EPOCH, claimed: true, attempt: Number((bits >> 1n) & 31n) };
}

const PAYLOADS = ['json', 'text'];

// Scripts, since what leaves one key must be in the other, whatever happens meanwhile.
const REVIVE = `
if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then return 0 end
redis.call('DUE.ADD', KEYS[1], 'NX', 'IN', '0', ARGV[1])
return redis.call('ZREM', KEYS[2], ARGV[1])`;
// A payload may be that of a live item with the same name.
const DISCARD = `
local removed = redis.call('ZREM', KEYS[2], ARGV[1])
if removed == 1 and KEYS[3] and not redis.call('ZSCORE', KEYS[1], ARGV[1]) then redis.call('HDEL', KEYS[3], ARGV[1]) end
return removed`;
// Sent again after a lost reply, it finds the item among the dead, where it must stay.
const BURY = `
local was_dead = redis.call('ZSCORE', KEYS[2], ARGV[1])
redis.call('DUE.ADD', KEYS[2], 'IN', '0', ARGV[1])
local held = redis.call('DUE.ACK', KEYS[1], ARGV[2], ARGV[1])
if held == 0 and not was_dead then redis.call('ZREM', KEYS[2], ARGV[1]) end
return held`;

const isOne = numeric((reply) => integer(reply) === 1);

/** [key, rule] or [key, rule, algorithm]: as many items as that limiter allows. */
function rateWords(rate) {
  if (rate === undefined || rate === null) return [];
  if (!Array.isArray(rate) || rate.length < 2 || rate.length > 3) throw new TypeError("rate takes [key, rule] or [key, rule, algorithm], such as ['limit', '100/1m']");
  const [key, rule, algorithm] = rate;
  return ['RATE', new Key(key), ruleWord(rule, algorithm), ...(algorithm === undefined ? [] : [algorithm])];
}

/** The commands of one schedule. Each method returns a Call. */
export class ScheduleCalls {
  constructor(key, { data, dead, payload = 'json', ...rest } = {}) {
    noMore(rest);
    if (!PAYLOADS.includes(payload)) throw new TypeError(`payload takes ${PAYLOADS.join(' or ')}, got ${payload}`);
    this.key = key;
    this.data = data;
    this.dead = dead;
    this.payload = payload;
  }

  #encoded(data) {
    if (this.payload === 'json') return JSON.stringify(data);
    if (typeof data === 'string' || Buffer.isBuffer(data)) return data;
    throw new TypeError(`the payloads of this schedule are text, got ${typeof data}`);
  }

  #decoded(stored) {
    const shown = text(stored ?? null);
    if (this.payload === 'text' || shown === null) return shown;
    try {
      return JSON.parse(shown);
    } catch {
      return new WrongPayload(shown);
    }
  }

  #call(name, words, parse, options) {
    return new Call(name, [new Key(this.key), ...words], parse, options);
  }

  get #hash() {
    return this.data === undefined ? [] : ['DATA', new Key(this.data)];
  }

  /** The words of an item with its payload: to keep one, the schedule must have a hash. */
  #payload(items, data) {
    if (data === undefined) return [];
    if (this.data === undefined) throw new TypeError('the schedule has no hash for payloads: new Schedule(client, key, { data })');
    if (items.length !== 1) throw new TypeError('a payload belongs to one item');
    return [...this.#hash, this.#encoded(data)];
  }

  #take(name, options, words, parse) {
    const { count, block, rate, signal, now: time, ...rest } = options;
    noMore(rest);
    const waits = block === undefined || block === null ? null : milliseconds(block);
    const all = [...words, ...option('COUNT', count), ...this.#hash, ...rateWords(rate), ...timed('BLOCK', block, duration), ...now(time)];
    const callFor = (piece) => this.#take(name, { ...options, block: piece }, words, parse);
    return this.#call(name, all, listOf(parse), { wait: waits === null ? null : { milliseconds: waits, signal, callFor } });
  }

  #withData(row, data) {
    return this.data === undefined ? row : { ...row, data: this.#decoded(data) };
  }

  add(items, { nx = false, xx = false, again = false, data, ...time } = {}) {
    const list = [items].flat();
    const words = [...flags({ nx, xx }), ...this.#payload(list, data), ...(again ? ['AGAIN'] : when(time))];
    if (again) noMore(time);
    return list.length === 0 ? Call.nothing(0) : this.#call('DUE.ADD', [...words, ...list], integer);
  }

  again(items, { data, ...rest } = {}) {
    return this.add(items, { ...rest, data, again: true });
  }

  claim({ lease, attempts, dead, ...options } = {}) {
    if ((attempts === undefined) !== (dead === undefined)) throw new TypeError('attempts and dead go together');
    const words = [...timed('LEASE', lease, duration), ...(dead === undefined ? [] : ['ATTEMPTS', attempts, 'DEAD', new Key(dead)])];
    return this.#take('DUE.CLAIM', options, words, ([item, token, attempt, dueMs, data]) =>
      this.#withData({ item: text(item), token: integer(token), attempt: integer(attempt), dueMs: integer(dueMs) }, data));
  }

  pop(options = {}) {
    return this.#take('DUE.POP', options, [], ([item, dueMs, data]) => this.#withData({ item: text(item), dueMs: integer(dueMs) }, data));
  }

  /** Claims one by one, or a list of them and when they are due again. */
  ack(...given) {
    const [claims, again] = Array.isArray(given[0]) ? given : [given];
    const words = claims.flatMap(({ token, item }) => [token, item]);
    return claims.length === 0 ? Call.nothing(0) : this.#call('DUE.ACK', [...this.#hash, ...(again === undefined ? [] : when(again)), ...words], integer);
  }

  move(claim, time) {
    const moved = (token) => (integer(token) === 0 ? null : { ...claim, token: integer(token) });
    return this.#call('DUE.MOVE', [...when(time), claim.token, claim.item], moved);
  }

  cancel(...items) {
    return items.length === 0 ? Call.nothing(0) : this.#call('ZREM', items, integer);
  }

  get(item) {
    return this.#call('ZSCORE', [item], optional((score) => entry(text(item), number(score))));
  }

  list({ count = 100, offset = 0, ...rest } = {}) {
    noMore(rest);
    const parse = (reply) => {
      const pairs = Array.isArray(reply[0]) ? reply : reply.flatMap((item, at) => (at % 2 === 0 ? [[item, reply[at + 1]]] : []));
      return pairs.map(([item, score]) => entry(text(item), number(score)));
    };
    return count === 0 ? Call.nothing([]) : this.#call('ZRANGE', [offset, offset + count - 1, 'WITHSCORES'], parse);
  }

  /** The payloads of items, in their order. */
  payloads(items) {
    if (items.length === 0 || this.data === undefined) return Call.nothing([]);
    return new Call('HMGET', [new Key(this.data), ...items], listOf((stored) => this.#decoded(stored)));
  }

  #script(text, keys, ...words) {
    return new Call('EVAL', [text, keys.length, ...keys.map((key) => new Key(key)), ...words], isOne);
  }

  get #deadKey() {
    if (this.dead === undefined) throw new TypeError('the schedule does not know its dead: new Schedule(client, key, { dead })');
    return this.dead;
  }

  revive(item) {
    return this.#script(REVIVE, [this.key, this.#deadKey], item);
  }

  discard(item) {
    return this.#script(DISCARD, [this.key, this.#deadKey, ...(this.data === undefined ? [] : [this.data])], item);
  }

  bury(claim, dead = this.#deadKey) {
    return this.#script(BURY, [this.key, dead], claim.item, claim.token);
  }

  info({ now: time, ...rest } = {}) {
    noMore(rest);
    return this.#call('DUE.INFO', now(time), (reply) => {
      const { next_ms: next, ...counts } = record(reply);
      return { ...counts, nextMs: next < 0 ? null : next };
    });
  }
}
