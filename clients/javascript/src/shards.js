// One board over many keys: exact answers for the whole from rounds of calls to all shards.
//
// docs/design.md describes how. A call that meets a slot on its way or a primary that died is tried again, and an
// answer that lacks a shard is never given.

import { setTimeout as sleep } from 'node:timers/promises';

import { BoardCalls, migration, scanAll } from './board.js';
import { Call, jsonName, listOf, milliseconds, moment, noMore, number, numbers, text } from './call.js';
import { IncompleteAnswer, OutcomeUnknown, isOutage, isRefusal } from './errors.js';
import { Order, byName } from './order.js';
import { READS, run, senderOf, within } from './run.js';
import { SLOTS, crc16 } from './slots.js';

// The most rows of a shard that are fetched rather than narrowed down further, on average.
const ROWS_A_SHARD = 64;
// A member that is written so often that it is never seen twice at one place.
const MOST_TRIES = 50;
const PAUSE_MS = 50;

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
  const ranks = [];
  for (const [at, row] of known.entries()) {
    const isTied = at > 0 && order.byFields(known[at - 1], row) === 0;
    ranks.push(kind === 'ORDINAL' ? before + at + 1 : isTied ? ranks[at - 1] : better(row) + 1);
  }
  for (const [at, row] of known.entries()) row.rank = ranks[at];
  return { before, rows: known, isLast: !ceiling };
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

/** A bound of scores: its number, whether that is excluded itself, and the bound of what is on its other side. */
function boundOf(value) {
  const shown = String(value).toLowerCase().replace('infinity', 'inf');
  const isOut = shown.startsWith('(');
  return { score: number(shown.slice(isOut ? 1 : 0)), isOut, beyond: isOut ? shown.slice(1) : `(${shown}` };
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

  constructor(client, name, shards, { timeout = 10_000, ...schema } = {}) {
    if (schema.periods) throw new TypeError('a board with shards has no periods');
    senderOf(client);
    this.client = client;
    this.name = name;
    this.timeout = milliseconds(timeout);
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

  /** The result of a call. One that fails while the cluster changes is tried again; a write only if it did not happen. */
  async #ask(call) {
    const isRead = READS.has(call.name);
    const end = Date.now() + this.timeout;
    for (;;) {
      const incomplete = (cause) => new IncompleteAnswer(`${call.name} got no answer within ${this.timeout} ms`, { cause });
      try {
        return await within(end - Date.now(), (limit) => run(this.client, call, isRead ? undefined : limit), incomplete);
      } catch (error) {
        if (error instanceof IncompleteAnswer || !(isRead ? isOutage(error) : didNotHappen(error))) throw error;
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

  async #at(member, describe) {
    return this.#ask(describe(this.#boards[this.#home(member)]));
  }

  #kind({ kind = this.#order.kind, data: _data, time: _time, ...rest }) {
    noMore(rest);
    if (kind !== 'COMPETITION' && kind !== 'ORDINAL') throw new TypeError(`ranks over shards are COMPETITION or ORDINAL, got ${kind}`);
    return kind;
  }

  shards() {
    return this.#ask(new Call('RANK.SHARDS', [this.name, this.keys.length], listOf(text)));
  }

  shard(member) {
    return this.#ask(new Call('RANK.SHARD', [this.name, this.keys.length, member], text));
  }

  // --- the board ------------------------------------------------------------------------------------------

  async create(options) {
    await this.#all((board) => board.create(options));
  }

  async migrate() {
    const infos = await this.#all((board) => board.info());
    await this.#all((board, shard) => migration(board, infos[shard]));
  }

  async alter(changes) {
    const { keep: _keep, update: _update, data, owned: _owned, ...rest } = changes;
    noMore(rest);
    const hashes = data ? keysOf(data, this.keys.length) : [];
    await this.#all((board, shard) => board.alter(data ? { ...changes, data: hashes[shard] } : changes));
  }

  async info() {
    const infos = await this.#all((board) => board.info());
    const shard = infos.findIndex((info) => info !== null);
    if (shard < 0) return null;
    const total = (name) => sum(infos.map((info) => info?.[name] ?? 0));
    const suffix = this.keys[shard].slice(this.name.length);
    const { data } = infos[shard];
    const hash = data?.endsWith?.(suffix) ? data.slice(0, -suffix.length) : data;
    return { ...infos[shard], members: total('members'), overflow: total('overflow'), data: hash, shard: null };
  }

  async clear() {
    return sum(await this.#all((board) => board.clear()));
  }

  verify({ cursor, ...options } = {}) {
    return this.#step(cursor, (board, own) => board.verify({ ...options, cursor: own }));
  }

  /** One step in one shard, whose number is in the cursor. The next one is in this shard or in the next. */
  async #step(cursor = '0', describe) {
    const [, digits, own] = /^(\d+):(.+)$/.exec(cursor === '0' ? '0:0' : cursor) ?? [];
    const board = this.#boards[digits];
    if (!board) throw new RangeError(`expected '0' or a cursor that a step returned, got ${cursor}`);
    const step = await this.#ask(describe(board, own));
    const shard = Number(digits);
    const next = shard + 1 < this.#boards.length ? `${shard + 1}:0` : '0';
    return { ...step, cursor: step.cursor === '0' ? next : `${shard}:${step.cursor}` };
  }

  // --- writes ---------------------------------------------------------------------------------------------

  /** The names of members, or members with their scores, by shard. */
  #byHome(members, name = (member) => member) {
    const parts = new Map();
    for (const member of members) {
      const home = this.#home(name(member));
      if (!parts.has(home)) parts.set(home, []);
      parts.get(home).push(member);
    }
    return [...parts];
  }

  add(member, score, options) {
    return this.#at(member, (board) => board.add(member, score, options));
  }

  async addMany(scores, options) {
    const parts = this.#byHome(scores instanceof Map ? scores : Object.entries(scores), ([member]) => member);
    return sum(await this.#round(parts.map(([home, part]) => this.#boards[home].addMany(new Map(part), options))));
  }

  incr(member, delta, options) {
    return this.#at(member, (board) => board.incr(member, delta, options));
  }

  async remove(...members) {
    return sum(await this.#round(this.#byHome(members).map(([home, part]) => this.#boards[home].remove(...part))));
  }

  async load(lines, options) {
    const parts = this.#byHome(lines, (line) => jsonName(JSON.parse(line).member));
    return sum(await this.#round(parts.map(([home, part]) => this.#boards[home].load(part, options))));
  }

  setData(member, data, options) {
    return this.#at(member, (board) => board.setData(member, data, options));
  }

  putData(member, data) {
    return this.#at(member, (board) => board.putData(member, data));
  }

  getData(member) {
    return this.#at(member, (board) => board.getData(member));
  }

  getAttributes(member, ...attributes) {
    return this.#at(member, (board) => board.getAttributes(member, ...attributes));
  }

  delData(member, ...attributes) {
    return this.#at(member, (board) => board.delData(member, ...attributes));
  }

  // --- reads ----------------------------------------------------------------------------------------------

  async score(member, options = {}) {
    noMore(options);
    return this.#at(member, (board) => board.score(member));
  }

  async count(low, high, options = {}) {
    noMore(options);
    return sum(await this.#all((board) => board.count(low, high)));
  }

  async forScore(score, { kind, at, member, ...rest } = {}) {
    const of = this.#kind({ kind, ...rest });
    const ranks = await this.#all((board) => board.forScore(score, { kind: of, at, member }));
    return 1 + sum(ranks) - ranks.length;
  }

  async get(member, options = {}) {
    const kind = this.#kind(options);
    const row = await this.#find(member, { kind, data: options.data });
    return row && shown(await this.#ranked([row], kind), options)[0];
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
      row.rank += sum(ranks) - ranks.length;
      return row;
    }));
  }

  async among(members, options = {}) {
    const kind = this.#kind(options);
    const among = ([home, part]) => this.#boards[home].among(part, { kind, data: options.data, time: true });
    const rows = await this.#ranked((await this.#round(this.#byHome(members).map(among))).flat(), kind);
    rows.sort((a, b) => this.#order.compare(a, b));
    for (const [at, row] of rows.entries()) {
      const better = partition(rows, (other) => this.#order.byFields(other, row) < 0);
      row.place = (kind === 'ORDINAL' ? at : better) + 1;
    }
    return shown(rows, options);
  }

  async top(n, options = {}) {
    atLeast(0, { n });
    return this.#windowsUntil(this.#boards.map(() => [0, 0]), 1, n, options);
  }

  async range(start, stop, options = {}) {
    if (start === 0 || stop === 0) throw new RangeError('positions begin at 1, or at -1 from the end, got 0');
    const members = start < 0 || stop < 0 ? await this.count() : 0;
    const first = start < 0 ? Math.max(1, members + 1 + start) : start;
    const last = stop < 0 ? members + 1 + stop : stop;
    return last < first ? [] : this.#slice(first, last + 1 - first, options);
  }

  async #slice(start, n, options) {
    return this.#windowsUntil(await this.#locate(start - 1), start, n, options);
  }

  async page(page, size, options = {}) {
    atLeast(1, { page, size });
    const members = await this.count();
    const rows = await this.#slice((page - 1) * size + 1, size, options);
    return { page, pages: Math.ceil(members / size), members, rows };
  }

  async around(member, distance, { fill = false, ...options } = {}) {
    atLeast(0, { distance });
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const row = await this.#find(member, { kind: 'ORDINAL' });
      if (row === null) return [];
      const isIt = (other) => byName(other, row) === 0;
      const ranks = await this.#all((board) => this.#countBefore(board, row));
      let share = this.#share(fill ? 2 * distance : distance) + 1;
      for (;;) {
        const windows = await this.#windows(ranks.map((rank) => [Math.max(1, rank - share), rank + share]), options);
        // If it was written meanwhile, it is somewhere else now.
        if (!windows.some(({ rows }) => rows.some(isIt))) break;
        const merged = merge(this.#order, windows, this.#kind(options));
        const at = merged ? merged.rows.findIndex(isIt) : -1;
        if (at >= 0) {
          const position = merged.before + 1 + at;
          let start = Math.max(1, position - distance);
          if (fill && merged.isLast) start = Math.max(1, Math.min(start, merged.before + merged.rows.length - 2 * distance));
          const found = cut(merged, start, (fill ? start + 2 * distance : position + distance) + 1 - start);
          if (found) return shown(found, options);
        }
        share *= 2;
      }
    }
    throw new IncompleteAnswer(`${member} was written all the time`);
  }

  async after(n, score, { at, member, ...options } = {}) {
    atLeast(0, { n });
    this.#kind(options);
    const [rows, counts] = await Promise.all([
      this.#all((board) => board.after(1, score, { at, member, kind: 'ORDINAL' })), this.#all((board) => board.count()),
    ]);
    const located = rows.map(([row], shard) => (row ? row.rank - 1 : counts[shard]));
    const place = placeOf(score, at, member);
    return this.#beside(located, n, (row) => (this.#order.compareToPlace(row, place) > 0 ? 0 : -1), options);
  }

  async before(n, score, { at, member, ...options } = {}) {
    atLeast(0, { n });
    this.#kind(options);
    const rows = await this.#all((board) => board.before(1, score, { at, member, kind: 'ORDINAL' }));
    const place = placeOf(score, at, member);
    const side = (row) => (this.#order.compareToPlace(row, place) < 0 ? 0 : 1);
    return this.#beside(rows.map(([row]) => row?.rank ?? 0), n, side, options, { isBack: true });
  }

  async byScore(low, high, { limit: [offset, n] = [0, -1], ...options } = {}) {
    atLeast(0, { offset });
    this.#kind(options);
    const sign = this.#order.signs[0];
    const [best, worst] = (sign < 0 ? [high, low] : [low, high]).map(boundOf);
    const [inside, located] = await Promise.all([
      this.#all((board) => board.count(low, high)),
      this.#all((board) => (sign < 0 ? board.count(best.beyond, 'inf') : board.count('-inf', best.beyond))),
    ]);
    const isAbove = ({ score, isOut }, value) => (isOut ? value >= score : value > score);
    const isBelow = ({ score, isOut }, value) => (isOut ? value <= score : value < score);
    const [isBetter, isWorse] = sign < 0 ? [isAbove, isBelow] : [isBelow, isAbove];
    const side = ({ score }) => (isBetter(best, score) ? -1 : isWorse(worst, score) ? 1 : 0);
    const rows = await this.#beside(located, n < 0 ? Infinity : offset + n, side, options, { most: Math.max(...inside) });
    return rows.slice(offset);
  }

  scan(cursor, options) {
    return this.#step(cursor, (board, own) => board.scan(own, options));
  }

  scanLines(cursor, options) {
    return this.#step(cursor, (board, own) => board.scanLines(own, options));
  }

  scanAll(options) {
    return scanAll(this, options);
  }

  async percentile(member, options = {}) {
    noMore(options);
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
      if (found) return shown(found, options);
    }
  }

  /**
   * The first n rows of side 0, or the last: those of side -1 are before them, those of 1 behind. In each shard `located`
   * rows are before that place.
   */
  async #beside(located, n, side, options, { isBack = false, most = Infinity } = {}) {
    const share = Math.min(this.#share(n), most);
    let [ahead, behind] = isBack ? [share, 0] : [0, share];
    for (let slack = 1; ; slack *= 4, ahead *= 2, behind *= 2) {
      const bounds = located.map((count) => [Math.max(1, count + 1 - ahead - slack), count + behind + slack]);
      const merged = merge(this.#order, await this.#windows(bounds, options), this.#kind(options));
      if (!merged) continue;
      const { rows } = merged;
      const [first, last] = [partition(rows, (row) => side(row) < 0), partition(rows, (row) => side(row) <= 0)];
      const isEnough = last - first >= n;
      const begins = first > 0 || merged.before === 0 || (isBack && isEnough);
      const ends = last < rows.length || merged.isLast || (!isBack && isEnough);
      // If not, a shard has more than its share of the rows, or somebody wrote meanwhile.
      if (begins && ends) return shown(isBack ? rows.slice(Math.max(first, last - n), last) : rows.slice(first, Math.min(last, first + n)), options);
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

// What a write may be sent again after: the server refused it, or it was not sent.
const didNotHappen = (error) => isRefusal(error) || (isOutage(error) && !(error instanceof OutcomeUnknown));

const given = (value) => value !== undefined && value !== null;

/** A place in the board, as rows are compared to it. */
const placeOf = (score, at, member) => ({
  scores: numbers(score), time: given(at) ? moment(at) : undefined, member: given(member) ? member : undefined,
});

/** Shards are always asked for the tie time, to compare by it. */
function shown(rows, { time = false }) {
  if (!time) for (const row of rows) delete row.time;
  return rows;
}
