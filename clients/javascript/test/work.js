// A worker process of scenarios.test.js: it notes each run of a handler in a list, and works for a while.

import { setTimeout as sleep } from 'node:timers/promises';

import { createClient } from 'redis';
import { Schedule, Worker } from 'redis-rank-client';

const [url, lease, pause, concurrency, mode] = process.argv.slice(2);
const client = await createClient({ url }).on('error', () => {}).connect();
const jobs = new Schedule(client, '{jobs}', { data: '{jobs}:data' });
const handle = async (job) => {
  await client.rPush('begun', JSON.stringify([job.item, job.attempt, process.pid]));
  await sleep(Number(pause));
  await client.rPush('ended', JSON.stringify([job.item, job.data]));
};
const signals = mode !== 'embedded';
const worker = new Worker(jobs, handle, { concurrency: Number(concurrency), lease: Number(lease), log: () => {}, signals });

// The program's own listeners.
const seen = [];
let hosts;
const hostEnds = new Promise((resolve) => (hosts = resolve));
for (const signal of ['SIGTERM', 'SIGINT']) {
  process.on(signal, () => {
    seen.push(signal);
    hosts();
  });
}

const ended = worker.run();
// Signals are handled from now on.
process.send('ready');
if (!signals) {
  await hostEnds;
  await worker.stop();
}
await ended;
// Now only the program listens.
for (const signal of seen) await client.rPush('signals', JSON.stringify([signal, process.listenerCount(signal)]));
client.destroy();
process.disconnect();
process.exit();
