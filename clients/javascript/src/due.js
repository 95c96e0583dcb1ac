// DUE.*: items that are released at a time, as values.

import { Call, Key, duration, flags, integer, listOf, milliseconds, moment, option, record, text, timed } from './call.js';

const now = (when) => timed('NOW', when, moment);

function when({ at, after }) {
  if ((at === undefined) === (after === undefined)) throw new TypeError('give one of at and after');
  return at === undefined ? ['IN', duration(after)] : ['AT', moment(at)];
}

function take({ count, lease, block, now: time }) {
  const waits = [...timed('LEASE', lease, duration), ...timed('BLOCK', block, duration)];
  return [...option('COUNT', count), ...waits, ...now(time)];
}

/** The commands of one schedule. Each method returns a Call. */
export class ScheduleCalls {
  constructor(key) {
    this.key = key;
  }

  #call(name, words, parse, options) {
    return new Call(name, [new Key(this.key), ...words], parse, options);
  }

  #take(name, options, parse) {
    const time = options.block === undefined || options.block === null ? null : milliseconds(options.block);
    const callFor = (piece) => this.#take(name, { ...options, block: `${piece}ms` }, parse);
    return this.#call(name, take(options), listOf(parse), { wait: time === null ? null : { milliseconds: time, callFor } });
  }

  add(items, { nx = false, xx = false, ...time }) {
    return this.#call('DUE.ADD', [...flags({ nx, xx }), ...when(time), ...[items].flat()], integer);
  }

  claim(options = {}) {
    const claim = ([item, token, attempt, dueMs]) =>
      ({ item: text(item), token: integer(token), attempt: integer(attempt), dueMs: integer(dueMs) });
    return this.#take('DUE.CLAIM', options, claim);
  }

  pop(options = {}) {
    const due = ([item, dueMs]) => ({ item: text(item), dueMs: integer(dueMs) });
    return this.#take('DUE.POP', options, due);
  }

  ack(...claims) {
    return this.#call('DUE.ACK', claims.flatMap(({ token, item }) => [token, item]), integer);
  }

  move(claim, time) {
    const moved = (token) => (integer(token) === 0 ? null : { ...claim, token: integer(token) });
    return this.#call('DUE.MOVE', [...when(time), claim.token, claim.item], moved);
  }

  cancel(...items) {
    return this.#call('ZREM', items, integer);
  }

  info(options = {}) {
    return this.#call('DUE.INFO', now(options.now), (reply) => {
      const { next_ms: next, ...counts } = record(reply);
      return { ...counts, nextMs: next < 0 ? null : next };
    });
  }
}
