import { createClient } from 'redis';
import { RateLimiter } from 'redis-rank-client';

const limiter = new RateLimiter(await createClient().connect(), ['2/1s', '100/1h'], { prefix: 'limit:', failing: 'local' });
for (let call = 0; call < 3; call++) console.log((await limiter.check('ann')).allowed);
// true
// true
// false
await limiter.enforce('ann', { cost: 200 }).catch((error) => console.log(error.message));
// ann: it costs more than the limit

export {};
