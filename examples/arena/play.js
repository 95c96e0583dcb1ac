// Starts a server with the module, and the arena on it. Ctrl-C ends both. What ends by itself is started again.
//
//   REDIS_RANK_SO=/path/to/libredis_rank.so node play.js
//
// PORT and WEB_PORT are used if they are free, or others if they are not.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const { REDIS_RANK_SO, REDIS_SERVER = 'redis-server', PORT = '6379', WEB_PORT = '8080' } = process.env;
const TOO_SOON_MS = 1000;

function free(port) {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', (error) => (port === 0 ? reject(error) : resolve(free(0))));
    probe.listen(port, '127.0.0.1', () => {
      const found = probe.address().port;
      probe.close(() => resolve(found));
    });
  });
}

const directory = mkdtempSync(join(tmpdir(), 'arena-'));
const log = join(directory, 'redis.log');
const running = new Map();
let isEnding = false;

function keep(name, program, words, options) {
  const began = Date.now();
  const child = spawn(program, words, { stdio: ['ignore', 'inherit', 'inherit'], ...options });
  running.set(name, child);
  child.on('error', (error) => end(1, `${program}: ${error.message}`));
  child.on('exit', (code) => {
    running.delete(name);
    if (isEnding) {
      finish();
    } else if (code > 0 && Date.now() - began < TOO_SOON_MS) {
      // It would fail again.
      end(1, name === 'redis' ? readFileSync(log, 'utf8') : `${name} ended`);
    } else {
      keep(name, program, words, options);
    }
  });
}

let status = 0;

function end(code, message) {
  if (isEnding) return;
  isEnding = true;
  status = code;
  if (message) console.error(message);
  for (const child of running.values()) child.kill();
  finish();
}

function finish() {
  if (running.size > 0) return;
  rmSync(directory, { recursive: true, force: true });
  process.exit(status);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => end(0));

const port = await free(Number(PORT));
const webPort = await free(Number(WEB_PORT));
// With an AOF, the boards are still there when the server is started again.
const persistence = ['--dir', directory, '--appendonly', 'yes', '--save', ''];
keep('redis', REDIS_SERVER, ['--port', port, '--bind', '127.0.0.1', '--logfile', log, ...persistence, '--loadmodule', REDIS_RANK_SO].map(String));
console.log(`Restart the server while you watch: redis-cli -p ${port} SHUTDOWN`);
console.log('(Press Ctrl-C to stop. Nothing is kept.)');
keep('arena', process.execPath, [fileURLToPath(new URL('server.js', import.meta.url))], {
  env: { ...process.env, REDIS_URL: `redis://127.0.0.1:${port}`, WEB_PORT: String(webPort) },
});
