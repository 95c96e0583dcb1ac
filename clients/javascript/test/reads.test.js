// Reads and writes of one board that are not in values.test.js.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';

import { Leaderboard } from 'redis-rank-client';
import { close, flushAll, ioredis, nodeRedis } from './support.js';

const start = 1_700_000_000_000;
let clients;
before(async () => {
  clients = [await nodeRedis({ RESP: 3 }), await ioredis()];
});
beforeEach(flushAll);
after(() => clients.forEach(close));

const names = (rows) => rows.map(({ member }) => member);

test('places, scans, lines, pops, attributes and changes', async () => {
  for (const client of clients) {
    await flushAll();
    const board = new Leaderboard(client, 'game', { ties: 'FIRST', data: '{game}:who' });
    for (const [second, [member, score]] of Object.entries({ ann: 5, bob: 7, cid: 5, dan: 3 }).entries()) {
      await board.add(member, score, { at: start + second, data: { n: second } });
    }
    const [, ann] = await board.top(2, { time: true });
    assert.deepEqual(ann, { rank: 2, member: 'ann', score: 5, scores: [5], time: start });
    const place = { at: ann.time, member: 'ann' };
    assert.deepEqual(names(await board.after(9, 5, place)), ['cid', 'dan']);
    assert.deepEqual(names(await board.before(9, 5, place)), ['bob']);
    assert.equal(await board.forScore(5, { kind: 'ORDINAL', ...place }), 2);

    const entries = [];
    for await (const entry of board.scanAll({ count: 1, time: true, data: true })) entries.push(entry);
    assert.equal(entries.length, 4);
    assert.deepEqual(entries.find(({ member }) => member === 'ann'), { member: 'ann', score: 5, scores: [5], time: start, data: { n: 0 } });
    const copy = new Leaderboard(client, 'copy', { ties: 'FIRST' });
    const { cursor, lines } = await board.scanLines('0', { time: true });
    assert.deepEqual([cursor, await copy.load(lines)], ['0', 4]);
    assert.deepEqual(await copy.top(9, { time: true }), await board.top(9, { time: true }));
    assert.deepEqual(names(await copy.pop(2, { worst: true })), ['dan', 'cid']);
    assert.deepEqual(names(await copy.pop()), ['bob']);

    assert.equal(await board.setData('ann', { name: 'Ann' }), 1);
    await board.putData('bob', { level: 9 });
    assert.equal(await board.delData('cid'), 1);
    assert.deepEqual((await board.top(3, { data: true })).map(({ data }) => data), [{ level: 9 }, { n: 0, name: 'Ann' }, null]);

    const changes = await board.addManyRanked({ eve: 9, ann: 8 });
    assert.deepEqual(changes.map((change) => [change.rank, change.previousRank, change.previousScore, change.improved]), [[1, null, null, true], [2, 2, 5, true]]);
    const { rank, score, previousScore } = await board.incrRanked('dan', 10);
    assert.deepEqual([rank, score, previousScore], [1, 13, 3]);
    const { member, improved, ...refused } = await board.addRanked('zoe', 1, { xx: true });
    assert.deepEqual([member, improved, ...new Set(Object.values(refused))], ['zoe', false, null]);
    assert.equal(await board.rotate('{game}:old'), 5);
    await board.alter({ keep: 1, data: null });
    assert.deepEqual([(await board.info()).keep, (await board.info()).data], [1, null]);
    assert.deepEqual((({ cursor: at, checked, missing }) => [at, checked, missing])(await new Leaderboard(client, '{game}:old').verify()), ['0', 5, 0]);
  }
});
