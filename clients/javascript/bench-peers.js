// Processor time of this process beside what people use: make bench-clients
//
// Both sides take turns in one run, in rounds of many calls, so that a busy machine slows both. The ratio is that of the
// other package's time to ours, round by round: above 1, ours needs less.

import { Queue, Worker as BullWorker } from 'bullmq';
import { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';

import { RateLimiter, Schedule, Worker } from './src/index.js';
import { startServer } from './test/servers.js';

const ROUNDS = Number(process.env.ROUNDS ?? 9);
const CALLS = Number(process.env.CALLS ?? 4000);
const JOBS = Number(process.env.JOBS ?? 1500);

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** Microseconds of this process for each of so many calls. */
async function used(act, calls) {
  const start = process.cpuUsage();
  await act();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / calls;
}

async function compare(name, calls, theirs, ours) {
  const times = [];
  for (let round = -2; round < ROUNDS; round++) {
    const pair = [await used(theirs, calls), await used(ours, calls)];
    if (round >= 0) times.push(pair);
  }
  const shown = [0, 1].map((side) => median(times.map((pair) => pair[side])).toFixed(1));
  console.log(`${name.padEnd(44)} ${shown[0].padStart(8)} ${shown[1].padStart(8)} ${median(times.map(([a, b]) => a / b)).toFixed(2).padStart(7)}`);
}

/** Calls, of which so many are under way at any time. */
const atOnce = (count, act) => async () => {
  let left = CALLS;
  const one = async () => {
    while (left-- > 0) await act(left);
  };
  await Promise.all(Array.from({ length: count }, one));
};

async function limiters(url) {
  const client = new Redis(url);
  const theirs = new RateLimiterRedis({ storeClient: client, points: 1_000_000, duration: 3600 });
  const ours = new RateLimiter(client, '1000000/1h', { algorithm: 'FIXED', prefix: 'ours:', timeout: '1m' });
  for (const count of [1, 10, 100]) {
    await compare(`limiter on ioredis, ${count} at once`, CALLS, atOnce(count, (n) => theirs.consume(`user${n % 100}`)), atOnce(count, (n) => ours.check(`user${n % 100}`)));
  }
  client.disconnect();
}

/** Works off jobs that are there; only that is measured. */
async function workers(url) {
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  const schedule = new Schedule(new Redis(url), '{jobs}', { data: '{jobs}:data' });
  for (const concurrency of [1, 10, 50]) {
    const queue = new Queue(`jobs${concurrency}`, { connection });
    const rounds = { theirs: [], ours: [] };
    for (let round = -2; round < ROUNDS; round++) {
      await queue.addBulk(Array.from({ length: JOBS }, (_, n) => ({ name: 'job', data: { n }, opts: { removeOnComplete: true } })));
      for (let n = 0; n < JOBS; n += 50) await Promise.all(Array.from({ length: 50 }, (_, at) => schedule.add(`job${n + at}`, { after: 0, data: { n: n + at } })));
      const run = (start) => new Promise((resolve) => {
        let left = JOBS;
        start(async () => {
          if (--left === 0) resolve();
        });
      });
      let worker;
      const theirs = await used(() => run((handle) => (worker = new BullWorker(queue.name, handle, { connection, concurrency }))), JOBS);
      await worker.close();
      const ours = await used(() => run((handle) => {
        worker = new Worker(schedule, handle, { concurrency, signals: false });
        worker.run();
      }), JOBS);
      await worker.stop();
      if (round >= 0) rounds.theirs.push(theirs) && rounds.ours.push(ours);
    }
    const ratio = median(rounds.theirs.map((time, at) => time / rounds.ours[at]));
    const shown = [rounds.theirs, rounds.ours].map((times) => median(times).toFixed(1).padStart(8));
    console.log(`${`worker, ${concurrency} at once`.padEnd(44)} ${shown.join(' ')} ${ratio.toFixed(2).padStart(7)}`);
    await queue.close();
  }
  schedule.client.disconnect();
  connection.disconnect();
}

const server = await startServer();
console.log(`${'microseconds of the client for each call'.padEnd(44)}   theirs     ours   ratio`);
if (process.env.ONLY !== 'workers') await limiters(server.url);
if (process.env.ONLY !== 'limiters') await workers(server.url);
await server.stop();
