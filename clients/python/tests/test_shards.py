"""A board over many keys answers as one board with the same members does."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import Any

import redis
import redis.asyncio
from support import CLUSTER_URL, Case

import redis_rank.asyncio
from redis_rank import Leaderboard, SchemaError, ShardedLeaderboard, ValueOutOfRange
from redis_rank import NoBoard, OutcomeUnknown
from redis_rank.call import Pause, Steps
from redis_rank.send import Sync
from redis_rank.shards import ShardedCalls, crc16, keys_of

SCHEMAS: list[dict[str, Any]] = [
    {},
    {"order": "ASC"},
    {"ties": "FIRST"},
    {"fields": ["score BITS 4"], "ties": "LAST"},
    {"fields": ["gold INT", "time ASC FLOAT"], "ties": "JOINED"},
    {"fields": ["time ASC INT", "gold BITS 3"]},
]
START = 1_700_000_000


class Shards(Case):
    def setUp(self) -> None:
        super().setUp()
        self.cluster = redis.RedisCluster.from_url(CLUSTER_URL)
        self.addCleanup(self.cluster.close)

    def boards(self, schema: dict[str, Any], members: int, shards: int = 8) -> tuple[Any, Any, list[str]]:
        """The same members in one board and in another with shards."""
        whole = Leaderboard(self.redis, "whole", **schema)
        cut = ShardedLeaderboard(self.cluster, "cut", shards, **schema)
        dice = random.Random(members)
        fields = len(schema.get("fields", [1]))
        names = [f"member {number}" for number in range(members - 1)] + ["\udcff"]
        groups: dict[int, dict[str, Any]] = {}
        for name in names:
            groups.setdefault(dice.randrange(5), {})[name] = tuple(dice.randrange(8) for _ in range(fields))
        for time, scores in groups.items():
            for board in (whole, cut):
                board.add_many(scores, at=START + time)
        return whole, cut, names

    def test_every_answer(self) -> None:
        for schema in SCHEMAS:
            self.setUp()
            whole, cut, names = self.boards(schema, 300)
            for kind in ("COMPETITION", "ORDINAL"):
                options = {"kind": kind}
                timed = {"kind": kind, "time": True}
                with self.subTest(schema=schema, kind=kind):
                    self.assertEqual(cut.top(20, **options), whole.top(20, **options))
                    self.assertEqual(cut.top(1000, **timed), whole.top(1000, **timed))
                    for start, stop in (
                        (1, 1), (1, 10), (77, 106), (150, 150), (295, 330), (301, 305), (999, 1003), (5, 4), (1, -1),
                        (-10, -3), (-999, 5), (290, -5), (-5, 299), (3, -999),
                    ):  # fmt: skip
                        self.assertEqual(cut.range(start, stop, **timed), whole.range(start, stop, **timed))
                    self.assertEqual(cut.page(4, 40, **options), whole.page(4, 40, **options))
                    for name in (*names[::60], "\udcff", "nobody"):
                        self.assertEqual(cut.get(name, **options), whole.get(name, **options))
                        self.assertEqual(cut.percentile(name), whole.percentile(name))
                        self.assertEqual(cut.score(name), whole.score(name))
                        for distance in (0, 3, 200):
                            self.assertEqual(
                                cut.around(name, distance, **options), whole.around(name, distance, **options)
                            )
                            self.assertEqual(
                                cut.around(name, distance, fill=True, **timed), whole.around(name, distance, fill=True, **timed)
                            )
                    group = [*names[::7], "nobody", names[0]]
                    self.assertEqual(cut.among(group, **options), whole.among(group, **options))
                    scores = whole.get(names[9]).scores
                    self.assertEqual(cut.for_score(scores, kind=kind), whole.for_score(scores, kind=kind))
                    for place in self.places(whole, names):
                        for n in (0, 1, 20, 1000):
                            self.assertEqual(cut.after(n, **place, **timed), whole.after(n, **place, **timed))
                            self.assertEqual(cut.before(n, **place, **timed), whole.before(n, **place, **timed))
                    for low, high in (
                        (3, 5), ("(3", 5), (3, "(5"), ("(3", "(4"), (5, 3), ("-inf", "inf"), (9, 12), ("-inf", 0), (7, "inf"),
                    ):  # fmt: skip
                        for limit in (None, (0, 3), (2, 10), (40, -1), (999, 5)):
                            got, expected = (board.by_score(low, high, limit=limit, **timed) for board in (cut, whole))
                            self.assertEqual(got, expected, (low, high, limit))
            self.assertEqual((cut.count(), cut.count(3, 5)), (whole.count(), whole.count(3, 5)))
            for board in (whole, cut):
                board.incr(names[5], tuple(1 for _ in schema.get("fields", [1])))
            self.assertEqual(cut.get(names[5]).scores, whole.get(names[5]).scores)
            self.assertEqual((cut.remove(*names[:9], "nobody"), whole.remove(*names[:9])), (9, 9))
            self.assertEqual(cut.count(), 291)

    def places(self, whole: Any, names: list[str]) -> list[dict[str, Any]]:
        """Of members, of equals, between members, and at both ends."""
        found: list[dict[str, Any]] = []
        for name in (*names[::90], "\udcff"):
            row = whole.get(name, time=True)
            time = {} if row.time is None else {"at": row.time}
            places = [{}, {"member": name}, {**time, "member": name}, {**time, "member": "member 5x"}, time]
            found += [{"score": row.scores, **place} for place in places]
        return found + [{"score": tuple(score for _ in row.scores)} for score in (0, 7, 2.5) if self.takes(whole, score)]

    @staticmethod
    def takes(whole: Any, score: float) -> bool:
        return isinstance(score, int) or all(field.type == "FLOAT" for field in whole.info().fields)

    def test_a_tie_time_in_seconds(self) -> None:
        whole, cut, names = self.boards({"ties": "LAST S", "since": START}, 60)
        for at in (START + 1, START + 1.999, START + 2):
            for board_at in ({"at": at}, {"at": at, "member": names[3]}):
                self.assertEqual(cut.after(50, 3, **board_at), whole.after(50, 3, **board_at))
                self.assertEqual(cut.before(50, 3, **board_at), whole.before(50, 3, **board_at))

    def test_a_scan_goes_through_all_shards(self) -> None:
        whole, cut, names = self.boards({"ties": "FIRST"}, 300)
        entries = list(cut.scan_all(count=10, time=True))
        expected = {entry.member: entry for entry in whole.scan_all(time=True)}
        self.assertEqual((len(entries), {entry.member: entry for entry in entries}), (300, expected))
        cursor, lines = "0", []
        while True:
            cursor, found = cut.scan_lines(cursor, count=10, time=True)
            lines += found
            if cursor == "0":
                break
        other = ShardedLeaderboard(self.cluster, "other", 4, ties="FIRST")
        self.assertEqual((other.load(lines), other.load(lines, nx=True), other.load([])), (300, 0, 0))
        self.assertEqual(other.top(300, time=True), whole.top(300, time=True))
        for cursor in ("x", "8:0", "-1:0", "1", "1:", ""):
            for step in (cut.scan, cut.scan_lines, lambda cursor: cut.verify(cursor=cursor)):
                with self.assertRaisesRegex(ValueError, "a cursor that a step returned"):
                    step(cursor)
        step = cut.verify(count=10)
        checked = step.checked
        while step.cursor != "0":
            step = cut.verify(cursor=step.cursor, count=10)
            checked += step.checked
        self.assertEqual(checked, 300)

    def test_the_board_itself(self) -> None:
        schema: dict[str, Any] = {"fields": ["gold INT", "time ASC FLOAT"], "ties": "JOINED", "keep": 900, "data": "who"}
        cut = ShardedLeaderboard(self.cluster, "cut", 8, **schema)
        self.assertIsNone(cut.info())
        self.assertEqual(cut.clear(), 0)
        whole, cut, names = self.boards(schema, 100)

        def infos() -> list[Any]:
            return [replace(board.info(), shard=None, schema=None, since=None) for board in (cut, whole)]

        got, expected = infos()
        self.assertEqual(got, expected)
        self.assertEqual((got.members, got.data, got.keep), (100, "who", 900))
        for changes in ({"keep": 500, "update": "BEST"}, {"keep": None, "data": None}, {"data": "others", "owned": True}):
            for board in (whole, cut):
                board.alter(**changes)
            got, expected = infos()
            self.assertEqual(got, expected)
        for board in (whole, cut):
            board.set_data(names[3], {"team": "red"})
            self.assertEqual(board.get_attributes(names[3], "team", "size"), ["red", None])
            self.assertEqual((board.clear(), board.count()), (100, 0))
        with self.assertRaisesRegex(TypeError, "unknown option 'periods'"):
            cut.alter(periods=[])

    def test_attributes(self) -> None:
        board = ShardedLeaderboard(self.cluster, "game", 4, data="who")
        for number in range(20):
            board.add(f"m{number}", number, data={"number": number})
        self.assertEqual([row.data for row in board.top(3, data=True)], [{"number": at} for at in (19, 18, 17)])
        self.assertEqual(board.get("m7", data=True).data, {"number": 7})

    def test_an_empty_board(self) -> None:
        board = ShardedLeaderboard(self.cluster, "game", 4)
        self.assertEqual((board.top(3), board.count(), board.get("ann"), board.percentile("ann")), ([], 0, None, None))
        self.assertEqual((board.after(3, 5), board.before(3, 5), board.by_score(3, 5), board.scan().entries), ([], [], [], []))
        self.assertEqual(list(board.scan_all()), [])
        self.assertEqual((board.around("ann", 2), board.among(["ann"]), board.page(3, 10).rows), ([], [], []))

    def test_keys_are_those_of_the_server(self) -> None:
        for n in (2, 16, 1024):
            board = ShardedLeaderboard(self.cluster, "game", n)
            self.assertEqual(board.shards(), board.calls.keys)
            for name in ("ann", "", "{x}", b"\xff\x00"):
                self.assertEqual(board.shard(name), board.calls.keys[board.calls._home(name)])
        self.assertEqual((crc16(b"123456789"), keys_of("game", 2)[0]), (0x31C3, "game:2:{2}"))

    def test_wrong_use_is_refused(self) -> None:
        for shards in (0, 1, 3, 2048):
            with self.assertRaises(ValueError):
                ShardedLeaderboard(self.cluster, "game", shards)
        board = ShardedLeaderboard(self.cluster, "game", 4, fields=["score BITS 4"])
        with self.assertRaises(ValueError):
            board.top(3, kind="DENSE")  # type: ignore[typeddict-item]
        for start, stop in ((0, 5), (1, 0)):
            with self.assertRaises(ValueError):
                board.range(start, stop)
        with self.assertRaises(ValueOutOfRange):
            board.add("ann", 99)
        with self.assertRaises(SchemaError):
            ShardedLeaderboard(self.cluster, "game", 4, ties="LAST").create()
        for question in (
            lambda: board.top(-1),
            lambda: board.after(-1, 5), lambda: board.before(-1, 5), lambda: board.by_score(0, 5, limit=(-1, 5)),
            lambda: board.page(0, 5), lambda: board.page(1, 0), lambda: board.around("ann", -1),
        ):  # fmt: skip
            with self.assertRaisesRegex(ValueError, r"takes [01] or more, got"):
                question()

    def test_a_shard_that_cannot_be_created_for_a_while_is_tried_again(self) -> None:
        steps: Steps[int] = ShardedCalls("game", 2, {}, 60).add("ann", 1)
        self.assertEqual([call.name for call in steps.send(None)], ["RANK.ADD"])  # type: ignore[arg-type, union-attr]
        self.assertEqual([call.name for call in steps.send([NoBoard()])], ["RANK.CREATE"])  # type: ignore[union-attr]
        self.assertIsInstance(steps.send([redis.exceptions.TryAgainError()]), Pause)
        self.assertEqual([call.name for call in steps.send(None)], ["RANK.ADD"])  # type: ignore[arg-type, union-attr]
        with self.assertRaises(StopIteration) as end:
            steps.send([1])
        self.assertEqual(end.exception.value, 1)

    def test_what_may_have_been_written_is_not_written_again(self) -> None:
        for write in (ShardedCalls("game", 2, {}, 60).incr("ann", 1), ShardedCalls("game", 2, {}, 60).add("ann", 1)):
            next(write)
            with self.assertRaises(OutcomeUnknown):
                write.send([OutcomeUnknown()])

    def test_a_top_is_one_round_and_a_page_anywhere_a_few(self) -> None:
        _, cut, names = self.boards({"ties": "FIRST"}, 5000)
        calls: ShardedCalls = cut.calls

        def rounds(steps: Any) -> int:
            count = 0

            def counted() -> Any:
                nonlocal count
                answer = None
                while True:
                    try:
                        step = steps.send(answer)
                    except StopIteration as end:
                        return end.value
                    count += 1
                    answer = yield step

            Sync(self.cluster).run(counted())
            return count

        self.assertEqual(rounds(calls.top(100)), 1)
        self.assertEqual(rounds(calls.count()), 1)
        self.assertEqual(rounds(calls.get(names[7])), 2)
        self.assertEqual(rounds(calls.among(names[:30])), 2)
        self.assertLessEqual(rounds(calls.around(names[7], 5)), 4)
        self.assertEqual(rounds(calls.after(50, 3)), 2)
        self.assertEqual(rounds(calls.before(50, 3, member=names[7], at=START)), 2)
        self.assertEqual(rounds(calls.by_score(3, 5, limit=(10, 50))), 2)
        for start in (1, 1000, 2500, 4999):
            self.assertLessEqual(rounds(calls.range(start, start + 49)), 7)

    def test_asyncio(self) -> None:
        _, cut, names = self.boards({"ties": "FIRST"}, 100)

        async def work() -> list[Any]:
            async with redis.asyncio.RedisCluster.from_url(CLUSTER_URL) as cluster:
                board = redis_rank.asyncio.ShardedLeaderboard(cluster, "cut", 8, ties="FIRST")
                rows = [await board.top(9), await board.range(50, 58), await board.after(9, 3), await board.by_score(2, 3)]
                return [*rows, await board.get(names[3]), await board.count(), [entry async for entry in board.scan_all()]]

        rows = [cut.top(9), cut.range(50, 58), cut.after(9, 3), cut.by_score(2, 3)]
        self.assertEqual(asyncio.run(work()), [*rows, cut.get(names[3]), cut.count(), list(cut.scan_all())])
