import { createClient } from 'redis';
import { Leaderboard } from 'redis-rank-client';

const client = await createClient().connect();
const board = new Leaderboard(client, 'game', { ties: 'FIRST', update: 'BEST' });
await board.addMany({ ann: 310, bob: 270, eve: 290 });
for (const { rank, member, score } of await board.top(2)) console.log(rank, member, score);
// 1 ann 310
// 2 eve 290

export {};
