// One board over many keys: exact answers for the whole from rounds of calls to all shards.
//
// docs/design.md describes how. A call that meets a slot on its way or a primary that died is tried again, and an
// answer that lacks a shard is never given.

import { setTimeout as sleep } from 'node:timers/promises';

import { BoardCalls } from './board.js';
import { Call, listOf, text, wordsOf } from './call.js';
import { IncompleteAnswer, RankError } from './errors.js';
import { run, within } from './run.js';

const SLOTS = 16384;
// The most rows of a shard that are fetched rather than narrowed down further, on average.
const ROWS_A_SHARD = 64;
// A member that is written so often that it is never seen twice at one place.
const MOST_TRIES = 50;
const PAUSE_MS = 50;

export function crc16(name) {
  let crc = 0;
  for (const byte of Buffer.from(name)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}

/** For each shard the key with the smallest number whose slot lies in its part of the slots. */
export function keysOf(name, n) {
  if (!Number.isInteger(Math.log2(n)) || n < 2 || n > 1024) throw new RangeError(`a board has 2, 4, 8 … 1024 shards, got ${n}`);
  const tags = new Map();
  for (let number = 0; tags.size < n; number++) {
    const shard = Math.floor(((crc16(String(number)) % SLOTS) * n) / SLOTS);
    if (!tags.has(shard)) tags.set(shard, number);
  }
  return Array.from({ length: n }, (_, shard) => `${name}:${n}:{${tags.get(shard)}}`);
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const byName = (a, b) => Buffer.compare(Buffer.from(a.member), Buffer.from(b.member));
const clamp = (value, least, most) => Math.min(Math.max(value, least), most);

/** The first place in a sorted list of which `isBefore` no longer holds. */
function partition(list, isBefore) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(list[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** How rows compare, best first: fields, then the tie time, then the name. */
class Order {
  constructor({ fields = [], order = 'DESC', ties = 'SHARED' }) {
    const words = fields.length ? fields.map((field) => wordsOf(field.toUpperCase())) : [[order]];
    this.signs = words.map((field) => (field.includes('ASC') ? 1 : -1));
    const rule = wordsOf(ties.toUpperCase())[0];
    this.time = rule === 'SHARED' ? 0 : rule === 'LAST' ? -1 : 1;
    this.kind = rule === 'SHARED' ? 'COMPETITION' : 'ORDINAL';
  }

  byFields(a, b) {
    for (const [at, sign] of this.signs.entries()) {
      if (a.scores[at] !== b.scores[at]) return a.scores[at] < b.scores[at] ? -sign : sign;
    }
    return 0;
  }

  compare(a, b) {
    const byTime = this.time === 0 ? 0 : this.time * (a.time - b.time);
    return this.byFields(a, b) || byTime || this.signs[0] * byName(a, b);
  }
}

/**
 * Neighbouring rows of the whole board: those of which it is known how many are before them in every shard. A window
 * has rows of one shard from position `first`, all of one moment.
 */
function merge(order, windows, kind) {
  // Of a shard whose window does not begin with its first row, nothing is known of what is before the window.
  if (windows.some(({ first, rows }) => first > 1 && rows.length === 0)) return null;
  const byPlace = (a, b) => order.compare(a, b);
  const floor = windows.filter(({ first }) => first > 1).map(({ rows }) => rows[0]).sort(byPlace).at(-1);
  const ceiling = windows.filter(({ isLast }) => !isLast).map(({ rows }) => rows.at(-1)).sort(byPlace)[0];
  const isKnown = (row) => (!floor || byPlace(row, floor) >= 0) && (!ceiling || byPlace(row, ceiling) <= 0);
  const known = windows.flatMap(({ rows }) => rows).filter(isKnown).sort(byPlace);
  if (known.length === 0) return floor || ceiling ? null : { before: 0, rows: [], isLast: true };

  const before = sum(windows.map(({ first, rows }) => first - 1 + partition(rows, (row) => byPlace(row, known[0]) < 0)));
  const better = (row) => sum(windows.map(({ first, rows }) => {
    const at = partition(rows, (other) => order.byFields(other, row) < 0);
    // The shard itself said how many are better than a row of its own.
    return at < rows.length && order.byFields(rows[at], row) === 0 ? rows[at].rank - 1 : first - 1 + at;
  }));
  const ranked = [];
  for (const [at, row] of known.entries()) {
    const isTied = at > 0 && order.byFields(known[at - 1], row) === 0;
    const rank = kind === 'ORDINAL' ? before + at + 1 : isTied ? ranked[at - 1].rank : better(row) + 1;
    ranked.push({ ...row, rank });
  }
  return { before, rows: ranked, isLast: !ceiling };
}

/** Rows by position, if these are among them or the board ends before. */
function cut({ before, rows, isLast }, start, n) {
  if (before >= start || (before + rows.length < start + n - 1 && !isLast)) return null;
  const skip = start - before - 1;
  return rows.slice(skip, skip + n);
}

function atLeast(least, values) {
  for (const [name, value] of Object.entries(values)) {
    if (!(value >= least)) throw new RangeError(`${name} takes ${least} or more, got ${value}`);
  }
}

/** The smallest size of pages of which one holds this position and the next. */
function pageSize(position) {
  if (position === 0) return 1;
  let size = 2;
  while (position % size === 0) size++;
  return size;
}

/** A board that is cut into shards, spread over a cluster by their keys. */
export class ShardedLeaderboard {
  #order;
  #boards;

  constructor(client, name, shards, { timeout = 10, ...schema } = {}) {
    if (schema.periods) throw new TypeError('a board with shards has no periods');
    this.client = client;
    this.name = name;
    this.timeout = timeout;
    this.keys = keysOf(name, shards);
    this.#order = new Order(schema);
    // Attributes are in the slot of their shard.
    const hashes = schema.data ? keysOf(schema.data, shards) : [];
    this.#boards = this.keys.map((key, shard) => {
      const own = schema.data ? { ...schema, data: hashes[shard] } : schema;
      return new BoardCalls(key, own, ['SHARD', shard, shards]);
    });
  }

  // --- rounds ---------------------------------------------------------------------------------------------

  /** The result of a call. One that failed for a while is tried again, if that does no harm. */
  async #ask(call, again = isTransient) {
    const end = Date.now() + this.timeout * 1000;
    const incomplete = (cause) => new IncompleteAnswer(`${call.name} got no answer within ${this.timeout} s`, { cause });
    for (;;) {
      try {
        return await within(end - Date.now(), run(this.client, call), incomplete);
      } catch (error) {
        if (!again(error)) throw error;
        if (Date.now() >= end) throw incomplete(error);
        await sleep(PAUSE_MS);
      }
    }
  }

  #round(calls) {
    return Promise.all(calls.map((call) => this.#ask(call)));
  }

  #all(describe) {
    return this.#round(this.#boards.map(describe));
  }

  #home(member) {
    return crc16(member) % this.#boards.length;
  }

  #kind({ kind = this.#order.kind }) {
    if (kind !== 'COMPETITION' && kind !== 'ORDINAL') throw new TypeError(`ranks over shards are COMPETITION or ORDINAL, got ${kind}`);
    return kind;
  }

  shards() {
    return this.#ask(new Call('RANK.SHARDS', [this.name, this.keys.length], listOf(text)));
  }

  shard(member) {
    return this.#ask(new Call('RANK.SHARD', [this.name, this.keys.length, member], text));
  }

  // --- writes ---------------------------------------------------------------------------------------------

  async create() {
    await this.#all((board) => board.create());
  }

  add(member, score, options) {
    return this.#ask(this.#boards[this.#home(member)].add(member, score, options));
  }

  async addMany(scores, options) {
    const parts = new Map();
    for (const [member, score] of scores instanceof Map ? scores : Object.entries(scores)) {
      const home = this.#home(member);
      parts.set(home, (parts.get(home) ?? new Map()).set(member, score));
    }
    return sum(await this.#round([...parts].map(([home, part]) => this.#boards[home].addMany(part, options))));
  }

  incr(member, delta) {
    return this.#ask(this.#boards[this.#home(member)].incr(member, delta), isRefusal);
  }

  async remove(...members) {
    return sum(await this.#round(members.map((member) => this.#boards[this.#home(member)].remove(member))));
  }

  // --- reads ----------------------------------------------------------------------------------------------

  async count(low, high) {
    return sum(await this.#all((board) => board.count(low, high)));
  }

  async get(member, options = {}) {
    const kind = this.#kind(options);
    const row = await this.#find(member, { kind, data: options.data });
    return row && (await this.#ranked([row], kind))[0];
  }

  #find(member, { kind, data }) {
    return this.#ask(this.#boards[this.#home(member)].get(member, { kind, data, time: true }));
  }

  /** One more than how many of a shard are before this place, or are better. */
  #countBefore(board, { scores, time, member }, kind = 'ORDINAL') {
    return board.forScore(scores, kind === 'ORDINAL' ? { kind, at: time, member } : { kind });
  }

  /** Rows with the ranks of their shards get those of the whole board. */
  #ranked(rows, kind) {
    return Promise.all(rows.map(async (row) => {
      const others = this.#boards.filter((_, shard) => shard !== this.#home(row.member));
      const ranks = await this.#round(others.map((board) => this.#countBefore(board, row, kind)));
      return { ...row, rank: row.rank + sum(ranks) - ranks.length };
    }));
  }

  async friends(members, options = {}) {
    const kind = this.#kind(options);
    const parts = new Map();
    for (const member of members) {
      const home = this.#home(member);
      parts.set(home, [...(parts.get(home) ?? []), member]);
    }
    const among = ([home, part]) => this.#boards[home].among(part, { kind, data: options.data, time: true });
    const rows = await this.#ranked((await this.#round([...parts].map(among))).flat(), kind);
    rows.sort((a, b) => this.#order.compare(a, b));
    return rows.map((row, at) => {
      const better = partition(rows, (other) => this.#order.byFields(other, row) < 0);
      return { ...row, place: (kind === 'ORDINAL' ? at : better) + 1 };
    });
  }

  async top(n, options = {}) {
    atLeast(0, { n });
    return this.#windowsUntil(this.#boards.map(() => [0, 0]), 1, n, options);
  }

  async range(start, n, options = {}) {
    atLeast(1, { start });
    atLeast(0, { n });
    return this.#windowsUntil(await this.#locate(start - 1), start, n, options);
  }

  async page(page, size, options = {}) {
    atLeast(1, { page, size });
    const members = await this.count();
    const rows = await this.range((page - 1) * size + 1, size, options);
    return { page, pages: Math.ceil(members / size), members, rows };
  }

  async around(member, distance, options = {}) {
    atLeast(0, { distance });
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const row = await this.#find(member, { kind: 'ORDINAL' });
      if (row === null) return [];
      const isIt = (other) => byName(other, row) === 0;
      const ranks = await this.#all((board) => this.#countBefore(board, row));
      let share = this.#share(distance) + 1;
      for (;;) {
        const windows = await this.#windows(ranks.map((rank) => [Math.max(1, rank - share), rank + share]), options);
        // If it was written meanwhile, it is somewhere else now.
        if (!windows.some(({ rows }) => rows.some(isIt))) break;
        const merged = merge(this.#order, windows, this.#kind(options));
        const at = merged ? merged.rows.findIndex(isIt) : -1;
        if (at >= 0) {
          const position = merged.before + 1 + at;
          const start = Math.max(1, position - distance);
          const found = cut(merged, start, position + distance + 1 - start);
          if (found) return found;
        }
        share *= 2;
      }
    }
    throw new IncompleteAnswer(`${member} was written all the time`);
  }

  async percentile(member) {
    const row = await this.#find(member, {});
    if (row === null) return null;
    const isWorse = (other) => this.#order.byFields(other, row) > 0;
    const parts = await Promise.all(this.#boards.map(async (board) => {
      for (;;) {
        // How many are not worse: those before the first that is, or all.
        const [[first], all] = await this.#round([board.after(1, row.scores, { kind: 'ORDINAL' }), board.count()]);
        const count = first ? first.rank - 1 : all;
        // One reply tells whether that is so, and how many there are: a page with both rows of the border.
        const size = pageSize(count);
        const { members, rows } = await this.#ask(board.page(Math.floor(count / size) + 1, size, { kind: 'ORDINAL' }));
        const at = (position) => rows.find(({ rank }) => rank === position);
        const [last, next] = [at(count), at(count + 1)];
        if ((count === 0 || (last && !isWorse(last))) && (members === count || (next && isWorse(next)))) {
          return { worse: members - count, members };
        }
      }
    }));
    return (100 * sum(parts.map(({ worse }) => worse))) / sum(parts.map(({ members }) => members));
  }

  // --- positions ------------------------------------------------------------------------------------------

  /** More of n rows in succession than a shard hardly ever has. */
  #share(n) {
    return Math.min(n, 2 * Math.ceil(n / this.#boards.length) + 8);
  }

  /** Rows by position of each shard, both ends included. */
  async #windows(bounds, options) {
    const read = { kind: this.#kind(options), data: options.data, time: true };
    const answers = await this.#all((board, shard) => board.range(...bounds[shard], read));
    return answers.map((rows, shard) => {
      const [first, last] = bounds[shard];
      return { first, rows, isLast: rows.length < last + 1 - first };
    });
  }

  /** n rows from a position, of which it is known how many rows of each shard are before it, from … to. */
  async #windowsUntil(located, start, n, options) {
    for (let [slack, share] = [1, this.#share(n)]; ; slack *= 4, share *= 2) {
      const windows = await this.#windows(located.map(([low, high]) => [Math.max(1, low + 1 - slack), high + share + slack]), options);
      const merged = merge(this.#order, windows, this.#kind(options));
      const found = merged && cut(merged, start, n);
      // If not, a shard has more than its share of the rows, or somebody wrote meanwhile.
      if (found) return found;
    }
  }

  /** How many rows of each shard are among the first `target`, from … to; two rounds narrow it down. */
  async #locate(target) {
    let high = await this.#all((board) => board.count());
    let low = high.map(() => 0);
    if (target === 0) return low.map(() => [0, 0]);
    let halve = false;
    for (let rounds = 0; rounds < 64; rounds++) {
      const width = sum(high) - sum(low);
      if (width <= ROWS_A_SHARD * this.#boards.length) break;
      const pivots = await this.#pivots(low, high, target, halve);
      const counts = await Promise.all(pivots.map((pivot) => this.#all((board) => this.#countBefore(board, pivot))));
      for (const ranks of counts) {
        const before = ranks.map((rank) => rank - 1);
        const narrowed = before.map((count, shard) => clamp(count, low[shard], high[shard]));
        if (sum(before) <= target) low = narrowed;
        if (sum(before) >= target) high = narrowed;
      }
      halve = !halve && sum(high) - sum(low) > width / 2;
    }
    return low.map((least, shard) => [least, high[shard]]);
  }

  /** Rows that are probably a little before and a little behind the target; to halve, one in the middle. */
  async #pivots(low, high, target, halve) {
    const width = sum(high) - sum(low);
    const share = clamp((target - sum(low)) / width, 0, 1);
    // Shards are random parts of the board: how far a pivot is off grows with the root of the distance.
    const margin = (2 * Math.sqrt(width * share * (1 - share)) + low.length) / width;
    const parts = halve ? [0.5] : [share - margin, share + margin];
    const pivots = await Promise.all(parts.map(async (part) => {
      const answers = await this.#all((board, shard) => {
        const position = low[shard] + Math.round(Math.max(high[shard] - 1 - low[shard], 0) * clamp(part, 0, 1)) + 1;
        return board.range(position, position, { time: true });
      });
      return this.#median(answers.flatMap((rows, shard) => rows.map((row) => [high[shard] - low[shard], row])));
    }));
    return pivots.filter((row) => row !== undefined);
  }

  /** The row that leaves half of the weights, and so at least a quarter of the rows, on each side. */
  #median(weighted) {
    weighted.sort(([, a], [, b]) => this.#order.compare(a, b));
    const half = sum(weighted.map(([weight]) => weight)) / 2;
    let total = 0;
    return weighted.find(([weight]) => (total += weight) >= half)?.[1];
  }
}

// The command was not run: try again.
const isRefusal = (error) => /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|LOADING|READONLY|MASTERDOWN) /.test(error.message);
// Other replies of the server, such as OOM, begin with a word in capitals too. They are answers.
const isAnswer = (error) => error instanceof RankError || error instanceof TypeError || /^[A-Z]+ /.test(error.message);
// The rest comes from the connection. The command may have been run.
const isTransient = (error) => isRefusal(error) || !isAnswer(error);
