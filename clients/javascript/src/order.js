// How the rows of a board compare, which its declaration tells.

import { wordsOf } from './call.js';

export const byName = (a, b) => Buffer.compare(Buffer.from(a.member), Buffer.from(b.member));

/** How rows compare, best first: fields, then the tie time, then the name. */
export class Order {
  constructor({ fields = [], order = 'DESC', ties = 'SHARED' }) {
    // A field may be called asc.
    const words = fields.length ? fields.map((field) => wordsOf(field.toUpperCase()).slice(1)) : [[order.toUpperCase()]];
    this.signs = words.map((field) => (field.includes('ASC') ? 1 : -1));
    const [rule, unit] = wordsOf(ties.toUpperCase());
    this.unit = unit === 'S' ? 1000 : 1;
    this.time = rule === 'SHARED' ? 0 : rule === 'LAST' ? -1 : 1;
    this.kind = rule === 'SHARED' ? 'COMPETITION' : 'ORDINAL';
  }

  byFields(a, b) {
    for (const [at, sign] of this.signs.entries()) {
      // Not by !==, of which 5 and 5n are two.
      if (a.scores[at] < b.scores[at]) return -sign;
      if (a.scores[at] > b.scores[at]) return sign;
    }
    return 0;
  }

  /** Whether the scores of a change are better than before, or are the first ones. */
  isBetter(scores, previous) {
    return scores !== null && (previous === null || this.byFields({ scores }, { scores: previous }) < 0);
  }

  /** A row and a place: what the place leaves out is equal. Without a time, its name counts on SHARED boards alone. */
  compareToPlace(row, { scores, time, member }) {
    const byFields = this.byFields(row, { scores });
    if (byFields !== 0 || (time === undefined && this.time !== 0)) return byFields;
    const byTime = this.time === 0 ? 0 : this.time * (row.time - Math.floor(time / this.unit) * this.unit);
    return byTime || (member === undefined ? 0 : this.signs[0] * byName(row, { member }));
  }

  compare(a, b) {
    const byTime = this.time === 0 ? 0 : this.time * (a.time - b.time);
    return this.byFields(a, b) || byTime || this.signs[0] * byName(a, b);
  }
}
