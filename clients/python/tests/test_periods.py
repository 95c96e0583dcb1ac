"""Boards of days, weeks and seasons."""

from __future__ import annotations

import time
from typing import Any

from support import Awaited, Case, on_each_client, row

from redis_rank import Leaderboard, Period

DAY = 86_400


def clock() -> tuple[str, str]:
    """An OFFSET with which it is noon, and a season that began ten days ago: neither ends while a test runs."""
    now = int(time.time())
    return f"{12 - now % DAY // 3600:+03}:00", f"EVERY 14d FROM {(now - 24 * DAY) * 1000}"


async def periods(client: Any, package: Any) -> list[Any]:
    offset, season = clock()
    board = Awaited(package.Leaderboard(
        client, "{game}", update="BEST", offset=offset,
        periods=[Period("day", "{game}:day:", 3), Period(season, "{game}:season:")],
    ))  # fmt: skip
    before = await board.top(3, period="day")
    change = await board.add_ranked("ann", 5, period="day")
    today, yesterday, *_ = await board.periods("day")
    await board.add("bob", 9, at=yesterday.start)
    info = await board.info()
    return [
        before,
        (change.rank, change.previous_rank),
        [row.member for row in await board.top(3, period="day")],
        [row.member for row in await board.top(3, period=("day", -1))],
        [row.member for row in await board.top(3, period=("day", yesterday.id))],
        [row.member for row in await board.top(3)],
        (today.unit, today.members, today.end - today.start, today.key == "{game}:day:" + today.id),
        [period.unit for period in await board.periods()],
        [(period["unit"], period["prefix"], period["past"]) for period in info.periods],
    ]


class Periods(Case):
    def test_the_same_values_from_every_client(self) -> None:
        expected = [
            [],
            (1, None),
            ["ann"],
            ["bob"],
            ["bob"],
            ["bob", "ann"],
            ("day", 1, DAY, True),
            ["day"] * 4 + ["every"] * 2,
            [("day", "{game}:day:", 3), ("every", "{game}:season:", 1)],
        ]
        for variant, values in on_each_client(periods):
            with self.subTest(variant):
                self.assertEqual(values, expected)

    def test_periods_come_and_go(self) -> None:
        board = Leaderboard(self.redis, "{game}", ties="FIRST")
        board.add("ann", 1)
        offset, _ = clock()
        board.alter(periods=[Period("month", "{game}:month:")], offset=offset)
        board.add("bob", 2)
        self.assertEqual(board.top(3, period="month"), [row(1, "bob", 2)])
        board.alter(drop_periods=["month"])
        self.assertEqual(board.periods(), [])
