// What src/libraries.js uses of node-redis and ioredis that they do not document, in each version that is supported, and
// that a client is told from what is none.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import * as newestIoredis from 'ioredis';
import * as newestRedis from 'redis';
import { Leaderboard, RateLimiter, Schedule, execute } from 'redis-rank-client';
import { Proxy } from './proxy.js';
import { close, ioredis, ioredisCluster, nodeRedis, nodeRedisCluster, nodeRedisPool, oldestIoredis, oldestRedis, url } from './support.js';

const root = fileURLToPath(new URL('../', import.meta.url));
const { peerDependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

test('the oldest and the newest supported version of each library are tested', () => {
  for (const library of ['redis', 'ioredis']) {
    const [, least, next] = /^>=(\d+) <(\d+)$/.exec(peerDependencies[library]);
    const major = (name) => Number(/(\d+)\.\d+\.\d+$/.exec(devDependencies[name])[1]);
    assert.deepEqual([major(`${library}${least}`), major(library)], [Number(least), Number(next) - 1], library);
  }
});

test('no other file uses internals', () => {
  for (const name of readdirSync(join(root, 'src'))) {
    if (name === 'libraries.js') continue;
    const source = readFileSync(join(root, 'src', name), 'utf8');
    for (const internal of ['commandQueue', 'prevCommandQueue', 'callBuffer', 'nodeClient', '_keyPrefix', '_options', 'totalClients', 'toWritable', '.isReady']) {
      assert.ok(!source.includes(internal), `${name}: ${internal}`);
    }
  }
});

async function withClient(connecting, act) {
  const client = await connecting;
  try {
    await act(client);
  } finally {
    close(client);
  }
}

for (const [version, library] of Object.entries({ 5: oldestRedis, 6: newestRedis })) {
  test(`node-redis ${version}`, async () => {
    await withClient(nodeRedis({}, library), (client) => {
      assert.deepEqual([client.isOpen, client.isReady, typeof client.duplicate, typeof client.sendCommand], [true, true, 'function', 'function']);
      assert.deepEqual([typeof client.nodeClient, typeof client.totalClients], ['undefined', 'undefined']);
    });
    await withClient(nodeRedis({ keyPrefix: 'p:' }, library), (client) => assert.ok([undefined, 'p:'].includes(client._keyPrefix)));
    await withClient(nodeRedisPool({}, library), (client) => {
      assert.deepEqual([client.isOpen, typeof client.totalClients, typeof client.execute], [true, 'number', 'function']);
    });
    await withClient(nodeRedisCluster({}, library), async (client) => {
      await client.get('x');
      assert.deepEqual([client.isOpen, typeof client.nodeClient, typeof client._options.defaults.socket], [true, 'function', 'object']);
      assert.ok(client.slots.some((shard) => shard?.master.client?.isReady));
    });
    // What it says of commands that it has not written: `UNSENT`.
    const messages = async (client) => [await client.get('x').catch(({ message }) => message)];
    assert.deepEqual(await messages(library.createClient({ url }).on('error', () => {})), ['The client is closed']);
    await withClient(nodeRedis({ commandsQueueMaxLength: 10 }, library), async (client) => {
      const results = await Promise.allSettled(Array.from({ length: 30 }, () => client.get('x')));
      assert.ok(results.some(({ reason }) => reason?.message === 'The queue is full'));
      assert.equal(await client.sendCommand(['GET', 'x'], { abortSignal: AbortSignal.abort() }).catch(({ message }) => message), 'The command was aborted');
    });
  });
}

for (const [version, library] of Object.entries({ 5: oldestIoredis, 6: newestIoredis })) {
  test(`ioredis ${version}`, async () => {
    await withClient(ioredis({}, library), async (client) => {
      await client.get('x');
      assert.deepEqual([client.status, typeof client.duplicate, typeof client.callBuffer, typeof client.nodes], ['ready', 'function', 'function', 'undefined']);
      // A command that is on its way, and how it is kept over a lost connection.
      const kept = client.call('BLPOP', 'nothing', 0).catch(() => {});
      assert.equal(client.commandQueue.length, 1);
      const { command } = client.commandQueue.peekAt(0);
      assert.deepEqual([command.name.toLowerCase(), typeof command.toWritable, typeof command.initPromise], ['blpop', 'function', 'function']);
      client.disconnect();
      await kept;
    });
    const proxy = await new Proxy(new URL(url).port).start();
    await withClient(ioredis({ url: proxy.url, retryStrategy: () => 60_000 }, library), async (client) => {
      await client.get('x');
      client.call('BLPOP', 'nothing', 0).catch(() => {});
      const closed = new Promise((done) => client.once('close', done));
      await proxy.down();
      await closed;
      assert.equal(client.prevCommandQueue.length, 1);
    });
    await withClient(ioredisCluster({}, library), (client) => assert.equal(typeof client.nodes, 'function'));
  });
}

test('a pipeline or a transaction of the library is no client', async () => {
  const refused = (pipeline) => {
    for (const make of [(it) => new Leaderboard(it, 'game'), (it) => new RateLimiter(it, '5/1s'), (it) => new Schedule(it, 'jobs')]) {
      assert.throws(() => make(pipeline), (error) => error instanceof TypeError && /execute/.test(error.message));
    }
  };
  for (const library of [oldestRedis, newestRedis]) await withClient(nodeRedis({}, library), (client) => refused(client.multi()));
  await withClient(nodeRedisCluster(), (client) => refused(client.multi()));
  for (const library of [oldestIoredis, newestIoredis]) {
    await withClient(ioredis({}, library), (client) => [client.pipeline(), client.multi()].forEach(refused));
  }
  for (const wrong of [undefined, null, 'localhost', {}, { sendCommand() {} }]) assert.throws(() => new Leaderboard(wrong, 'game'), TypeError);
  await withClient(nodeRedis(), async (client) => {
    const board = new Leaderboard(client, 'pipelined', { ties: 'FIRST' });
    await board.create();
    assert.deepEqual(await execute(client, board.calls.add('ann', 5), board.calls.score('ann')), [1, 5]);
  });
});

test('it can be required, too', () => {
  const [major, minor] = process.versions.node.split('.').map(Number);
  assert.ok(major > 20 || minor >= 19, 'package.json says which Node.js it is');
  assert.equal(createRequire(import.meta.url)('redis-rank-client').Leaderboard, Leaderboard);
});
