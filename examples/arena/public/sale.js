// The flash sale: a countdown, then a rush, then who got one.

const clockTime = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const number = new Intl.NumberFormat('en');
const REFUSAL_MS = 2000;

export class SaleStrip {
  constructor(parts, say) {
    Object.assign(this, parts, { say });
    this.sale = null;
    this.refusal = '';
  }

  set(sale, me, now) {
    this.sale = sale;
    this.ahead = now - Date.now();
    this.isMine = sale.winners.some(({ id }) => id === me);
    const state = sale.left > 0 ? 'open' : sale.winners.length > 0 ? 'sold' : 'closed';
    if (this.stock.childElementCount !== sale.items) {
      this.stock.replaceChildren(...Array.from({ length: sale.items }, () => document.createElement('li')));
    }
    [...this.stock.children].forEach((item, index) => {
      item.className = index >= sale.items - sale.left ? 'left' : sale.winners[index]?.id === me ? 'mine' : '';
    });
    if (state !== this.strip.dataset.state) {
      this.strip.dataset.state = state;
      this.refusal = '';
      if (state === 'open') this.say('The sale is open.');
    }
    this.write();
    this.draw();
  }

  answer(bought) {
    const why = { closed: 'Not open yet.', open: 'One per player.', sold: 'Sold out.' }[this.strip.dataset.state];
    this.refusal = bought ? '' : why;
    this.say(bought ? 'You got a boost.' : why);
    this.write();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.refusal = '';
      this.write();
    }, REFUSAL_MS);
  }

  write() {
    const { left, items, boost, winners, next } = this.sale;
    const state = this.strip.dataset.state;
    const reward = `${number.format(boost)} points`;
    const first = winners.slice(0, 2).map(({ name }) => name).join(', ');
    const texts = {
      closed: `${items} boosts of ${reward}${next ? `, at ${clockTime.format(next)}` : ''}.`,
      open: this.isMine ? `You got ${reward}. ${left} left.` : `${left} of ${items} left. One per player.`,
      sold: `Sold out. ${this.isMine ? `You got ${reward}` : `First: ${first}`}.`,
    };
    this.title.textContent = { closed: 'Flash sale in', open: 'Flash sale', sold: 'Next sale in' }[state];
    this.text.textContent = this.refusal || texts[state];
    this.button.setAttribute('aria-disabled', String(state !== 'open' || this.isMine));
    this.button.textContent = this.isMine && state !== 'closed' ? 'Bought' : state === 'sold' ? 'Sold out' : 'Buy a boost';
  }

  draw() {
    if (!this.sale) return;
    const seconds = Math.max(0, Math.ceil(((this.sale.next ?? 0) - Date.now() - this.ahead) / 1000));
    const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
    const shown = this.strip.dataset.state === 'open' ? 'Open' : time;
    if (this.clock.textContent !== shown) this.clock.textContent = shown;
  }
}
