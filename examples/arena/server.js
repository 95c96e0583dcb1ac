// The arena: what goes on by itself, and who is looking.
//
//   node server.js
//
// REDIS_URL is the server with the module, WEB_PORT the port of the page, WEB_HOST the address that it listens on,
// SALE_SECONDS the time between two sales, and SALE_ITEMS how many are sold.

import { setTimeout as sleep } from 'node:timers/promises';

import { ClientOfflineError, createClient } from 'redis';
import { ModuleNotLoaded } from 'redis-rank-client';

import { Arena, HITS, REFILL_MS, TABS } from './arena.js';
import { play, shop } from './bots.js';
import { Sale } from './sale.js';
import { createWeb } from './web.js';

const { REDIS_URL = 'redis://127.0.0.1:6379', WEB_PORT = '8080', WEB_HOST = '127.0.0.1', SALE_SECONDS = '30', SALE_ITEMS = '8' } = process.env;
const ROUND_MS = 500;
const RETRY_MS = 250;

// Without a queue, calls fail at once while the server is away, and the page can say so.
const client = createClient({ url: REDIS_URL, disableOfflineQueue: true, socket: { reconnectStrategy: () => RETRY_MS } });

const arena = new Arena(client);
const sale = new Sale(arena, { every: Number(SALE_SECONDS) * 1000, items: Number(SALE_ITEMS) });

// --- who is looking -----------------------------------------------------------------------------------

const viewers = new Set();
let saleView = null;

async function show({ player, tab, send }) {
  let view = await arena.view(player, tab);
  // New here, or a new day has begun, or the data is gone.
  if (view.around.length === 0) {
    await arena.enter(player, `Guest ${player.slice(-4)}`);
    view = await arena.view(player, tab);
  }
  const bucket = { hits: HITS, refillMs: REFILL_MS };
  send({ online: true, me: player, tab, now: Date.now(), bucket, ...view, sale: saleView });
}

async function showTo(isMeant) {
  saleView = await sale.view();
  await Promise.all([...viewers].filter(isMeant).map(show));
}

const showAll = () => showTo(() => true);

// --- what goes on by itself ---------------------------------------------------------------------------

const problems = new Set();

function report(error) {
  if (error instanceof ModuleNotLoaded) {
    console.error(`${REDIS_URL} has not loaded the module redis-rank`);
    process.exit(1);
  }
  for (const { send } of viewers) send({ online: false });
  const problem = error.message || error.code;
  if (error instanceof ClientOfflineError || problems.has(problem)) return;
  problems.add(problem);
  console.error(`redis: ${problem}`);
}

/** Repeats a step for ever. While the server is away, the page is told, and the step is tried again. */
async function forever(step, pause) {
  for (;;) {
    try {
      await step();
      await sleep(pause);
    } catch (error) {
      report(error);
      await sleep(RETRY_MS);
    }
  }
}

async function round() {
  await play(arena);
  await showAll();
  problems.clear();
}

async function openSales() {
  if (!(await sale.wait())) return;
  await showAll();
  shop(sale).catch(report);
}

// --- what people do -----------------------------------------------------------------------------------

/** An action whose effect its player sees at once. */
const seen = (act) => async (visit) => {
  try {
    return await act(visit);
  } catch (error) {
    report(error);
    throw error;
  } finally {
    showTo(({ player }) => player === visit.player).catch(report);
  }
};

const web = createWeb({
  tabs: Object.keys(TABS),
  watch(viewer, onLeave) {
    viewers.add(viewer);
    onLeave(() => viewers.delete(viewer));
    show(viewer).catch(report);
  },
  actions: {
    '/score': seen(({ player, tab }) => arena.score(player, tab)),
    '/buy': seen(async ({ player }) => ({ bought: await sale.buy(player) })),
    '/name': seen(async ({ player, text }) => {
      const name = [...text.replace(/[\p{C}\s]+/gu, ' ').trim()].slice(0, 20).join('');
      if (name) await arena.rename(player, name);
      return { name };
    }),
  },
});

web.listen(Number(WEB_PORT), WEB_HOST, () => console.log(`The arena is open: http://127.0.0.1:${web.address().port}`));
client.on('error', report).connect().catch(report);
forever(round, ROUND_MS);
forever(openSales, 0);
