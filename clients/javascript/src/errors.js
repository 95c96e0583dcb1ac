// The errors of this package, and what the errors of the server and of the client libraries mean.

/** Every error of this package is a RankError; those that the server sent are CommandErrors. */
export class RankError extends Error {
  get name() {
    return this.constructor.name;
  }
}

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

const BY_CODE = {
  ERR: CommandError, NOBOARD: NoBoard, SCHEMA: SchemaError, OUTOFRANGE: ValueOutOfRange, DAMAGED: DamagedBoard, TOOBIG: TooBig,
  WRONGTYPE: WrongType, NOPERM: NotPermitted, CROSSSLOT: CrossSlot, TRYAGAIN: TryAgain, OOM: OutOfMemory, UNBLOCKED: Unblocked,
};

// The classes of node-redis and ioredis for what a server replied.
const REPLIES = new Set(['ErrorReply', 'SimpleError', 'BlobError', 'MultiErrorReply', 'ReplyError']);

/** What a server replied, as opposed to a connection that broke. */
export const isReply = (error) =>
  error instanceof CommandError || REPLIES.has(error?.constructor?.name) || error?.name === 'ReplyError' ||
  error?.constructor?.name === 'MaxCommandRedirectionsError';

// What node-redis throws for a command that it did not write to a connection.
const UNSENT = new Set(['ClientClosedError', 'ClientOfflineError', 'AbortError', 'ConnectionTimeoutError', 'RootNodesUnavailableError']);

export const wasSent = (error) => !UNSENT.has(error?.constructor?.name) && error?.code !== 'ECONNREFUSED' && error?.message !== 'The queue is full';

/** The class of this package for an error. One of the connection stays as it is, unless the command may have happened. */
export function translate(error, maybeHappened) {
  if (error instanceof RankError) return error;
  if (!isReply(error)) return maybeHappened ? unknown(error) : error;
  const [, code, message] = /^([A-Z]+) ?(.*)$/s.exec(error.message) ?? [];
  const Kind = code === 'ERR' && message.startsWith('unknown command ') ? ModuleNotLoaded : BY_CODE[code];
  if (!Kind) return error;
  return Object.assign(new Kind(message, { cause: error }), { code });
}

export const unknown = (cause) => new OutcomeUnknown('the connection broke: whether the command happened is unknown', { cause });

// The server said that it did not run the command, and why another one, or it later, may.
const REFUSED = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|LOADING|READONLY|MASTERDOWN|BUSY)\b/;

/** The command was not run: to send it again does no harm. */
export const isRefusal = (error) => error instanceof TryAgain || REFUSED.test(error?.message);

/** The server is away, or is not ready: no mistake of the caller's, and it may pass. */
export function isOutage(error) {
  if (error instanceof OutcomeUnknown || error instanceof NotSent || isRefusal(error)) return true;
  return !isReply(error) && !(error instanceof RankError || error instanceof TypeError || error instanceof RangeError);
}
