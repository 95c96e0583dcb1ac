// A command as a value: what to send, and how to read the reply. Nothing here talks to a server.

/** No options: the usual case, which need not be looked at. */
export const NONE = Object.freeze({});

/** An argument that is a key: the client's prefix goes before it, and the first one decides the node. */
export class Key {
  constructor(name) {
    if (typeof name !== 'string' && !Buffer.isBuffer(name)) throw new TypeError(`a key is text or bytes, got ${name === null ? null : typeof name}`);
    this.name = name;
  }
}

/**
 * One command. `create` makes the call that creates the declared board, when this one fails with a `missing` error.
 * `wait` is there if it may block: for how many `milliseconds` (0: for ever), and `callFor`, which makes the same call
 * for another time. A call without a name has nothing to do: its result is `value`.
 */
export class Call {
  constructor(name, args, parse, { create = null, missing = null, wait = null } = NONE) {
    this.name = name;
    this.args = args;
    this.parse = parse;
    this.create = create;
    this.missing = missing;
    this.wait = wait;
    for (let at = 0; at < args.length; at++) if (typeof args[at] !== 'string') args[at] = argument(args[at]);
  }

  static nothing(value) {
    const call = new Call(null, [], null);
    call.value = value;
    return call;
  }
}

/** Any other command, to send along. Its reply is returned with strings as text. */
export const raw = (name, key, ...args) => new Call(name, [new Key(key), ...args], plain);

// --- arguments --------------------------------------------------------------------------------------

function argument(value) {
  if (value instanceof Key || Buffer.isBuffer(value)) return value;
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'number' || Number.isNaN(value)) throw new TypeError(`expected a name or a number, got ${value}`);
  return value === Infinity ? 'inf' : value === -Infinity ? '-inf' : String(value);
}

/** Takes what is left of some options once the known ones are taken out: a misspelled one must not be ignored. */
export function noMore(rest) {
  for (const name in rest) throw new TypeError(`unknown option: ${name}`);
}

export const numbers = (score) => (Array.isArray(score) ? score : [score]);
export const option = (word, value) => (value === undefined || value === null ? [] : [word, value]);
export const flags = (words) => Object.entries(words).filter(([, given]) => given).map(([word]) => word.toUpperCase());

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds as a number, or text with a unit: 500ms, 30s, 5m, 2h, 1d. As milliseconds. */
export function milliseconds(value) {
  // Part of a millisecond is not 0, which is for ever where a call blocks.
  if (typeof value === 'number' && value >= 0 && value < Infinity) return Math.ceil(value);
  const [, number, unit] = (typeof value === 'string' && /^(\d+)(ms|[smhd])$/.exec(value)) || [];
  if (number === undefined) throw new TypeError(`a duration is milliseconds or text such as '30s', got ${value}`);
  return Number(number) * UNITS[unit];
}

export const duration = (value) => `${milliseconds(value)}ms`;

/** The words of a field, a tie rule or a period. */
export const wordsOf = (text) => text.trim().split(/\s+/);

/** Unix time in milliseconds, or a Date. */
export function moment(value) {
  const time = value instanceof Date ? value.getTime() : value;
  if (typeof time !== 'number' || !(time >= 1e11 || time === 0 || (value instanceof Date && time > 0))) {
    throw new TypeError(`a time is a Date or Unix time in milliseconds, got ${value}`);
  }
  return Math.floor(time);
}

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

/** Marks how to read a reply that has small integers alone, whose types the library need not keep. */
export const numeric = (parse) => Object.assign(parse, { isNumeric: true });

export const integer = numeric((value) => Number(value));
export const optional = (parse) => (reply) => (reply === null || reply === undefined ? null : parse(reply));
export const listOf = (parse) => (reply) => reply.map((each) => parse(each));
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
