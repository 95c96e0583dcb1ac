// What is sent, word by word, for each command of the module.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';

import { BoardCalls } from '../src/board.js';
import { Key } from '../src/call.js';
import { ScheduleCalls } from '../src/due.js';
import { WrongPayload } from '../src/errors.js';
import { LeaseCalls, LimiterCalls } from '../src/rate.js';
import { READS } from '../src/run.js';
import { close, ioredis } from './support.js';

const board = new BoardCalls('b');
const declared = new BoardCalls('{b}', {
  fields: ['gold DIGITS 3', 'time ASC INT'], ties: 'FIRST S', keep: 9, update: 'BEST', data: '{b}:d', owned: true, offset: '+09:00',
  periods: [{ unit: 'day', prefix: '{b}:day:', past: 7 }, { unit: 'EVERY 14d FROM 1767225600000', prefix: '{b}:season:' }],
});
const limits = new LimiterCalls(['5/1s', '100/1h'], { algorithm: 'GCRA', prefix: 'l:' });
const lease = new LeaseCalls('k', { limit: 3, lease: 30_000 });
const due = new ScheduleCalls('s');
const paid = new ScheduleCalls('p', { data: 'd' });
const texts = new ScheduleCalls('p', { data: 'd', payload: 'text' });
const noon = new Date('2026-01-01T12:00:00Z');

const CALLS = {
  'RANK.CREATE {b} FIELD gold DIGITS 3 FIELD time ASC INT TIES FIRST S KEEP 9 UPDATE BEST DATA {b}:d OWNED PERIOD day {b}:day: PAST 7 PERIOD EVERY 14d FROM 1767225600000 {b}:season: OFFSET +09:00':
    declared.create(),
  'RANK.CREATE b ASC ADOPT': new BoardCalls('b', { order: 'ASC' }).create({ adopt: true }),
  'RANK.CREATE b TIES FIRST SINCE 1767268800000 ADOPT': new BoardCalls('b', { ties: 'FIRST', since: noon }).create({ adopt: true }),
  'RANK.CREATE b TIES LAST SINCE 0': new BoardCalls('b', { ties: 'LAST', since: 0 }).create(),
  'RANK.ADD {b} BOARD 2 NX 1 2 ann': declared.add('ann', [1, 2], { nx: true }),
  'RANK.INCR {b} BOARD 2 WITHRANK PERIOD day 1 2 ann': declared.incrRanked('ann', [1, 2], { period: 'day' }),
  'RANK.MULTISET {b} BOARD 2 1 2 ann': declared.multiset({ ann: [1, 2] }),
  'RANK.LOAD {b} BOARD 2 {}': declared.load(['{}']),
  'RANK.CREATE b LIKE other': board.createLike('other'),
  'RANK.ALTER b UPDATE BEST NOKEEP NODATA NOPERIOD day': board.alter({ keep: null, update: 'BEST', data: null, dropPeriods: ['day'] }),
  'RANK.ALTER b KEEP 5 DATA h OWNED PERIOD week w:': board.alter({ keep: 5, data: 'h', owned: true, periods: [{ unit: 'week', prefix: 'w:' }] }),
  'RANK.INFO b': board.info(),
  'RANK.CLEAR b': board.clear(),
  'RANK.ROTATE b old DATA h': board.rotate('old', { data: 'h' }),
  'RANK.VERIFY b REPAIR CURSOR 7 COUNT 10': board.verify({ repair: true, cursor: '7', count: 10 }),
  'RANK.PERIODS b day NOW 1767268800000': board.periods('day', { now: noon }),
  'RANK.ADD b NX KEEP 3 CH AT 1767268800000 5 ann': board.add('ann', 5, { nx: true, keep: 3, ch: true, at: noon }),
  'RANK.ADD b 5 6.5 ann -1 9223372036854775807 bob': board.addMany({ ann: [5, 6.5], bob: [-1, 2n ** 63n - 1n] }),
  'RANK.ADD b WITHRANK PERIOD day BEST DATA {"x":"é"} 5 ann': board.addRanked('ann', 5, { period: 'day', update: 'BEST', data: { x: 'é' } }),
  'RANK.ADD b WITHRANK XX 5 ann': board.addManyRanked({ ann: 5 }, { xx: true }),
  'RANK.ADD b BEST * 6.5 * ann 1 * 2 bob': board.addMany({ ann: [null, 6.5, null], bob: [1, null, 2] }, { update: 'BEST' }),
  'RANK.ADD b WITHRANK 5 * ann': board.addRanked('ann', [5, null]),
  'RANK.MULTISET b 5 6 ann': board.multiset({ ann: [5, 6] }),
  'RANK.INCR b AT 1767268800000 1 2 ann': board.incr('ann', [1, 2], { at: noon }),
  'RANK.INCR b WITHRANK PERIOD day 1 ann': board.incrRanked('ann', 1, { period: 'day' }),
  'RANK.REM b ann bob': board.remove('ann', 'bob'),
  'RANK.TRIM b 5': board.trim(5),
  'RANK.TRIM b 5 RETURN': board.trimReturning(5),
  'RANK.POP b 2 WORST ORDINAL WITHDATA WITHTIME JSON': board.pop(2, { worst: true, kind: 'ORDINAL', data: true, time: true }),
  'RANK.LOAD b NX {} {}': board.load(['{}', '{}'], { nx: true }),
  'RANK.GET b ann PERIOD day -1 JSON': board.get('ann', { period: ['day', -1] }),
  'RANK.SCORE b ann': board.score('ann'),
  'RANK.SCORE b ann PERIOD day': board.score('ann', { period: 'day' }),
  'RANK.QUERY b ann LIMIT 0 5 DENSE JSON': board.query('ann', { limit: [0, 5], kind: 'DENSE' }),
  'RANK.STATS b LIMIT 0 5 JSON': board.stats({ limit: [0, 5] }),
  'RANK.TOPN b 5 PERIOD day ASC JSON': board.top(5, { period: 'day', order: 'ASC' }),
  'RANK.RANGE b 1 -1 JSON': board.range(1, -1),
  'RANK.PAGE b 2 10 JSON': board.page(2, 10),
  'RANK.AROUND b ann 2 FILL JSON': board.around('ann', 2, { fill: true }),
  'RANK.BYSCORE b (5 inf LIMIT 0 3 JSON': board.byScore('(5', Infinity, { limit: [0, 3] }),
  'RANK.AMONG b 2 ann bob JSON': board.among(['ann', 'bob']),
  'RANK.AFTER b 5 7 AT 1767268800000 MEMBER ann WITHTIME JSON': board.after(5, 7, { at: noon, member: 'ann', time: true }),
  'RANK.BEFORE b 5 7 8 JSON': board.before(5, [7, 8]),
  'RANK.SCAN b 0 COUNT 10 WITHTIME WITHDATA JSON': board.scan('0', { count: 10, time: true, data: true }),
  'RANK.SCAN b x JSON': board.scanLines('x'),
  'RANK.COUNT b': board.count(),
  'RANK.COUNT b -inf 5 PERIOD day': board.count(undefined, 5, { period: 'day' }),
  'RANK.COUNT b PERIOD day -1': board.count(undefined, undefined, { period: ['day', -1] }),
  'RANK.FORSCORE b 5 ORDINAL PERIOD day AT 1767268800000 MEMBER ann': board.forScore(5, { kind: 'ORDINAL', period: 'day', at: noon, member: 'ann' }),
  'RANK.PERCENTILE b ann PERIOD day': board.percentile('ann', { period: 'day' }),
  'RANK.SCOREAT b 99.5 PERIOD day': board.scoreAt(99.5, { period: 'day' }),
  'RANK.SETDATA b ann NX name Ann': board.setData('ann', { name: 'Ann' }, { nx: true }),
  'RANK.PUTDATA b ann {"age":7}': board.putData('ann', { age: 7 }),
  'RANK.GETDATA b ann': board.getData('ann'),
  'RANK.GETDATA b ann name': board.getAttributes('ann', 'name'),
  'RANK.DELDATA b ann name': board.delData('ann', 'name'),
  'RATE.CHECK l:ann 5/1s 100/1h GCRA COST 2 FORCE PENALTY 300000ms NOW 1767268800000 EACH JSON': limits.check('ann', { cost: 2, force: true, penalty: '5m', now: noon }),
  'RATE.PEEK l:ann 5/1s 100/1h GCRA COST 2 EACH JSON': limits.peek('ann', { cost: 2 }),
  'RATE.REFUND l:ann 5/1s 100/1h GCRA EACH JSON': limits.refund('ann'),
  'RATE.ALL 2 l:ann l:all 5/1s 9/1s GCRA EACH JSON': limits.checkAll({ ann: '5/1s', all: '9/1s' }),
  'RATE.PEEK l:ann 5/1s': new LimiterCalls('5/1s', { prefix: 'l:' }).peek('ann'),
  'RATE.RESET l:ann': limits.reset('ann'),
  'CL.THROTTLE l:ann 15 30 60 1': limits.throttle('ann', 15, 30, 60),
  'RATE.ACQUIRE k 3 30000ms': lease.acquire(),
  'RATE.RENEW k 7 60000ms': lease.renewToken(7, { lease: 60_000 }),
  'RATE.RELEASE k 7 8': lease.release(7, 8),
  'RATE.HELD k NOW 1767268800000': lease.held({ now: noon }),
  'DUE.ADD s NX AT 1767268800000 a b': due.add(['a', 'b'], { at: noon, nx: true }),
  'DUE.ADD s XX IN 500ms a': due.add('a', { after: 500, xx: true }),
  'DUE.ADD s AGAIN a b': due.again(['a', 'b']),
  'DUE.ADD p AGAIN a': paid.add('a', { again: true }),
  'DUE.ADD p DATA d {"x":1} IN 0ms a': paid.add('a', { after: 0, data: { x: 1 } }),
  'DUE.ADD p DATA d "x" AGAIN a': paid.again('a', { data: 'x' }),
  'DUE.CLAIM s LEASE 10000ms COUNT 5 BLOCK 0ms NOW 1767268800000': due.claim({ count: 5, lease: '10s', block: 0, now: noon }),
  'DUE.CLAIM p LEASE 10000ms ATTEMPTS 5 DEAD x DATA d': paid.claim({ lease: '10s', attempts: 5, dead: 'x' }),
  'DUE.POP s COUNT 5 BLOCK 1000ms': due.pop({ count: 5, block: 1000 }),
  'DUE.POP p DATA d': paid.pop(),
  'DUE.ACK s 7 a 8 b': due.ack({ token: 7, item: 'a' }, { token: 8, item: 'b' }),
  'DUE.ACK p DATA d 7 a': paid.ack({ token: 7, item: 'a' }),
  'DUE.MOVE s IN 60000ms 7 a': due.move({ token: 7, item: 'a' }, { after: '1m' }),
  'DUE.INFO s': due.info(),
  'DUE.ACK s IN 5000ms 7 a': due.ack([{ token: 7, item: 'a' }], { after: '5s' }),
  'DUE.ACK p DATA d AT 1767268800000 7 a 8 b': paid.ack([{ token: 7, item: 'a' }, { token: 8, item: 'b' }], { at: noon }),
  'DUE.CLAIM s COUNT 5 RATE k 5/1m GCRA': due.claim({ count: 5, rate: ['k', '5/minute', 'GCRA'] }),
  'DUE.ADD p DATA d text AGAIN a': texts.again('a', { data: 'text' }),
  'RATE.CHECK l:ann 5/1s 100/1h GCRA COST 2 UPTO EACH JSON': limits.check('ann', { cost: 2, upTo: true }),
  'RATE.CHECK l:ann 5/1s 100/1h GCRA WAIT 1000ms STAMP EACH JSON': limits.check('ann', { wait: '1s', stamp: true }),
  'RATE.SETTLE l:ann 5/1s 100/1h GCRA COST 2000 ACTUAL 1350 AT 1767268800000 EACH JSON': limits.settle('ann', { reserved: 2000, used: 1350, at: noon }),
  'RATE.PEEK 7 5/1m': new LimiterCalls('5/minute').peek(7),
  'RATE.PEEK 7 5/1d/9 GCRA': new LimiterCalls('5/day/9', { algorithm: 'GCRA' }).peek(7n),
  'RATE.PEEK x 5/day CALENDAR': new LimiterCalls('5/day', { algorithm: 'CALENDAR' }).peek('x'),
};

test('every word', () => {
  for (const [words, { name, args }] of Object.entries(CALLS)) {
    assert.equal([name, ...args.map((arg) => (arg instanceof Key ? arg.name : arg))].join(' '), words);
  }
});

test('each command of the module has a method, and reads are what the server calls so', async () => {
  const client = await ioredis();
  try {
    // ShardedLeaderboard has the other two.
    const names = new Set([...Object.values(CALLS).map(({ name }) => name), 'RANK.SHARD', 'RANK.SHARDS']);
    for (const listed of await client.call('COMMAND', 'LIST', 'FILTERBY', 'MODULE', 'rank')) {
      const [[, , flags]] = await client.call('COMMAND', 'INFO', listed);
      assert.ok(names.has(listed.toUpperCase()), listed);
      assert.equal(READS.has(listed.toUpperCase()), flags.includes('readonly'), listed);
    }
  } finally {
    close(client);
  }
});

test('mistakes are errors at the call', () => {
  const single = new LimiterCalls('5/1s');
  const wrong = [
    () => new BoardCalls('b', { tie: 'FIRST' }), () => new BoardCalls('b', { periods: [{ unit: 'day', prefx: 'x' }] }),
    () => new BoardCalls('b', { create: 'maybe' }), () => new BoardCalls('b', { since: 1_700_000_000 }),
    () => board.top(5, { perod: 'day' }), () => board.top(5, 'day'), () => board.score('a', { kind: 'DENSE' }),
    () => board.add('a', 1, { period: 'day' }), () => board.add('a', 1, { best: true }), () => board.incr('a', 1, { nx: true }),
    () => board.add('a', 1, { at: 1_700_000_000 }), () => board.add('a', 1, { at: '2026-01-01' }), () => board.add('a', 1, { at: new Date('x') }),
    () => board.page(1, 5, { fill: true }), () => board.scan('0', { limit: 5 }), () => board.verify({ repare: true }),
    () => board.setData('a', { x: 1 }, { xx: true }), () => board.rotate('x', { hash: 'h' }), () => board.periods('day', { at: noon }),
    () => new LimiterCalls('5/1m', { algoritm: 'GCRA' }), () => new LimiterCalls('5/1m', { algorithm: 'MAGIC' }), () => new LimiterCalls('5 per minute'),
    () => new LimiterCalls('5/1m/9'), () => new LimiterCalls('5/week'), () => new LimiterCalls('5/minute', { algorithm: 'CALENDAR' }), () => new LimiterCalls('5/1m', { algorithm: 'CALENDAR' }),
    () => new LimiterCalls('0/1s'), () => new LimiterCalls('1/9999d'),
    () => single.check('a', { const: 5 }), () => single.check({}), () => single.check('a', { upTo: true }), () => single.check('a', { wait: 5 }), () => single.check('a', { stamp: true }),
    () => single.settle('a', { reserved: 1, used: 1, at: noon }), () => limits.settle('a', { reserved: 1, used: -1, at: noon }), () => limits.peek('a', { stamp: true }), () => single.check(null), () => single.check(Promise.resolve('a')), () => single.check(NaN),
    () => single.check(undefined), () => new BoardCalls(7), () => due.add('a'), () => texts.add('a', { after: 1, data: 7 }), () => new ScheduleCalls('s', { payload: 'xml' }),
    () => due.claim({ rate: ['k'] }), () => due.claim({ rate: ['k', '5'] }), () => due.ack([{ token: 7, item: 'a' }], { in: 5 }), () => single.peek('a', { force: true }), () => single.check('a', { penalty: '5' }),
    () => new LeaseCalls('k', { limt: 3 }), () => new LeaseCalls('k', { lease: '30' }), () => lease.acquire({ wait: 1 }),
    () => due.add('a', {}), () => due.add('a', { after: 1, at: noon }), () => due.add('a', { in: 5 }), () => due.add('a', { after: -1 }),
    () => due.add('a', { at: Math.floor(Date.now() / 1000) + 3600 }), () => due.add('a', { after: 1, data: {} }),
    () => paid.add(['a', 'b'], { after: 1, data: {} }), () => due.add('a', { again: true, after: 1 }), () => due.claim({ attempts: 3 }),
    () => due.claim({ dead: 'x' }), () => due.claim({ leese: 1 }), () => due.move({ token: 7, item: 'a' }, { delay: 5 }),
  ];
  for (const call of wrong) assert.throws(call, TypeError, String(call));
});

test('empty batches are not sent', () => {
  const empty = [
    [board.addMany({}), 0], [board.addManyRanked(new Map()), []], [board.multiset({}), 0], [board.remove(), 0], [board.load([]), 0],
    [board.among([]), []], [board.setData('a', {}), 0], [due.add([], { after: 1 }), 0], [due.ack(), 0], [due.cancel(), 0], [lease.release(), 0],
  ];
  for (const [call, value] of empty) {
    assert.equal(call.name, null);
    assert.deepEqual(call.value, value);
  }
  assert.equal(limits.checkAll({}).value.allowed, true);
});

test('fields of a reply that are not known yet do no harm', () => {
  const one = { limited: false, rule: 1, limit: 5, remaining: 4, retry_after_ms: 0, reset_after_ms: 7, tomorrow: 1 };
  const reply = Buffer.from(JSON.stringify({ ...one, rules: [one, one] }));
  const { rules, ...verdict } = limits.check('a').parse(reply);
  assert.deepEqual(verdict, { allowed: true, limited: false, limit: 5, remaining: 4, retryAfterMs: 0, resetAfterMs: 7, rule: 1, source: 'server' });
  assert.equal(rules.length, 2);
  assert.equal(new LimiterCalls('5/1s').check('a').parse([0, 5, 4, 0, 7, 1, 99]).remaining, 4);
  assert.equal(lease.acquire().parse([0, 3, 2, 0, 7, 9, 99]).token, 9);
  assert.deepEqual(due.claim().parse([[Buffer.from('a'), 7, 1, 5, null, 9]]), [{ item: 'a', token: 7, attempt: 1, dueMs: 5 }]);
  assert.equal(due.info().parse(['items', 1, 'next_ms', -1, 'tomorrow', 2]).nextMs, null);
});

test('payloads are JSON, or text where the schedule says so', () => {
  const shown = (calls, text) => calls.pop().parse([[Buffer.from('a'), 5, text]])[0].data;
  assert.deepEqual([shown(paid, Buffer.from('{"x":[1]}')), shown(paid, Buffer.from('"text"')), shown(paid, null)], [{ x: [1] }, 'text', null]);
  const wrong = shown(paid, Buffer.from('secret'));
  assert.ok(wrong instanceof WrongPayload && wrong.text === 'secret');
  assert.ok(!inspect(wrong).includes('secret'));
  assert.deepEqual([shown(texts, Buffer.from('"text"')), shown(texts, Buffer.from([255])), shown(texts, null)], ['"text"', Buffer.from([255]), null]);
});
