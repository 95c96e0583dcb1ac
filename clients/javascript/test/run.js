// Runs the tests, or the files that are named, with a server and a cluster of their own: npm test [-- test/rate.test.js]

import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { missing, startCluster, startServer } from './servers.js';

const here = dirname(fileURLToPath(import.meta.url));
const problem = missing();
if (problem) {
  console.error(problem);
  process.exit(1);
}

const [server, cluster] = await Promise.all([startServer(), startCluster()]);
const named = process.argv.slice(2);
const all = readdirSync(here).filter((name) => name.endsWith('.test.js')).map((name) => join(here, name));
const words = ['--test', '--test-concurrency=1', '--test-force-exit', ...(process.env.ONLY ? ['--test-name-pattern', process.env.ONLY] : []), '--test-timeout=200000', '--test-reporter=spec', ...(named.length ? named : all)];
const child = spawn(process.execPath, words, {
  stdio: 'inherit',
  env: { ...process.env, REDIS_URL: server.url, REDIS_CLUSTER_URL: cluster.url },
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
const code = await new Promise((done) => child.once('exit', done));
await Promise.all([server.stop(), cluster.stop()]);
process.exit(code ?? 1);
