// Rate limits for HTTP: Express and Fastify.
//
// All rules are asked at once: a request counts for all of them, or for none. A denied one gets 429 with Retry-After;
// every response has the fields RateLimit-Policy and RateLimit of the IETF draft.

import { BlockList, isIP } from 'node:net';

import { milliseconds, noMore } from './call.js';
import { isOutage } from './errors.js';
import { FAILING, LocalLimiter, tightest } from './limiter.js';
import { LimiterCalls, keyText, parseRule } from './rate.js';
import { sendWithin, senderOf } from './run.js';

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

/** The eight groups of an IPv6 address. */
function groupsOf(address) {
  const hex = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) => `${(a * 256 + Number(b)).toString(16)}:${(c * 256 + Number(d)).toString(16)}`);
  const [head, tail] = hex.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const groups = tail === undefined ? head : [...head, ...Array(8 - head.length - tail.length).fill('0'), ...tail];
  return groups.map((group) => parseInt(group, 16));
}

/** An address without its port and zone; IPv4 in IPv6 is IPv4. */
function plainAddress(text) {
  const host = /^\[(.*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  const address = host.replace(/%.*$/, '');
  if (isIP(address) !== 6) return isIP(address) ? address : null;
  const groups = groupsOf(address);
  if (groups.slice(0, 5).some((group) => group !== 0) || groups[5] !== 0xffff) return address;
  return [groups[6] >> 8, groups[6] & 255, groups[7] >> 8, groups[7] & 255].join('.');
}

/** What to count of an address: of IPv6 the /64, of which one client has all the addresses. */
export function addressKey(address) {
  const plain = plainAddress(address ?? '');
  if (plain === null || isIP(plain) === 4) return plain ?? address;
  return `${groupsOf(plain).slice(0, 4).map((group) => group.toString(16)).join(':')}::/64`;
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

/** What the limits of a request have taken so far: a later one that denies gives it back. */
const taken = new WeakMap();

/** Which calls to make, and what the answers mean. */
export class Policies {
  #local = new LocalLimiter();
  #groups;
  #all;

  constructor(client, rules, options = {}) {
    const {
      algorithm = 'GCRA', offset, cost = {}, failing = 'open', timeout = 500, refund = null, prefix = 'limit:', trustedProxies,
      log = console.error, ...rest
    } = options;
    noMore(rest);
    if (!FAILING.includes(failing)) throw new TypeError(`failing takes ${FAILING.join(', ')}, got ${failing}`);
    if (!Array.isArray(rules) || rules.length === 0) throw new TypeError(`expected a list of rules such as { name: 'user', rule: '100/1m' }, got ${rules}`);
    for (const [name, value] of Object.entries({ log, ...(refund && { refund }) })) {
      if (typeof value !== 'function') throw new TypeError(`${name} takes a function, got ${value}`);
    }
    Object.assign(this, { client, rules, cost, failing, algorithm, isRefunded: refund, log, errors: 0 });
    this.timeout = milliseconds(timeout);
    this.policies = new Map(rules.map((rule) => [rule, policy(rule, algorithm)]));
    if (new Set(rules.map(({ name }) => name)).size < rules.length) throw new TypeError('two rules have the same name');
    const limits = { algorithm, offset, prefix };
    // Rules that ask the same of a request share a key.
    const byKey = new Map();
    for (const rule of rules) byKey.set(rule.key, [...(byKey.get(rule.key) ?? []), rule]);
    this.#groups = [...byKey].map(([keyOf, those]) => {
      if (keyOf !== undefined && typeof keyOf !== 'function') throw new TypeError(`the key of a rule is a function of the request, got ${keyOf}`);
      return { keyOf, rules: those, name: those.map(({ name }) => name).join('+'), calls: new LimiterCalls(those.map(({ rule }) => rule), limits) };
    });
    this.#all = new LimiterCalls([], limits);
    this.isCluster = senderOf(client).isCluster;
    this.addressOf = trustedProxies === undefined ? null : clientAddress(trustedProxies);
  }

  /** The client's address: as the framework has it, or as `trustedProxies` says. */
  address(request) {
    return addressKey(this.addressOf ? this.addressOf(request.socket.remoteAddress, request.headers['x-forwarded-for']) : request.ip);
  }

  costOf(request, path) {
    if (typeof this.cost !== 'function') return Object.entries(this.cost).find(([pattern]) => matches(pattern, path))?.[1] ?? 1;
    const cost = this.cost(request);
    if (!Number.isInteger(cost) || cost < 0) throw new TypeError(`the cost of a request is a whole number, got ${cost}`);
    return cost;
  }

  /** What counts for a request: its keys, each with its rules, and its cost. */
  async asked(request, path) {
    const parts = [];
    for (const { keyOf, rules, name, calls } of this.#groups) {
      const key = keyOf === undefined ? this.address(request) : await keyOf(request);
      if (key === undefined || key === null) continue;
      parts.push({ name: `${name}:${keyText(key)}`, rules, calls });
    }
    return { parts, known: parts.flatMap(({ rules, name }) => rules.map((rule) => ({ rule, name }))), cost: this.costOf(request, path) };
  }

  #ask(call) {
    return sendWithin(this.timeout, this.client, call);
  }

  async #refund(parts, cost) {
    const answers = await Promise.allSettled(parts.map(({ name, calls }) => this.#ask(calls.refund(name, { cost }))));
    for (const { status, reason } of answers) if (status === 'rejected') this.log(reason);
  }

  /** The verdict of each rule. In a cluster each key is asked for itself; if one denies, the others get their units back. */
  async #check({ parts, known, cost }) {
    if (parts.length === 1) return (await this.#ask(parts[0].calls.check(parts[0].name, { cost }))).rules;
    if (!this.isCluster) return (await this.#ask(this.#all.checkAll(known.map(({ rule, name }) => [name, rule.rule]), { cost }))).rules;
    const answers = await Promise.allSettled(parts.map(({ name, calls }) => this.#ask(calls.check(name, { cost }))));
    const failed = answers.find(({ status }) => status === 'rejected');
    if (failed || answers.some(({ value }) => value.limited)) await this.#refund(parts.filter((_, at) => answers[at].value?.allowed), cost);
    if (failed) throw failed.reason;
    return answers.flatMap(({ value }) => value.rules);
  }

  /** What to do with a request: `fields` for the response, or an `answer` in place of the handler's. */
  async decide(request, path) {
    const asked = await this.asked(request, path);
    const { known, cost } = asked;
    if (known.length === 0 || cost === 0) return { fields: {} };
    let states;
    try {
      states = await this.#check(asked);
    } catch (error) {
      this.log(error);
      // The mistake is ours: a local limit would hide it.
      const isAway = isOutage(error);
      if (!isAway) this.errors++;
      if (this.failing === 'open') return { fields: {} };
      if (this.failing === 'closed' || !isAway) {
        await this.#giveBack(request);
        return { fields: { 'Retry-After': '1' }, answer: { title: 'The rate limiter does not answer', status: 503 } };
      }
      states = this.#local.check(known.map(({ rule, name }) => [name, rule.rule]), cost, this.algorithm).rules;
    }
    const shown = states.map((state, at) => `${quoted(known[at].rule.name)};r=${state.remaining};t=${seconds(state.resetAfterMs)}`);
    const fields = { 'RateLimit-Policy': known.map(({ rule }) => this.policies.get(rule)).join(', '), RateLimit: shown.join(', ') };
    const verdict = tightest(states);
    if (verdict.allowed) {
      const counted = { policies: this, asked };
      if (verdict.source === 'server') taken.set(request, [...(taken.get(request) ?? []), counted]);
      return { fields, counted };
    }
    await this.#giveBack(request);
    if (verdict.retryAfterMs >= 0) fields['Retry-After'] = String(Math.max(1, seconds(verdict.retryAfterMs)));
    const violated = known.filter((_, at) => states[at].limited).map(({ rule }) => rule.name);
    return { fields, answer: { type: PROBLEM, title: 'Too many requests', status: 429, 'violated-policies': violated } };
  }

  /** A request that one limit denies costs nothing in those before. */
  async #giveBack(request) {
    const counted = taken.get(request) ?? [];
    taken.delete(request);
    await Promise.all(counted.map(({ policies, asked }) => policies.#refund(asked.parts, asked.cost)));
  }

  /** Gives the units back if the response is one that costs nothing. */
  async settle(request, counted, status) {
    try {
      if (!taken.get(request)?.includes(counted) || !this.isRefunded(status)) return;
      await this.#refund(counted.asked.parts, counted.asked.cost);
    } catch (error) {
      this.log(error);
    }
  }
}

/** Fields of several limits are one list. */
function added(fields, present) {
  const all = { ...fields };
  for (const name of ['RateLimit-Policy', 'RateLimit']) {
    const before = name in all ? present(name) : undefined;
    if (before !== undefined) all[name] = `${before}, ${all[name]}`;
  }
  return all;
}

// --- frameworks -----------------------------------------------------------------------------------------

/** For Express: app.use(expressRateLimit(client, rules)), or before the handler of one route. */
export function expressRateLimit(client, rules, options) {
  const policies = new Policies(client, rules, options);
  const limit = async (request, response, next) => {
    try {
      const { fields, counted, answer } = await policies.decide(request, request.baseUrl + request.path);
      response.set(added(fields, (name) => response.get(name)));
      if (answer) return response.status(answer.status).type('application/problem+json').send(JSON.stringify(answer));
      if (counted && policies.isRefunded) response.once('close', () => policies.settle(request, counted, response.statusCode));
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
      const { fields, counted, answer } = await policies.decide(request, request.url.split('?')[0]);
      reply.headers(added(fields, (name) => reply.getHeader(name)));
      if (answer) return reply.code(answer.status).type('application/problem+json').send(JSON.stringify(answer));
      if (counted && policies.isRefunded) counts.set(request, counted);
    },
    async onResponse(request, reply) {
      if (counts.has(request)) await policies.settle(request, counts.get(request), reply.statusCode);
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
