// A store for express-rate-limit 8.

import type { Client, Duration } from './index.js';

/**
 * rateLimit({ limit: 100, windowMs: 60_000, store: new RankStore(client) }). Give each limiter its own `prefix`. While the
 * server is away, `increment` throws within `timeout` (500 ms): express-rate-limit's option `passOnStoreError` lets requests pass.
 */
export class RankStore {
  constructor(client: Client, options?: { prefix?: string; timeout?: Duration });
  readonly localKeys: false;
  readonly prefix: string;
  init(options: { windowMs: number }): void;
  increment(key: string): Promise<{ totalHits: number; resetTime: Date | undefined }>;
  get(key: string): Promise<{ totalHits: number; resetTime: Date | undefined } | undefined>;
  decrement(key: string): Promise<void>;
  resetKey(key: string): Promise<void>;
}
