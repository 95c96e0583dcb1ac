// What this package costs beside raw calls of the same library: npm run bench
//
// Both sides of a ratio alternate in one run, in rounds of many calls, so that a busy machine slows both.

import * as ioredis from 'ioredis';
import * as redis from 'redis';

import { Leaderboard, RateLimiter } from './src/index.js';
import { startServer } from './test/servers.js';

const ROUNDS = Number(process.env.ROUNDS ?? 15);
const CALLS = Number(process.env.CALLS ?? 2000);
const AT_ONCE = 50;

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** Microseconds for each of many calls, of which some are under way at any time. */
async function time(act, calls) {
  const start = process.hrtime.bigint();
  let left = calls;
  const worker = async () => {
    while (left-- > 0) await act(left);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, calls) }, worker));
  return Number(process.hrtime.bigint() - start) / 1000 / calls;
}

async function compare(name, aim, raw, ours, calls = CALLS) {
  const [theirs, own] = [[], []];
  for (let round = -2; round < ROUNDS; round++) {
    const [a, b] = [await time(raw, calls), await time(ours, calls)];
    if (round < 0) continue;
    theirs.push(a);
    own.push(b);
  }
  const ratio = median(own.map((value, at) => value / theirs[at]));
  const shown = [median(own), median(theirs)].map((value) => `${value.toFixed(1)} µs`);
  console.log(`  ${name.padEnd(28)} ${shown[0].padStart(10)}  raw ${shown[1].padStart(10)}  ratio ${ratio.toFixed(2)} (aim ${aim})`);
}

async function measure(title, client, send) {
  console.log(title);
  const board = new Leaderboard(client, 'board', { fields: ['score INT'], ties: 'FIRST' });
  await board.addMany(new Map(Array.from({ length: 1000 }, (_, n) => [`member${n}`, n])));
  await compare('a declared write', 1.3, (n) => send('RANK.ADD', 'board', String(n), `member${n % 1000}`), (n) => board.add(`member${n % 1000}`, n));
  await compare('an increment', 1.3, (n) => send('RANK.INCR', 'board', '1', `member${n % 1000}`), (n) => board.incr(`member${n % 1000}`, 1));
  await compare('top(100)', 1.5, () => send('RANK.TOPN', 'board', '100'), () => board.top(100), CALLS / 10);
  await compare('get', 1.5, (n) => send('RANK.GET', 'board', `member${n % 1000}`), (n) => board.get(`member${n % 1000}`));
  const limiter = new RateLimiter(client, '1000000/1h', { algorithm: 'GCRA' });
  await compare('check', 1.3, (n) => send('RATE.CHECK', `user${n % 100}`, '1000000/1h', 'GCRA'), (n) => limiter.check(`user${n % 100}`));

  const times = [];
  for (const size of [10_000, 20_000, 40_000]) {
    const scores = Object.fromEntries(Array.from({ length: size }, (_, n) => [`member${n}`, n]));
    const taken = [];
    for (let round = 0; round < 5; round++) {
      await client.del('many');
      const start = performance.now();
      await new Leaderboard(client, 'many').addMany(scores);
      taken.push(performance.now() - start);
    }
    times.push(`${size} in ${median(taken).toFixed(0)} ms`);
  }
  console.log(`  addMany: ${times.join(', ')} (aim: linear, 40000 below 300 ms)`);
}

const server = await startServer();
const node = await redis.createClient({ url: server.url }).connect();
await measure('node-redis', node, (...words) => node.sendCommand(words));
node.destroy();
const io = new ioredis.Redis(server.url);
await measure('ioredis', io, (...words) => io.call(...words));
io.disconnect();
await server.stop();
