// Rate limits for HTTP: Express and Fastify.
//
// All rules are asked at once: a request counts for all of them, or for none. A denied one gets 429 with Retry-After;
// every response has the fields RateLimit-Policy and RateLimit of the IETF draft.

import { BlockList, isIP } from 'node:net';

import { milliseconds, noMore } from './call.js';
import { isOutage } from './errors.js';
import { FAILING, LocalLimiter, fallback, tightest } from './limiter.js';
import { LimiterCalls, parseRule } from './rate.js';
import { run, senderOf, within } from './run.js';

const PROBLEM = 'https://iana.org/assignments/http-problem-types#quota-exceeded';

const seconds = (time) => Math.ceil(time / 1000);
// A string of RFC 9651.
const quoted = (name) => `"${name.replace(/["\\]/g, '\\$&')}"`;

export function policy({ name, rule, key: _key, ...rest }, algorithm) {
  noMore(rest);
  if (typeof name !== 'string' || !/^[ -~]+$/.test(name)) throw new TypeError(`the name of a rule is printable ASCII, got ${name}`);
  const { limit, window, calendar } = parseRule(rule, algorithm);
  // A month has no fixed length.
  const length = calendar === 'month' || calendar === 'year' ? '' : `;w=${seconds(window)}`;
  return `${quoted(name)};q=${limit}${length}`;
}

// --- paths and addresses --------------------------------------------------------------------------------

/** As routers compare by default: whether in capitals, encoded or with a slash at the end, it is the same path. */
function matches(pattern, path) {
  const source = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&')).join('.*');
  return new RegExp(`^${source}/?$`, 'is').test(decoded(path));
}

function decoded(path) {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

/** An address without its port; IPv4 in IPv6 is IPv4. */
function plainAddress(text) {
  const host = /^\[(.*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  const address = host.replace(/^::ffff:(?=[\d.]+$)/i, '');
  return isIP(address) ? address : null;
}

function isAmong(networks) {
  const list = new BlockList();
  for (const network of networks) {
    const [address, length, ...more] = network.split('/');
    const version = isIP(address);
    if (!version || more.length) throw new TypeError(`trustedProxies takes addresses or networks such as 10.0.0.0/8, got ${network}`);
    list.addSubnet(address, Number(length ?? (version === 4 ? 32 : 128)), `ipv${version}`);
  }
  return (address) => list.check(address, `ipv${isIP(address)}`);
}

/** Finds the client behind proxies: each of them has added the address of its peer at the end of X-Forwarded-For. */
export function clientAddress(trusted) {
  const isHops = Number.isInteger(trusted) && trusted >= 0;
  if (!isHops && !Array.isArray(trusted)) throw new TypeError(`trustedProxies takes a number or a list of networks, got ${trusted}`);
  const isProxy = isHops ? (_, hops) => hops < trusted : isAmong(trusted);
  return (peer, forwarded = '') => {
    const hops = String(forwarded).split(',').map((text) => plainAddress(text.trim()));
    let address = plainAddress(peer ?? '') ?? peer;
    for (let count = 0; hops.length > 0 && address && isProxy(address, count); count++) {
      const next = hops.pop();
      // Somebody has written what is no address: the last one that is known counts.
      if (next === null) break;
      address = next;
    }
    return address;
  };
}

// --- what both frameworks share -------------------------------------------------------------------------

/** Which calls to make, and what the answers mean. */
export class Policies {
  #local = new LocalLimiter();

  constructor(client, rules, options = {}) {
    const {
      algorithm = 'GCRA', offset, cost = {}, failing = 'open', timeout = 500, refund = (status) => status >= 500, prefix = 'limit:',
      trustedProxies, log = console.error, ...rest
    } = options;
    noMore(rest);
    if (!FAILING.includes(failing)) throw new TypeError(`failing takes ${FAILING.join(', ')}, got ${failing}`);
    if (!Array.isArray(rules) || rules.length === 0) throw new TypeError('expected a list of rules');
    Object.assign(this, { client, rules, cost, failing, algorithm, isRefunded: refund, log, errors: 0 });
    this.timeout = milliseconds(timeout);
    this.policies = new Map(rules.map((rule) => [rule, policy(rule, algorithm)]));
    if (new Set(rules.map(({ name }) => name)).size < rules.length) throw new TypeError('two rules have the same name');
    this.limits = { algorithm, offset, prefix };
    this.calls = new LimiterCalls([], this.limits);
    this.isCluster = senderOf(client).isCluster;
    this.addressOf = trustedProxies === undefined ? null : clientAddress(trustedProxies);
  }

  /** The client's address: as the framework has it, or as `trustedProxies` says. */
  address(request) {
    return this.addressOf ? this.addressOf(request.socket.remoteAddress, request.headers['x-forwarded-for']) : request.ip;
  }

  costOf(request, path) {
    if (typeof this.cost === 'function') return this.cost(request);
    return Object.entries(this.cost).find(([pattern]) => matches(pattern, path))?.[1] ?? 1;
  }

  /** The rules that apply to a request, and its keys. Rules that ask the same of a request share a key. */
  asked(request, path) {
    const groups = new Map();
    for (const rule of this.rules) groups.set(rule.key, [...(groups.get(rule.key) ?? []), rule]);
    const known = [];
    for (const [keyOf, rules] of groups) {
      const key = keyOf ? keyOf(request) : this.address(request);
      if (key === undefined || key === null) continue;
      const name = `${rules.map((rule) => rule.name).join('+')}:${key}`;
      known.push(...rules.map((rule) => ({ rule, name })));
    }
    return { known, cost: this.costOf(request, path) };
  }

  #byKey(known) {
    const keys = new Map();
    for (const { rule, name } of known) keys.set(name, [...(keys.get(name) ?? []), rule.rule]);
    return [...keys].map(([name, rules]) => ({ name, limiter: new LimiterCalls(rules, this.limits) }));
  }

  /** The verdict of each rule. In a cluster each key is asked for itself; if one denies, the others get their units back. */
  async #check(known, cost) {
    const options = { cost };
    const ask = (call) => within(this.timeout, (limit) => run(this.client, call, limit));
    if (!this.isCluster) {
      const parts = this.#byKey(known);
      const call = parts.length === 1
        ? parts[0].limiter.check(parts[0].name, options)
        : this.calls.checkAll(known.map(({ rule, name }) => [name, rule.rule]), options);
      return (await ask(call)).rules;
    }
    const parts = this.#byKey(known);
    const verdicts = await Promise.all(parts.map(({ name, limiter }) => ask(limiter.check(name, options))));
    if (verdicts.some(({ limited }) => limited)) {
      const counted = parts.filter((_, at) => verdicts[at].allowed);
      await Promise.all(counted.map(({ name, limiter }) => ask(limiter.refund(name, options))));
    }
    return verdicts.flatMap(({ rules }) => rules);
  }

  /** What to do with a request: `fields` for the response, or an `answer` in place of the handler's. */
  async decide({ known, cost }) {
    if (known.length === 0 || cost === 0) return { fields: {}, counted: false };
    let states;
    try {
      states = await this.#check(known, cost);
    } catch (error) {
      this.log(error);
      // The mistake is ours: a local limit would hide it.
      const isAway = isOutage(error);
      if (!isAway) this.errors++;
      if (this.failing === 'open') return { fields: {}, counted: false };
      if (this.failing === 'closed' || !isAway) {
        return { fields: { 'Retry-After': '1' }, counted: false, answer: { title: 'The rate limiter does not answer', status: 503 } };
      }
      states = fallback('local', this.#local, known.map(({ rule, name }) => [name, rule.rule]), cost, this.algorithm).rules;
    }
    const shown = states.map((state, at) => `${quoted(known[at].rule.name)};r=${state.remaining};t=${seconds(state.resetAfterMs)}`);
    const fields = { 'RateLimit-Policy': known.map(({ rule }) => this.policies.get(rule)).join(', '), RateLimit: shown.join(', ') };
    const verdict = tightest(states);
    if (verdict.allowed) return { fields, counted: verdict.source === 'server' };
    if (verdict.retryAfterMs >= 0) fields['Retry-After'] = String(Math.max(1, seconds(verdict.retryAfterMs)));
    const violated = known.filter((_, at) => states[at].limited).map(({ rule }) => rule.name);
    const problem = { type: PROBLEM, title: 'Too many requests', status: 429, 'violated-policies': violated };
    return { fields, counted: false, answer: problem };
  }

  /** Gives the units back if the handler failed. */
  async settle({ known, cost }, status) {
    try {
      if (!this.isRefunded(status)) return;
      const calls = this.#byKey(known).map(({ name, limiter }) => limiter.refund(name, { cost }));
      await Promise.all(calls.map((call) => within(this.timeout, (limit) => run(this.client, call, limit))));
    } catch (error) {
      this.log(error);
    }
  }
}

// --- frameworks -----------------------------------------------------------------------------------------

/** For Express: app.use(expressRateLimit(client, rules)), or before the handler of one route. */
export function expressRateLimit(client, rules, options) {
  const policies = new Policies(client, rules, options);
  const limit = async (request, response, next) => {
    try {
      const asked = policies.asked(request, request.baseUrl + request.path);
      const { fields, counted, answer } = await policies.decide(asked);
      response.set(fields);
      if (answer) return response.status(answer.status).type('application/problem+json').send(JSON.stringify(answer));
      if (counted) response.once('close', () => policies.settle(asked, response.statusCode));
      return next();
    } catch (error) {
      return next(error);
    }
  };
  return Object.defineProperty(limit, 'errors', { get: () => policies.errors });
}

/** For one route of Fastify: app.get('/', { ...fastifyRouteLimit(client, rules) }, handler). */
export function fastifyRouteLimit(client, rules, options) {
  const policies = new Policies(client, rules, options);
  const counts = new WeakMap();
  return {
    async onRequest(request, reply) {
      const asked = policies.asked(request, request.url.split('?')[0]);
      const { fields, counted, answer } = await policies.decide(asked);
      reply.headers(fields);
      if (answer) return reply.code(answer.status).type('application/problem+json').send(JSON.stringify(answer));
      if (counted) counts.set(request, asked);
    },
    async onResponse(request, reply) {
      if (counts.has(request)) await policies.settle(counts.get(request), reply.statusCode);
    },
  };
}

/** For Fastify: app.register(fastifyRateLimit, { client, rules, …options }). */
export function fastifyRateLimit(app, { client, rules, prefix: _route, keyPrefix, ...options }, done) {
  const hooks = fastifyRouteLimit(client, rules, { ...options, ...(keyPrefix === undefined ? {} : { prefix: keyPrefix }) });
  app.addHook('onRequest', hooks.onRequest);
  app.addHook('onResponse', hooks.onResponse);
  done();
}

// The hooks are for the whole application, not only for what is registered beside them.
fastifyRateLimit[Symbol.for('skip-override')] = true;
