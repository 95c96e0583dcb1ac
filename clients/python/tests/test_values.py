"""The same values from every client, in RESP2 and RESP3, decoded and not."""

import time
from typing import Any

from support import Awaited, Case, on_each_client, row

from redis_rank import BoardInfo, Change, Field, GroupRow, Page, Tied, raw

EXACT = 2**60 + 1
SINCE = int(time.time())
ANN = {"name": "Ann", "age": 7, "tags": [1, None]}


async def a_board(client: Any, package: Any) -> list[Any]:
    schema = {"fields": ["gold INT", "silver"], "ties": "FIRST", "since": SINCE, "data": "{game}:who"}
    game = Awaited(package.Leaderboard(client, "game", **schema))
    return [
        await game.add_ranked("ann", (EXACT, 0.5), data=ANN),
        await game.add_ranked("ann", (EXACT + 1, 0.5), update="BEST"),
        await game.incr("ann", (-1, 0.25)),
        await game.score("ann"),
        await game.get("ann", data=True),
        await game.get("nobody"),
        await game.get_data("ann"),
        await game.get_attributes("ann", "age", "none"),
        await game.info(),
    ]


async def a_plain_board(client: Any, package: Any) -> list[Any]:
    plain = Awaited(package.Leaderboard(client, "plain"))
    names = Awaited(package.Leaderboard(client, "plain", members=bytes))
    several = Awaited(package)
    return [
        await plain.add_many({"ann": 1.5, "bob": 2, "dan": -3}),
        await plain.add(b"\xff\x00", float("inf")),
        await plain.top(2),
        await names.top(1),
        await plain.get("\udcff\x00"),
        await plain.among(["ann", "bob", "nobody"]),
        await plain.page(2, 3),
        await plain.stats(limit=(1, 1)),
        await plain.query("bob"),
        await plain.percentile("bob"),
        await plain.score_at(0),
        await plain.around("nobody", 1),
        await several.execute(client, plain.calls.incr("ann", 1), plain.calls.trim_returning(1), raw("ZCARD", "plain")),
    ]


class Values(Case):
    def expect(self, scenario: Any, expected: list[Any]) -> None:
        for variant, values in on_each_client(scenario):
            with self.subTest(variant):
                self.assertEqual(values, expected)

    def test_a_board(self) -> None:
        schema = f"2 FIELD gold DESC INT FIELD silver DESC FLOAT TIES FIRST DATA {{game}}:who SINCE {SINCE}000"
        fields = (Field("gold", "DESC", "INT"), Field("silver", "DESC", "FLOAT"))
        info = BoardInfo(1, fields, "FIRST", None, "SET", "coded", 1, SINCE, "{game}:who", (), None, schema)
        self.expect(a_board, [
            Change(1, None, "ann", EXACT, None, (EXACT, 0.5), None, True),
            Change(1, 1, "ann", EXACT + 1, EXACT, (EXACT + 1, 0.5), (EXACT, 0.5), True),
            (EXACT, 0.75),
            (EXACT, 0.75),
            row(1, "ann", EXACT, 0.75, data=ANN),
            None,
            {"name": "Ann", "age": "7", "tags": "[1,null]"},
            ["7", None],
            info,
        ])  # fmt: skip

    def test_a_plain_board(self) -> None:
        odd = "\udcff\x00"
        self.expect(a_plain_board, [
            3,
            1,
            [row(1, odd, float("inf")), row(2, "bob", 2)],
            [row(1, b"\xff\x00", float("inf"))],
            row(1, odd, float("inf")),
            [GroupRow(1, 2, "bob", 2, (2,)), GroupRow(2, 3, "ann", 1.5, (1.5,))],
            Page(2, 2, 4, [row(4, "dan", -3)]),
            [Tied(2, ("bob",))],
            Tied(2, ("bob",)),
            50.0,
            -3.0,
            [],
            [2.5, ["ann", "bob", "dan"], 1],
        ])  # fmt: skip
