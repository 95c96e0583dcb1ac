// The same values from every client, in RESP2 and RESP3.

import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';

import { Leaderboard, execute } from 'redis-rank-client';
import { CLIENTS, close, flushAll } from './support.js';

const exact = 2n ** 60n + 1n;
const ann = { name: 'Ann', age: 7, tags: [1, null], large: 12345678901234567890, fraction: 0.1 + 0.2, digits: '"1234567890123456789' };

beforeEach(flushAll);

for (const [name, connect] of Object.entries(CLIENTS)) {
  test(`boards: ${name}`, async () => {
    const client = await connect();
    try {
      const since = Date.now();
      const game = new Leaderboard(client, 'game', { fields: ['gold INT', 'silver'], ties: 'FIRST', since, data: '{game}:who' });
      assert.deepEqual(await game.addRanked('ann', [5, 0.5], { data: ann }), {
        rank: 1, previousRank: null, member: 'ann', score: 5, scores: [5, 0.5], previousScore: null, previousScores: null, improved: true,
      });
      assert.deepEqual(await game.addRanked('ann', [null, 0.75]), {
        rank: 1, previousRank: 1, member: 'ann', score: 5, scores: [5, 0.75], previousScore: 5, previousScores: [5, 0.5], improved: true,
      });
      assert.deepEqual(await game.incr('ann', [-1, 0]), [4, 0.75]);
      assert.deepEqual(await game.score('ann'), [4, 0.75]);
      assert.deepEqual(await game.get('ann', { data: true }), {
        rank: 1, member: 'ann', score: 4, scores: [4, 0.75], data: ann,
      });
      assert.equal(await game.get('nobody'), null);
      assert.equal((await game.getData('ann')).tags, '[1,null]');
      assert.deepEqual(await game.getAttributes('ann', 'age', 'none'), ['7', null]);
      await game.add('bob', [exact, 1]);
      const bob = await game.get('bob');
      assert.deepEqual(bob.scores, [exact, 1]);
      // Rows are whole in JSON, whose integers are too small for this one.
      assert.deepEqual(JSON.parse(JSON.stringify([bob])), [{ ...bob, score: String(exact), scores: [String(exact), 1] }]);
      const { members, data } = JSON.parse(JSON.stringify(await game.query('ann', { data: true })));
      assert.deepEqual([members, data[0].name], [['ann'], 'Ann']);
      if (!name.startsWith('ioredis') || name.endsWith('string numbers')) assert.deepEqual(await game.score('bob'), [exact, 1]);
      assert.deepEqual(await game.info(), {
        members: 2,
        fields: [{ name: 'gold', order: 'DESC', type: 'INT' }, { name: 'silver', order: 'DESC', type: 'FLOAT' }],
        ties: 'FIRST', keep: null, update: 'SET', layout: 'coded', overflow: 2, since, data: '{game}:who', periods: [], shard: null,
        schema: `2 FIELD gold DESC INT FIELD silver DESC FLOAT TIES FIRST DATA {game}:who SINCE ${since}`,
      });

      const medals = new Leaderboard(client, 'medals', { fields: ['gold INT', 'silver INT', 'bronze INT'] });
      await medals.add('USA', [1, 2, 3]);
      await flushAll();
      await medals.add('USA', [4, 5, 6]);
      assert.deepEqual((await medals.get('USA')).scores, [4, 5, 6]);
      await new Leaderboard(client, 'medals').alter({ keep: 1 });
      // Somebody changed it: their schema stays.
      await medals.add('GBR', [9, 9, 9]);
      assert.deepEqual([await medals.count(), (await medals.info()).keep], [1, 1]);

      const fractions = new Leaderboard(client, 'fractions');
      for (const value of [0.1 + 0.2, -0.12345678901234567, 1234567890123456.7, 1 / 3, 5e-324, -1.7976931348623157e308]) {
        await fractions.add('x', value);
        assert.deepEqual([(await fractions.get('x')).score, await fractions.score('x')], [value, value]);
      }

      const plain = new Leaderboard(client, 'plain');
      const odd = Buffer.from([255, 0]);
      assert.equal(await plain.addMany(new Map([['ann', 1.5], ['bob', 2], ['dan', -3], [odd, Infinity]])), 4);
      assert.deepEqual(await plain.top(2), [
        { rank: 1, member: odd, score: Infinity, scores: [Infinity] },
        { rank: 2, member: 'bob', score: 2, scores: [2] },
      ]);
      assert.deepEqual((await plain.among(['ann', 'nobody', 'bob'])).map(({ place, member }) => [place, member]), [[1, 'bob'], [2, 'ann']]);
      assert.deepEqual(await plain.page(2, 3), {
        page: 2, pages: 2, members: 4, rows: [{ rank: 4, member: 'dan', score: -3, scores: [-3] }],
      });
      assert.deepEqual(await plain.stats({ limit: [1, 1] }), [{ rank: 2, members: ['bob'], data: null }]);
      assert.deepEqual(await plain.query('bob'), { rank: 2, members: ['bob'], data: null });
      assert.equal(await plain.percentile('bob'), 50);
      assert.equal(await plain.scoreAt(0), -3);
      assert.deepEqual(await plain.around('nobody', 1), []);
      assert.deepEqual(await execute(client, plain.calls.incr('ann', 1), plain.calls.trimReturning(1), plain.calls.count()), [
        2.5, ['ann', 'bob', 'dan'], 1,
      ]);
    } finally {
      await close(client);
    }
  });
}

after(flushAll);
