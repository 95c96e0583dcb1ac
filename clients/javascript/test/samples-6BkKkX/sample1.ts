import { Redis } from 'ioredis';
import { Leaderboard } from 'redis-rank-client';

const medals = new Leaderboard(new Redis(), 'medals', {
  fields: ['gold DIGITS 3', 'silver DIGITS 3', 'bronze DIGITS 3'],
  data: '{medals}:names',
});
await medals.add('USA', [46, 37, 38], { data: { name: 'United States', athletes: 558 } });
await medals.add('GBR', [27, 23, 17]);

const usa = await medals.get('USA', { data: true });
console.log(usa?.rank, usa?.scores, usa?.data?.athletes);
// 1 [ 46, 37, 38 ] 558
const change = await medals.addRanked('GBR', [50, 0, 0]);
console.log(change.previousRank, change.rank, change.previousScores, change.improved);
// 2 1 [ 27, 23, 17 ] true

export {};
