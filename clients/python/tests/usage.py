"""Not run: mypy checks that these are accepted, and that what is marked is refused."""

import asyncio

from redis import Redis, RedisCluster
from redis.asyncio import Redis as AsyncRedis

import redis_rank.asyncio
from redis_rank import Change, Dead, Job, Leaderboard, Lease, Period, RateLimiter, Retry, Row, Schedule, ShardedLeaderboard
from redis_rank import Verdict, Worker

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
for row in rows:
    row.data["name"].upper()
RateLimiter(Redis(), ["5/1s", "9/1m"])  # type: ignore[arg-type]
Leaderboard(AsyncRedis(), "game")  # type: ignore[arg-type]
Leaderboard("redis://localhost", "game")  # type: ignore[arg-type]
redis_rank.asyncio.RateLimiter(Redis(), "5/1s")  # type: ignore[arg-type]
jobs = Schedule(Redis(), "jobs", "jobs:data", payload=str, dead="jobs:dead")
jobs.ack(*jobs.claim(1, rate=("limit", "5/1m")), after="1h")


def handle(job: Job) -> None:
    raise Retry(after=5) if job.data else Dead("it is")


async def handle_later(job: Job) -> None:
    await asyncio.sleep(1)


Worker(jobs, handle, attempts=3, every=60, observe=lambda event: print(event.kind)).run()
Worker(jobs, lambda job: print(job.item))
Worker(jobs, handle, atempts=3)  # type: ignore[call-arg]
Worker(jobs, handle_later)  # type: ignore[arg-type]
Worker(Redis(), handle)  # type: ignore[arg-type]


async def asynchronous() -> Row | None:
    other = redis_rank.asyncio.Leaderboard(AsyncRedis(), "game")
    other.top(3).upper()  # type: ignore[attr-defined]
    later: asyncio.Task[list[Row]] = asyncio.create_task(other.top(3))
    await asyncio.gather(later, other.count())
    schedule = redis_rank.asyncio.Schedule(AsyncRedis(), "jobs")
    await redis_rank.asyncio.Worker(schedule, handle_later).run()
    redis_rank.asyncio.Worker(schedule, handle)  # type: ignore[arg-type]
    async with redis_rank.asyncio.RateLimiter(AsyncRedis(), "5/1s", algorithm="GCRA").reserve("ann", 5) as hold:
        await hold.settle(3)
    async with redis_rank.asyncio.Lease(AsyncRedis(), "job"):
        return await other.get("ann")
