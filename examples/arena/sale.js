// The flash sale. Its stock is a schedule: all items are due at the second at which it opens, and to buy is to pop one.
// Nobody can buy too early, and no item is sold twice, however many ask.

import { Leaderboard, RateLimiter, Schedule, execute, raw } from 'redis-rank-client';

import { shown } from './arena.js';

const BOOST = 2000;
const KEPT_MS = 10 * 60_000;

export class Sale {
  /** A sale opens every `every` milliseconds. */
  constructor(arena, { every, items }) {
    this.arena = arena;
    this.every = every;
    this.items = items;
    this.opened = Math.floor(Date.now() / every) * every;
    this.openings = new Schedule(arena.client, '{arena}:openings');
    this.oneEach = new RateLimiter(arena.client, '1/10m', { algorithm: 'FIXED', prefix: '{arena}:one:' });
  }

  stock(sale) {
    return new Schedule(this.arena.client, `{arena}:stock:${sale}`);
  }

  winners(sale) {
    return new Leaderboard(this.arena.client, `{arena}:winners:${sale}`, { ties: 'FIRST', data: '{arena}:players' });
  }

  /** Waits up to a second for the next sale to open. True if it did. */
  async wait() {
    const [claim] = await this.openings.claim({ lease: '5s', block: '1s' });
    if (claim === undefined) {
      if ((await this.openings.info()).items === 0) await this.plan();
      return false;
    }
    // If this process dies here, the claim ends, and the sale opens when the process is back.
    this.opened = Number(claim.item);
    await this.plan();
    await this.openings.ack(claim);
    return true;
  }

  async plan() {
    const at = (Math.floor(Date.now() / this.every) + 1) * this.every;
    const stock = this.stock(at).calls;
    const items = Array.from({ length: this.items }, (_, number) => `boost:${number + 1}`);
    await execute(
      this.arena.client,
      stock.add(items, { at }),
      raw('PEXPIREAT', stock.key, at + KEPT_MS),
      this.openings.calls.add(String(at), { at }),
    );
  }

  /** True if the player got an item. */
  async buy(player) {
    const sale = this.opened;
    const ticket = `${sale}:${player}`;
    if ((await this.oneEach.check(ticket)).limited) return false;
    const [item] = await this.stock(sale).pop();
    if (item === undefined) {
      await this.oneEach.refund(ticket);
      return false;
    }
    const winners = this.winners(sale).calls;
    await this.arena.write(
      winners.create(),
      winners.add(player, 0),
      raw('PEXPIREAT', winners.key, sale + KEPT_MS),
      this.arena.board.calls.incr(player, BOOST),
    );
    return true;
  }

  /** What everybody sees. */
  async view() {
    const [next, stock, winners] = await execute(
      this.arena.client,
      this.openings.calls.info(),
      this.stock(this.opened).calls.info(),
      this.winners(this.opened).calls.top(this.items, { data: true }),
    );
    return { opened: this.opened, next: next.nextMs, items: this.items, left: stock.due, boost: BOOST, winners: winners.map(shown) };
  }
}
