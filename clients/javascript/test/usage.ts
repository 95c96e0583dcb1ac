import { Cluster, Redis } from 'ioredis';
import { createClient, createCluster } from 'redis';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import fastify from 'fastify';
import { RankStore } from 'redis-rank-client/express-rate-limit';
import { expressRateLimit, fastifyRateLimit, fastifyRouteLimit } from 'redis-rank-client/middleware';
import { Leaderboard, Lease, RateLimiter, Schedule, Worker, execute, type Row, type Value, type Verdict } from 'redis-rank-client';

const node = createClient();
const board = new Leaderboard(node, 'game', { fields: ['gold INT', 'silver'], ties: 'FIRST', keep: 100 });
new Leaderboard(createCluster({ rootNodes: [] }), 'game');
new Leaderboard(new Redis(), Buffer.from('game'));
new Leaderboard(new Cluster([]), 'game');

const rows: Row[] = await board.top(3, { data: true, kind: 'DENSE', period: ['day', -1] });
const [added, row]: [number, Row | null] = await execute(node, board.calls.add('ann', [1, 2]), board.calls.get('ann'));
const verdict: Verdict = await new RateLimiter(node, ['5/1s'], { algorithm: 'GCRA' }).enforce('ann', { cost: 2 });
const result: number = await new Lease(node, 'job', { limit: 2 }).run(async (lease) => lease.token);
const claims = await new Schedule(node, 'jobs').claim({ count: 5, lease: '1m' });
for await (const entry of board.scanAll()) entry.member.toUpperCase();
console.log(rows, added, row?.rank, verdict.remaining, result, claims[0]?.dueMs);

express().use(expressRateLimit(node, [{ name: 'user', rule: '5/1s' }], { failing: 'closed', cost: { '/export': 10 } }));
await fastify().register(fastifyRateLimit, { client: node, rules: [{ name: 'user', rule: '5/1s', key: (request) => request.ip }] });

await board.addRanked('ann', [null, 5]).then(({ score, previousScore }) => console.log(score, previousScore));

const single: Value | null = await new Leaderboard(node, 'game').score('ann');
const declared: Value | null = await new Leaderboard(node, 'game', { fields: ['score INT'] }).incr('ann', 1);
const several: Value[] | null = await board.score('ann', { period: 'day' });
console.log(single, declared, several, await board.count(1, 5, { period: ['week', -1] }));
await new Worker(new Schedule(node, 'jobs', { data: 'jobs:data' }), async ({ item, signal }) => fetch(item, { signal }), { concurrency: 5 }).run();
new Worker(new Schedule(node, 'jobs'), () => {}, { attempts: 5, dead: 'jobs:dead' });
fastify().get('/', { ...fastifyRouteLimit(node, [{ name: 'user', rule: '5/1s' }]) }, async () => 'fine');
express().get('/', expressRateLimit(node, [{ name: 'user', rule: '5/1s' }], { trustedProxies: 1 }), (_, response) => void response.send('fine'));

express().use(rateLimit({ limit: 5, windowMs: 1000, store: new RankStore(node, { prefix: 'own:' }) }));

interface Mail {
  to: string;
}
const mails = new Schedule<Mail>(node, 'mails', { data: 'mails:data', dead: 'mails:dead' });
await mails.add('mail:1', { after: '1m', data: { to: 'ann' } });
new Worker(mails, (job) => job.data.to.toUpperCase(), { timeLimit: '5s', every: '1m', rate: ['limit', '5/1s'], observe: ({ kind, ms }) => console.log(kind, ms) });
const found: string | undefined = (await mails.dead.get('mail:1'))?.data?.to;
const passes: boolean = await new RateLimiter(node, '5/minute', { rememberDenied: true }).allows(7);
console.log(found, passes, await mails.ack(claims, { after: '1h' }), await mails.revive('mail:1'));

// @ts-expect-error the payload has another type
mails.add('mail:1', { after: '1m', data: { from: 'ann' } });
// @ts-expect-error no such field
new Worker(mails, (job) => job.data.from);
// @ts-expect-error a transaction is no client
new Leaderboard(node.multi(), 'game');
// @ts-expect-error a pipeline is no client
new Leaderboard(new Redis().pipeline(), 'game');
// @ts-expect-error a key is text or a number
new RateLimiter(node, '5/1s').check({ id: 5 });
// @ts-expect-error a promise is no key
new RateLimiter(node, '5/1s').check(Promise.resolve('ann'));
// @ts-expect-error no such kind of payload
new Schedule(node, 'jobs', { payload: 'xml' });
// @ts-expect-error a number of milliseconds is returned
new Worker(mails, () => {}, { backoff: () => 'soon' });
// @ts-expect-error the key of a rule is text or a number
expressRateLimit(node, [{ name: 'user', rule: '5/1s', key: () => ({}) }]);
// @ts-expect-error no such option
expressRateLimit(node, [{ name: 'user', rule: '5/1s' }], { refunds: true });
// @ts-expect-error attempts and dead go together
new Worker(new Schedule(node, 'jobs'), () => {}, { attempts: 5 });
// @ts-expect-error no such option
new Worker(new Schedule(node, 'jobs'), () => {}, { retries: 5 });
// @ts-expect-error a number is needed
board.top('3');
// @ts-expect-error an increment is a number
board.incr('ann', [null, 5]);
// @ts-expect-error no such option
board.top(3, { dta: true });
// @ts-expect-error no such kind of rank
board.get('ann', { kind: 'BEST' });
// @ts-expect-error a row may be null
(await board.get('ann')).rank;
// @ts-expect-error one of at and after
new Schedule(node, 'jobs').add('a', {});
// @ts-expect-error no such algorithm
new RateLimiter(node, '5/1s', { algorithm: 'MAGIC' });
// @ts-expect-error a client is needed
new Leaderboard('localhost', 'game');
