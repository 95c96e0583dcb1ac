import express from 'express';
import { createClient } from 'redis';
import { expressRateLimit } from 'redis-rank-client/middleware';

const app = express();
const client = await createClient().connect();
app.use(expressRateLimit(client, [
  { name: 'burst', rule: '10/1s' },
  { name: 'daily', rule: '10000/1d', key: (request) => request.get('x-api-key') },
], { cost: { '/export/*': 50, '/health': 0 }, failing: 'local' }));

const search = expressRateLimit(client, [{ name: 'search', rule: '5/1s/20' }]);
app.get('/search', search, (_, response) => void response.send('found'));
console.log(search.errors);
// 0

export {};
