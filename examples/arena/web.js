// HTTP for one page: its files, its events and its actions, for browsers on this machine alone.

import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname } from 'node:path';

const TYPES = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.svg': 'image/svg+xml' };
const folder = new URL('public/', import.meta.url);
const files = new Map(readdirSync(folder).map((name) => [`/${name}`, { type: TYPES[extname(name)], body: readFileSync(new URL(name, folder)) }]));
files.set('/', files.get('/index.html'));

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};
const LONGEST_BODY = 200;

// The id is shown to everybody, the cookie to nobody: who knows the one cannot pretend to be the other.
function playerOf({ headers }) {
  const secret = /(?:^|; )arena=([0-9a-f]{32})(?:;|$)/.exec(headers.cookie ?? '')?.[1];
  return secret && `player:${createHash('sha256').update(secret).digest('hex').slice(0, 12)}`;
}

function isAllowed({ headers }) {
  // A name that somebody else's DNS points here is not ours, and other sites must not act for a player.
  const isHere = /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(headers.host ?? '');
  return isHere && ['same-origin', 'none', undefined].includes(headers['sec-fetch-site']);
}

function sendJson(response, status, body = {}) {
  response.writeHead(status, { ...HEADERS, 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function sendFile(request, response, { type, body }) {
  const cookie = `arena=${randomBytes(16).toString('hex')}; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000`;
  const headers = { ...HEADERS, 'content-type': `${type}; charset=utf-8` };
  response.writeHead(200, playerOf(request) ? headers : { ...headers, 'set-cookie': cookie }).end(body);
}

async function textOf(request) {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk;
    if (text.length > LONGEST_BODY) return null;
  }
  return text;
}

async function act(action, visit, request, response) {
  const text = await textOf(request);
  if (text === null) return sendJson(response, 413);
  const answer = await action({ ...visit, text }).catch(() => null);
  sendJson(response, answer ? 200 : 503, answer ?? {});
}

/**
 * `watch` gets every visit that wants events, `actions` are what visits may POST, by path; one that fails is answered
 * with 503. A visit is { player, tab }, and `watch` gets a function that sends an event, and one to call at the end.
 */
export function createWeb({ tabs, watch, actions }) {
  return createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://localhost');
    const visit = { player: playerOf(request), tab: searchParams.get('tab') ?? tabs[0] };
    const isGet = request.method === 'GET';
    if (!isAllowed(request) || !tabs.includes(visit.tab)) return sendJson(response, 403);
    if (isGet && files.has(pathname)) return sendFile(request, response, files.get(pathname));
    if (!visit.player) return sendJson(response, 403);
    if (isGet && pathname === '/events') {
      response.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream' }).write('retry: 500\n\n');
      // What a slow reader misses, the next event replaces.
      const send = (event) => response.writableNeedDrain || response.write(`data: ${JSON.stringify(event)}\n\n`);
      return watch({ ...visit, send }, (left) => response.on('close', left));
    }
    if (request.method === 'POST' && Object.hasOwn(actions, pathname)) {
      return act(actions[pathname], visit, request, response).catch(() => response.destroy());
    }
    sendJson(response, 404);
  });
}
