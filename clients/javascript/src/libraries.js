// node-redis and ioredis: the only file that uses what these libraries do not document. test/libraries.test.js names it.
//
// What changes something is written to a connection once. node-redis does so by itself; ioredis writes a command again
// after a lost connection, so its commands get a class that refuses.
//
// A call that nobody waits for any more is not written: see `within` in run.js. node-redis cannot take commands back from
// its queues (version 5 loses others when it does), so they do not get there without a connection.

import { setTimeout as sleep } from 'node:timers/promises';

import { NotSent, isReply, unknown } from './errors.js';
import { slotOf } from './slots.js';

const NO_CONNECTION = 'there was no connection in time';

// --- node-redis -----------------------------------------------------------------------------------------

// Texts as Buffers, integers and doubles as text: nothing is lost before it is parsed. (The doubles that node-redis 5
// parses can be off by the last digit.)
const PLAIN = { typeMapping: { 36: Buffer, 44: String, 58: String } };
// Its own timeout takes commands back, too.
const PATIENT = { timeout: undefined };
const PLAIN_PATIENT = { ...PLAIN, ...PATIENT };
const POLL_MS = 5;

// What node-redis says of a command that it did not write to a connection. Its classes have other names in a bundle.
const UNSENT = new Set([
  'The client is closed', 'The client is offline', 'The command was aborted', 'Connection timeout', 'The queue is full',
  'All the root nodes are unavailable', 'Too many Cluster redirections',
]);

async function connected(isReady, limit) {
  for (;;) {
    if (limit.isOver) throw new NotSent(NO_CONNECTION);
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
    wasSent: (error) => !UNSENT.has(error?.message) && error?.code !== 'ECONNREFUSED',
    isClosed: () => client.isOpen === false,
    send(name, words, keys, isRead, limit, isNumeric) {
      words.unshift(name);
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
function onceOf(Command) {
  class Once extends Command {
    /** Called by ioredis' constructor, which has set `resolve` and `reject` when it returns. */
    initPromise() {
      super.initPromise();
      this.isSent = false;
      this.isOver = false;
      this.rejectPromise = this.reject;
      this.reject = this.fail;
    }

    fail(error) {
      if (this.isOver) return;
      this.isOver = true;
      this.rejectPromise(this.isSent && !isReply(error) ? unknown(error) : error);
    }

    takeBack() {
      if (!this.isSent) this.fail(new NotSent(NO_CONNECTION));
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
  }
  return Once;
}

/** ioredis keeps what it has sent, to send it again on the next connection: that would be told only then. */
function failSent(client, Once) {
  for (const queue of [client.commandQueue, client.prevCommandQueue]) {
    for (let at = 0; at < (queue?.length ?? 0); at++) {
      const { command } = queue.peekAt(at);
      if (command instanceof Once && command.isSent) command.fail(new Error('the connection was lost'));
    }
  }
}

function ioredis(client) {
  // ioredis knows keys and flags only of the commands in its own table, so these are set on the command. The class
  // is taken from a call that is never sent: it is the one that fits this client.
  const probe = Object.create(client, { options: { value: {} }, sendCommand: { value: (command) => command.constructor } });
  const Command = probe.callBuffer('PING');
  const isCluster = typeof client.nodes === 'function';
  const Once = onceOf(Command);
  const options = { replyEncoding: null };
  // The nodes of a cluster keep nothing.
  if (!isCluster) client.on('close', () => failSent(client, Once));
  return {
    prefix: client.options.keyPrefix,
    isCluster,
    isPool: false,
    // Commands that were sent say so themselves.
    wasSent: () => false,
    isClosed: () => client.status === 'end',
    send(name, words, keys, isRead, limit) {
      const command = new (isRead ? Command : Once)(name, words, options);
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

/** How calls are sent with this client. */
export function senderFor(client) {
  // A pipeline can neither be duplicated nor is it a pool.
  const isClient = typeof client?.sendCommand === 'function' && (typeof client.duplicate === 'function' || typeof client.totalClients === 'number');
  if (isClient) return typeof client.callBuffer === 'function' ? ioredis(client) : nodeRedis(client);
  if (typeof client?.exec === 'function') throw new TypeError('expected a client, got its pipeline or multi(): use execute(client, …calls), which sends calls together');
  throw new TypeError('expected a client of node-redis or ioredis');
}
