// A server with the module, the arena on it, and a browser that looks at it. Everything here ends with the test.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { chromium } from 'playwright-core';
import { createClient } from 'redis';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const arena = fileURLToPath(new URL('../', import.meta.url));
const module = resolve(root, process.env.REDIS_RANK_SO ?? 'target/release/libredis_rank.so');
const { REDIS_SERVER = 'redis-server', VALKEY_SERVER, CHROMIUM = 'chromium' } = process.env;

const runs = (program) => spawnSync(program, ['--version']).status === 0;

/** The programs of both servers; null for a Valkey that is not there, which only a person's machine may lack. */
export const SERVERS = {
  Redis: REDIS_SERVER,
  Valkey: [VALKEY_SERVER ?? join(root, '.servers/valkey-server'), 'valkey-server'].find(runs) ?? null,
};
if (SERVERS.Valkey === null && process.env.CI === 'true') throw new Error('no valkey-server, and CI=true: run `make test-page`');

const browserProgram = [CHROMIUM, 'chromium-browser', 'google-chrome']
  .flatMap((name) => [name, ...process.env.PATH.split(':').map((directory) => join(directory, name))])
  .find((path) => path.includes('/') && existsSync(path));

/** Waits for a condition, on a machine that may be busy. What the condition returned is returned. */
export async function until(what, condition) {
  const end = Date.now() + 40_000;
  for (;;) {
    const result = await condition();
    if (result) return result;
    if (Date.now() > end) throw new Error(`in vain: ${what}`);
    await sleep(30);
  }
}

export function freePort() {
  return new Promise((done) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
}

/** A process that can be ended and started again as it was. */
class Process {
  constructor(program, words, options) {
    Object.assign(this, { program, words, options });
  }

  async start(isReady) {
    this.output = '';
    this.child = spawn(this.program, this.words, { stdio: ['ignore', 'pipe', 'pipe'], ...this.options });
    this.ended = new Promise((done) => this.child.once('close', done));
    for (const stream of [this.child.stdout, this.child.stderr]) stream.on('data', (data) => (this.output += data));
    try {
      await until('it starts', isReady);
    } catch (error) {
      throw new Error(`${this.program}: ${this.output}`, { cause: error });
    }
    return this;
  }

  async stop(signal = 'SIGTERM') {
    this.child?.kill(signal);
    await this.ended;
  }
}

export class Redis {
  static async start(program) {
    const redis = new Redis();
    redis.port = await freePort();
    redis.directory = mkdtempSync(join(tmpdir(), 'arena-test-'));
    const words = ['--port', redis.port, '--bind', '127.0.0.1', '--dir', redis.directory, '--appendonly', 'yes', '--save', '', '--loadmodule', module];
    redis.process = new Process(program, words.map(String));
    await redis.restart();
    return redis;
  }

  get url() {
    return `redis://127.0.0.1:${this.port}`;
  }

  async restart() {
    await this.process.start(() => this.answers());
  }

  async answers() {
    const client = createClient({ url: this.url, socket: { reconnectStrategy: false } }).on('error', () => {});
    try {
      await client.connect();
      return (await client.ping()) === 'PONG';
    } catch {
      return false;
    } finally {
      client.destroy();
    }
  }

  stop() {
    return this.process.stop();
  }

  loseData() {
    rmSync(join(this.directory, 'appendonlydir'), { recursive: true });
  }

  async end() {
    await this.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

export const SALE_SECONDS = 12;
export const SALE_ITEMS = 6;

export class App {
  static async start(redis) {
    const app = new App();
    app.port = await freePort();
    app.url = `http://127.0.0.1:${app.port}/`;
    const env = { ...process.env, REDIS_URL: redis.url, WEB_PORT: String(app.port), SALE_SECONDS: String(SALE_SECONDS), SALE_ITEMS: String(SALE_ITEMS) };
    app.process = new Process(process.execPath, [join(arena, 'server.js')], { env });
    await app.restart();
    return app;
  }

  async restart() {
    await this.process.start(() => this.process.output.includes('The arena is open'));
  }

  stop(signal) {
    return this.process.stop(signal);
  }
}

export async function startBrowser() {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
  return chromium.launch({ executablePath: browserProgram, args, headless: true });
}

/** `make play`, without make. */
export async function startPlay(program, directory) {
  const env = { ...process.env, REDIS_SERVER: program, REDIS_RANK_SO: module, PORT: '0', WEB_PORT: '0', TMPDIR: directory };
  const play = new Process(process.execPath, [join(arena, 'play.js')], { env });
  return play.start(() => play.output.includes('The arena is open'));
}
