// What the package offers. Times are Unix milliseconds unless a name says otherwise.

/** A client of node-redis (`createClient`, `createClientPool`, `createCluster`) or of ioredis (`Redis`, `Cluster`). */
export type Client = { sendCommand(...args: any[]): unknown };

/** Keys and members are text or bytes. A member that is not UTF-8 is returned as a Buffer. */
export type Name = string | Buffer;
/**
 * An integer that a number cannot hold exactly is a bigint. (ioredis rounds it in `score`, `incr` and `…Ranked` before
 * this package sees it, unless it has the option `stringNumbers`.)
 */
export type Value = number | bigint;
/** One value, or one for each field of the board. */
export type Score = Value | readonly Value[];
/** Seconds, or text with a unit: '500ms', '30s', '5m', '2h', '1d'. */
export type Duration = number | string;
/** Unix milliseconds or a Date. */
export type Moment = number | Date;
export type Data = Record<string, any>;

export interface Period {
  /** HOUR, DAY, WEEK, MONTH, YEAR, or 'EVERY 14d FROM 1767225600000'. */
  unit: string;
  /** What the keys of its boards start with, in the slot of the board. */
  prefix: string;
  /** How many past ones are kept. */
  past?: number;
}

/** What a board is declared with. Without any of it, it is a plain sorted set. */
export interface Schema {
  /** As in RANK.CREATE: 'gold DIGITS 3', 'seconds ASC INT'. */
  fields?: readonly string[];
  /** Of a board without named fields. */
  order?: 'ASC' | 'DESC';
  /** SHARED, FIRST, LAST or JOINED, and MS or S: 'FIRST S'. */
  ties?: string;
  keep?: number;
  update?: 'SET' | 'BEST';
  /** The hash with the attributes of members. */
  data?: string;
  /** That hash belongs to this board alone. */
  owned?: boolean;
  periods?: readonly Period[];
  offset?: string;
}

/** What RANK.ALTER changes; null removes. */
export interface Alteration extends Omit<Schema, 'fields' | 'order' | 'ties' | 'keep' | 'data'> {
  keep?: number | null;
  data?: string | null;
  dropPeriods?: readonly string[];
}

export type Kind = 'COMPETITION' | 'DENSE' | 'ORDINAL';

/** The options of every read that returns rows. */
export interface ReadOptions {
  kind?: Kind;
  /** The attributes, with their types, in `data`. */
  data?: boolean;
  /** The tie time, in `time`. */
  time?: boolean;
  /** 'day', ['day', -1] or ['day', '2026-11-16']. */
  period?: string | readonly [unit: string, period: number | string];
  /** Only of a board without a schema. */
  order?: 'ASC' | 'DESC';
}

export interface WriteOptions {
  nx?: boolean;
  xx?: boolean;
  update?: 'SET' | 'BEST';
  keep?: number;
  ch?: boolean;
  at?: Moment;
  /** The member's attributes; with one member only. */
  data?: Data;
}

export interface Entry {
  member: string;
  /** The score of a board with one field; of others, the first. */
  score: Value;
  scores: Value[];
  time?: number | null;
  data?: Data | null;
}

export interface Row extends Entry {
  rank: number;
}

/** A row with its place in a group. */
export interface GroupRow extends Row {
  place: number;
}

/** What a write did to one member. No rank and no scores: it is not on the board now. */
export interface Change {
  rank: number | null;
  previousRank: number | null;
  member: string;
  score: Value | null;
  scores: Value[] | null;
}

/** Members that are equal on all fields. */
export interface Tied {
  rank: number;
  members: string[];
  data: Map<string, Data | null> | null;
}

export interface Page {
  page: number;
  pages: number;
  members: number;
  rows: Row[];
}

export interface BoardInfo {
  members: number;
  fields: { name: string; order: 'ASC' | 'DESC'; type: string }[];
  ties: string;
  keep: number | null;
  update: 'SET' | 'BEST';
  layout: string;
  bits: number | null;
  data: string | null;
  periods: Record<string, unknown>[];
  shard: [number, number] | null;
  schema: string | null;
}

export interface Verification {
  cursor: string;
  checked: number;
  undecodable: number;
  missing: number;
  orphaned: number;
  repaired: number;
  examples: string[];
}

export interface PeriodBoard {
  unit: string;
  id: string;
  key: string;
  start: number;
  end: number;
  members: number;
  expires: number | null;
}

export type Scores = Record<string, Score> | ReadonlyMap<Name, Score>;
export type Place = { at?: Moment; member?: Name };
export type ScanOptions = { count?: number; time?: boolean; data?: boolean };

/** One command as a value, for `execute`. */
export interface Call<T> {
  readonly name: string;
  readonly parse: (reply: any) => T;
}

/** Any other command, to send along. Its reply is returned with strings as text. */
export function raw(name: string, key: Name, ...args: (Name | Value)[]): Call<unknown>;

/** The results of several calls, which travel together. */
export function execute<T extends readonly Call<any>[]>(
  client: Client,
  ...calls: T
): Promise<{ -readonly [K in keyof T]: T[K] extends Call<infer R> ? R : never }>;

/** The commands of a board, as a type of functions from arguments to results. */
export interface BoardMethods {
  /** RANK.CREATE with the declared schema. Writes of scores and attributes do it by themselves. */
  create(options?: { adopt?: boolean }): void;
  /** RANK.CREATE … LIKE: the schema of another board, without its periods. */
  createLike(other: Name): void;
  /** RANK.ALTER. */
  alter(changes: Alteration): void;
  /** RANK.INFO, or null for a key that does not exist. */
  info(): BoardInfo | null;
  /** RANK.CLEAR: remove all members, keep the schema. How many there were. */
  clear(): number;
  /** RANK.ROTATE: the board becomes `archive`, and an empty one takes its place. How many moved. */
  rotate(archive: Name, options?: { data?: Name }): number;
  /** RANK.VERIFY, one step; `cursor` is '0' when it was the last. */
  verify(options?: { repair?: boolean; cursor?: string; count?: number }): Verification;
  /** RANK.PERIODS: the boards of the periods that are kept, newest first. */
  periods(unit?: string, options?: { now?: Moment }): PeriodBoard[];

  /** RANK.ADD: 1 if the member is new; with `ch` also if its score changed. */
  add(member: Name, score: Score, options?: WriteOptions): number;
  /** RANK.ADD for several members, all or none. How many are new. */
  addMany(scores: Scores, options?: WriteOptions): number;
  /** RANK.ADD … WITHRANK: the rank now and before. */
  addRanked(member: Name, score: Score, options?: WriteOptions & { period?: string }): Change;
  /** RANK.ADD … WITHRANK for several members. */
  addManyRanked(scores: Scores, options?: WriteOptions & { period?: string }): Change[];
  /** RANK.MULTISET: as addMany, but one member on a new key makes a board of INT fields. */
  multiset(scores: Scores, options?: WriteOptions): number;
  /** RANK.INCR: the new scores, or null if KEEP refused the member. */
  incr(member: Name, delta: Score, options?: { at?: Moment }): Value[] | null;
  /** RANK.INCR … WITHRANK: the rank now and before. */
  incrRanked(member: Name, delta: Score, options?: { at?: Moment; period?: string }): Change | null;
  /** RANK.REM: how many were removed, from the board and from the periods that are kept. */
  remove(...members: Name[]): number;
  /** RANK.TRIM: keep the best n. How many left. */
  trim(n: number): number;
  /** RANK.TRIM … RETURN: keep the best n. Who left, best first. */
  trimReturning(n: number): string[];
  /** RANK.POP: remove the best n, or the worst, and return them. */
  pop(n?: number, options?: ReadOptions & { worst?: boolean }): Row[];
  /** RANK.LOAD: lines as `scanLines` returns them, all or none. How many members are new. */
  load(lines: readonly string[], options?: { nx?: boolean }): number;

  /** RANK.GET: the member's row, or null. */
  get(member: Name, options?: ReadOptions): Row | null;
  /** RANK.SCORE: one for each field, or null. */
  score(member: Name): Value[] | null;
  /** RANK.QUERY: the rank of a member, and all who share it. */
  query(member: Name, options?: ReadOptions & { limit?: readonly [number, number] }): Tied | null;
  /** RANK.STATS: the groups of equal members, best first. */
  stats(options?: ReadOptions & { limit?: readonly [number, number] }): Tied[];
  /** RANK.TOPN: the best n. */
  top(n: number, options?: ReadOptions): Row[];
  /** RANK.RANGE: by position, from 1, both ends included; negative positions count from the end. */
  range(start: number, stop: number, options?: ReadOptions): Row[];
  /** RANK.PAGE: a page from 1, with the number of pages and members. */
  page(page: number, size: number, options?: ReadOptions): Page;
  /** RANK.AROUND: the member and its neighbours; empty if it is not on the board. */
  around(member: Name, distance: number, options?: ReadOptions & { fill?: boolean }): Row[];
  /** RANK.BYSCORE: rows whose first field is within low … high; '(5', 'inf' and '-inf' as in ZRANGE. */
  byScore(low: Value | string, high: Value | string, options?: ReadOptions & { limit?: readonly [number, number] }): Row[];
  /** RANK.AMONG: the ranking inside a group, say friends. Those who are not on the board are left out. */
  among(members: readonly Name[], options?: ReadOptions): GroupRow[];
  /** RANK.AFTER: the n rows that follow a place. */
  after(n: number, score: Score, options?: ReadOptions & Place): Row[];
  /** RANK.BEFORE: the n rows just before a place, best first. */
  before(n: number, score: Score, options?: ReadOptions & Place): Row[];
  /** RANK.SCAN, one step; `scanAll` does all of them. */
  scan(cursor?: string, options?: ScanOptions): { cursor: string; entries: Entry[] };
  /** RANK.SCAN, one step: lines that `load` takes. */
  scanLines(cursor?: string, options?: ScanOptions): { cursor: string; lines: string[] };
  /** RANK.COUNT: members, or those whose first field is within low … high. */
  count(low?: Value | string, high?: Value | string): number;
  /** RANK.FORSCORE: the rank that a newcomer with this score would get. */
  forScore(score: Score, options?: Place & { kind?: Kind }): number;
  /** RANK.PERCENTILE: how many percent of the members are worse. */
  percentile(member: Name): number | null;
  /** RANK.SCOREAT: the score at a percentile. */
  scoreAt(percentile: number): number | null;

  /** RANK.SETDATA: set some attributes, as strings. How many are new. */
  setData(member: Name, data: Record<string, string>, options?: { nx?: boolean }): number;
  /** RANK.PUTDATA: replace all attributes; numbers, booleans and nested values keep their types. */
  putData(member: Name, data: Data): void;
  /** RANK.GETDATA: all attributes as text. (`get` with `data` keeps their types.) */
  getData(member: Name): Record<string, string> | null;
  /** RANK.GETDATA with names: the text of each, or null. */
  getAttributes(member: Name, ...attributes: string[]): (string | null)[] | null;
  /** RANK.DELDATA: remove some attributes, or all. How many were removed. */
  delData(member: Name, ...attributes: string[]): number;
}

export type Algorithm = 'SLIDING' | 'FIXED' | 'COUNTER' | 'GCRA' | 'CALENDAR';

/** How a limiter counts; `prefix` goes before every key. */
export interface LimiterOptions {
  algorithm?: Algorithm;
  burst?: number;
  offset?: string;
  prefix?: string;
}

/** The options of one call. `force` counts a call that is denied; `penalty` closes the limiter if it is. */
export interface SpendOptions {
  cost?: number;
  force?: boolean;
  penalty?: Duration;
  now?: Moment;
}

export interface Verdict {
  allowed: boolean;
  limited: boolean;
  limit: number;
  remaining: number;
  /** -1: the cost can never fit. */
  retryAfterMs: number;
  resetAfterMs: number;
  /** Which rule, or which key, the numbers are about, from 1. */
  rule: number;
  rules: Verdict[];
}

export interface LimiterMethods {
  /** RATE.CHECK: may this call pass? If so, it is counted. */
  check(key: Name, options?: SpendOptions): Verdict;
  /** RATE.PEEK: the same verdict, without counting; runs on replicas. */
  peek(key: Name, options?: { cost?: number; now?: Moment }): Verdict;
  /** RATE.REFUND: give units back. The verdict is the standing afterwards. */
  refund(key: Name, options?: { cost?: number; now?: Moment }): Verdict;
  /** RATE.ALL: several keys, each with a rule of its own; all of them count, or none. */
  checkAll(rules: Record<string, string> | readonly (readonly [Name, string])[], options?: SpendOptions): Verdict;
  /** RATE.RESET: forget what was counted. True if there was anything. */
  reset(key: Name): boolean;
  /** CL.THROTTLE, redis-cell's command, where rank.cl-throttle is on. */
  throttle(key: Name, maxBurst: number, count: number, period: number, quantity?: number): number[];
}

/** The answer to a request for a lease. */
export interface Grant {
  limited: boolean;
  limit: number;
  remaining: number;
  retryAfterMs: number;
  resetAfterMs: number;
  token: number;
}

export interface LeaseMethods {
  /** RATE.ACQUIRE: a lease, if fewer than `limit` are held. */
  acquire(options?: { now?: Moment }): Grant;
  /** RATE.RENEW: hold it longer, from now. False if it is no longer held. */
  renewToken(token: number, options?: { lease?: Duration; now?: Moment }): boolean;
  /** RATE.RELEASE: how many of them were still held. */
  release(...tokens: number[]): number;
  /** RATE.HELD: how many leases are held, and when the next one ends. */
  held(options?: { now?: Moment }): { held: number; nextEndMs: number | null };
}

export type When = { at: Moment; after?: undefined } | { after: Duration; at?: undefined };

/** An item that is yours until its lease ends: acknowledge it or move it. */
export interface Claim {
  item: string;
  token: number;
  attempt: number;
  dueMs: number;
}

export interface ScheduleMethods {
  /** DUE.ADD: how many are new. One that waits is moved, one that is claimed stays. */
  add(items: Name | readonly Name[], when: When & { nx?: boolean; xx?: boolean }): number;
  /**
   * DUE.CLAIM: what is due, earliest first, yours until the lease ends. `block` needs a connection of its own, and is
   * asked for in steps that the client's timeouts allow.
   */
  claim(options?: { count?: number; lease?: Duration; block?: Duration; now?: Moment }): Claim[];
  /** DUE.POP: what is due, removed at once. */
  pop(options?: { count?: number; block?: Duration; now?: Moment }): { item: string; dueMs: number }[];
  /** DUE.ACK: done. How many were still held. */
  ack(...claims: Pick<Claim, 'item' | 'token'>[]): number;
  /** DUE.MOVE: try again later, or hold it longer. Null if it is no longer held. */
  move(claim: Claim, when: When): Claim | null;
  /** ZREM: how many there were. */
  cancel(...items: Name[]): number;
  /** DUE.INFO. */
  info(options?: { now?: Moment }): { items: number; due: number; claimed: number; invalid: number; nextMs: number | null };
}

/** The same methods, each returning a Call. */
export type Calls<M> = { [K in keyof M]: M[K] extends (...args: infer A) => infer R ? (...args: A) => Call<R> : never };
/** The same methods, each sending its command. */
export type Sending<M> = { [K in keyof M]: M[K] extends (...args: infer A) => infer R ? (...args: A) => Promise<R> : never };

/** A board, declared once and created by its first write. */
export class Leaderboard {
  constructor(client: Client, key: Name, schema?: Schema);
  readonly calls: Calls<BoardMethods> & { readonly key: Name };
  /** RANK.SCAN to its end. Who stays on the board meanwhile is returned; some may come twice. */
  scanAll(options?: ScanOptions): AsyncGenerator<Entry>;
}
export interface Leaderboard extends Sending<BoardMethods> {}

/** Ranks of different shards add up only for these kinds. */
export type ShardReadOptions = { kind?: 'COMPETITION' | 'ORDINAL'; data?: boolean };

/**
 * A board that is cut into 2, 4, 8 … 1024 shards, spread over a cluster by their keys. Answers are exact. What cannot
 * be reached is tried again for `timeout` seconds (10); then IncompleteAnswer is thrown.
 */
export class ShardedLeaderboard {
  constructor(client: Client, name: string, shards: number, schema?: Omit<Schema, 'periods' | 'offset'> & { timeout?: number });
  /** The keys of the shards. */
  readonly keys: string[];
  /** RANK.SHARDS: the keys, as the server computes them. */
  shards(): Promise<string[]>;
  /** RANK.SHARD: the key of a member. */
  shard(member: Name): Promise<string>;
  /** Creates all shards. Other writes create those they need. */
  create(): Promise<void>;
  add(member: Name, score: Score, options?: WriteOptions): Promise<number>;
  /** All or none of a shard's members are written. */
  addMany(scores: Scores, options?: WriteOptions): Promise<number>;
  /** If the connection is lost, it is not known whether it counted: that is an error. */
  incr(member: Name, delta: Score): Promise<Value[] | null>;
  remove(...members: Name[]): Promise<number>;
  count(low?: Value | string, high?: Value | string): Promise<number>;
  get(member: Name, options?: ShardReadOptions): Promise<Row | null>;
  /** The ranking inside a group, as `among`. */
  friends(members: readonly Name[], options?: ShardReadOptions): Promise<GroupRow[]>;
  top(n: number, options?: ShardReadOptions): Promise<Row[]>;
  /** n rows from a position, from 1. */
  range(start: number, n: number, options?: ShardReadOptions): Promise<Row[]>;
  page(page: number, size: number, options?: ShardReadOptions): Promise<Page>;
  around(member: Name, distance: number, options?: ShardReadOptions): Promise<Row[]>;
  percentile(member: Name): Promise<number | null>;
}

/** Limiters with the same rules, one per key: new RateLimiter(client, ['5/1s', '1000/1h']). */
export class RateLimiter {
  constructor(client: Client, rules: string | readonly string[], options?: LimiterOptions);
  readonly calls: Calls<LimiterMethods>;
  /** As check, but a call that may not pass throws RateLimited. */
  enforce(key: Name, options?: SpendOptions): Promise<Verdict>;
}
export interface RateLimiter extends Sending<LimiterMethods> {}

/** One of `limit` places, held for `lease` unless it is renewed. With limit 1 it is a lock. */
export class Lease {
  /** `wait`: for how many seconds `hold` and `run` wait for a place. */
  constructor(client: Client, key: Name, options?: { limit?: number; lease?: Duration; wait?: number });
  readonly calls: Calls<LeaseMethods>;
  /** Grows with every grant: pass it on as a fencing token. */
  token: number;
  /** Waits for a place, whose token is in `token`; throws LeaseDenied without one. One holder at a time. */
  hold(): Promise<this>;
  /** Hold it for another `lease`, from now. False if it was lost. */
  renew(): Promise<boolean>;
  /** Holds a place while `work` runs, and gives it its token. Any number may run at once. Throws LeaseLost if it ended before. */
  run<T>(work: (lease: this) => Promise<T> | T): Promise<T>;
}
export interface Lease extends Sending<LeaseMethods> {}

/** Items that are released at a time. */
export class Schedule {
  constructor(client: Client, key: Name);
  readonly calls: Calls<ScheduleMethods>;
}
export interface Schedule extends Sending<ScheduleMethods> {}

export class RankError extends Error {}
export class CommandError extends RankError {}
export class SchemaError extends CommandError {}
export class ValueOutOfRange extends CommandError {}
export class DamagedBoard extends CommandError {}
export class WrongType extends CommandError {}
export class NotPermitted extends CommandError {}
export class ModuleNotLoaded extends CommandError {}
export class RateLimited extends RankError {
  readonly verdict: Verdict;
}
export class LeaseDenied extends RankError {
  readonly grant: Grant;
}
export class LeaseLost extends RankError {}
export class IncompleteAnswer extends RankError {}
