import { createClient } from 'redis';
import { Schedule, Worker } from 'redis-rank-client';

const client = createClient({ url: process.env.REDIS_URL }).on('error', (error) => console.error(error));
const jobs = new Schedule(await client.connect(), 'due:{mail}', { data: 'due:{mail}:data' });

const worker = new Worker(jobs, async ({ item, signal }) => console.log(item, signal.aborted), {
  concurrency: 20,
  lease: '1m',
  attempts: 8,
  dead: 'due:{mail}:dead',
  log: (error, job) => console.error(job?.item, job?.attempt, error),
});
await jobs.add('mail:8', { after: 0 });
await worker.run();
await client.close();
// mail:8 false

export {};
