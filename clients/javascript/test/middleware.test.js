// The middleware in real frameworks, over HTTP.

import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';

import express from 'express';
import fastify from 'fastify';
import { Redis } from 'ioredis';
import { RateLimiter } from 'redis-rank-client';
import { expressRateLimit, fastifyRateLimit } from 'redis-rank-client/middleware';
import { Policies, policy } from '../src/middleware.js';
import { close, flushAll, ioredis, nodeRedis } from './support.js';

const rules = [
  { name: 'all', rule: '6/1h', key: () => 'everybody' },
  { name: 'user', rule: '3/1h', key: (request) => request.headers['x-user'] },
];
// A busy machine is no reason to let a request pass.
const usual = { cost: { '/costly': 2, '/free': 0 }, timeout: '30s' };
const paths = ['/', '/costly', '/free'];

async function withExpress(client, { rules: own = rules, ...options }) {
  const app = express();
  app.use(expressRateLimit(client, own, { ...usual, ...options }));
  for (const path of paths) app.get(path, (_, response) => response.send('fine'));
  app.get('/broken', () => {
    throw new Error('broken');
  });
  app.use((_error, _request, response, _next) => response.status(500).end());
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return { port: server.address().port, close: () => new Promise((resolve) => server.close(resolve)) };
}

async function withFastify(client, options) {
  const app = fastify();
  await app.register(fastifyRateLimit, { client, rules, ...usual, ...options });
  for (const path of paths) app.get(path, async () => 'fine');
  app.get('/broken', async () => {
    throw new Error('broken');
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  return { port: app.server.address().port, close: () => app.close() };
}

const FRAMEWORKS = { Express: withExpress, Fastify: withFastify };

let clients;
before(async () => {
  clients = [await nodeRedis(), await ioredis()];
});
beforeEach(flushAll);
after(() => clients.forEach(close));

async function get(port, path, user) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close', ...(user && { 'x-user': user }) } });
  return { status: response.status, fields: response.headers, body: await response.text() };
}

const used = async (key, limit) =>
  limit - (await new RateLimiter(clients[0], `${limit}/1h`, { algorithm: 'GCRA', prefix: 'limit:' }).peek(key)).remaining;

function onEach(name, options, check, connect = async () => clients) {
  for (const [framework, serve] of Object.entries(FRAMEWORKS)) {
    test(`${framework}: ${name}`, async () => {
      for (const client of await connect()) {
        await flushAll();
        const server = await serve(client, options);
        try {
          await check(server.port);
        } finally {
          await server.close();
        }
      }
    });
  }
}

onEach('limits and fields', {}, async (port) => {
  const first = await get(port, '/', 'ann');
  assert.deepEqual([first.status, first.body], [200, 'fine']);
  assert.equal(first.fields.get('ratelimit-policy'), '"all";q=6;w=3600, "user";q=3;w=3600');
  assert.match(first.fields.get('ratelimit'), /^"all";r=5;t=600, "user";r=2;t=1200$/);
  assert.equal(first.fields.get('retry-after'), null);
  assert.equal((await get(port, '/costly', 'ann')).status, 200);

  const denied = await get(port, '/', 'ann');
  assert.equal(denied.status, 429);
  assert.match(denied.fields.get('content-type'), /^application\/problem\+json/);
  assert.match(denied.fields.get('retry-after'), /^1[12]\d\d$/);
  assert.match(denied.fields.get('ratelimit'), /^"all";r=3;t=\d+, "user";r=0;t=\d+$/);
  assert.deepEqual(JSON.parse(denied.body)['violated-policies'], ['user']);
  // A denied call counted for nobody, and others go on; without a key only the first rule applies.
  assert.equal(await used('all:everybody', 6), 3);
  const other = await get(port, '/');
  assert.deepEqual([other.status, other.fields.get('ratelimit-policy')], [200, '"all";q=6;w=3600']);
  assert.equal((await get(port, '/free', 'ann')).fields.get('ratelimit'), null);
});

onEach('a handler that failed costs nothing', {}, async (port) => {
  for (let count = 0; count < 5; count++) {
    assert.equal((await get(port, '/broken', 'ann')).status, 500);
    // The units come back just after the response.
    while ((await used('user:ann', 3)) !== 0 || (await used('all:everybody', 6)) !== 0);
  }
});

onEach('a cost that never fits has no time to retry', { cost: () => 99 }, async (port) => {
  const { status, fields } = await get(port, '/', 'ann');
  assert.deepEqual([status, fields.get('retry-after')], [429, null]);
});

// It accepts connections, and says nothing.
async function withMute(options, check) {
  const mute = createServer(() => {});
  await new Promise((resolve) => mute.listen(0, '127.0.0.1', resolve));
  const client = new Redis({ port: mute.address().port, host: '127.0.0.1' });
  client.on('error', () => {});
  try {
    for (const serve of Object.values(FRAMEWORKS)) {
      const server = await serve(client, { timeout: 200, ...options });
      check(await get(server.port, '/', 'ann'));
      await server.close();
    }
  } finally {
    client.disconnect();
    mute.close();
  }
}

test('a server that does not answer', async () => {
  await withMute({ log: () => {} }, ({ status }) => assert.equal(status, 200));
  const errors = [];
  await withMute({ failing: 'closed', log: (error) => errors.push(error) }, ({ status, fields }) => {
    assert.deepEqual([status, fields.get('retry-after')], [503, '1']);
  });
  assert.equal(errors.length, 2);
});

test('policies and costs', () => {
  const shown = {
    '5/1s': '"x";q=5;w=1', '10/2m/20': '"x";q=10;w=120', '9/1500ms': '"x";q=9;w=2', '7/60': '"x";q=7;w=60',
    '1/day': '"x";q=1;w=86400', '1/month': '"x";q=1', '1/DAY': '"x";q=1;w=86400', '9/2500MS': '"x";q=9;w=3',
  };
  for (const [rule, expected] of Object.entries(shown)) {
    assert.equal(policy({ name: 'x', rule }, /(day|month)$/i.test(rule) ? 'CALENDAR' : 'GCRA'), expected);
  }
  assert.equal(policy({ name: 'a"b\\', rule: '1/1s' }), '"a\\"b\\\\";q=1;w=1');
  const policies = new Policies(clients[0], rules, { cost: { '/export/*': 10, '/*': 2 } });
  assert.deepEqual(['/export/x', '/x', '*'].map((path) => policies.costOf({}, path)), [10, 2, 1]);
  const same = ['/EXPORT/x', '/e%78port/x/', '/export/%0A', '/export/%'];
  assert.deepEqual(same.map((path) => policies.costOf({}, path)), [10, 10, 10, 10]);
});

test('mistakes are found at once', () => {
  for (const rule of ['100', '100/', '100/1x', '/1s', 'a/1s', '100/1s/', '100 60', '1.5/1s', undefined]) {
    assert.throws(() => expressRateLimit(clients[0], [{ name: 'x', rule }]), TypeError);
  }
  for (const options of [{ algoritm: 'GCRA' }, { failing: 'ajar' }, { trustedProxies: 'x' }, { trustedProxies: ['10.0.0/8'] }, { timeout: '5' }]) {
    assert.throws(() => expressRateLimit(clients[0], rules, options), TypeError);
  }
  assert.throws(() => expressRateLimit(clients[0], [rules[0], rules[0]]), TypeError);
  assert.throws(() => expressRateLimit({}, rules), TypeError);
  for (const name of ['é', 'a\r\nSet-Cookie: x', '\x7f']) {
    assert.throws(() => expressRateLimit(clients[0], [{ name, rule: '1/1s' }]), TypeError);
  }
});

onEach('a route costs the same however its path is written', { cost: { '/costly': 2 } }, async (port) => {
  const served = [];
  for (const path of ['/COSTLY', '/costly/', '/c%6fstly', '//costly', '//[']) {
    await flushAll();
    const { status } = await get(port, path, 'ann');
    assert.ok(status === 200 || status === 404, `${path}: ${status}`);
    if (status === 200) served.push([path, await used('user:ann', 3)]);
  }
  assert.ok(served.length > 0);
  for (const [path, cost] of served) assert.equal(cost, 2, path);
});

onEach('the address is that of the connection', { rules: [{ name: 'address', rule: '2/1h' }] }, async (port) => {
  const statuses = [];
  for (let at = 0; at < 3; at++) {
    const headers = { 'x-forwarded-for': `192.0.2.${at}`, forwarded: `for=192.0.2.${at}`, connection: 'close' };
    statuses.push((await fetch(`http://127.0.0.1:${port}/`, { headers })).status);
  }
  assert.deepEqual(statuses, [200, 200, 429]);
});

test('a mistake in a function of the user does not end the process', async () => {
  const errors = [];
  const refund = () => {
    throw new Error('no');
  };
  const policies = new Policies(clients[0], rules, { refund, log: (error) => errors.push(error.message) });
  await policies.settle({ known: [], cost: 1 }, 200);
  assert.deepEqual(errors, ['no']);
});
