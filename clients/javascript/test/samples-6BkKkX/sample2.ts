import { createClient } from 'redis';
import { Leaderboard } from 'redis-rank-client';

const board = new Leaderboard(await createClient().connect(), '{game}', {
  update: 'BEST',
  periods: [{ unit: 'DAY', prefix: '{game}:day:', past: 7 }, { unit: 'WEEK', prefix: '{game}:week:' }],
});
await board.add('ann', 310);
console.log((await board.top(10, { period: 'day' })).length, await board.score('ann', { period: ['week', -1] }));
// 1 null

export {};
