// Boards over many keys while slots move, when a primary dies, and when a part of the cluster is gone.
//
// In a cluster of its own, since it leaves one behind that nobody can use.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { IncompleteAnswer, ShardedLeaderboard } from 'redis-rank-client';
import { crc16 } from '../src/slots.js';
import { startCluster, withNode } from './servers.js';
import { close, ioredisCluster, nodeRedisCluster } from './support.js';

const members = Object.fromEntries(Array.from({ length: 400 }, (_, number) => [`member ${number}`, number % 50]));
const slotOf = (key) => crc16(/\{(.*)\}/.exec(key)[1]) % 16384;

let cluster;
let clients;
let boards;
let expected;

const board = (client, timeout = 60_000) => new ShardedLeaderboard(client, 'game', 8, { fields: ['score BITS 20'], ties: 'FIRST', timeout });

// The last primary: two of the three will end.
const stays = () => cluster.nodes[2];

before(async () => {
  cluster = await startCluster({ 'cluster-node-timeout': 2000 });
  const { url } = stays();
  clients = [await nodeRedisCluster({ url, commandOptions: { timeout: 1000 } }), await ioredisCluster({ url })];
  boards = clients.map((client) => board(client));
  await boards[0].addMany(members);
  expected = await answers(boards[0]);
});
after(async () => {
  clients.forEach(close);
  await cluster.stop();
});

async function answers(of) {
  const name = 'member 123';
  return [await of.top(20), await of.get(name), await of.range(200, 20), await of.around(name, 5), await of.count(), await of.percentile(name)];
}

/** The primaries, as nodes that still live know them: [port, id, first slots …]. */
async function primaries() {
  const lines = (await withNode(stays().port, (node) => node.cluster('NODES'))).trim().split('\n').map((line) => line.split(' '));
  return lines
    .filter(([, , flags]) => flags.includes('master') && !flags.includes('fail'))
    .map(([id, address, , , , , , , ...slots]) => ({ id, port: Number(/:(\d+)@/.exec(address)[1]), slots }));
}

const owns = ({ slots }, slot) => slots.some((range) => {
  const [first, last = first] = range.split('-').map(Number);
  return first <= slot && slot <= last;
});

async function move(key) {
  const slot = slotOf(key);
  const nodes = await primaries();
  const source = nodes.find((node) => owns(node, slot));
  // The node of the URL gets nothing, so that it is not among those that will end.
  const target = nodes.find((node) => node !== source && node.port !== stays().port);
  await withNode(source.port, (from) => withNode(target.port, async (to) => {
    await to.cluster('SETSLOT', slot, 'IMPORTING', source.id);
    await from.cluster('SETSLOT', slot, 'MIGRATING', target.id);
    await from.call('MIGRATE', '127.0.0.1', target.port, '', 0, 5000, 'KEYS', key);
    for (const node of [to, from]) await node.cluster('SETSLOT', slot, 'NODE', target.id);
  }));
}

async function shutDownOwner(key, replicas) {
  const owner = (await primaries()).find((node) => owns(node, slotOf(key)));
  await withNode(owner.port, async (node) => {
    await node.set(`x${/\{.*\}/.exec(key)[0]}`, 1);
    await node.wait(replicas, 20_000);
    await node.call('SHUTDOWN', 'NOSAVE').catch(() => {});
  });
}

test('slots that move', async () => {
  let moving = true;
  const moves = (async () => {
    for (const key of boards[0].keys) await move(key);
    moving = false;
  })();
  for (let round = 0; moving || round < 3; round++) {
    for (const each of boards) {
      assert.deepEqual(await answers(each), expected);
      assert.equal(await each.add('member 7', members['member 7']), 0);
    }
  }
  await moves;
});

test('a primary that dies', async () => {
  await shutDownOwner(boards[0].keys[0], 1);
  for (const each of boards) {
    assert.deepEqual(await answers(each), expected);
    assert.deepEqual([await each.add('newcomer', 1), await each.remove('newcomer')], [1, 1]);
  }
});

test('a part that is gone', async () => {
  await shutDownOwner(boards[0].keys[0], 0);
  for (const client of clients) {
    await assert.rejects(board(client, 1000).count(), IncompleteAnswer);
    await assert.rejects(board(client, 1000).top(5), IncompleteAnswer);
  }
});
