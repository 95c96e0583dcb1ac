"""A leaderboard with a limiter: three scores a minute from each player, the best one counts.

    python3 leaderboard.py [--cluster] [URL]

URL is redis://127.0.0.1:6379, or $REDIS_URL, unless given; of a cluster, any node.
"""

import argparse
import os
from typing import NamedTuple

from redis import Redis
from redis.cluster import RedisCluster

COUNTRIES = {"ann": "Austria", "bob": "Brazil", "cid": "Chile", "dan": "Denmark", "eve": "Estonia"}
SCORES = [
    ("ann", 310), ("bob", 270), ("eve", 310), ("cid", 180),
    ("bob", 320), ("dan", 250), ("bob", 290), ("bob", 350),
]  # fmt: skip


class TooManyScores(Exception):
    def __init__(self, retry_after_ms: int):
        super().__init__(f"try again in {retry_after_ms} ms")
        self.retry_after_ms = retry_after_ms


class Change(NamedTuple):
    rank: int
    previous_rank: int | None
    player: str
    best: int


class Row(NamedTuple):
    rank: int
    player: str
    score: int
    data: dict[str, str] | None


class Leaderboard:
    def __init__(self, client: Redis | RedisCluster, name: str):
        self.client = client
        self.name = name
        # The hash with the attributes. The tag puts it in the slot of the board.
        self.data = f"{{{name}}}:players"

    def start(self, players: list[str]) -> None:
        self.client.delete(self.name, self.data)
        for player in players:
            self.client.execute_command("RATE.RESET", self.limit_of(player))
        schema = ["FIELD", "score", "BITS", 32, "UPDATE", "BEST", "DATA", self.data]
        self.client.execute_command("RANK.CREATE", self.name, *schema)

    def submit(self, player: str, score: int) -> Change:
        verdict = self.client.execute_command("RATE.CHECK", self.limit_of(player), "3/1m")
        limited, _limit, _remaining, retry_after_ms, *_ = verdict
        if limited:
            raise TooManyScores(retry_after_ms)
        [change] = self.client.execute_command("RANK.ADD", self.name, "WITHRANK", score, player)
        return Change(*change)

    def describe(self, players: dict[str, str]) -> None:
        # One round trip for all of them.
        pipeline = self.client.pipeline(transaction=False)
        for player, country in players.items():
            pipeline.execute_command("RANK.SETDATA", self.name, player, "country", country)
        pipeline.execute()

    def top(self, count: int) -> list[Row]:
        rows = self.client.execute_command("RANK.TOPN", self.name, count, "WITHDATA")
        return [Row(*row) for row in rows]

    def around(self, player: str, distance: int) -> list[str]:
        rows = self.client.execute_command("RANK.AROUND", self.name, player, distance)
        return [player for _rank, player, _score in rows]

    def among(self, players: list[str]) -> list[tuple[int, str]]:
        rows = self.client.execute_command("RANK.AMONG", self.name, len(players), *players)
        return [(place, player) for place, _rank, player, _score in rows]

    def percentile(self, player: str) -> float | None:
        return self.client.execute_command("RANK.PERCENTILE", self.name, player)

    def limit_of(self, player: str) -> str:
        return f"{self.name}:limit:{player}"


def main() -> None:
    parser = argparse.ArgumentParser(description="A leaderboard with a limiter.")
    parser.add_argument("--cluster", action="store_true")
    parser.add_argument("url", nargs="?", default=os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"))
    args = parser.parse_args()

    # RESP3, so that attributes arrive as a dict and a percentile as a float.
    connect = RedisCluster.from_url if args.cluster else Redis.from_url
    with connect(args.url, protocol=3, decode_responses=True) as client:
        board = Leaderboard(client, "example:python")
        board.start(list(COUNTRIES))

        for player, score in SCORES:
            try:
                change = board.submit(player, score)
            except TooManyScores:
                print(f"{player} {score}: too many scores, wait a minute")
                continue
            was = "" if change.previous_rank is None else f", was {change.previous_rank}"
            print(f"{player} {score}: best {change.best}, rank {change.rank}{was}")

        board.describe(COUNTRIES)
        for row in board.top(4):
            print(f"#{row.rank} {row.player} of {row.data['country']}: {row.score}")
        print("around eve:", *board.around("eve", 1))
        friends = board.among(["cid", "ann", "nobody"])
        print("among friends:", *(f"{place}.{player}" for place, player in friends))
        print(f"ann is ahead of {board.percentile('ann'):.0f}%")


if __name__ == "__main__":
    main()
