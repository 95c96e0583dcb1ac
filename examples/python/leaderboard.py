"""A leaderboard with a limiter: three scores a minute from each player, the best one counts.

    python3 leaderboard.py [--cluster] [URL]

URL is redis://127.0.0.1:6379, or $REDIS_URL, unless given; of a cluster, any node.
"""

import argparse
import os

from redis import Redis
from redis.cluster import RedisCluster
from redis_rank import Leaderboard, RateLimited, RateLimiter, execute

COUNTRIES = {"ann": "Austria", "bob": "Brazil", "cid": "Chile", "dan": "Denmark", "eve": "Estonia"}
SCORES = [
    ("ann", 310), ("bob", 270), ("eve", 310), ("cid", 180),
    ("bob", 320), ("dan", 250), ("bob", 290), ("bob", 350),
]  # fmt: skip


def play(client: Redis | RedisCluster) -> None:
    # The tag in the name of the hash puts it in the slot of the board.
    board = Leaderboard(
        client, "example:python", fields=["score BITS 32"], update="BEST", data="{example:python}:players"
    )
    limiter = RateLimiter(client, "3/1m", prefix="example:python:limit:")
    board.clear()
    # One round trip for all of them.
    execute(client, *(limiter.calls.reset(player) for player in COUNTRIES))

    for player, score in SCORES:
        try:
            limiter.enforce(player)
        except RateLimited:
            print(f"{player} {score}: too many scores, wait a minute")
            continue
        change = board.add_ranked(player, score, data={"country": COUNTRIES[player]})
        was = "" if change.previous_rank is None else f", was {change.previous_rank}"
        print(f"{player} {score}: best {change.score}, rank {change.rank}{was}")

    for row in board.top(4, data=True):
        print(f"#{row.rank} {row.member} of {row.data['country']}: {row.score}")
    print("around eve:", *(row.member for row in board.around("eve", 1)))
    print("among friends:", *(f"{row.place}.{row.member}" for row in board.among(["cid", "ann", "nobody"])))
    print(f"ann is ahead of {board.percentile('ann'):.0f}%")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A leaderboard with a limiter.")
    parser.add_argument("--cluster", action="store_true")
    parser.add_argument("url", nargs="?", default=os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"))
    arguments = parser.parse_args()
    connect = RedisCluster.from_url if arguments.cluster else Redis.from_url
    with connect(arguments.url) as client:
        play(client)
