import { createClient } from 'redis';
import { Lease } from 'redis-rank-client';

const lease = new Lease(await createClient().connect(), 'render', { limit: 3, lease: '30s', wait: '10s' });
console.log(await lease.run(async ({ token }) => token > 0));
// true

export {};
