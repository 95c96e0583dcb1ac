// Leaderboards, rate limits and schedules in Redis and Valkey, with the module redis-rank.

import { BoardCalls, migration, scanAll } from './board.js';
import { raw } from './call.js';
import { ScheduleCalls } from './due.js';
import { execute, run, sends } from './run.js';

export {
  CommandError, CrossSlot, DamagedBoard, Dead, IncompleteAnswer, LeaseDenied, LeaseLost, ModuleNotLoaded, NoBoard, NotPermitted, NotSent,
  OutOfMemory, OutcomeUnknown, RankError, RateLimited, Retry, SchemaError, TooBig, TryAgain, Unblocked, ValueOutOfRange, WrongPayload, WrongType,
} from './errors.js';
export { Lease } from './lease.js';
export { RateLimiter } from './limiter.js';
export { ShardedLeaderboard } from './shards.js';
export { Worker } from './worker.js';
export { execute, raw };

/** A board, declared once and created by its first write. */
export class Leaderboard extends sends(BoardCalls) {
  constructor(client, key, schema) {
    super(client, new BoardCalls(key, schema));
  }

  async migrate() {
    await run(this.client, migration(this.calls, await this.info()));
  }

  scanAll(options) {
    return scanAll(this, options);
  }
}

/** Items that are released at a time. `data` names the hash with their payloads, `dead` the schedule of those given up. */
export class Schedule extends sends(ScheduleCalls) {
  constructor(client, key, options) {
    super(client, new ScheduleCalls(key, options));
  }

  /** With the payloads. */
  async cancel(...items) {
    const { data } = this.calls;
    const cancelled = this.calls.cancel(...items);
    if (data === undefined || items.length === 0) return run(this.client, cancelled);
    const [count] = await execute(this.client, cancelled, raw('HDEL', data, ...items));
    return count;
  }

  async #withPayloads(entries) {
    if (this.calls.data === undefined) return entries;
    const payloads = await this.payloads(entries.map(({ item }) => item));
    return entries.map((entry, at) => ({ ...entry, data: payloads[at] }));
  }

  /** An item with its payload, or null. */
  async get(item) {
    const found = await run(this.client, this.calls.get(item));
    return found && (await this.#withPayloads([found]))[0];
  }

  /** Items with their payloads: those that are held, then those that wait, earliest first. */
  async list(options) {
    return this.#withPayloads(await run(this.client, this.calls.list(options)));
  }

  /** The items that were given up: to look at, to revive, and to discard. */
  get dead() {
    const { data, dead, payload } = this.calls;
    if (dead === undefined) throw new TypeError('the schedule does not know its dead: new Schedule(client, key, { dead })');
    const those = new Schedule(this.client, dead, { data, payload });
    return {
      list: (options) => those.list(options), get: (item) => those.get(item),
      revive: (item) => this.revive(item), discard: (item) => this.discard(item),
    };
  }
}
