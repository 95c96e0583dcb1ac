// The calls in the reference, docs/commands/*.md, work, and send the command of their section.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';

import { Lease, Leaderboard, RateLimiter, Schedule } from '../src/index.js';
import { close, nodeRedis } from './support.js';

const pages = new URL('../../../docs/commands/', import.meta.url);

function recording(client) {
  const sent = [];
  const send = client.sendCommand;
  client.sendCommand = (args, options) => {
    sent.push(args[0]);
    return send.call(client, args, options);
  };
  return sent;
}

/** What the calls refer to: a board with members, a limiter, a lease, and a schedule with an item that was claimed. */
async function names(client, command) {
  await client.flushAll();
  // A board with periods cannot be rotated.
  const periods = command === 'RANK.PERIODS' ? [{ unit: 'DAY', prefix: '{game}:day:' }] : [];
  const board = new Leaderboard(client, 'game', { data: '{game}:players', periods });
  if (command !== 'RANK.CREATE') await board.addMany({ ann: 50, bob: 70, eve: 120 });
  const schedule = new Schedule(client, 'jobs');
  await schedule.add('mail:7', { after: 0 });
  const [claim] = await schedule.claim();
  const limiter = new RateLimiter(client, '5/1s');
  const lease = new Lease(client, 'job', { limit: 3, lease: '30s' });
  return { client, Leaderboard, board, schedule, claim, limiter, lease };
}

test('calls in the reference work, and send the command of their section', async () => {
  const client = await nodeRedis();
  const sent = recording(client);
  try {
    let shown = 0;
    for (const page of readdirSync(pages)) {
      for (const section of readFileSync(new URL(page, pages), 'utf8').split('\n## ').slice(1)) {
        const command = section.split('\n')[0];
        for (const [, code] of section.matchAll(/^JavaScript: `await (.*)`$/gm)) {
          const known = await names(client, command);
          await new Function(...Object.keys(known), `return ${code};`)(...Object.values(known));
          assert.equal(sent.at(-1), command, code);
          shown++;
        }
      }
    }
    assert.ok(shown > 30);
  } finally {
    close(client);
  }
});
