// The limiter's bucket as it refills. The server says when it will be full, and the rest is arithmetic.

export class Bucket {
  constructor({ meter, note }) {
    this.meter = meter;
    this.note = note;
    this.fullAt = 0;
    this.deniedUntil = 0;
    this.size = null;
  }

  set({ resetAfterMs }, size = this.size) {
    this.fullAt = performance.now() + resetAfterMs;
    if (this.size === null && size) {
      this.meter.append(...Array.from({ length: size.hits }, () => document.createElement('i')));
      this.meter.setAttribute('aria-valuemax', size.hits);
    }
    this.size = size;
  }

  /** A hit was refused: say so until the next one is there. */
  deny() {
    this.deniedUntil = performance.now() + this.untilNext();
    const shake = [0, -5, 4, -3, 0].map((x) => ({ transform: `translateX(${x}px)` }));
    if (!matchMedia('(prefers-reduced-motion: reduce)').matches) this.meter.animate(shake, 260);
  }

  level() {
    return Math.max(0, this.size.hits - Math.max(0, this.fullAt - performance.now()) / this.size.refillMs);
  }

  untilNext() {
    return (1 - (this.level() % 1)) * this.size.refillMs;
  }

  draw() {
    if (!this.size) return;
    const level = this.level();
    const hits = Math.floor(level + 1e-6);
    const isDenied = hits === 0 && performance.now() < this.deniedUntil;
    const wait = (this.untilNext() / 1000).toFixed(1);
    const text = hits > 0 ? `${hits} of ${this.size.hits} hits left` : `${isDenied ? 'Limit reached. ' : ''}Next hit in ${wait} s`;
    if (this.note.textContent !== text) this.note.textContent = text;
    this.meter.toggleAttribute('data-empty', hits === 0);
    this.note.toggleAttribute('data-denied', isDenied);
    if (this.meter.ariaValueNow !== String(hits)) this.meter.ariaValueNow = String(hits);
    [...this.meter.children].forEach((cell, index) => cell.style.setProperty('--full', Math.min(1, Math.max(0, level - index)).toFixed(3)));
  }
}
