// A table whose rows glide to their new places.

const number = new Intl.NumberFormat('en');
const calm = matchMedia('(prefers-reduced-motion: reduce)');
const GLIDE = { duration: 380, easing: 'cubic-bezier(.2, .7, .2, 1)' };
const SHOWN_MS = 2500;

/** Any text to one of 360 colours. */
const hue = (text) => [...text].reduce((sum, character) => (sum * 31 + character.codePointAt(0)) % 360, 7);

export class Rows {
  constructor(table) {
    this.body = table.tBodies[0];
    this.rows = new Map();
  }

  /** The next rows are those of another board: nothing has moved. */
  forget() {
    this.rows.clear();
    this.body.replaceChildren();
  }

  show(entries, me) {
    const before = new Map([...this.rows].map(([id, row]) => [id, row.element.offsetParent ? row.element.getBoundingClientRect().top : null]));
    const kept = new Map(entries.map((entry) => [entry.id, this.rows.get(entry.id) ?? make(entry.id)]));
    for (const entry of entries) kept.get(entry.id).set(entry, entry.id === me);
    this.rows = kept;
    this.body.replaceChildren(...[...kept.values()].map(({ element }) => element));
    if (calm.matches || before.size === 0) return;
    for (const [id, { element }] of kept) {
      const from = before.get(id) ?? null;
      const dy = from === null ? 0 : from - element.getBoundingClientRect().top;
      if (from === null) element.animate([{ opacity: 0 }, { opacity: 1 }], GLIDE);
      else if (dy) element.animate([{ transform: `translateY(${dy}px)` }, { transform: 'none' }], GLIDE);
    }
  }
}

function make(id) {
  const element = document.createElement('tr');
  const [rank, player, points] = ['rank', 'player', 'points'].map((name) => {
    const cell = element.insertCell();
    cell.className = name;
    return cell;
  });
  const [place, moved, face, name] = ['span', 'span', 'i', 'span'].map((tag) => document.createElement(tag));
  moved.className = 'moved';
  moved.ariaHidden = 'true';
  face.style.setProperty('--hue', hue(id));
  rank.append(place, moved);
  player.append(face, name);
  let last = null;
  let timer;

  function set(entry, isMe) {
    element.classList.toggle('me', isMe);
    place.textContent = number.format(entry.rank);
    name.textContent = entry.name;
    points.textContent = number.format(entry.score);
    const climbed = last === null ? 0 : last - entry.rank;
    last = entry.rank;
    if (climbed === 0) return;
    moved.textContent = climbed > 0 ? `▲${climbed}` : `▼${-climbed}`;
    element.dataset.moved = climbed > 0 ? 'up' : 'down';
    clearTimeout(timer);
    timer = setTimeout(() => {
      delete element.dataset.moved;
      moved.textContent = '';
    }, SHOWN_MS);
  }

  return { element, set };
}
