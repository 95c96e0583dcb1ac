// The recipe for @nestjs/throttler in docs/guides/rate-limits.md, as it stands there, in an application of NestJS.

import 'reflect-metadata';

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Controller, Get, Module } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { SkipThrottle, Throttle, ThrottlerGuard } from '@nestjs/throttler';
import { flushAll, url } from './support.js';

const guide = readFileSync(new URL('../../../docs/guides/rate-limits.md', import.meta.url), 'utf8');
const [recipe] = [...guide.matchAll(/^```js\n(.*?)^```/gms)].map(([, block]) => block).filter((block) => block.includes('ThrottlerModule'));

// Inside the package, so that it finds itself and what it needs by name.
const directory = mkdtempSync(fileURLToPath(new URL('recipe-', import.meta.url)));
after(() => rmSync(directory, { recursive: true }));
beforeEach(flushAll);

/** What decorators do. */
function controller() {
  class Routes {
    few() {
      return 'few';
    }

    free() {
      return 'free';
    }
  }
  const method = (name, ...decorators) => decorators.forEach((decorate) => decorate(Routes.prototype, name, Object.getOwnPropertyDescriptor(Routes.prototype, name)));
  method('few', Get('few'), Throttle({ default: { limit: 2, ttl: 60_000 } }));
  method('free', Get('free'), SkipThrottle());
  Controller()(Routes);
  return Routes;
}

test('the recipe limits, tells how much is left, and when to come again', async () => {
  const file = join(directory, 'throttling.js');
  // So that the connection can be closed.
  writeFileSync(file, `${recipe.replace('new Redis()', `new Redis('${url}')`)}\nexport { client };\n`);
  const { throttling, client } = await import(file);
  class Application {}
  Module({ imports: [throttling], controllers: [controller()], providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }] })(Application);
  const app = await NestFactory.create(Application, { logger: false });
  await app.listen(0, '127.0.0.1');
  try {
    const get = async (path) => {
      const { status, headers } = await fetch(`http://127.0.0.1:${app.getHttpServer().address().port}/${path}`, { headers: { connection: 'close' } });
      return [status, headers.get('x-ratelimit-remaining'), headers.get('retry-after')];
    };
    assert.deepEqual([await get('few'), await get('few')], [[200, '1', null], [200, '0', null]]);
    const [status, , retryAfter] = await get('few');
    assert.ok(status === 429 && retryAfter > 0 && retryAfter <= 60);
    assert.deepEqual(await get('free'), [200, null, null]);
  } finally {
    await app.close();
    client.disconnect();
  }
});
