import { Cluster } from 'ioredis';
import { ShardedLeaderboard } from 'redis-rank-client';

const board = new ShardedLeaderboard(new Cluster([{ host: '127.0.0.1', port: 6379 }]), 'world', 16, { ties: 'FIRST' });
await Promise.all(Array.from({ length: 100 }, (_, number) => board.add(`player${number}`, number)));
console.log((await board.get('player90'))?.rank, (await board.range(50, 51)).map(({ member }) => member));
// 10 [ 'player50', 'player49' ]

export {};
