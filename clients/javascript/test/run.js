// Runs the tests, or the files that are named, with a server and a cluster of their own: npm test [-- test/rate.test.js]
//
// With --bundled, the tests and what they import are a minified bundle, as esbuild makes it of applications.

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { missing, startCluster, startServer } from './servers.js';

const here = dirname(fileURLToPath(import.meta.url));
const problem = missing();
if (problem) {
  console.error(problem);
  process.exit(1);
}

const [server, cluster] = await Promise.all([startServer(), startCluster()]);
const isBundled = process.argv.includes('--bundled');
const named = process.argv.slice(2).filter((word) => word !== '--bundled');
// These are about the package itself, or about what is not bundled.
const unbundled = ['package.test.js', 'types.test.js', 'libraries.test.js', 'nest.test.js'];
const all = readdirSync(here).filter((name) => name.endsWith('.test.js') && !(isBundled && unbundled.includes(name))).map((name) => join(here, name));
let files = named.length ? named.map((name) => resolve(name)) : all;
let bundle = null;

/** The same files in a directory beside this one, minified. */
async function bundled() {
  const { build } = await import('esbuild');
  bundle = mkdtempSync(join(here, '../bundled-'));
  const { metafile } = await build({
    entryPoints: [...files, join(here, 'work.js')], outdir: bundle, outbase: here, bundle: true, splitting: true, minify: true, metafile: true,
    format: 'esm', platform: 'node', target: 'node20', external: ['express', 'express-rate-limit', 'fastify'], logLevel: 'error',
    banner: { js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);" },
  });
  const outputs = Object.entries(metafile.outputs).filter(([name, { entryPoint }]) => entryPoint?.endsWith('.test.js') && name.endsWith('.js'));
  files = outputs.map(([name]) => resolve(name));
}

if (isBundled) await bundled();
const words = ['--test', '--test-concurrency=1', '--test-force-exit', ...(process.env.ONLY ? ['--test-name-pattern', process.env.ONLY] : []), '--test-timeout=200000', '--test-reporter=spec', ...files];
const child = spawn(process.execPath, words, {
  stdio: 'inherit',
  env: { ...process.env, REDIS_URL: server.url, REDIS_CLUSTER_URL: cluster.url },
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
const code = await new Promise((done) => child.once('exit', done));
await Promise.all([server.stop(), cluster.stop()]);
if (bundle) rmSync(bundle, { recursive: true });
process.exit(code ?? 1);
