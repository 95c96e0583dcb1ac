// RANK.*: a board's schema and its commands, as values. What they return is in index.d.ts.

import {
  Call, Key, exactJson, flags, integer, json, jsonName, listOf, moment, newScores, nothing, number, numbers, option,
  optional, plain, record, text, timed, wordsOf,
} from './call.js';

const at = (when) => timed('AT', when, moment);
const now = (when) => timed('NOW', when, moment);
const sinceWords = (when) => timed('SINCE', when, moment);
const key = (word, name) => (name === undefined || name === null ? [] : [word, new Key(name)]);
const limited = (limit) => (limit ? ['LIMIT', ...limit] : []);
const pairs = (scores) => (scores instanceof Map ? [...scores] : Object.entries(scores));

function period({ unit, prefix, past }) {
  return ['PERIOD', ...wordsOf(unit), new Key(prefix), ...option('PAST', past)];
}

function schemaWords({ keep, update, data, owned, periods = [], offset }) {
  return [
    ...option('KEEP', keep), ...option('UPDATE', update), ...key('DATA', data), ...flags({ owned }),
    ...periods.flatMap(period), ...option('OFFSET', offset),
  ];
}

function rankWords({ kind, period: chosen }) {
  return [...(kind ? [kind] : []), ...(chosen === undefined ? [] : ['PERIOD', ...[chosen].flat()])];
}

// JSON: one shape in RESP2 and RESP3, attributes keep their types, and integers are exact.
function readWords(options) {
  const { order, data: withdata, time: withtime } = options;
  return [...rankWords(options), ...(order ? [order] : []), ...flags({ withdata, withtime, json: true })];
}

function writeWords({ nx, xx, update, keep, ch, at: when, data }) {
  return [
    ...flags({ nx, xx }), ...(update ? [update] : []), ...option('KEEP', keep), ...flags({ ch }), ...at(when),
    ...(data ? ['DATA', JSON.stringify(data)] : []),
  ];
}

const placeWords = (score, { at: when, member }) => [...numbers(score), ...at(when), ...option('MEMBER', member)];

const scanWords = (cursor, { count, time: withtime, data: withdata }) =>
  [cursor, ...option('COUNT', count), ...flags({ withtime, withdata, json: true })];

// --- how replies become values --------------------------------------------------------------------------

const scored = (scores) => ({ score: scores === null ? null : scores[0], scores });

const scoresOf = (reply) => (Array.isArray(reply) ? reply : [reply]).map(number);

function changed([rank, previousRank, member, ...scores]) {
  const fields = scores.length / 2;
  const previousScores = previousRank === null ? null : scores.slice(fields).map(number);
  return {
    rank: optional(integer)(rank), previousRank: optional(integer)(previousRank), member: text(member),
    ...scored(rank === null ? null : scores.slice(0, fields).map(number)),
    previousScore: previousScores === null ? null : previousScores[0], previousScores,
  };
}

function tied(rank, users) {
  if (users[0]?.member === undefined) return { rank, members: users.map(jsonName), data: null };
  const data = new Map(users.map((user) => [jsonName(user.member), user.data]));
  return { rank, members: [...data.keys()], data };
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
  constructor(name, schema = {}, shard = []) {
    this.key = name;
    this.schema = schema;
    this.shard = shard;
    this.made = false;
  }

  #read(name, words, parse) {
    return new Call(`RANK.${name}`, [new Key(this.key), ...words], parse);
  }

  #write(name, words, parse) {
    // A board without a schema needs no setup.
    const isDeclared = Object.keys(this.schema).length > 0 || this.shard.length > 0;
    return new Call(`RANK.${name}`, [new Key(this.key), ...words], parse, { board: isDeclared ? this : null });
  }

  // A JSON object would put field names that are numbers first; the schema knows their order.
  #scores(row) {
    if (row.scores === undefined) return [number(row.score)];
    const names = this.schema.fields?.map((field) => wordsOf(field)[0]) ?? Object.keys(row.scores);
    return names.map((name) => number(row.scores[name]));
  }

  #row = ({ scores: _scores, score: _score, member, data, ...rest }, original) => ({
    ...rest, member: jsonName(member), ...scored(this.#scores(original)), ...(data === undefined ? {} : { data }),
  });

  // Scores exactly, attributes as JSON.parse has them.
  #rows(reply) {
    const { value, exact } = exactJson(reply);
    return value.map((row, index) => this.#row(row, exact[index]));
  }

  #list = (reply) => (reply === null ? [] : this.#rows(reply));

  create({ adopt = false } = {}) {
    const { order, fields = [], ties, since } = this.schema;
    const words = [
      ...(order ? [order] : []), ...fields.flatMap((field) => ['FIELD', ...wordsOf(field)]),
      ...(ties ? ['TIES', ...wordsOf(ties)] : []), ...schemaWords(this.schema), ...this.shard,
      ...sinceWords(since), ...flags({ adopt }),
    ];
    return this.#read('CREATE', words, () => void (this.made = true));
  }

  createLike(other) {
    return this.#read('CREATE', ['LIKE', new Key(other)], () => void (this.made = true));
  }

  alter(changes) {
    const removed = flags({ nokeep: changes.keep === null, nodata: changes.data === null });
    const dropped = (changes.dropPeriods ?? []).flatMap((unit) => ['NOPERIOD', unit]);
    return this.#write('ALTER', [...schemaWords(changes), ...removed, ...dropped], nothing);
  }

  info() {
    return this.#read('INFO', [], optional(boardInfo));
  }

  clear() {
    return this.#read('CLEAR', [], integer);
  }

  rotate(archive, { data } = {}) {
    return this.#read('ROTATE', [new Key(archive), ...key('DATA', data)], integer);
  }

  verify({ repair = false, cursor = '0', count } = {}) {
    return this.#read('VERIFY', [...flags({ repair }), 'CURSOR', cursor, ...option('COUNT', count)], verification);
  }

  periods(unit, { now: when } = {}) {
    return this.#read('PERIODS', [...(unit ? [unit] : []), ...now(when)], listOf(record));
  }

  // --- writes -------------------------------------------------------------------------------------------

  #add(name, words, scores, parse) {
    return this.#write(name, [...words, ...scores.flatMap(([member, score]) => [...newScores(score), member])], parse);
  }

  add(member, score, options = {}) {
    return this.#add('ADD', writeWords(options), [[member, score]], integer);
  }

  addMany(scores, options = {}) {
    return this.#add('ADD', writeWords(options), pairs(scores), integer);
  }

  addRanked(member, score, options = {}) {
    const words = ['WITHRANK', ...rankWords({ period: options.period }), ...writeWords(options)];
    return this.#add('ADD', words, [[member, score]], ([change]) => changed(change));
  }

  addManyRanked(scores, options = {}) {
    const words = ['WITHRANK', ...rankWords({ period: options.period }), ...writeWords(options)];
    return this.#add('ADD', words, pairs(scores), listOf(changed));
  }

  multiset(scores, options = {}) {
    return this.#add('MULTISET', writeWords(options), pairs(scores), integer);
  }

  incr(member, delta, { at: when } = {}) {
    return this.#write('INCR', [...at(when), ...numbers(delta), member], optional(scoresOf));
  }

  incrRanked(member, delta, { at: when, period: chosen } = {}) {
    const words = ['WITHRANK', ...rankWords({ period: chosen }), ...at(when), ...numbers(delta), member];
    return this.#write('INCR', words, optional(changed));
  }

  remove(...members) {
    return this.#read('REM', members, integer);
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

  load(lines, { nx = false } = {}) {
    return this.#write('LOAD', [...flags({ nx }), ...lines], integer);
  }

  // --- reads --------------------------------------------------------------------------------------------

  get(member, options = {}) {
    return this.#read('GET', [member, ...readWords(options)], optional((reply) => this.#rows(`[${reply}]`)[0]));
  }

  score(member) {
    return this.#read('SCORE', [member], optional(scoresOf));
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

  top(n, options = {}) {
    return this.#read('TOPN', [n, ...readWords(options)], this.#list);
  }

  range(start, stop, options = {}) {
    return this.#read('RANGE', [start, stop, ...readWords(options)], this.#list);
  }

  page(page, size, options = {}) {
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

  among(members, options = {}) {
    return this.#read('AMONG', [members.length, ...members, ...readWords(options)], this.#list);
  }

  after(n, score, options = {}) {
    return this.#read('AFTER', [n, ...placeWords(score, options), ...readWords(options)], this.#list);
  }

  before(n, score, options = {}) {
    return this.#read('BEFORE', [n, ...placeWords(score, options), ...readWords(options)], this.#list);
  }

  scan(cursor = '0', options = {}) {
    const parse = ([next, lines]) => ({ cursor: String(next), entries: this.#rows(`[${jsonLines(lines).join()}]`) });
    return this.#read('SCAN', scanWords(cursor, options), parse);
  }

  scanLines(cursor = '0', options = {}) {
    const parse = ([next, lines]) => ({ cursor: String(next), lines: jsonLines(lines) });
    return this.#read('SCAN', scanWords(cursor, options), parse);
  }

  count(low, high) {
    return this.#read('COUNT', low === undefined && high === undefined ? [] : [low ?? '-inf', high ?? 'inf'], integer);
  }

  forScore(score, { kind, ...place } = {}) {
    return this.#read('FORSCORE', [...numbers(score), ...(kind ? [kind] : []), ...placeWords([], place)], integer);
  }

  percentile(member) {
    return this.#read('PERCENTILE', [member], optional(number));
  }

  scoreAt(percentile) {
    return this.#read('SCOREAT', [percentile], optional(number));
  }

  // --- attributes ---------------------------------------------------------------------------------------

  setData(member, data, { nx = false } = {}) {
    return this.#write('SETDATA', [member, ...flags({ nx }), ...Object.entries(data).flat()], integer);
  }

  putData(member, data) {
    return this.#write('PUTDATA', [member, JSON.stringify(data)], nothing);
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

const jsonLines = (lines) => String(lines).split('\n').filter((line) => line !== '');
