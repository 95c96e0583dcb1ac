/** Every error of this package is a RankError; those that the server sent are CommandErrors. */
export class RankError extends Error {
  get name() {
    return this.constructor.name;
  }
}

/** The server refused a command; the text says what it expected. */
export class CommandError extends RankError {}
/** The board has another schema, or lacks what the command needs. */
export class SchemaError extends CommandError {}
/** A score is not one that its field can hold. */
export class ValueOutOfRange extends CommandError {}
/** Something else has written to the key: see RANK.VERIFY. */
export class DamagedBoard extends CommandError {}
/** The key holds something else. */
export class WrongType extends CommandError {}
/** The user may not do this, or not with this key. */
export class NotPermitted extends CommandError {}
/** The server does not know the command: the module, or this version of it, is not loaded. */
export class ModuleNotLoaded extends CommandError {}

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
