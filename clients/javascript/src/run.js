// Sends calls with node-redis or ioredis, to one server or to a cluster.

import { Key } from './call.js';
import { translate } from './translate.js';

/** What may go to replicas. */
export const READS = new Set(
  ('RANK.INFO RANK.GET RANK.SCORE RANK.QUERY RANK.STATS RANK.TOPN RANK.RANGE RANK.PAGE RANK.AROUND RANK.BYSCORE ' +
    'RANK.AMONG RANK.AFTER RANK.BEFORE RANK.SCAN RANK.COUNT RANK.FORSCORE RANK.PERCENTILE RANK.SCOREAT RANK.GETDATA ' +
    'RANK.PERIODS RANK.SHARD RANK.SHARDS RATE.PEEK RATE.HELD DUE.INFO').split(' '),
);

// Texts as Buffers, integers and doubles as text: nothing is lost before it is parsed. (The doubles that node-redis 5
// parses can be off by the last digit.)
const TYPES = { 36: Buffer, 44: String, 58: String };

function nodeRedis(client) {
  const prefix = client._keyPrefix;
  // Only a cluster can name the node of a shard.
  const isCluster = typeof client.nodeClient === 'function';
  return {
    prefix,
    isPool: typeof client.totalClients === 'number',
    send: (name, words, keys, readOnly, blocks) => {
      const options = blocks ? { typeMapping: TYPES, timeout: undefined } : { typeMapping: TYPES };
      const args = [name, ...words];
      return isCluster ? client.sendCommand(keys[0], readOnly, args, options) : client.sendCommand(args, options);
    },
  };
}

function ioredis(client) {
  // ioredis knows keys and flags only of the commands in its own table, so these are set on the command. The class
  // is taken from a call that is never sent: it is the one that fits this client.
  const probe = Object.create(client, { options: { value: {} }, sendCommand: { value: (command) => command.constructor } });
  const Command = probe.callBuffer('PING');
  return {
    prefix: client.options.keyPrefix,
    send: (name, words, keys, readOnly) => {
      const command = new Command(name, words, { replyEncoding: null });
      command.keys = keys;
      command.isReadOnly = readOnly;
      return client.sendCommand(command);
    },
  };
}

const senders = new WeakMap();

function senderOf(client) {
  let sender = senders.get(client);
  if (sender === undefined) {
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

async function send(client, call) {
  const { prefix, send: sendWords } = senderOf(client);
  const keys = [];
  const words = call.args.map((arg) => {
    if (!(arg instanceof Key)) return arg;
    keys.push(prefixed(prefix, arg.name));
    return keys.at(-1);
  });
  try {
    return call.parse(await sendWords(call.name, words, keys, READS.has(call.name), call.wait !== null));
  } catch (error) {
    throw translate(error);
  }
}

/**
 * The result of one call. A board is created before the first write to it. Later its RANK.CREATE travels with each
 * write, since a key may expire or be deleted meanwhile: a write to a key that is not there makes another board. What
 * it answers then does not matter.
 */
export async function run(client, call) {
  if (call.board?.made) {
    const created = send(client, call.board.create()).catch(() => {});
    // The connections of a pool keep no order.
    if (senderOf(client).isPool) await created;
  } else if (call.board) {
    await send(client, call.board.create());
  }
  return call.wait ? waited(client, call.wait) : send(client, call);
}

/** For how many milliseconds a call may block: half of what the client waits for a reply. (A pool does not tell: 2.5 s.) */
function patienceOf({ options, _options }) {
  const settings = [options, options?.redisOptions, options?.socket, _options?.defaults?.socket];
  const timeouts = settings.flatMap((each) => [each?.socketTimeout, each?.commandTimeout]).filter((time) => time > 0);
  return Math.max(1, Math.floor(Math.min(5000, ...timeouts) / 2));
}

/** A call that blocks, asked again and again: never for so long that the client takes it for lost. */
async function waited(client, { milliseconds, callFor }) {
  const most = patienceOf(client);
  for (let left = milliseconds; ; left &&= left - most) {
    const piece = Math.min(left || most, most);
    const found = await send(client, callFor(piece));
    if (found.length > 0 || left === piece) return found;
  }
}

/** The results of several calls, which travel together. */
export function execute(client, ...calls) {
  return Promise.all(calls.map((call) => run(client, call)));
}

/** What a promise resolves to, or an error if that takes too long. */
export async function within(milliseconds, promise, late) {
  let timer;
  const end = new Promise((_, reject) => {
    timer = setTimeout(() => reject(late()), milliseconds);
  });
  try {
    return await Promise.race([promise, end]);
  } finally {
    clearTimeout(timer);
  }
}

/** A class whose methods send what the methods of the same names in `Calls` only describe. */
export function sends(Calls) {
  class Sender {
    constructor(client, calls) {
      this.client = client;
      this.calls = calls;
    }
  }
  for (const name of Object.getOwnPropertyNames(Calls.prototype).filter((name) => name !== 'constructor')) {
    Object.defineProperty(Sender.prototype, name, {
      configurable: true,
      writable: true,
      value(...args) {
        return run(this.client, this.calls[name](...args));
      },
    });
  }
  return Sender;
}
