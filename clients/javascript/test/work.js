// A worker process of worker.test.js: it notes each run of a handler in a list, and works for a while.

import { setTimeout as sleep } from 'node:timers/promises';

import { createClient } from 'redis';
import { Schedule, Worker } from 'redis-rank-client';

const [url, lease, pause, concurrency] = process.argv.slice(2);
const client = await createClient({ url }).on('error', () => {}).connect();
const jobs = new Schedule(client, '{jobs}', { data: '{jobs}:data' });
const handle = async (job) => {
  await client.rPush('begun', JSON.stringify([job.item, job.attempt, process.pid]));
  await sleep(Number(pause));
  await client.rPush('ended', JSON.stringify([job.item, job.data]));
};
const worker = new Worker(jobs, handle, { concurrency: Number(concurrency), lease: Number(lease), log: () => {} });
const ended = worker.run();
// Signals are handled from now on.
process.send('ready');
await ended;
client.destroy();
process.disconnect();
