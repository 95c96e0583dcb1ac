// A leaderboard with a limiter: three scores a minute from each player, the best one counts.
//
//   node leaderboard.js [URL]
//
// URL is redis://127.0.0.1:6379, or $REDIS_URL, unless given.

import { createClient } from 'redis';
import { rank, rate } from './rank.js';

const countries = { ann: 'Austria', bob: 'Brazil', cid: 'Chile', dan: 'Denmark', eve: 'Estonia' };
const scores = [
  ['ann', 310], ['bob', 270], ['eve', 310], ['cid', 180],
  ['bob', 320], ['dan', 250], ['bob', 290], ['bob', 350],
];

const board = 'example:javascript';
// The hash with the attributes. In a cluster, the tag puts it in the slot of the board.
const players = `{${board}}:players`;
const limitOf = (player) => `${board}:limit:${player}`;

// RESP3, so that attributes arrive as an object and a percentile as a number.
const client = createClient({
  url: process.argv[2] ?? process.env.REDIS_URL ?? 'redis://127.0.0.1:6379',
  RESP: 3,
  modules: { rank, rate },
});
client.on('error', (error) => console.error(`redis: ${error.message}`));

async function submit(player, score) {
  const { limited } = await client.rate.check(limitOf(player), '3/1m');
  return limited ? null : client.rank.add(board, score, player);
}

await client.connect();
try {
  await client.del([board, players]);
  // What is sent in one go travels in one round trip.
  await Promise.all(Object.keys(countries).map((player) => client.rate.reset(limitOf(player))));
  await client.rank.create(board, 'FIELD', 'score', 'BITS', 32, 'UPDATE', 'BEST', 'DATA', players);

  for (const [player, score] of scores) {
    const change = await submit(player, score);
    if (change === null) {
      console.log(`${player} ${score}: too many scores, wait a minute`);
      continue;
    }
    const was = change.previousRank === null ? '' : `, was ${change.previousRank}`;
    console.log(`${player} ${score}: best ${change.score}, rank ${change.rank}${was}`);
  }

  await Promise.all(
    Object.entries(countries).map(([player, country]) => client.rank.setData(board, player, { country })),
  );
  for (const { rank, member, score, data } of await client.rank.top(board, 4)) {
    console.log(`#${rank} ${member} of ${data.country}: ${score}`);
  }
  const neighbours = await client.rank.around(board, 'eve', 1);
  console.log('around eve:', ...neighbours.map(({ member }) => member));
  const friends = await client.rank.among(board, ['cid', 'ann', 'nobody']);
  console.log('among friends:', ...friends.map(({ place, member }) => `${place}.${member}`));
  console.log(`ann is ahead of ${(await client.rank.percentile(board, 'ann')).toFixed(0)}%`);
} finally {
  await client.close();
}
