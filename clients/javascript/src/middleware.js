// Rate limits for HTTP: Express and Fastify.
//
// All rules are asked in one call: a request counts for all of them, or for none. A denied one gets 429 with
// Retry-After; every response has the fields RateLimit-Policy and RateLimit of the IETF draft.

import { milliseconds } from './call.js';
import { LimiterCalls } from './rate.js';
import { execute, within } from './run.js';

const PROBLEM = 'https://iana.org/assignments/http-problem-types#quota-exceeded';
// A month has no fixed length.
const CALENDAR = { hour: 3600, day: 86400, week: 604800 };
const RULE = /^(\d+)\/(?:(\d+(?:ms|[smhd]?))|(hour|day|week|month|year))(?:\/\d+)?$/i;

const seconds = (time) => Math.ceil(time / 1000);
// A string of RFC 9651.
const quoted = (name) => `"${name.replace(/["\\]/g, '\\$&')}"`;

export function policy({ name, rule }) {
  // A mistake shall not pass for a server that does not answer.
  if (!RULE.test(rule)) throw new TypeError(`a rule is limit/window, say 100/1m, got ${rule}`);
  if (!/^[ -~]*$/.test(name)) throw new TypeError(`the name of a rule is printable ASCII, got ${name}`);
  const [, limit, time, unit] = RULE.exec(rule);
  const length = unit ? CALENDAR[unit.toLowerCase()] : seconds(milliseconds(time.toLowerCase()));
  return `${quoted(name)};q=${limit}${length ? `;w=${length}` : ''}`;
}

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

/** What both frameworks share: which calls to make, and what the answers mean. */
export class Policies {
  constructor(client, rules, options = {}) {
    const { cost = {}, failing = 'open', timeout = 0.5, refund = (status) => status >= 500, prefix = '{rate}:', limits, log = console.warn } = options;
    Object.assign(this, { client, rules, cost, closed: failing === 'closed', timeout, isRefunded: refund, log });
    this.policies = new Map(rules.map((rule) => [rule, policy(rule)]));
    this.limits = { ...limits, prefix };
    this.calls = new LimiterCalls([], this.limits);
  }

  costOf(request, path) {
    if (typeof this.cost === 'function') return this.cost(request);
    return Object.entries(this.cost).find(([pattern]) => matches(pattern, path))?.[1] ?? 1;
  }

  /** The rules and keys that apply to a request. */
  asked(request, path, address) {
    const keys = this.rules.map((rule) => [rule, rule.key ? rule.key(request) : address]);
    const known = keys.filter(([, key]) => key !== undefined && key !== null);
    return { rules: known.map(([rule]) => rule), keys: known.map(([{ name }, key]) => `${name}:${key}`), cost: this.costOf(request, path) };
  }

  #inTime(calls) {
    const late = () => new Error(`the limiter did not answer within ${this.timeout} s`);
    return within(this.timeout * 1000, execute(this.client, ...calls), late);
  }

  /** What to do with a request: `fields` for the response, or an `answer` in place of the handler's. */
  async decide({ rules, keys, cost }) {
    if (rules.length === 0 || cost === 0) return { fields: {}, counted: false };
    let verdict;
    try {
      [verdict] = await this.#inTime([this.calls.checkAll(keys.map((key, at) => [key, rules[at].rule]), { cost })]);
    } catch (error) {
      this.log(error);
      if (!this.closed) return { fields: {}, counted: false };
      const problem = { title: 'The rate limiter does not answer', status: 503 };
      return { fields: { 'Retry-After': '1' }, counted: false, answer: problem };
    }
    const states = verdict.rules.map((state, at) => `${quoted(rules[at].name)};r=${state.remaining};t=${seconds(state.resetAfterMs)}`);
    const fields = { 'RateLimit-Policy': rules.map((rule) => this.policies.get(rule)).join(', '), RateLimit: states.join(', ') };
    if (verdict.allowed) return { fields, counted: true };
    if (verdict.retryAfterMs >= 0) fields['Retry-After'] = String(Math.max(1, seconds(verdict.retryAfterMs)));
    const violated = rules.filter((_, at) => verdict.rules[at].limited).map(({ name }) => name);
    const problem = { type: PROBLEM, title: 'Too many requests', status: 429, 'violated-policies': violated };
    return { fields, counted: false, answer: problem };
  }

  /** Gives the units back if the handler failed. */
  async settle({ rules, keys, cost }, status) {
    try {
      if (!this.isRefunded(status)) return;
      await this.#inTime(keys.map((key, at) => new LimiterCalls(rules[at].rule, this.limits).refund(key, { cost })));
    } catch (error) {
      this.log(error);
    }
  }
}

/** For Express: app.use(expressRateLimit(client, rules)). */
export function expressRateLimit(client, rules, options) {
  const policies = new Policies(client, rules, options);
  return async (request, response, next) => {
    try {
      const asked = policies.asked(request, request.path, request.ip);
      const { fields, counted, answer } = await policies.decide(asked);
      response.set(fields);
      if (answer) return response.status(answer.status).type('application/problem+json').send(JSON.stringify(answer));
      if (counted) response.once('close', () => policies.settle(asked, response.statusCode));
      return next();
    } catch (error) {
      return next(error);
    }
  };
}

/** For Fastify: app.register(fastifyRateLimit, { client, rules, …options }). */
export function fastifyRateLimit(app, { client, rules, ...options }, done) {
  const policies = new Policies(client, rules, options);
  const counts = new WeakMap();
  app.addHook('onRequest', async (request, reply) => {
    const asked = policies.asked(request, request.url.split('?')[0], request.ip);
    const { fields, counted, answer } = await policies.decide(asked);
    reply.headers(fields);
    if (answer) return reply.code(answer.status).type('application/problem+json').send(JSON.stringify(answer));
    if (counted) counts.set(request, asked);
  });
  app.addHook('onResponse', async (request, reply) => {
    if (counts.has(request)) await policies.settle(counts.get(request), reply.statusCode);
  });
  done();
}

// The hooks are for the whole application, not only for what is registered beside them.
fastifyRateLimit[Symbol.for('skip-override')] = true;
