// Rate limits for HTTP. The types of requests are those of your framework.

import type { Client, LimiterOptions } from './index.js';

/** A limit, the key that it counts, and the name that clients see. */
export interface Rule<Request = any> {
  name: string;
  /** '100/1m' */
  rule: string;
  /** Requests without a key are not counted. Default: the address of the client. */
  key?: (request: Request) => string | null | undefined;
}

export interface MiddlewareOptions<Request = any> {
  /**
   * Units of a request: a function, or patterns of paths ('/export/*') and their costs. 0 is free; default 1.
   * Case and a trailing slash make no difference.
   */
  cost?: ((request: Request) => number) | Record<string, number>;
  /** What happens if the server does not answer in time. Default 'open': requests pass. */
  failing?: 'open' | 'closed';
  /** Seconds; default 0.5. */
  timeout?: number;
  /** Which responses give the units back. Default: those of 500 and above. */
  refund?: (status: number) => boolean;
  /** Added to every key. In a cluster all keys must be in one slot: default '{rate}:'. */
  prefix?: string;
  limits?: Omit<LimiterOptions, 'prefix'>;
  /** Gets the errors of the limiter. Default: console.warn. */
  log?: (error: unknown) => void;
}

/** For Express: app.use(expressRateLimit(client, rules)). */
export function expressRateLimit<Request = any>(
  client: Client,
  rules: readonly Rule<Request>[],
  options?: MiddlewareOptions<Request>,
): (request: any, response: any, next: (error?: unknown) => void) => Promise<void>;

/** For Fastify: app.register(fastifyRateLimit, { client, rules }). */
export function fastifyRateLimit(
  app: any,
  options: MiddlewareOptions & { client: Client; rules: readonly Rule[] },
  done: () => void,
): void;
