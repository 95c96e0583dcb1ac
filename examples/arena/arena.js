// The game: one board with periods, and a limit on how often a player may score.

import { Leaderboard, RateLimiter, execute } from 'redis-rank-client';

/** The tabs of the page, as the `period` of a read. */
export const TABS = { day: 'day', week: 'week', all: undefined };

/** A bucket of five hits that refills one hit every two seconds. */
export const HITS = 5;
export const REFILL_MS = 2000;

export class Arena {
  constructor(client) {
    this.client = client;
    this.board = new Leaderboard(client, '{arena}', {
      fields: ['points BITS 30'],
      ties: 'FIRST S',
      data: '{arena}:players',
      periods: [{ unit: 'DAY', prefix: '{arena}:day:' }, { unit: 'WEEK', prefix: '{arena}:week:' }],
    });
    this.limiter = new RateLimiter(client, `1/${REFILL_MS}ms`, { algorithm: 'GCRA', burst: HITS, prefix: '{arena}:hits:' });
  }

  /** The board is declared with every write, in the same round trip. So a server that lost its data gets it back. */
  async write(...calls) {
    const [, ...results] = await execute(this.client, this.board.calls.create(), ...calls);
    return results;
  }

  /** Puts a player on all boards, with no points where it has none yet. */
  enter(player, name) {
    return this.write(this.board.calls.add(player, 0, { nx: true }), this.board.calls.setData(player, { name }, { nx: true }));
  }

  rename(player, name) {
    return this.write(this.board.calls.setData(player, { name }));
  }

  /** One hit, unless the player is out of hits. It is worth about a hundredth of what today's leader has. */
  async score(player, tab) {
    const limit = await this.limiter.check(player);
    if (limit.limited) return { limit };
    const [leader] = await this.board.top(1, { period: 'day' });
    const points = 100 + Math.floor((leader?.score ?? 0) * 0.02 * Math.random());
    const [change] = await this.write(this.board.calls.incrRanked(player, points, { period: TABS[tab] }));
    return { limit, points, rank: change.rank, previousRank: change.previousRank };
  }

  /** What a player sees: the best ten, the player's neighbours, and the hits that are left. One round trip. */
  async view(player, tab) {
    const options = { data: true, period: TABS[tab] };
    const [{ members, rows }, around, limit] = await execute(
      this.client,
      this.board.calls.page(1, 10, options),
      this.board.calls.around(player, 2, { fill: true, ...options }),
      this.limiter.calls.peek(player),
    );
    return { members, top: rows.map(shown), around: around.map(shown), limit };
  }
}

/** A row as the page gets it. */
export const shown = ({ rank, member, score, data }) => ({ rank, id: member, name: data?.name ?? member, score });
