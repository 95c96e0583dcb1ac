// The middleware in real frameworks, over HTTP.

import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';

import express from 'express';
import fastify from 'fastify';
import { Redis } from 'ioredis';
import { RateLimiter } from 'redis-rank-client';
import { expressRateLimit, fastifyRateLimit, fastifyRouteLimit } from 'redis-rank-client/middleware';
import { LocalLimiter } from '../src/limiter.js';
import { Policies, addressKey, clientAddress, policy } from '../src/middleware.js';
import { close, flushAll, ioredis, ioredisCluster, nodeRedis, nodeRedisCluster } from './support.js';

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
const opened = [];
before(async () => {
  clients = [await nodeRedis(), await ioredis()];
});
beforeEach(flushAll);
after(() => [...clients, ...opened].forEach(close));

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

onEach('a handler that failed has cost something', {}, async (port) => {
  assert.equal((await get(port, '/broken', 'ann')).status, 500);
  assert.deepEqual([await used('user:ann', 3), await used('all:everybody', 6)], [1, 1]);
});

onEach('a handler that failed costs nothing if told so', { refund: (status) => status >= 500 }, async (port) => {
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
  const request = { headers: { 'x-user': 'ann' } };
  const { counted } = await policies.decide(request, '/');
  await policies.settle(request, counted, 200);
  assert.deepEqual(errors, ['no']);
});

const local = { rules: [{ name: 'all', rule: '3/1h', key: () => 'everybody' }], failing: 'local', timeout: 200 };

test('while the server is away, requests are counted in the process', async () => {
  const mute = createServer(() => {});
  await new Promise((resolve) => mute.listen(0, '127.0.0.1', resolve));
  const client = new Redis({ port: mute.address().port, host: '127.0.0.1' });
  client.on('error', () => {});
  const errors = [];
  for (const serve of Object.values(FRAMEWORKS)) {
    const server = await serve(client, { ...local, log: (error) => errors.push(error) });
    const answers = [];
    for (let count = 0; count < 4; count++) answers.push(await get(server.port, '/'));
    assert.deepEqual(answers.map(({ status }) => status), [200, 200, 200, 429]);
    assert.match(answers[0].fields.get('ratelimit'), /^"all";r=2;t=1200$/);
    assert.match(answers[3].fields.get('retry-after'), /^1[12]\d\d$/);
    await server.close();
  }
  assert.equal(errors.length, 8);
  client.disconnect();
  mute.close();
});

test('an error that is no outage is logged and counted, and passes only if it is open', async () => {
  await clients[1].call('ACL', 'SETUSER', 'nobody', 'reset', 'on', '>x', '~*', '+@connection');
  const user = await nodeRedis({ username: 'nobody', password: 'x' });
  for (const [failing, expected] of [['open', 200], ['closed', 503], ['local', 503]]) {
    const errors = [];
    const limit = expressRateLimit(user, rules, { failing, log: (error) => errors.push(error.name) });
    const app = express().use(limit).get('/', (_, response) => void response.send('fine'));
    const server = app.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    assert.equal((await get(server.address().port, '/')).status, expected, failing);
    assert.deepEqual([errors, limit.errors], [['NotPermitted'], 1]);
    await new Promise((resolve) => server.close(resolve));
  }
  close(user);
  await clients[1].call('ACL', 'DELUSER', 'nobody');
});

test('a limit for one route', async () => {
  const own = [{ name: 'search', rule: '2/1h', key: () => 'x' }];
  for (const client of clients) {
    await flushAll();
    const app = express();
    app.get('/search', expressRateLimit(client, own, usual), (_, response) => void response.send('found'));
    app.get('/', (_, response) => void response.send('fine'));
    const server = app.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const other = fastify();
    other.get('/search', { ...fastifyRouteLimit(client, own, usual) }, async () => 'found');
    other.get('/', async () => 'fine');
    await other.listen({ port: 0, host: '127.0.0.1' });
    for (const port of [server.address().port, other.server.address().port]) {
      await flushAll();
      const statuses = [];
      for (const path of ['/search', '/', '/search', '/search', '/']) statuses.push((await get(port, path)).status);
      assert.deepEqual(statuses, [200, 200, 200, 429, 200]);
      assert.equal((await get(port, '/')).fields.get('ratelimit'), null);
    }
    await new Promise((resolve) => server.close(resolve));
    await other.close();
  }
});

onEach('in a cluster, rules with different keys count for all or for none', {}, async (port) => {
  assert.deepEqual((await get(port, '/costly', 'ann')).status, 200);
  const denied = await get(port, '/costly', 'ann');
  assert.equal(denied.status, 429);
  assert.deepEqual(JSON.parse(denied.body)['violated-policies'], ['user']);
  // The first rule got its two units back.
  const other = await get(port, '/', 'bob');
  assert.match(other.fields.get('ratelimit'), /^"all";r=3;t=\d+, "user";r=2;t=\d+$/);
}, async () => {
  const clusters = [await nodeRedisCluster(), await ioredisCluster()];
  opened.push(...clusters);
  return clusters;
});

test('rules with the same key are asked in one call, and share a key that writer may use', async () => {
  const client = await nodeRedisCluster();
  const policies = new Policies(client, [{ name: 'burst', rule: '5/1s' }, { name: 'daily', rule: '100/1d' }], usual);
  const { known } = await policies.asked({ ip: '192.0.2.1' }, '/');
  assert.deepEqual(known.map(({ name }) => name), ['burst+daily:192.0.2.1', 'burst+daily:192.0.2.1']);
  const { fields, counted } = await policies.decide({ ip: '192.0.2.1' }, '/');
  assert.deepEqual([fields.RateLimit, counted !== undefined], ['"burst";r=4;t=1, "daily";r=99;t=864', true]);
  assert.equal(await client.exists('limit:burst+daily:192.0.2.1'), 1);
  close(client);
});

onEach('a key may be async, and a number', { rules: [{ name: 'user', rule: '2/1h', key: async (request) => Number(request.headers['x-user']) }] }, async (port) => {
  const statuses = [];
  for (const user of ['1', '1', '1', '2']) statuses.push((await get(port, '/', user)).status);
  assert.deepEqual([statuses, await used('user:1', 2)], [[200, 200, 429, 200], 2]);
});

onEach('a key that is neither text nor a number is an error', { rules: [{ name: 'user', rule: '2/1h', key: (request) => ({ id: request.headers['x-user'] }) }], log: () => {} }, async (port) => {
  assert.equal((await get(port, '/', 'ann')).status, 500);
  assert.deepEqual(await clients[1].keys('limit:*'), []);
});

onEach('errors of handlers have the fields', {}, async (port) => {
  const { status, fields } = await get(port, '/broken', 'ann');
  assert.deepEqual([status, fields.get('ratelimit-policy')], [500, '"all";q=6;w=3600, "user";q=3;w=3600']);
  assert.match(fields.get('ratelimit'), /"user";r=2/);
});

test('two limits on a route take from both or from none, and the fields tell both', async () => {
  const outer = [{ name: 'outer', rule: '5/1h', key: () => 'x' }];
  const inner = [{ name: 'inner', rule: '2/1h', key: () => 'x' }];
  for (const client of clients) {
    const inExpress = express();
    // Mounted, with a limit of the application before it.
    const mounted = express.Router().get('/', expressRateLimit(client, inner, usual), (_, response) => void response.send('fine'));
    inExpress.use(expressRateLimit(client, outer, usual)).use('/mounted', mounted);
    const server = inExpress.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const inFastify = fastify();
    await inFastify.register(fastifyRateLimit, { client, rules: outer, ...usual });
    inFastify.get('/mounted', { ...fastifyRouteLimit(client, inner, usual) }, async () => 'fine');
    await inFastify.listen({ port: 0, host: '127.0.0.1' });
    for (const port of [server.address().port, inFastify.server.address().port]) {
      await flushAll();
      const answers = [];
      for (let at = 0; at < 4; at++) answers.push(await get(port, '/mounted'));
      assert.deepEqual(answers.map(({ status }) => status), [200, 200, 429, 429]);
      assert.equal(answers[0].fields.get('ratelimit-policy'), '"outer";q=5;w=3600, "inner";q=2;w=3600');
      assert.match(answers[0].fields.get('ratelimit'), /^"outer";r=4;t=\d+, "inner";r=1;t=\d+$/);
      assert.ok(answers[2].fields.get('retry-after') > 0);
      assert.deepEqual([await used('outer:x', 5), await used('inner:x', 2)], [2, 2]);
    }
    await new Promise((resolve) => server.close(resolve));
    await inFastify.close();
  }
});

test('what is counted of an address', () => {
  const cases = {
    '192.0.2.7': '192.0.2.7', '::ffff:192.0.2.7': '192.0.2.7', '::FFFF:c000:207': '192.0.2.7', '0:0:0:0:0:ffff:c000:0207': '192.0.2.7',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64', '2001:DB8:1:2::9': '2001:db8:1:2::/64', '2001:db8::9': '2001:db8:0:0::/64',
    '::1': '0:0:0:0::/64', 'fe80::1%eth0': 'fe80:0:0:0::/64', '64:ff9b::192.0.2.7': '64:ff9b:0:0::/64',
  };
  for (const [address, expected] of Object.entries(cases)) assert.equal(addressKey(address), expected, address);
  assert.deepEqual([addressKey(undefined), addressKey('unix')], [undefined, 'unix']);
});

onEach('a client with a /64 has one counter', { rules: [{ name: 'address', rule: '2/1h' }], trustedProxies: 1 }, async (port) => {
  const statuses = [];
  for (const address of ['2001:db8::1', '2001:db8::2', '2001:db8::ffff:3', '2001:db8:0:1::1']) {
    statuses.push((await fetch(`http://127.0.0.1:${port}/`, { headers: { 'x-forwarded-for': address, connection: 'close' } })).status);
  }
  assert.deepEqual(statuses, [200, 200, 429, 200]);
});

test('addresses behind proxies', () => {
  const cases = [
    [0, '10.0.0.1', '192.0.2.7', '10.0.0.1'], [1, '10.0.0.1', '192.0.2.7', '192.0.2.7'], [1, '10.0.0.1', '203.0.113.9, 192.0.2.7', '192.0.2.7'],
    [2, '10.0.0.1', '203.0.113.9, 192.0.2.7', '203.0.113.9'], [9, '10.0.0.1', '203.0.113.9, 192.0.2.7', '203.0.113.9'], [1, '10.0.0.1', undefined, '10.0.0.1'],
    [1, '10.0.0.1', 'unknown', '10.0.0.1'], [2, '10.0.0.1', 'x, 192.0.2.7', '192.0.2.7'], [1, '::ffff:10.0.0.1', '::ffff:192.0.2.7', '192.0.2.7'],
    [1, '10.0.0.1', '192.0.2.7:1234', '192.0.2.7'], [1, '10.0.0.1', '[2001:db8::7]:80', '2001:db8::7'],
    [['10.0.0.0/8'], '10.0.0.1', '203.0.113.9, 192.0.2.7, 10.9.9.9', '192.0.2.7'], [['10.0.0.0/8'], '192.0.2.1', '203.0.113.9', '192.0.2.1'],
    [['10.0.0.1', 'fd00::/8'], 'fd00::5', '192.0.2.7, 10.0.0.1', '192.0.2.7'], [['10.0.0.0/8'], '::ffff:10.0.0.1', '192.0.2.7', '192.0.2.7'],
  ];
  for (const [trusted, peer, forwarded, expected] of cases) {
    assert.equal(clientAddress(trusted)(peer, forwarded), expected, JSON.stringify([trusted, peer, forwarded]));
  }
});

onEach('the address behind a trusted proxy', { rules: [{ name: 'address', rule: '1/1h' }], trustedProxies: ['127.0.0.0/8'] }, async (port) => {
  const statuses = [];
  for (const address of ['192.0.2.1', '192.0.2.1', '192.0.2.2', '203.0.113.7, 192.0.2.2']) {
    statuses.push((await fetch(`http://127.0.0.1:${port}/`, { headers: { 'x-forwarded-for': address, connection: 'close' } })).status);
  }
  assert.deepEqual(statuses, [200, 429, 200, 429]);
});

test('the limiter of this process is the GCRA of the server, and is bounded', async () => {
  const start = 1_700_000_000_000;
  let now = start;
  const mine = new LocalLimiter(() => now);
  const theirs = new RateLimiter(clients[0], ['5/10s', '3/1s/4'], { algorithm: 'GCRA' });
  for (let step = 0; step < 200; step++) {
    now += [0, 10, 150, 400, 2500][step % 5];
    const cost = [1, 1, 2, 1, 6][step % 5];
    const own = mine.check(theirs.calls.rules.map((rule) => ['x', rule]), cost, 'GCRA');
    const server = await theirs.check('x', { cost, now });
    const shown = ({ allowed, limit, remaining, retryAfterMs, resetAfterMs, rule }) => ({ allowed, limit, remaining, retryAfterMs, resetAfterMs, rule });
    assert.deepEqual(own.rules.map(shown), server.rules.map(shown), `step ${step}`);
    assert.deepEqual(shown(own), shown(server), `step ${step}`);
  }
  for (let key = 0; key < 20_000; key++) mine.check([[`key${key}`, '1/1h']], 1, 'GCRA');
  assert.equal(mine.check([['key19999', '1/1h']], 1, 'GCRA').allowed, false);
  // One that was used least recently is forgotten.
  assert.equal(mine.check([['key5', '1/1h']], 1, 'GCRA').allowed, true);
});
