// DUE.*: items that are released at a time, as values.

import { Call, Key, duration, flags, integer, listOf, milliseconds, moment, noMore, option, record, text, timed } from './call.js';

const now = (when) => timed('NOW', when, moment);

function when({ at, after, ...rest }) {
  noMore(rest);
  if ((at === undefined) === (after === undefined)) throw new TypeError('give one of at and after');
  return at === undefined ? ['IN', duration(after)] : ['AT', moment(at)];
}

/** Payloads are JSON; what somebody else stored as other text is given as it is. */
function payload(stored) {
  const shown = text(stored ?? null);
  try {
    return typeof shown === 'string' ? JSON.parse(shown) : shown;
  } catch {
    return shown;
  }
}

/** The commands of one schedule. Each method returns a Call. */
export class ScheduleCalls {
  constructor(key, data) {
    this.key = key;
    this.data = data;
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
    return [...this.#hash, JSON.stringify(data)];
  }

  #take(name, options, words, parse) {
    const { count, block, now: time, ...rest } = options;
    noMore(rest);
    const waits = block === undefined || block === null ? null : milliseconds(block);
    const all = [...words, ...option('COUNT', count), ...this.#hash, ...timed('BLOCK', block, duration), ...now(time)];
    const callFor = (piece) => this.#take(name, { ...options, block: piece }, words, parse);
    return this.#call(name, all, listOf(parse), { wait: waits === null ? null : { milliseconds: waits, callFor } });
  }

  #withData(row, data) {
    return this.data === undefined ? row : { ...row, data: payload(data) };
  }

  add(items, { nx = false, xx = false, again = false, data, ...time }) {
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

  ack(...claims) {
    const words = claims.flatMap(({ token, item }) => [token, item]);
    return claims.length === 0 ? Call.nothing(0) : this.#call('DUE.ACK', [...this.#hash, ...words], integer);
  }

  move(claim, time) {
    const moved = (token) => (integer(token) === 0 ? null : { ...claim, token: integer(token) });
    return this.#call('DUE.MOVE', [...when(time), claim.token, claim.item], moved);
  }

  cancel(...items) {
    return items.length === 0 ? Call.nothing(0) : this.#call('ZREM', items, integer);
  }

  info({ now: time, ...rest } = {}) {
    noMore(rest);
    return this.#call('DUE.INFO', now(time), (reply) => {
      const { next_ms: next, ...counts } = record(reply);
      return { ...counts, nextMs: next < 0 ? null : next };
    });
  }
}
