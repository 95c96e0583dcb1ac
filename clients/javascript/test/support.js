// Clients of every kind, to the server and the cluster that run.js has started.

import * as newestIoredis from 'ioredis';
import * as oldestIoredis from 'ioredis5';
import * as newestRedis from 'redis';
import * as oldestRedis from 'redis5';

import { withNode } from './servers.js';

export const url = process.env.REDIS_URL;
export const clusterUrl = process.env.REDIS_CLUSTER_URL;
if (!url || !clusterUrl) {
  console.error('These tests need a server and a cluster: npm test [-- test/board.test.js]');
  process.exit(1);
}

// A busy machine is no error.
const patient = { commandOptions: { timeout: 60_000 } };
const socket = { connectTimeout: 60_000 };

export async function nodeRedis(options = {}, { createClient } = newestRedis) {
  return createClient({ url, socket, ...patient, ...options }).on('error', () => {}).connect();
}

export async function nodeRedisPool(options = {}, { createClientPool } = newestRedis) {
  return createClientPool({ url, socket, ...patient, ...options }).on('error', () => {}).connect();
}

export async function nodeRedisCluster({ url: to = clusterUrl, ...options } = {}, { createCluster } = newestRedis) {
  return createCluster({ rootNodes: [{ url: to }], defaults: { socket }, ...patient, ...options }).on('error', () => {}).connect();
}

export async function ioredis({ url: to = url, ...options } = {}, { Redis } = newestIoredis) {
  const client = new Redis(to, { connectTimeout: 60_000, ...options });
  client.on('error', () => {});
  return client;
}

export async function ioredisCluster({ url: to = clusterUrl, ...options } = {}, { Cluster } = newestIoredis) {
  const cluster = new Cluster([to], { slotsRefreshTimeout: 60_000, ...options });
  await new Promise((resolve) => cluster.on('error', () => {}).once('ready', resolve));
  return cluster;
}

export { oldestIoredis, oldestRedis };

export const CLIENTS = {
  'node-redis, RESP2': () => nodeRedis({ RESP: 2 }),
  'node-redis, RESP3': () => nodeRedis({ RESP: 3 }),
  'node-redis pool': () => nodeRedisPool(),
  'node-redis cluster, RESP2': () => nodeRedisCluster({ RESP: 2 }),
  'node-redis cluster, RESP3': () => nodeRedisCluster({ RESP: 3 }),
  'ioredis, RESP2': () => ioredis({ protocol: 2 }),
  'ioredis, string numbers': () => ioredis({ stringNumbers: true }),
  'ioredis, RESP3': () => ioredis({ protocol: 3 }),
  'ioredis cluster, RESP2': () => ioredisCluster({ redisOptions: { protocol: 2 } }),
  'ioredis cluster, RESP3': () => ioredisCluster({ redisOptions: { protocol: 3 } }),
  'node-redis 5 pool, RESP2': () => nodeRedisPool({ RESP: 2 }, oldestRedis),
  'node-redis 5, RESP3': () => nodeRedis({ RESP: 3 }, oldestRedis),
  'node-redis 5 cluster, RESP2': () => nodeRedisCluster({ RESP: 2 }, oldestRedis),
  'ioredis 5': () => ioredis({}, oldestIoredis),
  'ioredis 5 cluster': () => ioredisCluster({}, oldestIoredis),
};

export function close(client) {
  return typeof client.callBuffer === 'function' ? client.disconnect() : client.destroy();
}

/** Does something with a client to each node, primaries and replicas. */
export async function onEachNode(act) {
  const cluster = await ioredisCluster();
  const ports = cluster.nodes('all').map(({ options }) => [options.port, cluster.nodes('slave').some((node) => node.options.port === options.port)]);
  cluster.disconnect();
  const results = [];
  for (const [port, isReplica] of ports) results.push(await withNode(port, (node) => act(node, isReplica)));
  return results;
}

export async function flushAll() {
  await withNode(new URL(url).port, (node) => node.flushall());
  await onEachNode((node, isReplica) => isReplica || node.flushall());
}

/** How often a command was called, and MOVED was answered, on all replicas and on all primaries. */
export async function calls(command) {
  const sums = { replicas: 0, primaries: 0, moved: 0 };
  await onEachNode(async (node, isReplica) => {
    const stats = await node.info('commandstats');
    const count = Number(new RegExp(`cmdstat_${command.replace('.', '\\.')}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
    sums[isReplica ? 'replicas' : 'primaries'] += count;
    sums.moved += Number(/errorstat_MOVED:count=(\d+)/.exec(await node.info('errorstats'))?.[1] ?? 0);
  });
  return sums;
}

export const resetStatistics = () => onEachNode((node) => node.config('RESETSTAT'));
