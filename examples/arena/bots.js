// A thousand bots, so that something moves.

import { setTimeout as sleep } from 'node:timers/promises';

const FIRST = ('Amber Azure Bold Brave Bright Brisk Calm Clever Coral Cosmic Crimson Daring Dusty Eager Fleet Frosty Gentle ' +
  'Golden Happy Hazel Indigo Ivory Jolly Keen Lucky Lunar Merry Mighty Misty Noble Polar Quick Quiet Royal Rusty Silver ' +
  'Solar Swift Velvet Witty').split(' ');
const SECOND = ('Badger Bear Beaver Crane Deer Eagle Falcon Finch Fox Gecko Hare Heron Ibex Jay Koala Lark Lynx Marten Moth ' +
  'Otter Owl Panda Raven Seal Wolf').split(' ');

const MINUTE = 60_000;
const HITS_A_ROUND = 50;

const upTo = (n) => Math.floor(Math.random() * n);

export const BOTS = FIRST.flatMap((first) => SECOND.map((second) => `${first} ${second}`)).map((name, number) => ({
  id: `bot:${number + 1}`,
  name,
  pace: (0.2 + Math.random() * 0.4) * MINUTE,
  phase: Math.random() * 2 * Math.PI,
}));

// A bot's form comes and goes. So nobody stays ahead for good, however long the arena is open.
const form = (bot, now) => ((1 + Math.sin(now / bot.pace + bot.phase)) / 2) ** 2;

function inForm(now) {
  for (;;) {
    const bot = BOTS[upTo(BOTS.length)];
    if (Math.random() < form(bot, now)) return bot;
  }
}

/** Some bots score. Where they are missing, all of them get a history first. */
export async function play(arena) {
  const { board } = arena;
  const [members] = await arena.write(board.calls.count());
  if (members < BOTS.length) await seed(arena);
  const now = Date.now();
  const hits = Array.from({ length: HITS_A_ROUND }, () => board.calls.incr(inForm(now).id, 10 + upTo(140)));
  await arena.write(...hits);
}

// A write AT a past time goes to the periods of that time, and to the board of all time.
async function seed(arena) {
  const { board } = arena;
  const [week] = await board.periods('week');
  const longAgo = Date.UTC(2025, 0, 1);
  await arena.write(...BOTS.map(({ id, name }) => board.calls.add(id, upTo(10_000), { at: longAgo, data: { name } })));
  await arena.write(...BOTS.map(({ id }) => board.calls.incr(id, upTo(10_000), { at: week.start })));
  await arena.write(...BOTS.map(({ id }) => board.calls.incr(id, upTo(20_000))));
}

/** Bots buy too, after a start for the people. */
export async function shop(sale) {
  do await sleep(700 + upTo(900));
  while (await sale.buy(BOTS[upTo(BOTS.length)].id));
}
