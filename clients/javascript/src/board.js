// RANK.*: a board's schema and its commands, as values. What they return is in index.d.ts.

import {
  Call, Key, NONE, exactJson, flags, integer, json, jsonName, listOf, moment, noMore, nothing, number, numbers, option, optional, plain,
  record, text, timed, wordsOf,
} from './call.js';
import { NoBoard, SchemaError } from './errors.js';
import { Order } from './order.js';

const at = (when) => timed('AT', when, moment);
const now = (when) => timed('NOW', when, moment);
const key = (word, name) => (name === undefined || name === null ? [] : [word, new Key(name)]);
const limited = (limit) => (limit ? ['LIMIT', ...limit] : []);
const pairs = (scores) => (scores instanceof Map ? [...scores] : Object.entries(scores));

function period({ unit, prefix, past, ...rest }) {
  noMore(rest);
  return ['PERIOD', ...wordsOf(unit), new Key(prefix), ...option('PAST', past)];
}

function schemaWords({ keep, update, data, owned, periods = [], offset, ...rest }) {
  noMore(rest);
  return [
    ...option('KEEP', keep), ...option('UPDATE', update), ...key('DATA', data), ...flags({ owned }),
    ...periods.flatMap(period), ...option('OFFSET', offset),
  ];
}

function rankWords({ kind, period: chosen, ...rest }) {
  noMore(rest);
  return [...(kind ? [kind] : []), ...(chosen === undefined ? [] : ['PERIOD', ...[chosen].flat()])];
}

// JSON: one shape in RESP2 and RESP3, attributes keep their types, and integers are exact.
function readWords(options) {
  if (options === NONE) return ['JSON'];
  const { order, data: withdata, time: withtime, ...rest } = options;
  return [...rankWords(rest), ...(order ? [order] : []), ...flags({ withdata, withtime, json: true })];
}

function writeWords(options) {
  if (options === NONE) return [];
  const { nx, xx, update, keep, ch, at: when, data, ...rest } = options;
  noMore(rest);
  return [
    ...flags({ nx, xx }), ...(update ? [update] : []), ...option('KEEP', keep), ...flags({ ch }), ...at(when),
    ...(data ? ['DATA', JSON.stringify(data)] : []),
  ];
}

const placeWords = (score, when, member) => [...numbers(score), ...at(when), ...option('MEMBER', member)];

function scanWords(cursor, { count, time: withtime, data: withdata, ...rest }) {
  noMore(rest);
  return [cursor, ...option('COUNT', count), ...flags({ withtime, withdata, json: true })];
}

/** Scores and members as they are sent, in one long list. Null keeps a field as it is. */
function scoreWords(words, scores) {
  for (const [member, score] of scores) {
    if (Array.isArray(score)) for (const value of score) words.push(value === null ? '*' : value);
    else words.push(score);
    words.push(member);
  }
  return words;
}

// --- how replies become values --------------------------------------------------------------------------

/** One number for a board with one field, and a list for others. */
const scoreOf = (reply) => (Array.isArray(reply) ? reply.map(number) : number(reply));

// JSON has no bigint.
const asText = (value) => (typeof value === 'bigint' ? String(value) : value);

function withTexts() {
  return Object.fromEntries(Object.entries(this).map(([name, value]) => [name, Array.isArray(value) ? value.map(asText) : asText(value)]));
}

/** The same row, which JSON.stringify takes whatever its scores are. */
function serializable(row, hasLarge) {
  if (hasLarge) Object.defineProperty(row, 'toJSON', { value: withTexts });
  return row;
}

const isLarge = (value) => typeof value === 'bigint';

function tied(rank, users) {
  const hasData = users[0]?.member !== undefined;
  return { rank, members: users.map((user) => jsonName(hasData ? user.member : user)), data: hasData ? users.map(({ data }) => data) : null };
}

function boardInfo(reply) {
  const info = { periods: [], shard: null, ...record(reply) };
  return { ...info, fields: info.fields.map(record), periods: info.periods.map(record) };
}

function verification(reply) {
  const step = record(reply);
  return { ...step, cursor: String(step.cursor) };
}

/** The commands of one board. Each method returns a Call. */
export class BoardCalls {
  #key;
  #order;
  #names;
  #board;
  #create;

  /** `create` is 'auto' or 'never': what a write does if the board is not there. */
  constructor(name, { create = 'auto', ...schema } = {}, shard = []) {
    const { fields = [], order, ties, since, ...changing } = schema;
    if (create !== 'auto' && create !== 'never') throw new TypeError(`create takes 'auto' or 'never', got ${create}`);
    schemaWords(changing);
    timed('SINCE', since, moment);
    this.key = name;
    this.#key = new Key(name);
    this.schema = schema;
    this.shard = shard;
    this.#order = new Order({ fields, order, ties });
    this.#names = fields.map((field) => wordsOf(field)[0]);
    // A board without a schema needs none on the server.
    const isDeclared = shard.length > 0 || Object.values(schema).some((value) => value !== undefined);
    this.#board = isDeclared ? ['BOARD', String(fields.length || 1)] : [];
    this.#create = isDeclared && create === 'auto' ? () => this.create() : null;
  }

  #read(name, words, parse) {
    return new Call(`RANK.${name}`, [this.#key, ...words], parse);
  }

  #write(name, words, parse, missing = NoBoard) {
    return new Call(`RANK.${name}`, words, parse, { create: this.#create, missing });
  }

  // A JSON object would put field names that are numbers first; the schema knows their order.
  #scores(row) {
    if (row.scores === undefined) return [number(row.score)];
    // A board whose fields were renamed has the server's.
    const isDeclared = this.#names.length > 0 && this.#names.every((name) => name in row.scores);
    return (isDeclared ? this.#names : Object.keys(row.scores)).map((name) => number(row.scores[name]));
  }

  #row = ({ rank, place, member, time, data }, original) => {
    const scores = this.#scores(original);
    const row = rank === undefined ? {} : place === undefined ? { rank } : { place, rank };
    Object.assign(row, { member: jsonName(member), score: scores[0], scores });
    if (time !== undefined) row.time = time;
    if (data !== undefined) row.data = data;
    return serializable(row, scores.some(isLarge));
  };

  #change = ([rank, previousRank, member, ...all]) => {
    const half = all.length / 2;
    const scores = rank === null ? null : all.slice(0, half).map(number);
    const previousScores = previousRank === null ? null : all.slice(half).map(number);
    return serializable({
      rank: optional(integer)(rank), previousRank: optional(integer)(previousRank), member: text(member),
      score: scores && scores[0], scores, previousScore: previousScores && previousScores[0], previousScores,
      improved: this.#order.isBetter(scores, previousScores),
    }, [...(scores ?? []), ...(previousScores ?? [])].some(isLarge));
  };

  // Scores exactly, attributes as JSON.parse has them.
  #rows(reply) {
    const { value, exact } = exactJson(reply);
    return value.map((row, index) => this.#row(row, exact[index]));
  }

  #list = (reply) => (reply === null ? [] : this.#rows(reply));

  create({ adopt = false, ...rest } = {}) {
    noMore(rest);
    const { order, fields = [], ties, since, ...changing } = this.schema;
    const words = [
      ...(order ? [order] : []), ...fields.flatMap((field) => ['FIELD', ...wordsOf(field)]),
      ...(ties ? ['TIES', ...wordsOf(ties)] : []), ...schemaWords(changing), ...this.shard,
      ...timed('SINCE', since, moment), ...flags({ adopt }),
    ];
    return this.#read('CREATE', words, nothing);
  }

  createLike(other) {
    return this.#read('CREATE', ['LIKE', new Key(other)], nothing);
  }

  alter({ dropPeriods = [], ...changes }) {
    const removed = flags({ nokeep: changes.keep === null, nodata: changes.data === null });
    const dropped = dropPeriods.flatMap((unit) => ['NOPERIOD', unit]);
    return this.#write('ALTER', [this.#key, ...schemaWords(changes), ...removed, ...dropped], nothing);
  }

  info() {
    return this.#read('INFO', [], optional(boardInfo));
  }

  clear() {
    return this.#read('CLEAR', [], integer);
  }

  rotate(archive, { data, ...rest } = {}) {
    noMore(rest);
    return this.#read('ROTATE', [new Key(archive), ...key('DATA', data)], integer);
  }

  verify({ repair = false, cursor = '0', count, ...rest } = {}) {
    noMore(rest);
    return this.#read('VERIFY', [...flags({ repair }), 'CURSOR', cursor, ...option('COUNT', count)], verification);
  }

  periods(unit, { now: when, ...rest } = {}) {
    noMore(rest);
    return this.#read('PERIODS', [...(unit ? [unit] : []), ...now(when)], listOf(record));
  }

  // --- writes -------------------------------------------------------------------------------------------

  #add(name, options, scores, parse, empty) {
    const words = [this.#key, ...this.#board, ...writeWords(options)];
    return scores.length === 0 ? Call.nothing(empty) : this.#write(name, scoreWords(words, scores), parse);
  }

  #addRanked({ period: chosen, ...options }, scores, parse, empty) {
    const words = [this.#key, ...this.#board, 'WITHRANK', ...rankWords({ period: chosen }), ...writeWords(options)];
    return scores.length === 0 ? Call.nothing(empty) : this.#write('ADD', scoreWords(words, scores), parse);
  }

  add(member, score, options = NONE) {
    return this.#add('ADD', options, [[member, score]], integer);
  }

  addMany(scores, options = NONE) {
    return this.#add('ADD', options, pairs(scores), integer, 0);
  }

  addRanked(member, score, options = NONE) {
    return this.#addRanked(options, [[member, score]], ([change]) => this.#change(change));
  }

  addManyRanked(scores, options = NONE) {
    return this.#addRanked(options, pairs(scores), listOf(this.#change), []);
  }

  multiset(scores, options = NONE) {
    return this.#add('MULTISET', options, pairs(scores), integer, 0);
  }

  #incr(member, delta, when, words, parse) {
    return this.#write('INCR', [this.#key, ...this.#board, ...words, ...at(when), ...numbers(delta), member], optional(parse));
  }

  incr(member, delta, { at: when, ...rest } = {}) {
    noMore(rest);
    return this.#incr(member, delta, when, [], scoreOf);
  }

  incrRanked(member, delta, { at: when, period: chosen, ...rest } = {}) {
    noMore(rest);
    return this.#incr(member, delta, when, ['WITHRANK', ...rankWords({ period: chosen })], this.#change);
  }

  remove(...members) {
    return members.length === 0 ? Call.nothing(0) : this.#read('REM', members, integer);
  }

  trim(n) {
    return this.#read('TRIM', [n], integer);
  }

  trimReturning(n) {
    return this.#read('TRIM', [n, 'RETURN'], listOf(text));
  }

  pop(n = 1, { worst = false, ...options } = {}) {
    return this.#read('POP', [n, ...flags({ worst }), ...readWords(options)], this.#list);
  }

  load(lines, { nx = false, ...rest } = {}) {
    noMore(rest);
    return lines.length === 0 ? Call.nothing(0) : this.#write('LOAD', [this.#key, ...this.#board, ...flags({ nx }), ...lines], integer);
  }

  // --- reads --------------------------------------------------------------------------------------------

  get(member, options = NONE) {
    return this.#read('GET', [member, ...readWords(options)], optional((reply) => this.#rows(`[${reply}]`)[0]));
  }

  score(member, { period: chosen, ...rest } = {}) {
    noMore(rest);
    return this.#read('SCORE', [member, ...rankWords({ period: chosen })], optional(scoreOf));
  }

  query(member, { limit, ...options } = {}) {
    const parse = (reply) => {
      const { rank, users } = json(reply);
      return tied(rank, users);
    };
    return this.#read('QUERY', [member, ...limited(limit), ...readWords(options)], optional(parse));
  }

  stats({ limit, ...options } = {}) {
    const parse = (reply) => (reply === null ? [] : json(reply).map(([rank, users]) => tied(rank, users)));
    return this.#read('STATS', [...limited(limit), ...readWords(options)], parse);
  }

  top(n, options = NONE) {
    return this.#read('TOPN', [n, ...readWords(options)], this.#list);
  }

  range(start, stop, options = NONE) {
    return this.#read('RANGE', [start, stop, ...readWords(options)], this.#list);
  }

  page(page, size, options = NONE) {
    const parse = (reply) => {
      const { value, exact } = exactJson(reply);
      return { ...value, rows: value.rows.map((row, index) => this.#row(row, exact.rows[index])) };
    };
    return this.#read('PAGE', [page, size, ...readWords(options)], parse);
  }

  around(member, distance, { fill = false, ...options } = {}) {
    return this.#read('AROUND', [member, distance, ...flags({ fill }), ...readWords(options)], this.#list);
  }

  byScore(low, high, { limit, ...options } = {}) {
    return this.#read('BYSCORE', [low, high, ...limited(limit), ...readWords(options)], this.#list);
  }

  among(members, options = NONE) {
    const words = readWords(options);
    return members.length === 0 ? Call.nothing([]) : this.#read('AMONG', [members.length, ...members, ...words], this.#list);
  }

  after(n, score, { at: when, member, ...options } = {}) {
    return this.#read('AFTER', [n, ...placeWords(score, when, member), ...readWords(options)], this.#list);
  }

  before(n, score, { at: when, member, ...options } = {}) {
    return this.#read('BEFORE', [n, ...placeWords(score, when, member), ...readWords(options)], this.#list);
  }

  scan(cursor = '0', options = NONE) {
    const parse = ([next, lines]) => ({ cursor: String(next), entries: this.#rows(`[${jsonLines(lines).join()}]`) });
    return this.#read('SCAN', scanWords(cursor, options), parse);
  }

  scanLines(cursor = '0', options = NONE) {
    const parse = ([next, lines]) => ({ cursor: String(next), lines: jsonLines(lines) });
    return this.#read('SCAN', scanWords(cursor, options), parse);
  }

  count(low, high, { period: chosen, ...rest } = {}) {
    noMore(rest);
    const bounds = low === undefined && high === undefined ? [] : [low ?? '-inf', high ?? 'inf'];
    return this.#read('COUNT', [...bounds, ...rankWords({ period: chosen })], integer);
  }

  forScore(score, { kind, period: chosen, at: when, member, ...rest } = {}) {
    noMore(rest);
    const words = [...numbers(score), ...rankWords({ kind, period: chosen }), ...placeWords([], when, member)];
    return this.#read('FORSCORE', words, integer);
  }

  percentile(member, { period: chosen, ...rest } = {}) {
    noMore(rest);
    return this.#read('PERCENTILE', [member, ...rankWords({ period: chosen })], optional(number));
  }

  scoreAt(percentile, { period: chosen, ...rest } = {}) {
    noMore(rest);
    return this.#read('SCOREAT', [percentile, ...rankWords({ period: chosen })], optional(number));
  }

  // --- attributes ---------------------------------------------------------------------------------------

  setData(member, data, { nx = false, ...rest } = {}) {
    noMore(rest);
    const attributes = Object.entries(data).flat();
    if (attributes.length === 0) return Call.nothing(0);
    // Of a board that is not there, the server knows no hash.
    return this.#write('SETDATA', [this.#key, member, ...flags({ nx }), ...attributes], integer, SchemaError);
  }

  putData(member, data) {
    return this.#write('PUTDATA', [this.#key, member, JSON.stringify(data)], nothing, SchemaError);
  }

  getData(member) {
    return this.#read('GETDATA', [member], optional(record));
  }

  getAttributes(member, ...attributes) {
    return this.#read('GETDATA', [member, ...attributes], optional(plain));
  }

  delData(member, ...attributes) {
    return this.#read('DELDATA', [member, ...attributes], integer);
  }
}

/** All entries, by as many steps of `scan` as it takes. */
export async function* scanAll(board, options) {
  let cursor = '0';
  do {
    const step = await board.scan(cursor, options);
    yield* step.entries;
    cursor = step.cursor;
  } while (cursor !== '0');
}

/** A field as RANK.INFO shows it. */
function fieldText(field) {
  const [name, ...words] = wordsOf(field);
  const given = words.map((word) => word.toUpperCase());
  const type = given.filter((word) => word !== 'ASC' && word !== 'DESC').join(' ');
  return `${name} ${given.includes('ASC') ? 'ASC' : 'DESC'} ${type || 'FLOAT'}`;
}

/** The call that makes a board what it is declared to be, given its RANK.INFO. */
export function migration(board, info) {
  if (info === null || info.schema === null) return board.create();
  const { fields = [], order = 'DESC', ties = 'SHARED', since: _, keep = null, update = 'SET', data = null, offset, ...rest } = board.schema;
  const same = (what, present, declared) => {
    if (present !== declared) throw new SchemaError(`${board.key}: ${what} cannot change from ${present} to ${declared}: use another key`);
  };
  const present = info.fields.map((field) => `${field.name} ${field.order} ${field.type}`);
  same('fields', present.join(', '), (fields.length ? fields : [`score ${order}`]).map(fieldText).join(', '));
  same('ties', info.ties, wordsOf(ties.toUpperCase()).filter((word) => word !== 'MS').join(' '));
  const units = (rest.periods ?? []).map(({ unit }) => wordsOf(unit)[0].toLowerCase());
  const dropPeriods = info.periods.map(({ unit }) => unit).filter((unit) => !units.includes(unit));
  // The server takes an offset with the first period, and says so for another one.
  const moved = info.periods.some((each) => each.offset === offset) ? undefined : offset;
  return board.alter({ ...rest, keep, update, data, offset: moved, dropPeriods });
}

const jsonLines = (lines) => String(lines).split('\n').filter((line) => line !== '');
