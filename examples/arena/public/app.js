// What the server says is shown, and what the player does is sent.

import { Bucket } from './bucket.js';
import { Rows } from './rows.js';
import { SaleStrip } from './sale.js';
import { tabs } from './tabs.js';

const $ = (id) => document.getElementById(id);
const number = new Intl.NumberFormat('en');

const top = new Rows($('top'));
const around = new Rows($('around'));
const bucket = new Bucket({ meter: $('meter'), note: $('hit-note') });
const sale = new SaleStrip(
  { strip: $('sale'), title: $('sale-title'), clock: $('clock'), text: $('sale-text'), stock: $('stock'), button: $('buy') },
  say,
);

let tab = 'day';
let source;

/** For those who cannot see it happen. Only what matters is said. */
function say(text) {
  if ($('message').textContent !== text) $('message').textContent = text;
}

// --- from the server ------------------------------------------------------------------------------------

function listen() {
  source?.close();
  source = new EventSource(`/events?tab=${tab}`);
  source.onmessage = ({ data }) => show(JSON.parse(data));
  source.onerror = () => online(false);
}

function online(yes) {
  if (document.body.dataset.online === String(yes)) return;
  document.body.dataset.online = yes;
  $('status').textContent = yes ? 'Live' : 'Reconnecting…';
  say(yes ? 'Connected.' : 'Connection lost. Reconnecting.');
}

function show(event) {
  online(event.online);
  if (!event.online || event.tab !== tab) return;
  $('members').textContent = number.format(event.members);
  top.show(event.top, event.me);
  around.show(event.around, event.me);
  bucket.set(event.limit, event.bucket);
  if (event.sale) sale.set(event.sale, event.me, event.now);
  const mine = event.around.find(({ id }) => id === event.me);
  if (mine) place(mine, event.members);
}

function place({ rank: now, name }, members) {
  $('rank').textContent = `#${number.format(now)}`;
  document.title = `#${number.format(now)} · Arena`;
  $('place-note').textContent = now === 1 ? 'You are in the lead.' : `ahead of ${number.format(members - now)}`;
  $('marker').style.setProperty('--at', (members - now) / Math.max(1, members - 1));
  if (document.activeElement !== $('name')) $('name').value = name;
}

// --- to the server --------------------------------------------------------------------------------------

async function post(path, body) {
  try {
    const response = await fetch(`${path}?tab=${tab}`, { method: 'POST', body });
    if (response.ok) return await response.json();
  } catch {
    // Said below: the page is the same whether the network, the application or the server is away.
  }
  online(false);
  return null;
}

$('score').addEventListener('click', async () => {
  const answer = await post('/score');
  if (!answer) return;
  bucket.set(answer.limit);
  if (answer.limit.limited) {
    bucket.deny();
    say(`Out of hits. Wait ${Math.ceil(answer.limit.retryAfterMs / 1000)} seconds.`);
  } else {
    say(`${answer.points} points. Rank ${answer.rank}, was ${answer.previousRank}.`);
  }
});

$('buy').addEventListener('click', async () => {
  const answer = await post('/buy');
  if (answer) sale.answer(answer.bought);
});

// Enter fires `change` too.
$('name-form').addEventListener('submit', (event) => event.preventDefault());
$('name').addEventListener('change', () => post('/name', $('name').value));

tabs(document.querySelector('[role=tablist]'), (chosen) => {
  tab = chosen.dataset.tab;
  $('panel').setAttribute('aria-labelledby', chosen.id);
  for (const span of document.querySelectorAll('[data-period]')) span.textContent = tab === 'all' ? '' : `PERIOD ${tab}`;
  top.forget();
  around.forget();
  listen();
});

listen();
(function draw() {
  bucket.draw();
  sale.draw();
  requestAnimationFrame(draw);
})();
