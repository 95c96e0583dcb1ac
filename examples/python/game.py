"""The scores of a game: best only, ties to who was first, names, friends, neighbours, weeks and seasons."""

import os

from redis import Redis
from redis_rank import Change, GroupRow, Leaderboard, Period, Row

client = Redis.from_url(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"))
seasons = Period("EVERY 14d FROM 1767225600000", "{game}:season:", past=10)
game = Leaderboard(client, "{game}", ties="FIRST", update="BEST", data="{game}:players",
                   periods=[Period("WEEK", "{game}:week:", past=4), seasons])  # fmt: skip

def submit(player: str, score: int, name: str) -> Change:
    return game.add_ranked(player, score, data={"name": name})

def top_100(period: str | tuple[str, int] | None = None) -> list[tuple[int, str, float]]:
    return [(row.rank, row.data["name"], row.score) for row in game.top(100, data=True, period=period)]

def around_me(player: str) -> list[Row]:
    return game.around(player, 5, fill=True)

def friends(player: str, others: list[str]) -> list[GroupRow]:
    return game.among([player, *others])
