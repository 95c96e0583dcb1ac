"""What the client costs beside raw calls of redis-py: `python bench.py [URL]`, with the module loaded.

It writes to keys that begin with "bench:". Both sides are measured in turns; the figures are medians.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "src"))

import redis
import redis.asyncio

import redis_rank
import redis_rank.asyncio

ROUNDS, CALLS = int(os.environ.get("BENCH_ROUNDS", 200)), 20
NAMES = [f"player:{number}" for number in range(40_000)]


def cases(client: Any, package: Any) -> dict[str, tuple[float, Callable[[int], Any], Callable[[int], Any]]]:
    """The aim, the client's call, and the raw one."""
    board = package.Leaderboard(client, "bench:board", fields=["points INT"], ties="FIRST")
    limiter = package.RateLimiter(client, "1000000/1h", algorithm="GCRA", prefix="bench:")
    several = package.RateLimiter(client, "1000000/1h", "10000/1s", algorithm="GCRA", prefix="bench:")
    raw = client.execute_command
    return {
        "add": (1.3, lambda at: board.add(NAMES[at], at), lambda at: raw("RANK.ADD", "bench:board", at, NAMES[at])),
        "incr": (1.3, lambda at: board.incr(NAMES[at], 1), lambda at: raw("RANK.INCR", "bench:board", 1, NAMES[at])),
        "score": (1.3, lambda at: board.score(NAMES[at]), lambda at: raw("RANK.SCORE", "bench:board", NAMES[at])),
        "top(100)": (1.5, lambda at: board.top(100), lambda at: raw("RANK.TOPN", "bench:board", 100)),
        "check": (
            1.3,
            lambda at: limiter.check(NAMES[at]),
            lambda at: raw("RATE.CHECK", "bench:" + NAMES[at], "1000000/1h", "GCRA"),
        ),
        "check, two rules": (
            1.3,
            lambda at: several.check(NAMES[at]),
            lambda at: raw("RATE.CHECK", "bench:" + NAMES[at], "1000000/1h", "10000/1s", "GCRA", "EACH"),
        ),
    }


async def measured(act: Callable[[int], Any], is_async: bool) -> float:
    begin = time.perf_counter()
    for at in range(CALLS):
        if is_async:
            await act(at)
        else:
            act(at)
    return (time.perf_counter() - begin) / CALLS * 1e6


async def compare(client: Any, package: Any, name: str) -> None:
    is_async = package is redis_rank.asyncio
    for case, (aim, ours, raw) in cases(client, package).items():
        times: tuple[list[float], list[float]] = [], []
        for _ in range(ROUNDS):
            times[0].append(await measured(ours, is_async))
            times[1].append(await measured(raw, is_async))
        ratio = statistics.median(a / b for a, b in zip(*times))
        own, other = (statistics.median(part) for part in times)
        print(f"{name:8}{case:18}{own:8.1f} µs  raw {other:8.1f} µs  ratio {ratio:5.2f}  aim {aim}  {'' if ratio <= aim else 'MISSED'}")


def main(url: str) -> None:
    hiredis = "with" if redis.utils.HIREDIS_AVAILABLE else "without"
    print(f"Python {sys.version.split()[0]}, redis-py {redis.__version__} {hiredis} hiredis")
    with redis.Redis.from_url(url) as client:
        board = redis_rank.Leaderboard(client, "bench:board", fields=["points INT"], ties="FIRST")
        for size in (10_000, 20_000, 40_000):
            client.delete("bench:board")
            begin = time.perf_counter()
            call = board.calls.add_many({name: score for score, name in enumerate(NAMES[:size])})
            call.packed()
            print(f"add_many of {size}: built in {(time.perf_counter() - begin) * 1000:.0f} ms", end=", ")
            begin = time.perf_counter()
            board.add_many({name: score for score, name in enumerate(NAMES[:size])})
            print(f"done in {(time.perf_counter() - begin) * 1000:.0f} ms")
        asyncio.run(compare(client, redis_rank, "sync"))

    async def compare_async() -> None:
        async with redis.asyncio.Redis.from_url(url) as client:
            await compare(client, redis_rank.asyncio, "asyncio")

    asyncio.run(compare_async())
    with redis.Redis.from_url(url) as client:
        for key in client.scan_iter("bench:*", count=10_000):
            client.delete(key)


main(sys.argv[1] if len(sys.argv) > 1 else "redis://127.0.0.1:6379")
