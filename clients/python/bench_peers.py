"""Processor time of the client beside what people use: `python bench_peers.py [URL]`; without a URL it starts a server.

PyPI's `limits` (pip install limits), and the commands that PyPI's `leaderboard` sends, which by itself does not run
with redis-py 3 and later. Both sides take turns; a ratio above 1 says that this package needs less. It writes to keys
that begin with "bench:" or "LIMITS:".
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "src"))

import limits
import limits.storage
import limits.strategies
import redis

from redis_rank import Leaderboard, RateLimiter

ROUNDS, CALLS, MEMBERS = int(os.environ.get("BENCH_ROUNDS", 50)), 50, 1000
NAMES = [f"player:{number}" for number in range(MEMBERS)]
DATA = '{"name":"Ann"}'


class Peer:
    """What PyPI's leaderboard does."""

    def __init__(self, client: Any):
        self.client = client

    def rank_member(self, member: str, score: float, data: str | None = None) -> None:
        pipe = self.client.pipeline()
        pipe.zadd("bench:peer", {member: score})
        if data is not None:
            pipe.hset("bench:peer:data", member, data)
        pipe.execute()

    def score_and_rank(self, member: str) -> dict[str, Any]:
        pipe = self.client.pipeline()
        pipe.zscore("bench:peer", member)
        pipe.zrevrank("bench:peer", member)
        score, rank = pipe.execute()
        return {"member": member, "score": score, "rank": rank + 1}

    def with_data(self, member: str) -> dict[str, Any]:
        return {**self.score_and_rank(member), "data": self.client.hget("bench:peer:data", member)}


def cases(client: Any, url: str) -> dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]]:
    board, peer = Leaderboard(client, "bench:board", data="bench:data"), Peer(client)
    for at, name in enumerate(NAMES):
        board.add(name, at, data={"name": "Ann"})
        peer.rank_member(name, at, DATA)
    item, storage = limits.parse("1000000000/hour"), limits.storage.storage_from_string(url)
    shown = {}
    for strategy, algorithm in (("fixed-window", "FIXED"), ("sliding-window-counter", "COUNTER")):
        theirs = limits.strategies.STRATEGIES[strategy](storage)
        ours = RateLimiter(client, "1000000000/1h", algorithm=algorithm, prefix=f"bench:{algorithm}:")
        shown[f"limits: {strategy}"] = (lambda at, ours=ours: ours.check(NAMES[at]), lambda at, theirs=theirs: theirs.hit(item, NAMES[at]))
    return {
        "leaderboard: rank a member": (lambda at: board.add(NAMES[at], at), lambda at: peer.rank_member(NAMES[at], at)),
        "leaderboard: with data": (
            lambda at: board.add(NAMES[at], at, data={"name": "Ann"}), lambda at: peer.rank_member(NAMES[at], at, DATA),
        ),
        "leaderboard: score and rank": (lambda at: board.get(NAMES[at]), lambda at: peer.score_and_rank(NAMES[at])),
        "leaderboard: with data, read": (lambda at: board.get(NAMES[at], data=True), lambda at: peer.with_data(NAMES[at])),
        **shown,
    }  # fmt: skip


def main(url: str) -> None:
    hiredis = "with" if redis.utils.HIREDIS_AVAILABLE else "without"
    print(f"Python {sys.version.split()[0]}, redis-py {redis.__version__} {hiredis} hiredis, limits {limits.__version__}")
    with redis.Redis.from_url(url) as client:
        for name, sides in cases(client, url).items():
            times: tuple[list[float], list[float]] = [], []
            for round_number in range(ROUNDS):
                for side, act in enumerate(sides):
                    begin = time.process_time()
                    for at in range(CALLS):
                        act((round_number * CALLS + at) % MEMBERS)
                    times[side].append((time.process_time() - begin) / CALLS * 1e6)
            own, other = (statistics.median(part) for part in times)
            ratio = statistics.median(theirs / ours for ours, theirs in zip(*times))
            print(f"{name:34}{own:7.1f} µs  theirs {other:7.1f} µs  ratio {ratio:5.2f}")
        for pattern in ("bench:*", "LIMITS:*"):
            for key in client.scan_iter(pattern, count=10_000):
                client.delete(key)


if len(sys.argv) > 1:
    main(sys.argv[1])
else:
    sys.path.insert(0, str(Path(__file__).parent / "tests"))
    from servers import Server

    server = Server()
    try:
        main(server.url)
    finally:
        server.close()
