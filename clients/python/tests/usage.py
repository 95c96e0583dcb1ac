"""Not run: mypy checks that these are accepted, and that what is marked is refused."""

import asyncio

from redis import Redis, RedisCluster
from redis.asyncio import Redis as AsyncRedis

import redis_rank.asyncio
from redis_rank import Change, Leaderboard, Lease, Period, RateLimiter, Row, Schedule, ShardedLeaderboard, Verdict

board = Leaderboard(Redis(), "game", fields=["gold INT"], ties="FIRST", periods=[Period("day", "{game}:day:")])
rows: list[Row] = board.top(3, data=True, kind="DENSE", period=("day", -1))
change: Change = board.add_ranked("ann", (1, 2.5), update="BEST")
is_record: bool = change.improved
board.add("ann", (None, 5))
verdict: Verdict = RateLimiter(Redis(), "5/1s", algorithm="GCRA").enforce("ann", cost=2)
best: list[Row] = ShardedLeaderboard(RedisCluster(), "game", 16, ties="FIRST").top(3)
with Lease(Redis(), "job", 3) as lease:
    lease.renew()
for claim in Schedule(Redis(), "jobs").claim(5, lease="1m"):
    claim.item.upper()

board.incr("ann", (None, 5))  # type: ignore[arg-type]
board.add("ann", None)  # type: ignore[arg-type]
board.top("3")  # type: ignore[arg-type]
board.top(3, dta=True)  # type: ignore[call-arg]
board.get("ann", kind="BEST")  # type: ignore[arg-type]
board.get("ann").rank  # type: ignore[union-attr]
Leaderboard(Redis(), "game", feilds=[])  # type: ignore[call-arg]


async def asynchronous() -> Row | None:
    other = redis_rank.asyncio.Leaderboard(AsyncRedis(), "game")
    other.top(3).upper()  # type: ignore[attr-defined]
    later: asyncio.Task[list[Row]] = asyncio.create_task(other.top(3))
    await asyncio.gather(later, other.count())
    async with redis_rank.asyncio.Lease(AsyncRedis(), "job"):
        return await other.get("ann")
