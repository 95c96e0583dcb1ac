// The commands of redis-rank as a module of node-redis: client.rank.add(…), client.rate.check(…).
// Only those that the example needs; the others are written the same way.

// Arguments are sent as strings. The first argument of every command is the key.
const command = (name, args, transformReply) => ({
  parseCommand(parser, key, ...rest) {
    parser.push(name);
    parser.pushKey(key);
    parser.push(...args(...rest).map(String));
  },
  transformReply,
});

const unchanged = (reply) => reply;

export const rank = {
  create: command('RANK.CREATE', (...schema) => schema, unchanged),

  add: command('RANK.ADD', (score, member) => ['WITHRANK', score, member], ([change]) => {
    const [rank, previousRank, member, score] = change;
    return { rank, previousRank, member, score };
  }),

  // The board needs a hash for attributes: create it with DATA.
  setData: command('RANK.SETDATA', (member, data) => [member, ...Object.entries(data).flat()], unchanged),

  top: command('RANK.TOPN', (count) => [count, 'WITHDATA'], (rows) =>
    rows.map(([rank, member, score, data]) => ({ rank, member, score, data }))),

  around: command('RANK.AROUND', (member, distance) => [member, distance], (rows) =>
    rows.map(([rank, member, score]) => ({ rank, member, score }))),

  among: command('RANK.AMONG', (members) => [members.length, ...members], (rows) =>
    rows.map(([place, rank, member, score]) => ({ place, rank, member, score }))),

  percentile: command('RANK.PERCENTILE', (member) => [member], unchanged),
};

export const rate = {
  check: command('RATE.CHECK', (rule) => [rule], ([limited, limit, remaining, retryAfterMs]) => ({
    limited: limited === 1,
    limit,
    remaining,
    retryAfterMs,
  })),

  reset: command('RATE.RESET', () => [], unchanged),
};
