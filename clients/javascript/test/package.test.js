// What is published: README and package.

import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { freePort, startServer, until } from './servers.js';
import { flushAll, url } from './support.js';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const samples = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^```js\n(.*?)^```/gms)].map(([, block]) => block);

/** What a program prints. One that runs until it is told to stop is told so as soon as it has printed it. */
async function printed(code, expected) {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', `${code}\nprocess.exit();`], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let [shown, errors] = ['', ''];
  child.stdout.on('data', (text) => {
    shown += text;
    if (shown.trimEnd() === expected && /\.run\(\);/.test(code)) child.kill('SIGTERM');
  });
  child.stderr.on('data', (text) => (errors += text));
  const status = await new Promise((done) => child.once('close', done));
  assert.equal(status, 0, errors);
  return shown.trimEnd();
}

test('the examples in the README print what they say', async () => {
  assert.ok(samples[0].split('\n').length <= 11);
  for (const block of samples) {
    await flushAll();
    const code = block
      .replaceAll('createClient()', `createClient({ url: '${url}' })`)
      .replaceAll('8080', '0');
    const expected = [...block.matchAll(/^\/\/ (.*)$/gm)].map(([, line]) => line).join('\n');
    assert.equal(await printed(code, expected), expected);
  }
});

test('the README has at most 1,200 words', () => {
  assert.ok(readFileSync(join(root, 'README.md'), 'utf8').trim().split(/\s+/).length <= 1200);
});

test('the example of Express in the README survives an outage, word for word', async () => {
  const server = await startServer();
  const port = await freePort();
  const block = samples.find((sample) => sample.includes('express()'));
  const code = block.replace('createClient()', `createClient({ url: '${server.url}' })`).replace('8080', port);
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], { cwd: root, stdio: 'ignore' });
  const get = async (path) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } });
    return response.status;
  };
  // Half a second is little on a busy machine, so it may count by itself now and then.
  const passes = () => until(async () => (await get('/')) === 200, 'a response');
  try {
    await passes();
    await server.kill();
    await passes();
    // It goes on counting.
    await until(async () => (await Promise.all(Array.from({ length: 30 }, () => get('/')))).includes(429), 'a denial');
    await server.start();
    await passes();
    assert.equal(child.exitCode, null);
  } finally {
    child.kill();
    await server.stop();
  }
});

test('the examples in the README compile under --strict', async () => {
  // Inside the package, so that it finds itself and its dependencies by name.
  const directory = mkdtempSync(join(root, 'test', 'samples-'));
  try {
    const files = samples.map((block, at) => join(directory, `sample${at}.ts`));
    for (const [at, file] of files.entries()) writeFileSync(file, `${samples[at]}\nexport {};\n`);
    const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext', '--types', 'node'];
    await promisify(execFile)(process.execPath, [tsc, ...options, ...files], { cwd: root }).catch((error) => assert.fail(error.stdout));
  } finally {
    rmSync(directory, { recursive: true });
  }
});

/** Runs npm. Where Node.js was fetched, npm lies beside it and not in the path. */
function npm(...words) {
  const beside = join(dirname(process.execPath), '../lib/node_modules/npm/bin/npm-cli.js');
  const [program, ...first] = existsSync(beside) ? [process.execPath, beside] : ['npm'];
  return execFileSync(program, [...first, ...words], { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

test('the package is complete, and can be published', () => {
  const [{ files, name }] = [JSON.parse(npm('publish', '--dry-run', '--json', '--offline'))].flatMap((found) => (found.files ? found : Object.values(found)));
  const sources = readdirSync(join(root, 'src')).map((file) => `src/${file}`);
  const types = readdirSync(root).filter((file) => file.endsWith('.d.ts'));
  assert.equal(name, 'redis-rank-client');
  assert.deepEqual(new Set(files.map(({ path }) => path)), new Set([...sources, ...types, 'LICENSE', 'README.md', 'package.json']));
});

test('what the tests use is pinned', () => {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json')));
  for (const [name, version] of Object.entries(devDependencies)) assert.match(version, /^(npm:\w+@)?\d+\.\d+\.\d+$/, name);
});
