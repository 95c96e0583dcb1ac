// Rate limits for HTTP. The types of requests are those of your framework.

import type { Algorithm, Client, Duration } from './index.js';

/** A limit, the key that it counts, and the name that clients see. */
export interface Rule<Request = any> {
  name: string;
  /** '100/1m', or '100/minute' */
  rule: string;
  /**
   * Requests without a key are not counted. Default: the address of the client, of IPv6 the /64. It may be async. What is
   * neither text nor a number is an error.
   */
  key?: (request: Request) => LimitKey | Promise<LimitKey>;
}

export type LimitKey = string | number | null | undefined;

/** What to count of an address, in your own `key`: IPv6 by /64, IPv4 in IPv6 as IPv4. */
export function addressKey(address: string): string;

export interface MiddlewareOptions<Request = any> {
  /**
   * Units of a request: a function, or patterns of paths ('/export/*') and their costs. 0 is free; default 1.
   * Case and a trailing slash make no difference.
   */
  cost?: ((request: Request) => number) | Record<string, number>;
  /** GCRA unless told otherwise. */
  algorithm?: Algorithm;
  /** Of CALENDAR: '+09:00'. */
  offset?: string;
  /**
   * What happens while the server is away: requests pass ('open', the default), get 503 ('closed'), or are counted in
   * this process ('local'). An error that is no outage, such as a missing permission, is logged and counted in `errors`;
   * then requests pass only if it is 'open'.
   */
  failing?: 'open' | 'closed' | 'local';
  /** How long a request waits for the limiter; default 500 ms. */
  timeout?: Duration;
  /** Which responses give the units back: (status) => status >= 500. Default: none, since a handler that fails has cost something. */
  refund?: (status: number) => boolean;
  /** Added to every key; default 'limit:'. */
  prefix?: string;
  /**
   * Whose X-Forwarded-For is believed: how many proxies there are, or their addresses and networks ('10.0.0.0/8').
   * Default: the address that the framework has, which is that of the connection unless it is told to trust proxies.
   */
  trustedProxies?: number | readonly string[];
  /** Gets the errors of the limiter. Default: console.error. */
  log?: (error: unknown) => void;
}

/** For Express: app.use(expressRateLimit(client, rules)), or app.get('/search', expressRateLimit(client, rules), handler). */
export function expressRateLimit<Request = any>(
  client: Client,
  rules: readonly Rule<Request>[],
  options?: MiddlewareOptions<Request>,
): ((request: any, response: any, next: (error?: unknown) => void) => Promise<void>) & { readonly errors: number };

/** For one route of Fastify: app.get('/search', { ...fastifyRouteLimit(client, rules) }, handler). */
export function fastifyRouteLimit<Request = any>(
  client: Client,
  rules: readonly Rule<Request>[],
  options?: MiddlewareOptions<Request>,
): {
  onRequest: (request: any, reply: any) => Promise<unknown>;
  onResponse: (request: any, reply: any) => Promise<void>;
};

/** For Fastify: app.register(fastifyRateLimit, { client, rules }). `keyPrefix` is the option `prefix` of Express. */
export function fastifyRateLimit(
  app: any,
  options: Omit<MiddlewareOptions, 'prefix'> & { client: Client; rules: readonly Rule[]; keyPrefix?: string },
  done: () => void,
): void;
