// A leaderboard with a limiter: three scores a minute from each player, the best one counts.
//
//   node leaderboard.js [URL]
//
// URL is redis://127.0.0.1:6379, or $REDIS_URL, unless given.

import { createClient } from 'redis';
import { Leaderboard, RateLimited, RateLimiter } from 'redis-rank-client';

const countries = { ann: 'Austria', bob: 'Brazil', cid: 'Chile', dan: 'Denmark', eve: 'Estonia' };
const scores = [
  ['ann', 310], ['bob', 270], ['eve', 310], ['cid', 180],
  ['bob', 320], ['dan', 250], ['bob', 290], ['bob', 350],
];

const client = createClient({ url: process.argv[2] ?? process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' });
client.on('error', (error) => console.error(`redis: ${error.message}`));
await client.connect();

// The tag in the name of the hash puts it in the slot of the board.
const board = new Leaderboard(client, 'example:javascript', {
  fields: ['score BITS 32'],
  update: 'BEST',
  data: '{example:javascript}:players',
});
const limiter = new RateLimiter(client, '3/1m', { prefix: 'example:javascript:limit:' });

try {
  await board.clear();
  // What is sent in one go travels in one round trip.
  await Promise.all(Object.keys(countries).map((player) => limiter.reset(player)));

  for (const [player, score] of scores) {
    try {
      await limiter.enforce(player);
    } catch (error) {
      if (!(error instanceof RateLimited)) throw error;
      console.log(`${player} ${score}: too many scores, wait a minute`);
      continue;
    }
    const change = await board.addRanked(player, score, { data: { country: countries[player] } });
    const was = change.previousRank === null ? '' : `, was ${change.previousRank}`;
    console.log(`${player} ${score}: best ${change.score}, rank ${change.rank}${was}`);
  }

  for (const { rank, member, score, data } of await board.top(4, { data: true })) {
    console.log(`#${rank} ${member} of ${data.country}: ${score}`);
  }
  console.log('around eve:', ...(await board.around('eve', 1)).map(({ member }) => member));
  const friends = await board.among(['cid', 'ann', 'nobody']);
  console.log('among friends:', ...friends.map(({ place, member }) => `${place}.${member}`));
  console.log(`ann is ahead of ${(await board.percentile('ann')).toFixed(0)}%`);
} finally {
  await client.close();
}
