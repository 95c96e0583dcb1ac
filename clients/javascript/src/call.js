// A command as a value: what to send, and how to read the reply. Nothing here talks to a server.

/** An argument that is a key: the client's prefix goes before it, and the first one decides the node. */
export class Key {
  constructor(name) {
    this.name = name;
  }
}

/**
 * One command. `board` is the declared one that it writes to. `wait` is there if it may block: for how many
 * `milliseconds` (0: for ever), and `callFor`, which makes the same call for another time.
 */
export class Call {
  constructor(name, args, parse, { board = null, wait = null } = {}) {
    this.name = name;
    this.args = args.map((arg) => (arg instanceof Key ? arg : argument(arg)));
    this.parse = parse;
    this.board = board;
    this.wait = wait;
  }
}

/** Any other command, to send along. Its reply is returned with strings as text. */
export const raw = (name, key, ...args) => new Call(name, [new Key(key), ...args], plain);

// --- arguments --------------------------------------------------------------------------------------

function argument(value) {
  if (typeof value === 'string' || Buffer.isBuffer(value)) return value;
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'number' || Number.isNaN(value)) throw new TypeError(`expected a name or a number, got ${value}`);
  return value === Infinity ? 'inf' : value === -Infinity ? '-inf' : String(value);
}

export const numbers = (score) => (Array.isArray(score) ? score : [score]);

/** Scores to write: null keeps a field as it is. */
export const newScores = (score) => (Array.isArray(score) ? score.map((value) => (value === null ? '*' : value)) : [score]);
export const option = (word, value) => (value === undefined || value === null ? [] : [word, value]);
export const flags = (words) => Object.entries(words).filter(([, given]) => given).map(([word]) => word.toUpperCase());

/** Seconds as a number, or text with a unit: 500ms, 30s, 5m, 2h, 1d. */
export function duration(value) {
  // A short time is not 0, which is for ever where a call blocks.
  return typeof value === 'number' ? `${Math.round(value * 1000) || Number(value > 0)}ms` : value;
}

const UNITS = { ms: 1, s: 1000, '': 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The same as a number, or null for what the server will refuse. */
export function milliseconds(value) {
  const [, number, unit] = /^(\d+)(ms|[smhd]?)$/.exec(duration(value)) ?? [];
  return number === undefined ? null : Number(number) * UNITS[unit];
}

/** The words of a field, a tie rule or a period. */
export const wordsOf = (text) => text.trim().split(/\s+/);

/** Unix time in milliseconds, or a Date. */
export const moment = (value) => (value instanceof Date ? value.getTime() : value);

/** An option that takes a duration or a time, if it is given. */
export const timed = (word, value, convert) => (value === undefined || value === null ? [] : [word, convert(value)]);

// --- replies: the same values in RESP2 and RESP3 --------------------------------------------------------

/** A name or value; one that is not UTF-8 stays a Buffer. */
export function text(value) {
  if (!Buffer.isBuffer(value)) return value;
  const string = value.toString();
  return Buffer.from(string).equals(value) ? string : value;
}

/** A number; an integer that a number cannot hold exactly is a bigint. */
export function number(value) {
  const shown = Buffer.isBuffer(value) ? value.toString() : value;
  if (typeof shown !== 'string') return shown;
  if (/^-?\d+$/.test(shown) && !Number.isSafeInteger(Number(shown))) return BigInt(shown);
  return Number(shown.replace(/^([+-]?)inf$/, '$1Infinity'));
}

export const integer = (value) => Number(value);
export const optional = (parse) => (reply) => (reply === null || reply === undefined ? null : parse(reply));
export const listOf = (parse) => (reply) => reply.map(parse);
export const nothing = () => undefined;

/** A map: in RESP3 it is one, in RESP2 a flat array. Its strings are text. */
export function record(reply) {
  if (reply instanceof Map) return record([...reply].flat());
  if (!Array.isArray(reply)) return Object.fromEntries(Object.entries(reply).map(([key, value]) => [key, plain(value)]));
  const entries = [];
  for (let at = 0; at < reply.length; at += 2) entries.push([String(reply[at]), plain(reply[at + 1])]);
  return Object.fromEntries(entries);
}

/** A reply of unknown shape with its strings as text. */
export function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (value !== null && typeof value === 'object' && !Buffer.isBuffer(value)) return record(value);
  // Texts arrive as Buffers, so this was an integer.
  return typeof value === 'string' && /^-?\d+$/.test(value) ? number(value) : text(value);
}

// Strings are matched first, so that digits inside them are left alone; the digits of a fraction are no integer.
const LARGE = /"(?:[^"\\]|\\.)*"|(?<![\d.])-?\d{16,}(?![\d.eE])/g;

/** JSON as it is parsed, and once more with large integers as strings, for `number` to read exactly. */
export function exactJson(reply) {
  const text = String(reply);
  const value = JSON.parse(text);
  if (!/\d{16}/.test(text)) return { value, exact: value };
  return { value, exact: JSON.parse(text.replace(LARGE, (part) => (part[0] === '"' ? part : `"${part}"`))) };
}

export const json = (reply) => JSON.parse(String(reply));

/** A name in JSON: text, or base64 where it is not UTF-8. */
export const jsonName = (name) => (typeof name === 'object' ? Buffer.from(name.base64, 'base64') : name);
