// Connections that break: nothing happens twice, and nothing that was given up happens later.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import * as newestIoredis from 'ioredis';
import * as newestRedis from 'redis';
import { Leaderboard, OutcomeUnknown, RateLimiter, Schedule, execute } from 'redis-rank-client';
import { crc16 } from '../src/slots.js';
import { Proxy } from './proxy.js';
import { startCluster, startServer, until, withNode } from './servers.js';
import { close, oldestIoredis, oldestRedis } from './support.js';

let server;
let cluster;
let proxies;

before(async () => {
  [server, cluster] = await Promise.all([startServer(), startCluster({ replicas: false })]);
  proxies = await Promise.all([server, ...cluster.nodes].map(({ port }) => new Proxy(port).start()));
  // Clients reach the nodes of the cluster through proxies, too.
  const ports = proxies.slice(1).map(({ port }) => port);
  for (const [at, node] of cluster.nodes.entries()) await withNode(node.port, (client) => client.config('SET', 'cluster-announce-port', ports[at]));
  for (const { port } of cluster.nodes) {
    const shown = async () => (await withNode(port, (client) => client.cluster('SLOTS'))).map(([, , [, seen]]) => seen);
    await until(async () => (await shown()).every((seen) => ports.includes(seen)), 'the nodes to announce the proxies');
  }
});
after(() => Promise.all([...proxies, server, ...cluster.nodes].map((each) => each.stop())));

const retry = () => 50;
const nodeRedis = ({ createClient }) => () =>
  createClient({ url: proxies[0].url, socket: { reconnectStrategy: retry } }).on('error', () => {}).connect();
const nodeRedisCluster = ({ createCluster }) => () =>
  createCluster({ rootNodes: [{ url: proxies[1].url }], defaults: { socket: { reconnectStrategy: retry } } }).on('error', () => {}).connect();
// As eager as it can be set up.
const ioredis = ({ Redis }) => async () => new Redis(proxies[0].url, { maxRetriesPerRequest: null, retryStrategy: retry }).on('error', () => {});
const ioredisCluster = ({ Cluster }) => async () => {
  const client = new Cluster([proxies[1].url], { clusterRetryStrategy: retry, redisOptions: { maxRetriesPerRequest: null } }).on('error', () => {});
  await new Promise((ready) => client.once('ready', ready));
  return client;
};

const LIBRARIES = {
  'node-redis 5': nodeRedis(oldestRedis), 'node-redis 6': nodeRedis(newestRedis),
  'ioredis 5': ioredis(oldestIoredis), 'ioredis 6': ioredis(newestIoredis),
};
const CLUSTERS = {
  'node-redis 5 cluster': nodeRedisCluster(oldestRedis), 'node-redis 6 cluster': nodeRedisCluster(newestRedis),
  'ioredis 5 cluster': ioredisCluster(oldestIoredis), 'ioredis 6 cluster': ioredisCluster(newestIoredis),
};
const ALL = { ...LIBRARIES, ...CLUSTERS };

const nodesOf = (name) => (name.endsWith('cluster') ? cluster.nodes : [server]);
const onNodes = (name, act) => Promise.all(nodesOf(name).map(({ port }) => withNode(port, act)));

/** How often the servers have run a command since the last reset. */
async function ran(name, command) {
  const stats = await onNodes(name, (node) => node.info('commandstats'));
  const count = (text) => Number(new RegExp(`cmdstat_${command.toLowerCase()}:calls=(\\d+)`).exec(text)?.[1] ?? 0);
  return stats.reduce((sum, text) => sum + count(text), 0);
}

async function reset(name) {
  proxies.forEach((proxy) => proxy.disarm());
  await onNodes(name, (node) => node.flushall());
  await onNodes(name, (node) => node.config('RESETSTAT'));
}

async function withClient(connect, act) {
  const client = await connect();
  try {
    return await act(client);
  } finally {
    close(client);
  }
}

for (const [name, connect] of Object.entries(ALL)) {
  test(`at most once: ${name}`, () => withClient(connect, async (client) => {
    const board = new Leaderboard(client, 'game', { ties: 'FIRST' });
    const jobs = new Schedule(client, 'jobs');
    const limiter = new RateLimiter(client, '100/1h', { timeout: '20s' });
    const writes = {
      'RANK.INCR': () => board.incr('ann', 1),
      'RANK.ADD': () => board.add('ann', 1),
      'RANK.POP': () => board.pop(),
      'DUE.POP': () => jobs.pop(),
      'DUE.CLAIM': () => jobs.claim(),
      'DUE.ACK': () => jobs.ack({ token: 1, item: 'x' }),
      'RATE.CHECK': () => limiter.check('ann'),
    };
    for (const moment of ['before', 'middle', 'after']) {
      for (const [command, write] of Object.entries(writes)) {
        const what = `${command} ${moment}`;
        // The connections are there again.
        await until(() => Promise.all([board.count(), jobs.info(), limiter.peek('ann')]), 'connections');
        await reset(name);
        await board.create();
        const traps = proxies.map((proxy) => proxy.breakAt(command, moment));
        await assert.rejects(write(), (error) => error instanceof OutcomeUnknown && error.cause instanceof Error, what);
        assert.equal(traps.filter(({ sprung }) => sprung).length, 1, what);
        await until(() => Promise.all([board.count(), jobs.info(), limiter.peek('ann')]), 'connections');
        await sleep(30);
        assert.equal(await ran(name, command), moment === 'after' ? 1 : 0, what);
      }
    }
    // It still works.
    await board.clear();
    assert.equal(await board.incr('ann', 1), 1);
  }));

  test(`many at once, on connections that break: ${name}`, () => withClient(connect, async (client) => {
    await until(() => new Leaderboard(client, 'x').top(1), 'connections');
    await reset(name);
    const boards = Array.from({ length: 9 }, (_, at) => new Leaderboard(client, `game${at}`));
    const outcomes = { done: 0, unknown: 0, unsent: 0 };
    const bump = (board) => board.incr('ann', 1).then(() => outcomes.done++, (error) => (error instanceof OutcomeUnknown ? outcomes.unknown++ : outcomes.unsent++));
    const running = [];
    for (let round = 0; round < 20; round++) {
      running.push(...boards.map(bump));
      if (round % 5 === 2) proxies.forEach((proxy) => proxy.breakAt('RANK.INCR', ['before', 'middle', 'after'][round % 3]));
      if (round % 5 === 4) {
        await Promise.all(proxies.map((proxy) => proxy.down()));
        await sleep(20);
        await Promise.all(proxies.map((proxy) => proxy.up()));
      }
      await sleep(10);
    }
    await Promise.all(running);
    await until(() => Promise.all(boards.map((board) => board.count())), 'connections');
    const scores = await Promise.all(boards.map((board) => board.score('ann')));
    const sum = scores.reduce((total, score) => total + score, 0);
    const { done, unknown, unsent } = outcomes;
    assert.equal(done + unknown + unsent, 180);
    assert.ok(sum >= done && sum <= done + unknown, `${sum}: ${JSON.stringify(outcomes)}`);
    assert.ok(unknown > 0);
  }));

  test(`what was given up never happens: ${name}`, () => withClient(connect, async (client) => {
    const limiters = Array.from({ length: 9 }, (_, at) => new RateLimiter(client, '100/1h', { timeout: 100, prefix: `limit${at}:`, failing: 'open' }));
    await until(() => Promise.all(limiters.map((limiter) => limiter.peek('ann'))), 'connections');
    await reset(name);
    await Promise.all(proxies.map((proxy) => proxy.down()));
    const verdicts = [];
    for (let round = 0; round < 3; round++) {
      for (const act of ['check', 'peek', 'refund']) verdicts.push(...(await Promise.all(limiters.map((limiter) => limiter[act]('ann')))));
      assert.deepEqual(new Set(await Promise.all(limiters.map((limiter) => limiter.reset('ann')))), new Set([false]));
    }
    assert.deepEqual(new Set(verdicts.map(({ allowed, source }) => `${allowed} ${source}`)), new Set(['true open']));
    await Promise.all(proxies.map((proxy) => proxy.up()));
    await until(() => Promise.all(limiters.map((limiter) => limiter.peek('ann'))), 'connections');
    await sleep(300);
    for (const command of ['RATE.CHECK', 'RATE.REFUND', 'RATE.RESET']) assert.equal(await ran(name, command), 0, command);
    await until(async () => (await limiters[0].check('ann')).source === 'server', 'an answer');
  }));
}

for (const [name, connect] of Object.entries(LIBRARIES)) {
  test(`what waits for a connection happens once: ${name}`, () => withClient(connect, async (client) => {
    const board = new Leaderboard(client, 'game');
    await until(() => board.top(1), 'a connection');
    await reset(name);
    await proxies[0].down();
    // Until the library has noticed.
    await until(async () => (client.status ?? client.isReady) !== 'ready' && client.isReady !== true, 'the loss');
    const writes = [board.incr('ann', 1), board.incr('ann', 1)];
    await sleep(100);
    await proxies[0].up();
    assert.deepEqual(await Promise.all(writes), [1, 2]);
    assert.equal(await ran(name, 'RANK.INCR'), 2);
  }));
}

for (const [name, connect] of Object.entries(CLUSTERS)) {
  test(`slots that move: ${name}`, () => withClient(connect, async (client) => {
    await reset(name);
    const board = new Leaderboard(client, '{moving}', { ties: 'FIRST' });
    assert.equal(await board.incr('ann', 1), 1);
    await board.clear();
    await onNodes(name, (node) => node.del('{moving}').catch(() => {}));
    const slot = crc16('moving') % 16384;
    const owners = await Promise.all(cluster.nodes.map(({ port }) => withNode(port, async (node) => {
      const line = (await node.cluster('NODES')).split('\n').find((text) => text.includes('myself'));
      const holds = line.split(' ').slice(8).some((range) => !range.startsWith('[') && range.split('-').map(Number)[0] <= slot && slot <= range.split('-').map(Number).at(-1));
      return { port, id: line.split(' ')[0], holds };
    })));
    const source = owners.find(({ holds }) => holds);
    const target = owners.find(({ holds }) => !holds);
    await withNode(target.port, (node) => node.cluster('SETSLOT', slot, 'IMPORTING', source.id));
    await withNode(source.port, (node) => node.cluster('SETSLOT', slot, 'MIGRATING', target.id));
    // ASK: the key is not on the source.
    assert.equal(await board.incr('ann', 1), 1);
    assert.equal(await board.incr('ann', 1), 2);
    for (const { port } of [target, source]) await withNode(port, (node) => node.cluster('SETSLOT', slot, 'NODE', target.id));
    // MOVED.
    assert.equal(await board.incr('ann', 1), 3);
    assert.deepEqual(await execute(client, board.calls.incr('ann', 1), board.calls.score('ann')), [4, 4]);
  }));
}
