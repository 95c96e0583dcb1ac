// The page and its events, on 127.0.0.1 alone unless WEB_HOST says otherwise, as a container must.
//
//   node server.js
//
// REDIS_URL is the server with the module, WEB_PORT the port of the page, SALE_SECONDS the time between two sales.

import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { createClient } from 'redis';

import { Arena, HITS, REFILL_MS, TABS } from './arena.js';
import { play, shop } from './bots.js';
import { Sale } from './sale.js';

const ROUND_MS = 500;
const { REDIS_URL = 'redis://127.0.0.1:6379', WEB_PORT = '8080', WEB_HOST = '127.0.0.1', SALE_SECONDS = '30', SALE_ITEMS = '8' } = process.env;

// Without a queue a call fails at once while the server is away, and the page can say so.
const client = createClient({ url: REDIS_URL, disableOfflineQueue: true, socket: { reconnectStrategy: () => 250 } });
const waiting = client.duplicate();
for (const connection of [client, waiting]) connection.on('error', () => {});

const arena = new Arena(client);
const sale = new Sale(arena, waiting, { every: Number(SALE_SECONDS) * 1000, items: Number(SALE_ITEMS) });

// --- who is looking -----------------------------------------------------------------------------------

const viewers = new Set();
let saleView = null;
let problem = 'connecting';

// The id is shown to everybody, the cookie to nobody: who knows the one cannot pretend to be the other.
function playerOf(request) {
  const secret = /(?:^|; )arena=([0-9a-f]{32})(?:;|$)/.exec(request.headers.cookie ?? '')?.[1];
  return secret && `player:${createHash('sha256').update(secret).digest('hex').slice(0, 12)}`;
}

const emit = ({ response }, event) => response.writableNeedDrain || response.write(`data: ${JSON.stringify(event)}\n\n`);

async function show(viewer) {
  const { player, tab } = viewer;
  let view = await arena.view(player, tab);
  // New here, or a new day has begun, or the data is gone.
  if (view.around.length === 0) {
    await arena.enter(player, `Guest ${player.slice(-4)}`);
    view = await arena.view(player, tab);
  }
  emit(viewer, { online: true, me: player, tab, now: Date.now(), bucket: { hits: HITS, refillMs: REFILL_MS }, ...view, sale: saleView });
}

async function showAll() {
  saleView = await sale.view();
  await Promise.all([...viewers].map(show));
}

async function showTo(player) {
  saleView = await sale.view();
  await Promise.all([...viewers].filter((viewer) => viewer.player === player).map(show));
}

// --- what goes on by itself ---------------------------------------------------------------------------

/** Repeats a step for ever. While the server is away, the page is told, and the step is tried again. */
async function forever(step, pause) {
  for (;;) {
    try {
      await step();
      await sleep(pause);
    } catch (error) {
      report(error);
      await sleep(250);
    }
  }
}

function report(error) {
  if (problem !== error.message && client.isReady) console.error(`redis: ${error.message}`);
  problem = error.message;
  for (const viewer of viewers) emit(viewer, { online: false });
}

async function round() {
  await play({ board: arena.board, write: (...calls) => arena.write(...calls) });
  await showAll();
  problem = null;
}

async function openSales() {
  if (!(await sale.wait())) return;
  await showAll();
  shop(sale).catch(report);
}

// --- HTTP ---------------------------------------------------------------------------------------------

const TYPES = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.svg': 'image/svg+xml' };
const folder = new URL('public/', import.meta.url);
const files = new Map(readdirSync(folder).map((name) => [`/${name}`, { type: TYPES[extname(name)], body: readFileSync(new URL(name, folder)) }]));
files.set('/', files.get('/index.html'));

const HEADERS = {
  'content-security-policy': "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};

const LONGEST_BODY = 200;

async function textOf(request) {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) {
    body += chunk;
    if (body.length > LONGEST_BODY) throw new RangeError('the body is too long');
  }
  return body;
}

const ACTIONS = {
  '/score': ({ player, tab }) => arena.score(player, tab),
  '/buy': async ({ player }) => ({ bought: await sale.buy(player) }),
  '/name': async ({ player, request }) => {
    const name = (await textOf(request)).replace(/[\p{C}\s]+/gu, ' ').trim().slice(0, 20);
    if (name) await arena.rename(player, name);
    return { name };
  },
};

function reply(response, status, body = {}) {
  response.writeHead(status, { ...HEADERS, 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function page(request, response, { type, body }) {
  const cookie = playerOf(request) ? {} : { 'set-cookie': `arena=${randomBytes(16).toString('hex')}; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000` };
  response.writeHead(200, { ...HEADERS, ...cookie, 'content-type': `${type}; charset=utf-8` }).end(body);
}

async function events(viewer) {
  const { response } = viewer;
  response.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream' });
  response.write('retry: 500\n\n');
  viewers.add(viewer);
  response.on('close', () => viewers.delete(viewer));
  await show(viewer);
}

async function act(action, viewer) {
  const { player, response } = viewer;
  try {
    reply(response, 200, await action(viewer));
    await showTo(player);
  } catch (error) {
    if (error instanceof RangeError) return reply(response, 413);
    report(error);
    if (!response.headersSent) reply(response, 503);
  }
}

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  const tab = searchParams.get('tab') ?? 'day';
  const viewer = { player: playerOf(request), tab, request, response };
  const isHere = /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(request.headers.host ?? '');
  // Other sites cannot act for a player, nor read what the player sees.
  const isOwn = ['same-origin', 'none', undefined].includes(request.headers['sec-fetch-site']);
  if (!isHere || !isOwn || !Object.hasOwn(TABS, tab)) return reply(response, 403);
  if (request.method === 'GET' && files.has(pathname)) return page(request, response, files.get(pathname));
  if (!viewer.player) return reply(response, 403);
  if (request.method === 'GET' && pathname === '/events') return void events(viewer).catch(report);
  if (request.method === 'POST' && Object.hasOwn(ACTIONS, pathname)) return void act(ACTIONS[pathname], viewer);
  reply(response, 404);
});

server.listen(Number(WEB_PORT), WEB_HOST, () => {
  console.log(`The arena is open: http://127.0.0.1:${server.address().port}`);
});
client.connect().catch(report);
waiting.connect().catch(report);
forever(round, ROUND_MS);
forever(openSales, 0);
