// The errors of this package, and what the errors of the server mean.

import { milliseconds, noMore } from './call.js';

/** Every error of this package is a RankError; those that the server sent are CommandErrors. */
export class RankError extends Error {}

/** The server refused a command; the text says what it expected. */
export class CommandError extends RankError {}
/** A write to a board that has not been created. */
export class NoBoard extends CommandError {}
/** The board has another schema, or lacks what the command needs. */
export class SchemaError extends CommandError {}
/** A score is not one that its field can hold. */
export class ValueOutOfRange extends CommandError {}
/** Something else has written to the key: see RANK.VERIFY. */
export class DamagedBoard extends CommandError {}
/** The reply or the work would exceed a limit of the server's configuration. */
export class TooBig extends CommandError {}
/** The key holds something else. */
export class WrongType extends CommandError {}
/** The user may not do this, or not with this key. */
export class NotPermitted extends CommandError {}
/** The server does not know the command: the module, or this version of it, is not loaded. */
export class ModuleNotLoaded extends CommandError {}
/** The keys of one command are in different slots of the cluster. */
export class CrossSlot extends CommandError {}
/** A slot is on its way to another node: try again. */
export class TryAgain extends CommandError {}
/** The server has no memory left for this. */
export class OutOfMemory extends CommandError {}
/** A call that blocked was ended, since the server's role changed. */
export class Unblocked extends CommandError {}

/** The connection broke, or no reply came in time: the command may have happened, or may not. `cause` is the error. */
export class OutcomeUnknown extends RankError {}
/** The command was not sent, since there was no connection in time. */
export class NotSent extends RankError {}

/** Thrown by RateLimiter.enforce; `verdict` has the numbers. */
export class RateLimited extends RankError {
  constructor(key, verdict) {
    const wait = verdict.retryAfterMs < 0 ? 'it costs more than the limit' : `try again in ${verdict.retryAfterMs} ms`;
    super(`${key}: ${wait}`);
    this.verdict = verdict;
  }
}

/** All places are taken; `grant` says when one may be free. */
export class LeaseDenied extends RankError {
  constructor(key, grant) {
    super(`${key}: all ${grant.limit} are taken, the next lease ends in ${grant.retryAfterMs} ms`);
    this.grant = grant;
  }
}

/** The lease ended before the work did: somebody else may hold it. */
export class LeaseLost extends RankError {}

/** Some shards of a board did not answer in time, so there is no exact answer. */
export class IncompleteAnswer extends RankError {}

/** Thrown by a handler: its item is tried again, after the worker's back-off or as told. */
export class Retry extends RankError {
  constructor({ after, ...rest } = {}) {
    super('the handler asked for another attempt');
    noMore(rest);
    this.after = after === undefined ? null : milliseconds(after);
  }
}

/** Thrown by a handler: its item goes to the dead schedule at once. */
export class Dead extends RankError {
  constructor(reason = 'the handler gave the item up') {
    super(reason);
  }
}

/** A payload that is not what its schedule says it is: `text` is what is stored. */
export class WrongPayload extends RankError {
  constructor(text) {
    super("the payload is not JSON: declare the schedule with payload: 'text' if it should not be");
    // Not shown by console.error.
    Object.defineProperty(this, 'text', { value: text });
  }
}

// Told here, since a bundler that minifies renames classes.
const CLASSES = {
  RankError, CommandError, NoBoard, SchemaError, ValueOutOfRange, DamagedBoard, TooBig, WrongType, NotPermitted, ModuleNotLoaded,
  CrossSlot, TryAgain, OutOfMemory, Unblocked, OutcomeUnknown, NotSent, RateLimited, LeaseDenied, LeaseLost, IncompleteAnswer, Retry,
  Dead, WrongPayload,
};
for (const [name, Kind] of Object.entries(CLASSES)) Object.defineProperty(Kind.prototype, 'name', { value: name, configurable: true, writable: true });

const BY_CODE = {
  ERR: CommandError, NOBOARD: NoBoard, SCHEMA: SchemaError, OUTOFRANGE: ValueOutOfRange, DAMAGED: DamagedBoard, TOOBIG: TooBig,
  WRONGTYPE: WrongType, NOPERM: NotPermitted, CROSSSLOT: CrossSlot, TRYAGAIN: TryAgain, OOM: OutOfMemory, UNBLOCKED: Unblocked,
};

// What a server replies begins with a code in capitals. The libraries' own errors begin with a word, and those of the
// system have a `code`.
const REPLY = /^([A-Z][A-Z0-9]+)(?: (.*))?$/s;

/** The code of what a server replied, or null if the connection broke. */
export function codeOf(error) {
  if (error instanceof RankError) return error instanceof CommandError ? error.code : null;
  return typeof error?.code === 'string' ? null : (REPLY.exec(error?.message)?.[1] ?? null);
}

/** What a server replied, as opposed to a connection that broke. */
export const isReply = (error) => codeOf(error) !== null;

/** The class of this package for an error. One of the connection stays as it is, unless the command may have happened. */
export function translate(error, maybeHappened, call, key) {
  if (error instanceof RankError) return error;
  const code = codeOf(error);
  if (code === null) return maybeHappened ? unknown(error) : error;
  const [, , said = ''] = REPLY.exec(error.message);
  const isUnknown = code === 'ERR' && said.startsWith('unknown command ');
  const Kind = isUnknown ? ModuleNotLoaded : BY_CODE[code];
  if (!Kind) return error;
  const message = isUnknown ? `the server does not know ${call}: it needs the module redis-rank, in a version that has this command` : said;
  return Object.assign(new Kind(key === undefined ? message : `${message} (${call} ${key})`, { cause: error }), { code });
}

export const unknown = (cause) => new OutcomeUnknown('the connection broke: whether the command happened is unknown', { cause });

// The server said that it did not run the command, and why another one, or it later, may.
const REFUSALS = new Set(['MOVED', 'ASK', 'TRYAGAIN', 'CLUSTERDOWN', 'LOADING', 'READONLY', 'MASTERDOWN', 'BUSY', 'MISCONF', 'NOREPLICAS']);

/** The command was not run: to send it again does no harm. */
export const isRefusal = (error) => REFUSALS.has(codeOf(error));

/** The server is away, or is not ready: no mistake of the caller's, and it may pass. */
export function isOutage(error) {
  if (error instanceof OutcomeUnknown || error instanceof NotSent || isRefusal(error)) return true;
  return !isReply(error) && !(error instanceof RankError || error instanceof TypeError || error instanceof RangeError);
}
