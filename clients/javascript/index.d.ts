// What the package offers. Times are Unix milliseconds unless a name says otherwise.

/** A client of node-redis (`createClient`, `createClientPool`, `createCluster`) or of ioredis (`Redis`, `Cluster`). */
export type Client = { sendCommand(...args: any[]): unknown; on(...args: any[]): unknown } & ({ duplicate(...args: any[]): unknown } | { readonly totalClients: number });

/** Keys and members are text or bytes. A member that is not UTF-8 is returned as a Buffer. */
export type Name = string | Buffer;
/**
 * An integer that a number cannot hold exactly is a bigint. (ioredis rounds it in `score`, `incr` and `…Ranked` before
 * this package sees it, unless it has the option `stringNumbers`.)
 */
export type Value = number | bigint;
/** One value, or one for each field of the board. */
export type Score = Value | readonly Value[];
/** A score to write: null keeps a field as it is. */
export type NewScore = Value | readonly (Value | null)[];
/** Milliseconds, or text with a unit: '500ms', '30s', '5m', '2h', '1d'. */
export type Duration = number | string;
/** Unix milliseconds or a Date. A number below 10^11 other than 0 is an error: those are seconds. */
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

/** The schema of a board. Without any options, it is a plain sorted set. */
export interface Schema {
  /** As in RANK.CREATE: 'gold DIGITS 3', 'seconds ASC INT'. */
  fields?: readonly string[];
  /** The order of a board without named fields. */
  order?: 'ASC' | 'DESC';
  /** SHARED, FIRST, LAST or JOINED, and MS or S: 'FIRST S'. */
  ties?: string;
  /** For an import: a time before the oldest one. */
  since?: Moment;
  keep?: number;
  update?: 'SET' | 'BEST';
  /** The hash with the attributes of members. */
  data?: string;
  /** That hash belongs to this board alone. */
  owned?: boolean;
  periods?: readonly Period[];
  offset?: string;
  /** What a write does if the board is not there: create it ('auto', the default), or throw NoBoard. */
  create?: 'auto' | 'never';
}

/** What `score` and `incr` return: a number for a board with one field, an array for others. */
export type ScoreOf<S> = S extends { fields: readonly [string, string, ...string[]] }
  ? Value[]
  : S extends { fields: readonly [string] }
    ? Value
    : S extends { fields: readonly string[] }
      ? Value | Value[]
      : Value;

/** What RANK.ALTER changes; null removes. */
export interface Alteration extends Omit<Schema, 'fields' | 'order' | 'ties' | 'since' | 'keep' | 'data' | 'create'> {
  keep?: number | null;
  data?: string | null;
  dropPeriods?: readonly string[];
}

export type Kind = 'COMPETITION' | 'DENSE' | 'ORDINAL';

/** Which board is read. */
export interface PeriodOption {
  /** 'day', ['day', -1] or ['day', '2026-11-16']. */
  period?: string | readonly [unit: string, period: number | string];
}

/** The options of every read that returns rows. */
export interface ReadOptions extends PeriodOption {
  kind?: Kind;
  /** The attributes, with their types, in `data`. */
  data?: boolean;
  /** The tie time, in `time`. */
  time?: boolean;
  /** Only for a board without a schema. */
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

/**
 * What a write did to one member. If it is not on the board now, it has no rank and no scores; if it is new, it has no
 * previous ones.
 */
export interface Change {
  rank: number | null;
  previousRank: number | null;
  member: string;
  score: Value | null;
  scores: Value[] | null;
  previousScore: Value | null;
  previousScores: Value[] | null;
  /** The score is better than before, or is the first one. */
  improved: boolean;
}

/** Members that are equal on all fields. */
export interface Tied {
  rank: number;
  members: string[];
  /** The attributes of each of them, in the same order; null if they were not asked for. */
  data: (Data | null)[] | null;
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
  /** Members that do not fit their score. */
  overflow: number;
  /** What tie times are counted from. */
  since: number | null;
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
  duplicated: number;
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

export type Scores = Record<string, NewScore> | ReadonlyMap<Name, NewScore>;
export type Place = { at?: Moment; member?: Name };
export type ScanOptions = { count?: number; time?: boolean; data?: boolean };

/** One command as a value, for `execute`. */
export interface Call<T> {
  readonly name: string;
  readonly parse: (reply: any) => T;
}

/** Any other command, to send along with the calls. Strings in its reply are text. */
export function raw(name: string, key: Name, ...args: (Name | Value)[]): Call<unknown>;

/** The results of several calls, sent together. Their order is kept. A board that is not there is not created meanwhile. */
export function execute<T extends readonly Call<any>[]>(
  client: Client,
  ...calls: T
): Promise<{ -readonly [K in keyof T]: T[K] extends Call<infer R> ? R : never }>;

/** The commands of a board, as a type of functions from arguments to results. */
export interface BoardMethods<S = {}> {
  /** RANK.CREATE with the declared schema. Writes do so themselves if the board is not there. */
  create(options?: { adopt?: boolean }): void;
  /** RANK.CREATE … LIKE: the schema of another board, without its periods. */
  createLike(other: Name): void;
  /** RANK.ALTER. */
  alter(changes: Alteration): void;
  /** RANK.INFO, or null for a key that does not exist. */
  info(): BoardInfo | null;
  /** RANK.CLEAR: remove all members, keep the schema. Returns how many there were. */
  clear(): number;
  /** RANK.ROTATE: the board becomes `archive`, and an empty one takes its place. Returns how many moved. */
  rotate(archive: Name, options?: { data?: Name }): number;
  /** RANK.VERIFY, one step; `cursor` is '0' when it was the last. */
  verify(options?: { repair?: boolean; cursor?: string; count?: number }): Verification;
  /** RANK.PERIODS: the boards of the periods that are kept, newest first. */
  periods(unit?: string, options?: { now?: Moment }): PeriodBoard[];

  /** RANK.ADD: 1 if the member is new; with `ch` also if its score changed. */
  add(member: Name, score: NewScore, options?: WriteOptions): number;
  /** RANK.ADD for several members, all or none. Returns how many are new. */
  addMany(scores: Scores, options?: WriteOptions): number;
  /** RANK.ADD … WITHRANK: rank and scores, now and before. */
  addRanked(member: Name, score: NewScore, options?: WriteOptions & { period?: string }): Change;
  /** RANK.ADD … WITHRANK for several members. */
  addManyRanked(scores: Scores, options?: WriteOptions & { period?: string }): Change[];
  /** RANK.MULTISET: like addMany, but one member on a new key creates a board with INT fields. */
  multiset(scores: Scores, options?: WriteOptions): number;
  /** RANK.INCR: the new scores, or null if KEEP refused the member. */
  incr(member: Name, delta: Score, options?: { at?: Moment }): ScoreOf<S> | null;
  /** RANK.INCR … WITHRANK: rank and scores, now and before. */
  incrRanked(member: Name, delta: Score, options?: { at?: Moment; period?: string }): Change | null;
  /** RANK.REM: how many were removed, from the board and from the periods that are kept. */
  remove(...members: Name[]): number;
  /** RANK.TRIM: keep the best n. Returns how many were removed. */
  trim(n: number): number;
  /** RANK.TRIM … RETURN: keep the best n. Returns the removed members, best first. */
  trimReturning(n: number): string[];
  /** RANK.POP: remove the best n, or the worst, and return them. */
  pop(n?: number, options?: ReadOptions & { worst?: boolean }): Row[];
  /** RANK.LOAD: lines as `scanLines` returns them, all or none. Returns how many members are new. */
  load(lines: readonly string[], options?: { nx?: boolean }): number;

  /** RANK.GET: the member's row, or null. */
  get(member: Name, options?: ReadOptions): Row | null;
  /** RANK.SCORE: a number, or an array if the board has several fields; null if the member is not on the board. */
  score(member: Name, options?: PeriodOption): ScoreOf<S> | null;
  /** RANK.QUERY: the rank of a member, and all members that share it. */
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
  /** RANK.AMONG: the ranking within a group, such as friends. Members that are not on the board are left out. */
  among(members: readonly Name[], options?: ReadOptions): GroupRow[];
  /** RANK.AFTER: the n rows after a given row or score. */
  after(n: number, score: Score, options?: ReadOptions & Place): Row[];
  /** RANK.BEFORE: the n rows just before a given row or score, best first. */
  before(n: number, score: Score, options?: ReadOptions & Place): Row[];
  /** One step of RANK.SCAN; `scanAll` runs all of them. */
  scan(cursor?: string, options?: ScanOptions): { cursor: string; entries: Entry[] };
  /** RANK.SCAN, one step: lines that `load` takes. */
  scanLines(cursor?: string, options?: ScanOptions): { cursor: string; lines: string[] };
  /** RANK.COUNT: members, or those whose first field is within low … high. */
  count(low?: Value | string, high?: Value | string, options?: PeriodOption): number;
  /** RANK.FORSCORE: the rank that a newcomer with this score would get. */
  forScore(score: Score, options?: Place & PeriodOption & { kind?: Kind }): number;
  /** RANK.PERCENTILE: the percentage of members that are worse. */
  percentile(member: Name, options?: PeriodOption): number | null;
  /** RANK.SCOREAT: the score at a percentile. */
  scoreAt(percentile: number, options?: PeriodOption): number | null;

  /** RANK.SETDATA: set some attributes, as strings. Returns how many are new. */
  setData(member: Name, data: Record<string, string>, options?: { nx?: boolean }): number;
  /** RANK.PUTDATA: replace all attributes; numbers, booleans and nested values keep their types. */
  putData(member: Name, data: Data): void;
  /** RANK.GETDATA: all attributes as text. (`get` with `data` keeps their types.) */
  getData(member: Name): Record<string, string> | null;
  /** RANK.GETDATA with names: the text of each, or null. */
  getAttributes(member: Name, ...attributes: string[]): (string | null)[] | null;
  /** RANK.DELDATA: remove some attributes, or all. Returns how many were removed. */
  delData(member: Name, ...attributes: string[]): number;
}

/** What is counted: text, bytes or a number. */
export type LimiterKey = Name | number | bigint;

export type Algorithm = 'SLIDING' | 'FIXED' | 'COUNTER' | 'GCRA' | 'CALENDAR';

/** How a limiter counts; `prefix` is added to every key. */
export interface LimiterOptions {
  algorithm?: Algorithm;
  burst?: number;
  offset?: string;
  prefix?: string;
}

/** The options of one call. `force` counts it even if it is denied; `penalty` then closes the limiter. */
export interface SpendOptions {
  cost?: number;
  /** Takes what is left, at most `cost`: `granted` says how many. */
  upTo?: boolean;
  force?: boolean;
  penalty?: Duration;
  /** GCRA: passes too if it may within this time; `waitMs` says when. `RateLimiter.wait` waits. */
  wait?: Duration;
  /** `atMs` says when the units count, for `settle`. `RateLimiter.reserve` does both. */
  stamp?: boolean;
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
  /** Who decided: the server, what `failing` says while the server is away, or an earlier denial (`rememberDenied`). */
  source: 'server' | 'open' | 'closed' | 'local' | 'remembered';
  /** With `upTo`: how many units were taken. */
  granted?: number;
  /** With `wait`: how long to wait before acting. */
  waitMs?: number;
  /** With `stamp`. */
  atMs?: number;
  /** Of `settle`: how many units were given back; negative: counted. */
  settled?: number;
}

/** The verdict about a call, and about each of its rules or keys. */
export interface Verdicts extends Verdict {
  rules: Verdict[];
}

export interface LimiterMethods {
  /** RATE.CHECK: whether this call may pass. If so, it is counted. */
  check(key: LimiterKey, options?: SpendOptions): Verdicts;
  /** RATE.PEEK: the same verdict, without counting; runs on replicas. */
  peek(key: LimiterKey, options?: Pick<SpendOptions, 'cost' | 'upTo' | 'wait' | 'now'>): Verdicts;
  /** RATE.REFUND: give units back. Returns the state afterwards. */
  refund(key: LimiterKey, options?: { cost?: number; now?: Moment }): Verdicts;
  /** RATE.SETTLE: a call with `stamp` took `reserved` units `at` a time, and used `used`. Returns the state afterwards. */
  settle(key: LimiterKey, options: { reserved: number; used: number; at: Moment; now?: Moment }): Verdicts;
  /** RATE.ALL: several keys, each with its own rule. The call counts for all of them or for none. */
  checkAll(rules: Record<string, string> | readonly (readonly [LimiterKey, string])[], options?: SpendOptions): Verdicts;
  /** RATE.RESET: delete the limiter. True if there was one. */
  reset(key: LimiterKey): boolean;
  /** CL.THROTTLE, redis-cell's command, if rank.cl-throttle is on. */
  throttle(key: LimiterKey, maxBurst: number, count: number, period: number, quantity?: number): number[];
}

/** The answer to a request for a lease. */
export interface Grant {
  allowed: boolean;
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
  /** RATE.RENEW: extend a lease, counted from now. False if it is no longer held. */
  renewToken(token: number, options?: { lease?: Duration; now?: Moment }): boolean;
  /** RATE.RELEASE: give leases back. Returns how many were still held. */
  release(...tokens: number[]): number;
  /** RATE.HELD: how many leases are held, and when the next one ends. */
  held(options?: { now?: Moment }): { held: number; nextEndMs: number | null };
}

export type When = { at: Moment; after?: undefined } | { after: Duration; at?: undefined };

/** An item that was due. `data` is there if the schedule has a hash for payloads. */
export interface Popped<Data = any> {
  item: string;
  dueMs: number;
  /** The payload, or null. If it is not JSON, a WrongPayload. */
  data?: Data;
}

/** An item that is yours until its lease ends: acknowledge it or move it. */
export interface Claim<Data = any> extends Popped<Data> {
  token: number;
  attempt: number;
}

/** An item as it lies in a schedule. */
export interface Scheduled<Data = any> extends Popped<Data> {
  /** If it is claimed, `dueMs` is when its lease ends, and `attempt` how often it was claimed. */
  claimed: boolean;
  attempt: number;
}

/** A limiter in the slot of the schedule, its rule, and its algorithm: ['{jobs}:limit', '100/1m']. */
export type Rate = readonly [key: Name, rule: string] | readonly [key: Name, rule: string, algorithm: Algorithm];

export type TakeOptions = {
  count?: number;
  /** Wait for items, on a connection of its own. */
  block?: Duration;
  /** Ends the wait, within a second: what was taken by then is returned. */
  signal?: AbortSignal;
  /** No more than this limiter allows: RATE. */
  rate?: Rate;
  now?: Moment;
};

/** After how many claims an item moves to the schedule `dead`, a key in the same slot. */
export type Attempts = { attempts: number; dead: Name } | { attempts?: undefined; dead?: undefined };

export interface ScheduleMethods<Data = any> {
  /**
   * DUE.ADD: schedule items. Returns how many are new. A waiting item is moved, a claimed one stays. `again`: as `again`
   * does. `data`: the payload of one item.
   */
  add(items: Name | readonly Name[], options: (When & { nx?: boolean; xx?: boolean; data?: Data }) | { again: true; data?: Data }): number;
  /** DUE.ADD … AGAIN: due now; an item that is being worked on is due again as soon as it is acknowledged. */
  again(items: Name | readonly Name[], options?: { data?: Data }): number;
  /**
   * DUE.CLAIM: items that are due, earliest first, yours until the lease ends. An item that was claimed `attempts` times
   * moves to the schedule `dead` instead.
   */
  claim(options?: TakeOptions & { lease?: Duration } & Attempts): Claim<Data>[];
  /** DUE.POP: items that are due, removed at once. */
  pop(options?: TakeOptions): Popped<Data>[];
  /** DUE.ACK: remove items that are done. Returns how many were still held. */
  ack(...claims: Pick<Claim, 'item' | 'token'>[]): number;
  /** DUE.ACK … AT or IN: they are done, and due again then. */
  ack(claims: readonly Pick<Claim, 'item' | 'token'>[], again?: When): number;
  /** DUE.MOVE: retry an item later, or hold it longer. Null if it is no longer held. */
  move<C extends Pick<Claim, 'item' | 'token'>>(claim: C, when: When): C | null;
  /** ZREM: cancel items. Returns how many there were. (`Schedule.cancel` removes their payloads, too.) */
  cancel(...items: Name[]): number;
  /** DUE.INFO. */
  info(options?: { now?: Moment }): { items: number; due: number; claimed: number; invalid: number; nextMs: number | null };
  /** ZSCORE: an item, or null. (`Schedule.get` adds its payload.) */
  get(item: Name): Scheduled<Data> | null;
  /** ZRANGE: items that are held, then those that wait, earliest first. (`Schedule.list` adds their payloads.) */
  list(options?: { offset?: number; count?: number }): Scheduled<Data>[];
  /** HMGET: the payloads of items, null where there is none. */
  payloads(items: readonly Name[]): (Data | null)[];
  /** Brings a dead item back: due now, as new, with its payload. False if it is not among the dead. Sends a script. */
  revive(item: Name): boolean;
  /** Forgets a dead item, and its payload unless a live item has the same name. False if it is not among the dead. Sends a script. */
  discard(item: Name): boolean;
  /** Moves a claimed item to the dead. False if it was no longer held. Sends a script. */
  bury(claim: Pick<Claim, 'item' | 'token'>, dead?: Name): boolean;
}

/** The same methods, each returning a Call. */
export type Calls<M> = { [K in keyof M]: M[K] extends (...args: infer A) => infer R ? (...args: A) => Call<R> : never };
/** The same methods, each sending its command. */
export type Sending<M> = { [K in keyof M]: M[K] extends (...args: infer A) => infer R ? (...args: A) => Promise<R> : never };

/** A board, declared once and created by its first write. */
export class Leaderboard<const S extends Schema = {}> {
  constructor(client: Client, key: Name, schema?: S);
  readonly calls: Calls<BoardMethods<S>> & { readonly key: Name };
  /** Changes what RANK.ALTER can change to what is declared. What cannot change throws SchemaError. */
  migrate(): Promise<void>;
  /** A complete RANK.SCAN. Returns every member that stays on the board; some may be returned twice. */
  scanAll(options?: ScanOptions): AsyncGenerator<Entry>;
}
export interface Leaderboard<S extends Schema = {}> extends Sending<BoardMethods<S>> {}

/** Ranks of different shards add up only for these kinds. */
export type ShardReadOptions = { kind?: 'COMPETITION' | 'ORDINAL'; data?: boolean; time?: boolean };

/**
 * A board that is cut into 2, 4, 8 … 1024 shards, spread over a cluster by their keys. Answers are exact. Shards
 * that cannot be reached are retried for `timeout` (10 s); then IncompleteAnswer is thrown. A write that may have
 * happened is not sent again: it throws OutcomeUnknown.
 */
export class ShardedLeaderboard<const S extends Omit<Schema, 'periods' | 'offset'> = {}> {
  constructor(client: Client, name: string, shards: number, schema?: S & { timeout?: Duration });
  /** The keys of the shards. */
  readonly keys: string[];
  /** RANK.SHARDS: the keys, as the server computes them. */
  shards(): Promise<string[]>;
  /** RANK.SHARD: the key of a member. */
  shard(member: Name): Promise<string>;
  /** Creates all shards. Other writes create those they need. */
  create(options?: { adopt?: boolean }): Promise<void>;
  migrate(): Promise<void>;
  /** RANK.ALTER of all shards. */
  alter(changes: Pick<Alteration, 'keep' | 'update' | 'data' | 'owned'>): Promise<void>;
  /** `members` and `overflow` are sums over all shards; the rest is of the first shard that there is. */
  info(): Promise<BoardInfo | null>;
  clear(): Promise<number>;
  /** One step, one shard after the other; `cursor` is '0' when it was the last. */
  verify(options?: { repair?: boolean; cursor?: string; count?: number }): Promise<Verification>;
  add(member: Name, score: NewScore, options?: WriteOptions): Promise<number>;
  /** All or none of a shard's members are written. */
  addMany(scores: Scores, options?: WriteOptions): Promise<number>;
  incr(member: Name, delta: Score, options?: { at?: Moment }): Promise<ScoreOf<S> | null>;
  remove(...members: Name[]): Promise<number>;
  /** All or none of a shard's lines are written. */
  load(lines: readonly string[], options?: { nx?: boolean }): Promise<number>;
  setData(member: Name, data: Record<string, string>, options?: { nx?: boolean }): Promise<number>;
  putData(member: Name, data: Data): Promise<void>;
  getData(member: Name): Promise<Record<string, string> | null>;
  getAttributes(member: Name, ...attributes: string[]): Promise<(string | null)[] | null>;
  delData(member: Name, ...attributes: string[]): Promise<number>;
  score(member: Name): Promise<ScoreOf<S> | null>;
  count(low?: Value | string, high?: Value | string): Promise<number>;
  /** The rank that a newcomer with this score would get. */
  forScore(score: Score, options?: Place & Pick<ShardReadOptions, 'kind'>): Promise<number>;
  get(member: Name, options?: ShardReadOptions): Promise<Row | null>;
  /** The ranking within a group, such as friends. */
  among(members: readonly Name[], options?: ShardReadOptions): Promise<GroupRow[]>;
  top(n: number, options?: ShardReadOptions): Promise<Row[]>;
  /** By position, from 1, both ends included; negative positions count from the end. */
  range(start: number, stop: number, options?: ShardReadOptions): Promise<Row[]>;
  page(page: number, size: number, options?: ShardReadOptions): Promise<Page>;
  around(member: Name, distance: number, options?: ShardReadOptions & { fill?: boolean }): Promise<Row[]>;
  /** The n rows after a given row or score. */
  after(n: number, score: Score, options?: ShardReadOptions & Place): Promise<Row[]>;
  /** The n rows just before a given row or score, best first. */
  before(n: number, score: Score, options?: ShardReadOptions & Place): Promise<Row[]>;
  /** Rows whose first field is within low … high. `limit` reads the rows that it skips: `after` is better for reading on. */
  byScore(low: Value | string, high: Value | string, options?: ShardReadOptions & { limit?: readonly [number, number] }): Promise<Row[]>;
  /** One step, one shard after the other; `scanAll` runs all of them. */
  scan(cursor?: string, options?: ScanOptions): Promise<{ cursor: string; entries: Entry[] }>;
  /** One step: lines that `load` takes. */
  scanLines(cursor?: string, options?: ScanOptions): Promise<{ cursor: string; lines: string[] }>;
  /** A complete scan. Returns every member that stays on the board; some may be returned twice. */
  scanAll(options?: ScanOptions): AsyncGenerator<Entry>;
  percentile(member: Name): Promise<number | null>;
}

export type RateLimiterOptions = LimiterOptions & {
  /** How long a call waits for an answer (1 s). What was not sent by then never is. */
  timeout?: Duration;
  /**
   * What counts while the server is away: 'open' allows, 'closed' denies, 'local' counts in this process, for at most 10,000
   * keys. By default a call throws.
   */
  failing?: 'open' | 'closed' | 'local';
  /**
   * A key that was denied is denied here, without a round trip, until its `retryAfterMs` has passed: for this cost, and for
   * at most 10,000 keys, or as many as it says. Units that others give back meanwhile are not seen.
   */
  rememberDenied?: boolean | number;
};

/** Units that were taken before it was known how many there would be. */
export interface Reservation {
  readonly reserved: number;
  readonly verdict: Verdicts;
  /** So many were used: the rest comes back, or what is missing is counted. Once. Null if only this process has counted them. */
  settle(used: number): Promise<Verdicts | null>;
}

/** Limiters with the same rules, one per key: new RateLimiter(client, ['5/second', '1000/1h']). */
export class RateLimiter {
  constructor(client: Client, rules: string | readonly string[], options?: RateLimiterOptions);
  readonly calls: Calls<LimiterMethods>;
  /** Like check, but throws RateLimited if the call is denied. */
  enforce(key: LimiterKey, options?: SpendOptions): Promise<Verdicts>;
  /**
   * Takes units whose number is known only afterwards, such as the tokens of a language model. Throws RateLimited if they are
   * not there. Without `settle`, they stay taken. Not with SLIDING.
   */
  reserve(key: LimiterKey, options?: Omit<SpendOptions, 'stamp' | 'force'>): Promise<Reservation>;
  /**
   * Takes its units now, and resolves when it is its turn; who asks later waits longer. Throws RateLimited if that would be
   * later than `timeout` (1 min, at most 1 h). A signal ends the wait, and the units stay taken. For GCRA.
   */
  wait(key: LimiterKey, options?: Omit<SpendOptions, 'wait' | 'upTo' | 'force'> & { timeout?: Duration; signal?: AbortSignal }): Promise<Verdicts>;
  /** Like check, as a boolean. (A verdict is an object, which `if` takes for true.) */
  allows(key: LimiterKey, options?: SpendOptions): Promise<boolean>;
}
export interface RateLimiter extends Sending<LimiterMethods> {}

/** One of `limit` leases, which ends after `lease` unless it is renewed. With limit 1 it is a lock. */
export class Lease {
  /** `wait`: how long `hold` and `run` wait for a lease. They ask again when the next lease ends. */
  constructor(client: Client, key: Name, options?: { limit?: number; lease?: Duration; wait?: Duration });
  readonly calls: Calls<LeaseMethods>;
  /** Grows with every grant: pass it on as a fencing token. */
  token: number;
  /** Aborts when the lease is lost while `run` holds it, by the clock of this process. */
  readonly signal: AbortSignal;
  /** Waits for a lease, and sets `token`. Throws LeaseDenied if there is none in time. One holder at a time. */
  hold(options?: { signal?: AbortSignal }): Promise<this>;
  /** Renews the lease, for `lease` from now. False if it was lost. */
  renew(): Promise<boolean>;
  /**
   * Holds a lease while `work` runs, and renews it. Several can run at once. If the lease is lost, its `signal` aborts, and
   * LeaseLost is thrown when the work has ended.
   */
  run<T>(work: (lease: this) => Promise<T> | T, options?: { signal?: AbortSignal }): Promise<T>;
}
export interface Lease extends Sending<LeaseMethods> {}

export type ScheduleOptions = {
  /** The hash with the payloads of items, in the slot of the schedule. */
  data?: Name;
  /** What payloads are: JSON (the default), or text as it is. */
  payload?: 'json' | 'text';
  /** The schedule of items that were given up, in the same slot. */
  dead?: Name;
};

/** Items that become due at a time. */
export class Schedule<Data = any> {
  constructor(client: Client, key: Name, options?: ScheduleOptions);
  readonly calls: Calls<ScheduleMethods<Data>> & { readonly key: Name };
  /** The items that were given up. */
  readonly dead: Pick<Schedule<Data>, 'list' | 'get' | 'revive' | 'discard'>;
}
export interface Schedule<Data = any> extends Sending<ScheduleMethods<Data>> {}

/** An item that a Worker has claimed. */
export interface Job<Data = any> {
  readonly item: string;
  /** The payload, if the schedule has a hash for them. */
  readonly data: Data;
  /** 1 for the first time. */
  readonly attempt: number;
  readonly due: Date;
  /** Of the current lease. */
  readonly token: number;
  /** The lease ended while the handler ran: somebody else may have the item now. */
  readonly lost: boolean;
  /** Aborts when the lease is lost, or the handler's time is over. */
  readonly signal: AbortSignal;
}

/** What `observe` gets for each call of the handler, which took `ms`. */
export interface JobEvent {
  kind: 'done' | 'retry' | 'dead' | 'failed' | 'lost';
  item: string;
  attempt: number;
  ms: number;
}

export type WorkerOptions<Data = any> = {
  /** How many handlers run at once; default 1. One whose job is lost no longer counts. */
  concurrency?: number;
  /** How long an item is held; it is renewed while its handler runs. Default 30 s. */
  lease?: Duration;
  /** How long to wait before the next attempt, in milliseconds. Default: 1 s, 2 s, 4 s … at most 1 h, with jitter. */
  backoff?: (attempt: number) => number;
  /** How long a handler may take. Then its job is lost, and the item is tried again. Default: as long as it likes. */
  timeLimit?: Duration;
  /** What is done is due again at the next multiple of this time. */
  every?: Duration;
  /** No more items than this limiter allows. */
  rate?: Rate;
  /** How long running handlers have to end after `stop`. Default 30 s. */
  grace?: Duration;
  /** Whether SIGINT and SIGTERM stop it; default true. In a server that handles signals itself, say false, and call `stop`. */
  signals?: boolean;
  /** For metrics: called after each call of the handler. */
  observe?: (event: JobEvent) => unknown;
  /** Gets the errors of handlers and of the connection. Default: console.error, without payloads. */
  log?: (error: unknown, job?: Job<Data>) => void;
} & Attempts;

/**
 * Runs a handler for each item that is due. An item is acknowledged when its handler returns, and tried again if it throws:
 * Retry says when, and Dead gives the item up.
 */
export class Worker<Data = any> {
  constructor(schedule: Schedule<Data>, handle: (job: Job<Data>) => unknown, options?: WorkerOptions<Data>);
  /**
   * Works until `stop`, SIGINT or SIGTERM, or until the client is closed. Resolves when all handlers have ended. Rejects if
   * the server refuses what a worker must do. It may be called again.
   */
  run(): Promise<void>;
  /** Claims no more. Resolves when all handlers have ended, or the grace time is over. */
  stop(): Promise<void>;
}

/** Thrown by a handler: its item is tried again, after the worker's back-off or the given time. */
export class Retry extends RankError {
  constructor(options?: { after?: Duration });
}
/** Thrown by a handler: its item goes to the dead schedule at once. */
export class Dead extends RankError {
  constructor(reason?: string);
}
/** A payload that is not JSON, although the schedule says so. */
export class WrongPayload extends RankError {
  readonly text: string;
}

export class RankError extends Error {}
export class CommandError extends RankError {
  /** The first word of the server's error. */
  readonly code: string;
}
export class NoBoard extends CommandError {}
export class SchemaError extends CommandError {}
export class ValueOutOfRange extends CommandError {}
export class DamagedBoard extends CommandError {}
export class WrongType extends CommandError {}
export class NotPermitted extends CommandError {}
export class ModuleNotLoaded extends CommandError {}
export class TooBig extends CommandError {}
export class CrossSlot extends CommandError {}
export class TryAgain extends CommandError {}
export class OutOfMemory extends CommandError {}
export class Unblocked extends CommandError {}
/** The connection broke, or no reply came in time: the command may have happened, or may not. `cause` is the error. */
export class OutcomeUnknown extends RankError {}
/** There was no connection in time: the command was not sent. */
export class NotSent extends RankError {}
export class RateLimited extends RankError {
  readonly verdict: Verdict;
}
export class LeaseDenied extends RankError {
  readonly grant: Grant;
}
export class LeaseLost extends RankError {}
export class IncompleteAnswer extends RankError {}
