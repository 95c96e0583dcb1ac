// Delayed jobs: mails with a payload, sent when they are due, retried if that fails, and put aside if it keeps failing.

import { createClient } from 'redis';
import { Schedule, Worker } from 'redis-rank-client';

const client = await createClient({ url: process.argv[2] ?? process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' }).connect();
const mails = new Schedule(client, '{example:mails}', { data: '{example:mails}:data' });
await mails.add('mail:ann', { after: 100, data: 'Hello Ann' });
await mails.add('mail:bob', { after: 200, data: 'Hello Bob' });
await mails.add('mail:eve', { after: 300, data: 'Hello Eve' });
const sent = [];

async function send(job) {
  if (job.item === 'mail:bob' && job.attempt === 1) {
    console.log(`${job.item}, attempt ${job.attempt}: the mail server is busy`);
    throw new Error('the mail server is busy');
  }
  console.log(`${job.item}, attempt ${job.attempt}: ${job.data}`);
  sent.push(job.item);
  if (sent.length === 3) worker.stop();
}

const worker = new Worker(mails, send, { attempts: 5, dead: '{example:mails}:dead', backoff: (attempt) => 200 * attempt });
await worker.run();
await client.close();
