import { createClient } from 'redis';
import { Schedule, Worker } from 'redis-rank-client';

const jobs = new Schedule(await createClient().connect(), 'due:{mail}', { data: 'due:{mail}:data' });
await jobs.add('mail:7', { after: '100ms', data: { to: 'ann@example.com' } });
await new Worker(jobs, async (job) => console.log(job.item, job.data.to), { concurrency: 10 }).run();
// mail:7 ann@example.com

export {};
