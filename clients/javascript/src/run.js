// Sends calls with node-redis or ioredis, to one server or to a cluster.
//
// What changes something is written to a connection once. node-redis does so by itself; ioredis writes a command again
// after a lost connection, so its commands get a class that refuses.
//
// A call that nobody waits for any more is not written: see `within`. node-redis cannot take commands back from its
// queues (version 5 loses others when it does), so they do not get there without a connection.

import { setTimeout as sleep } from 'node:timers/promises';

import { Key } from './call.js';
import { NoBoard, NotSent, OutcomeUnknown, SchemaError, isReply, translate, unknown, wasSent } from './errors.js';
import { slotOf } from './slots.js';

/** What may go to replicas, and may be sent again. */
export const READS = new Set(
  ('RANK.INFO RANK.GET RANK.SCORE RANK.QUERY RANK.STATS RANK.TOPN RANK.RANGE RANK.PAGE RANK.AROUND RANK.BYSCORE ' +
    'RANK.AMONG RANK.AFTER RANK.BEFORE RANK.SCAN RANK.COUNT RANK.FORSCORE RANK.PERCENTILE RANK.SCOREAT RANK.GETDATA ' +
    'RANK.PERIODS RANK.SHARD RANK.SHARDS RATE.PEEK RATE.HELD DUE.INFO').split(' '),
);

// How long one call blocks at most: a client that waits for longer may take the connection for lost.
const BLOCK_MS = 1000;
// A connection that blocked is kept for the next call that does.
const IDLE_MS = 500;

// --- node-redis -----------------------------------------------------------------------------------------

// Texts as Buffers, integers and doubles as text: nothing is lost before it is parsed. (The doubles that node-redis 5
// parses can be off by the last digit.)
const PLAIN = { typeMapping: { 36: Buffer, 44: String, 58: String } };
// Its own timeout takes commands back, too.
const PATIENT = { timeout: undefined };
const PLAIN_PATIENT = { ...PLAIN, ...PATIENT };
const POLL_MS = 5;

async function connected(isReady, limit) {
  for (;;) {
    if (limit.isOver) throw new NotSent('there was no connection in time');
    if (isReady()) return;
    await sleep(POLL_MS);
  }
}

function nodeRedis(client) {
  // Only a cluster can name the node of a shard.
  const isCluster = typeof client.nodeClient === 'function';
  const isPool = typeof client.totalClients === 'number';
  // A node without a client gets one when it is needed.
  const isNodeReady = (slot) => client.slots[slot]?.master.client?.isReady ?? true;
  function sendInTime(words, keys, isRead, limit, options) {
    if (isPool) return client.execute((one) => connected(() => one.isReady, limit).then(() => one.sendCommand(words, options)));
    const slot = isCluster ? slotOf(keys[0]) : null;
    const isReady = () => (isCluster ? isNodeReady(slot) : client.isReady);
    const now = () => (isCluster ? client.sendCommand(keys[0], isRead, words, options) : client.sendCommand(words, options));
    return isReady() ? now() : connected(isReady, limit).then(now);
  }
  return {
    prefix: client._keyPrefix,
    isCluster,
    isPool,
    wasSent,
    isClosed: () => client.isOpen === false,
    send(words, keys, isRead, limit, isNumeric) {
      if (limit) return sendInTime(words, keys, isRead, limit, isNumeric ? PATIENT : PLAIN_PATIENT);
      const options = isNumeric ? undefined : PLAIN;
      return isCluster ? client.sendCommand(keys[0], isRead, words, options) : client.sendCommand(words, options);
    },
    async open() {
      const socket = { ...client.options?.socket, reconnectStrategy: false, socketTimeout: undefined };
      const { defaults } = client._options ?? {};
      const options = isCluster ? { defaults: { ...defaults, socket: { ...defaults?.socket, socketTimeout: undefined } } } : { socket };
      return client.duplicate(options).on('error', () => {}).connect();
    },
    close: (own) => own.destroy(),
  };
}

// --- ioredis --------------------------------------------------------------------------------------------

const PING = '*1\r\n$4\r\nPING\r\n';

/** A command of ioredis that is written to a connection once, and not at all when nobody waits for it any more. */
function onceOf(Command, pending) {
  return class Once extends Command {
    constructor(...args) {
      super(...args);
      this.isSent = false;
      this.isOver = false;
      pending.add(this);
      this.settle = { resolve: this.resolve, reject: this.reject };
      this.resolve = this.finish;
      this.reject = this.fail;
    }

    finish(value) {
      pending.delete(this);
      return this.settle.resolve(value);
    }

    fail(error) {
      this.isOver = true;
      pending.delete(this);
      this.settle.reject(this.isSent && !isReply(error) ? unknown(error) : error);
    }

    takeBack() {
      if (!this.isSent) this.fail(new NotSent('there was no connection in time'));
    }

    toWritable(stream) {
      if (!this.isSent && !this.isOver) {
        this.isSent = true;
        return super.toWritable(stream);
      }
      // ioredis repeats it, or has kept it for too long. It expects a reply to whatever it writes.
      this.fail(new Error('the connection was lost'));
      return PING;
    }

    /** After ioredis' cluster has put its redirections into `reject`. */
    watch() {
      const redirect = this.reject;
      this.reject = (error) => {
        // A server that refused has not run it, so that it may be sent to the right one.
        if (isReply(error)) this.isSent = false;
        else if (this.isSent) return this.fail(error);
        return redirect.call(this, error);
      };
    }
  };
}

function ioredis(client) {
  // ioredis knows keys and flags only of the commands in its own table, so these are set on the command. The class
  // is taken from a call that is never sent: it is the one that fits this client.
  const probe = Object.create(client, { options: { value: {} }, sendCommand: { value: (command) => command.constructor } });
  const Command = probe.callBuffer('PING');
  const isCluster = typeof client.nodes === 'function';
  const pending = new Set();
  const Once = onceOf(Command, pending);
  const options = { replyEncoding: null };
  // Otherwise they would wait until the server is back.
  client.on('close', () => pending.forEach((command) => command.isSent && command.fail(new Error('the connection was lost'))));
  return {
    prefix: client.options.keyPrefix,
    isCluster,
    isPool: false,
    // Commands that were sent say so themselves.
    wasSent: () => false,
    isClosed: () => client.status === 'end',
    send(words, keys, isRead, limit) {
      const command = new (isRead ? Command : Once)(words.shift(), words, options);
      command.keys = keys;
      command.isReadOnly = isRead;
      client.sendCommand(command);
      if (isRead) return command.promise;
      if (isCluster) command.watch();
      if (limit) limit.command = command;
      return command.promise;
    },
    async open() {
      const patient = { commandTimeout: undefined, socketTimeout: undefined };
      const own = isCluster
        ? client.duplicate([], { lazyConnect: true, redisOptions: { ...client.options.redisOptions, ...patient } })
        : client.duplicate({ ...patient, lazyConnect: true, retryStrategy: () => null });
      own.on('error', () => {});
      await own.connect();
      return own;
    },
    close: (own) => own.disconnect(),
  };
}

// --- calls ----------------------------------------------------------------------------------------------

const senders = new WeakMap();

export function senderOf(client) {
  let sender = senders.get(client);
  if (sender === undefined) {
    if (typeof client?.sendCommand !== 'function') throw new TypeError('expected a client of node-redis or ioredis');
    sender = typeof client.callBuffer === 'function' ? ioredis(client) : nodeRedis(client);
    senders.set(client, sender);
  }
  return sender;
}

function prefixed(prefix, name) {
  if (!prefix) return name;
  const isText = typeof prefix === 'string' && typeof name === 'string';
  return isText ? prefix + name : Buffer.concat([Buffer.from(prefix), Buffer.from(name)]);
}

/** The result of one call, which is not sent any more when `limit` is over. `isRead` tells whether a replica may answer. */
export function send(client, call, limit, isRead = READS.has(call.name), recover = null) {
  if (call.name === null) return Promise.resolve(call.value);
  const sender = senderOf(client);
  const words = [call.name];
  const keys = [];
  for (const arg of call.args) {
    if (arg instanceof Key) {
      keys.push(prefixed(sender.prefix, arg.name));
      words.push(keys[keys.length - 1]);
    } else words.push(arg);
  }
  const fail = (cause) => {
    const error = translate(cause, !isRead && sender.wasSent(cause));
    if (recover !== null && error instanceof call.missing) return recover(client, call, limit);
    throw error;
  };
  return sender.send(words, keys, isRead, limit, call.parse.isNumeric).then(call.parse, fail);
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

/** What `start` resolves to. After some milliseconds it fails, and what was not sent by then is not sent any more. */
export function within(time, start, late = () => new OutcomeUnknown(`no answer within ${time} ms`)) {
  return new Promise((resolve, reject) => {
    const limit = { isOver: false, command: null };
    const timer = setTimeout(() => {
      reject(late());
      limit.isOver = true;
      limit.command?.takeBack();
    }, time);
    const settle = (end) => (result) => {
      clearTimeout(timer);
      end(result);
    };
    start(limit).then(settle(resolve), settle(reject));
  });
}

// --- calls that block -----------------------------------------------------------------------------------

const idle = new WeakMap();

/** Does something with a connection of its own, like the client's, so that the client's other calls go on. */
async function onOwnConnection(client, act) {
  const sender = senderOf(client);
  if (sender.isPool) return act(client);
  if (sender.isClosed()) throw new NotSent('the client is closed');
  const spare = idle.get(client) ?? [];
  idle.set(client, spare);
  const parked = spare.pop();
  clearTimeout(parked?.timer);
  const own = parked?.own ?? (await sender.open());
  try {
    const result = await act(own);
    const entry = { own };
    entry.timer = setTimeout(() => {
      spare.splice(spare.indexOf(entry), 1);
      sender.close(own);
    }, IDLE_MS);
    spare.push(entry);
    return result;
  } catch (error) {
    sender.close(own);
    throw error;
  }
}

/** A call that blocks, asked again and again. */
async function waited(client, { milliseconds, callFor }) {
  const end = milliseconds === 0 ? Infinity : Date.now() + milliseconds;
  for (;;) {
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
