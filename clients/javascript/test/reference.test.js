// The calls in the reference, docs/commands/*.md, send the command of their section.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';

import { BoardCalls } from '../src/board.js';
import { ScheduleCalls } from '../src/due.js';
import { LeaseCalls, LimiterCalls } from '../src/rate.js';

const pages = new URL('../../../docs/commands/', import.meta.url);
const names = {
  board: new BoardCalls('game'), limiter: new LimiterCalls(['5/1s']), lease: new LeaseCalls('job'),
  schedule: new ScheduleCalls('jobs'), claim: { item: 'mail:7', token: 1 },
};

test('calls in the reference send the command of their section', () => {
  let shown = 0;
  for (const page of readdirSync(pages)) {
    for (const section of readFileSync(new URL(page, pages), 'utf8').split('\n## ').slice(1)) {
      for (const [, code] of section.matchAll(/^JavaScript: `await (.*)`$/gm)) {
        const call = new Function(...Object.keys(names), `return ${code};`)(...Object.values(names));
        assert.equal(call.name, section.split('\n')[0], code);
        shown++;
      }
    }
  }
  assert.ok(shown > 30);
});
