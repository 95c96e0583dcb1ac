// The types: what they accept and what they refuse, and that they name exactly what is there.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import * as rank from 'redis-rank-client';

const here = dirname(fileURLToPath(import.meta.url));

test('tsc accepts usage.ts, which names what it must refuse', () => {
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext', '--types', 'node'];
  try {
    execFileSync(process.execPath, [tsc, ...options, join(here, 'usage.ts')], { cwd: here, encoding: 'utf8' });
  } catch (error) {
    assert.fail(error.stdout);
  }
});

test('the types name exactly what is there', () => {
  const types = readFileSync(join(here, '../index.d.ts'), 'utf8');
  const exported = [...types.matchAll(/^export (?:class|function) (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(new Set(exported), new Set(Object.keys(rank)));

  const typed = (kind, name) => new RegExp(`^export ${kind} ${name}\\b[^\\n]*\\{\\n(.*?)^\\}`, 'ms').exec(types)[1];
  const methods = (body) => [...body.matchAll(/^ {2}(\w+)(?:<.*?>)?\(/gm)].map(([, name]) => name).filter((name) => name !== 'constructor');
  const pairs = { Leaderboard: 'BoardMethods', RateLimiter: 'LimiterMethods', Lease: 'LeaseMethods', Schedule: 'ScheduleMethods' };
  const sharded = Object.getOwnPropertyNames(rank.ShardedLeaderboard.prototype).filter((name) => name !== 'constructor');
  assert.deepEqual(new Set(methods(typed('class', 'ShardedLeaderboard'))), new Set(sharded));
  for (const [name, list] of Object.entries(pairs)) {
    const own = Object.entries(Object.getOwnPropertyDescriptors(rank[name].prototype)).filter(([, { get }]) => !get).map(([method]) => method);
    const sent = Object.getOwnPropertyNames(Object.getPrototypeOf(rank[name].prototype));
    const present = new Set([...own, ...sent].filter((method) => method !== 'constructor'));
    assert.deepEqual(new Set([...methods(typed('class', name)), ...methods(typed('interface', list))]), present, name);
  }
});
