// What is published: README and package.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { clusterUrl, flushAll, url } from './support.js';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

test('the examples in the README print what they say', async () => {
  const blocks = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^```js\n(.*?)^```/gms)].map(([, block]) => block);
  assert.ok(blocks[0].split('\n').length <= 11);
  for (const block of blocks) {
    await flushAll();
    const code = block
      .replaceAll('createClient()', `createClient({ url: '${url}' })`)
      .replaceAll('new Redis()', `new Redis('${url}')`)
      .replaceAll('6379', new URL(clusterUrl).port);
    const said = [...block.matchAll(/^\/\/ (.*)$/gm)].map(([, line]) => line);
    const words = ['--input-type=module', '--eval', `${code}\nprocess.exit();`];
    const shown = execFileSync(process.execPath, words, { cwd: root, encoding: 'utf8' });
    assert.deepEqual(shown.trimEnd().split('\n'), said);
  }
});

test('the package is complete', () => {
  // Where Node.js was fetched, npm lies beside it and not in the path.
  const beside = join(dirname(process.execPath), '../lib/node_modules/npm/bin/npm-cli.js');
  const npm = existsSync(beside) ? [process.execPath, beside] : ['npm'];
  const [program, ...words] = [...npm, 'pack', '--dry-run', '--json'];
  const [{ files }] = JSON.parse(execFileSync(program, words, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
  const sources = readdirSync(join(root, 'src')).map((name) => `src/${name}`);
  const types = readdirSync(root).filter((name) => name.endsWith('.d.ts'));
  assert.deepEqual(new Set(files.map(({ path }) => path)), new Set([...sources, ...types, 'README.md', 'package.json']));
});
