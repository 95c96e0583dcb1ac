// Sends calls with node-redis or ioredis, to one server or to a cluster.

import { Key } from './call.js';
import { NoBoard, NotSent, OutcomeUnknown, SchemaError, translate } from './errors.js';
import { senderFor } from './libraries.js';

/** What may go to replicas, and may be sent again. */
export const READS = new Set(
  ('RANK.INFO RANK.GET RANK.SCORE RANK.QUERY RANK.STATS RANK.TOPN RANK.RANGE RANK.PAGE RANK.AROUND RANK.BYSCORE ' +
    'RANK.AMONG RANK.AFTER RANK.BEFORE RANK.SCAN RANK.COUNT RANK.FORSCORE RANK.PERCENTILE RANK.SCOREAT RANK.GETDATA ' +
    'RANK.PERIODS RANK.SHARD RANK.SHARDS RATE.PEEK RATE.HELD DUE.INFO ZSCORE ZRANGE HMGET').split(' '),
);

// How long one call blocks at most: a client that waits for longer may take the connection for lost.
const BLOCK_MS = 1000;
// A connection that blocked is kept for the next call that does.
const IDLE_MS = 500;

// --- calls ----------------------------------------------------------------------------------------------

const senders = new WeakMap();

export function senderOf(client) {
  let sender = senders.get(client);
  if (sender === undefined) {
    sender = senderFor(client);
    senders.set(client, sender);
  }
  return sender;
}

function prefixed(prefix, name) {
  if (!prefix) return name;
  const isText = typeof prefix === 'string' && typeof name === 'string';
  return isText ? prefix + name : Buffer.concat([Buffer.from(prefix), Buffer.from(name)]);
}

/** Sends a call, and tells `done` its reply, or `failed` what it means that there is none. */
function dispatch(client, call, limit, isRead, recover, done, failed) {
  const sender = senderOf(client);
  const words = [];
  const keys = [];
  for (let arg of call.args) {
    if (arg instanceof Key) {
      arg = prefixed(sender.prefix, arg.name);
      keys.push(arg);
    }
    words.push(arg);
  }
  return sender.send(call.name, words, keys, isRead, limit, call.parse.isNumeric).then(done, (cause) => {
    const error = translate(cause, !isRead && sender.wasSent(cause), call.name, keys[0]);
    if (recover !== null && error instanceof call.missing) return recover(client, call, limit);
    return failed(error);
  });
}

const thrown = (error) => {
  throw error;
};

/** The result of one call, which is not sent any more when `limit` is over. `isRead` tells whether a replica may answer. */
export function send(client, call, limit, isRead = READS.has(call.name), recover = null) {
  if (call.name === null) return Promise.resolve(call.value);
  return dispatch(client, call, limit, isRead, recover, call.parse, thrown);
}

/**
 * The result of one call. If it writes to a declared board that is not there, the board is created, and the write sent
 * again.
 */
export function run(client, call, limit) {
  if (call.wait) return waited(client, call.wait);
  return send(client, call, limit, undefined, call.create && createAndRepeat);
}

async function createAndRepeat(client, call, limit) {
  let refusal = null;
  try {
    await send(client, call.create(), limit);
  } catch (error) {
    // Somebody else may have created it meanwhile, from another version of its declaration.
    if (!(error instanceof SchemaError)) throw error;
    refusal = error;
  }
  try {
    return await send(client, call, limit);
  } catch (error) {
    throw refusal !== null && error instanceof NoBoard ? refusal : error;
  }
}

/** The results of several calls, which travel together and keep their order. No board is created meanwhile. */
export async function execute(client, ...calls) {
  const sender = senderOf(client);
  // The connections of a pool keep no order.
  if (sender.isPool) return client.execute((one) => execute(one, ...calls));
  // A replica may not know yet what was written just before.
  const isReading = calls.every(({ name }) => name === null || READS.has(name));
  return Promise.all(calls.map((call) => (call.wait ? run(client, call) : send(client, call, undefined, isReading))));
}

/** What nobody waits for any more: a call that was not sent by then is not sent. */
class Limit {
  isOver = false;
  command = null;

  expire() {
    this.isOver = true;
    this.command?.takeBack();
  }
}

/** What `start` resolves to. After some milliseconds it fails, and what was not sent by then is not sent any more. */
export function within(time, start, late = () => new OutcomeUnknown(`no answer within ${time} ms`)) {
  return new Promise((resolve, reject) => {
    const limit = new Limit();
    const timer = setTimeout(() => {
      reject(late());
      limit.expire();
    }, time);
    start(limit).then(
      (result) => {
        clearTimeout(timer);
        resolve(result);
      },
      (error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

/** The same for one call that neither blocks nor creates anything, with fewer promises: limiters are asked for every request. */
export function sendWithin(time, client, call) {
  if (call.name === null) return Promise.resolve(call.value);
  return new Promise((resolve, reject) => {
    const limit = new Limit();
    const timer = setTimeout(() => {
      reject(new OutcomeUnknown(`no answer within ${time} ms`));
      limit.expire();
    }, time);
    const done = (reply) => {
      clearTimeout(timer);
      try {
        resolve(call.parse(reply));
      } catch (error) {
        reject(error);
      }
    };
    dispatch(client, call, limit, READS.has(call.name), null, done, (error) => {
      clearTimeout(timer);
      reject(error);
    });
  });
}

// --- calls that block -----------------------------------------------------------------------------------

/** Whether the application has closed its client. */
export const isClosed = (client) => senderOf(client).isClosed();

/** A connection like the client's, for calls that block: the client's other calls go on. A pool lends one of its own. */
export class OwnConnection {
  #own = null;
  #isOver = false;

  constructor(client) {
    this.client = client;
    this.sender = senderOf(client);
  }

  /** Does something with it. After an error it is another one. */
  async use(act) {
    if (this.sender.isPool) return this.client.execute(act);
    if (isClosed(this.client)) throw new NotSent('the client is closed');
    if (this.#own === null) {
      const own = await this.sender.open();
      if (this.#isOver) {
        this.sender.close(own);
        throw new NotSent('the call was given up');
      }
      this.#own = own;
    }
    const own = this.#own;
    try {
      return await act(own);
    } catch (error) {
      if (this.#own === own) this.drop();
      throw error;
    }
  }

  drop() {
    if (this.#own !== null) this.sender.close(this.#own);
    this.#own = null;
  }

  close() {
    this.#isOver = true;
    this.drop();
  }
}

const idle = new WeakMap();

/** Does something with a connection that is kept for a while, for the next call that blocks. */
async function onOwnConnection(client, act) {
  const spare = idle.get(client) ?? [];
  idle.set(client, spare);
  const own = spare.pop() ?? { connection: new OwnConnection(client), timer: null };
  clearTimeout(own.timer);
  try {
    const result = await own.connection.use(act);
    own.timer = setTimeout(() => {
      spare.splice(spare.indexOf(own), 1);
      own.connection.close();
    }, IDLE_MS);
    spare.push(own);
    return result;
  } catch (error) {
    own.connection.close();
    throw error;
  }
}

/** A call that blocks, asked again and again. What it took is never thrown away: a signal ends it between two pieces. */
async function waited(client, { milliseconds, signal, callFor }) {
  const end = milliseconds === 0 ? Infinity : Date.now() + milliseconds;
  for (;;) {
    signal?.throwIfAborted();
    // Not 0, which is for ever.
    const piece = () => Math.max(1, Math.min(end - Date.now(), BLOCK_MS));
    const found = await onOwnConnection(client, (own) => send(own, callFor(piece())));
    if (found.length > 0 || Date.now() >= end) return found;
  }
}

/** A class whose methods send what the methods of the same names in `Calls` only describe. */
export function sends(Calls) {
  class Sender {
    constructor(client, calls) {
      senderOf(client);
      this.client = client;
      this.calls = calls;
    }
  }
  for (const name of Object.getOwnPropertyNames(Calls.prototype).filter((name) => name !== 'constructor')) {
    Object.defineProperty(Sender.prototype, name, {
      configurable: true,
      writable: true,
      value(...args) {
        try {
          return run(this.client, this.calls[name](...args));
        } catch (error) {
          return Promise.reject(error);
        }
      },
    });
  }
  return Sender;
}
