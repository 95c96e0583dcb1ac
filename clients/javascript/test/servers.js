// Starts servers with the module: REDIS_SERVER (redis-server) and REDIS_RANK_SO (target/release of this repository).

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { Redis } from 'ioredis';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const extension = process.platform === 'darwin' ? 'dylib' : 'so';
const built = join(process.env.CARGO_TARGET_DIR || join(root, 'target'), `release/libredis_rank.${extension}`);
const program = process.env.REDIS_SERVER || 'redis-server';
const modulePath = resolve(process.env.REDIS_RANK_SO || built);

/** Why no server can be started here, or null. */
export function missing() {
  if (!existsSync(modulePath)) return `There is no module at ${modulePath}: run make build, or set REDIS_RANK_SO.`;
  if (spawnSync(program, ['--version']).status !== 0) return `${program} does not run: install Redis or Valkey, or set REDIS_SERVER.`;
  return null;
}

export async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

export async function until(check, what, time = 60_000) {
  const end = Date.now() + time;
  for (;;) {
    const found = await check().catch((error) => (Date.now() < end ? false : Promise.reject(error)));
    if (found) return found;
    if (Date.now() >= end) throw new Error(`waited for ${what}`);
    await sleep(20);
  }
}

/** A connection for administration, which gives up at once. */
export async function withNode(port, act) {
  const node = new Redis({ port, host: '127.0.0.1', retryStrategy: null, maxRetriesPerRequest: 0, lazyConnect: true, connectTimeout: 60_000 });
  node.on('error', () => {});
  try {
    await node.connect();
    return await act(node);
  } finally {
    node.disconnect();
  }
}

export class Server {
  #directory = mkdtempSync(join(tmpdir(), 'redis-rank-test-'));
  #options;
  #process = null;
  port = 0;

  constructor(options) {
    this.#options = options;
  }

  get url() {
    return `redis://127.0.0.1:${this.port}`;
  }

  async start() {
    const options = { bind: '127.0.0.1', save: '', appendonly: 'no', dir: this.#directory, loadmodule: modulePath, ...this.#options };
    for (let tries = 0; ; tries++) {
      this.port ||= await freePort();
      const own = options['cluster-enabled'] ? { 'cluster-port': await freePort() } : {};
      const words = Object.entries({ port: this.port, ...options, ...own }).flatMap(([name, value]) => [`--${name}`, String(value)]);
      const child = spawn(program, words, { stdio: 'ignore' });
      this.#process = child;
      const ready = until(() => withNode(this.port, (node) => node.ping()), `a server on port ${this.port}`);
      const ended = new Promise((_, reject) => child.once('exit', (code) => reject(new Error(`${program} ended with ${code}`))));
      try {
        await Promise.race([ready, ended]);
        ended.catch(() => {});
        return this;
      } catch (error) {
        ready.catch(() => {});
        // Somebody else may have taken the port.
        if (tries === 5) throw error;
        this.port = 0;
      }
    }
  }

  async kill(signal = 'SIGKILL') {
    const child = this.#process;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((done) => child.once('exit', done));
    child.kill(signal);
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await ended;
  }

  async stop() {
    await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** One server; `options` are those of its configuration. */
export const startServer = (options) => new Server(options).start();

/** A cluster of three primaries, each with a replica unless told otherwise. The first three nodes are primaries. */
export async function startCluster({ replicas = true, ...options } = {}) {
  const count = replicas ? 6 : 3;
  const settings = { 'cluster-enabled': 'yes', 'cluster-node-timeout': 5000, 'repl-diskless-sync-delay': 0, ...options };
  const nodes = await Promise.all(Array.from({ length: count }, () => startServer(settings)));
  const each = (act) => Promise.all(nodes.map((node, at) => withNode(node.port, (client) => act(client, at))));
  await each((client, at) => {
    const slots = [0, 5461, 10923, 16384];
    return at < 3 ? client.cluster('ADDSLOTSRANGE', slots[at], slots[at + 1] - 1) : null;
  });
  const busPort = await withNode(nodes[0].port, async (client) => (await client.config('GET', 'cluster-port'))[1]);
  await each((client, at) => (at === 0 ? null : client.cluster('MEET', '127.0.0.1', nodes[0].port, busPort)));
  const known = (text) => text.trim().split('\n').filter((line) => !/handshake|fail|noaddr/.test(line)).length;
  await until(async () => (await each(async (client) => known(await client.cluster('NODES')))).every((seen) => seen === count), 'nodes to meet');
  const ids = await each((client) => client.cluster('MYID'));
  await each((client, at) => (at < 3 ? null : until(() => client.cluster('REPLICATE', ids[at - 3]), 'a replica')));
  const shown = (slots) => slots.reduce((sum, [, , ...owners]) => sum + owners.length, 0);
  await until(async () => {
    const seen = await each(async (client) => [await client.cluster('INFO'), shown(await client.cluster('SLOTS'))]);
    return seen.every(([info, owners]) => info.includes('cluster_state:ok') && owners === count);
  }, 'the cluster');
  return { nodes, url: nodes[0].url, stop: () => Promise.all(nodes.map((node) => node.stop())) };
}
