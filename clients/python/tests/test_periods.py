"""Boards of days, weeks and seasons."""

from __future__ import annotations

from typing import Any

from support import Awaited, Case, on_each_client, row

from redis_rank import Leaderboard, Period

SEASON = "EVERY 14d FROM 1767225600000"
DAY = 86_400


async def periods(client: Any, package: Any) -> list[Any]:
    board = Awaited(package.Leaderboard(
        client, "{game}", update="BEST", periods=[Period("day", "{game}:day:", 3), Period(SEASON, "{game}:season:")]
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
        board.alter(periods=[Period("month", "{game}:month:")])
        board.add("bob", 2)
        self.assertEqual(board.top(3, period="month"), [row(1, "bob", 2)])
        board.alter(drop_periods=["month"])
        self.assertEqual(board.periods(), [])
