"""A board over many keys answers as one board with the same members does."""

from __future__ import annotations

import asyncio
import random
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
                    group = [*names[::7], "nobody", names[0]]
                    self.assertEqual(cut.among(group, **options), whole.among(group, **options))
                    scores = whole.get(names[9]).scores
                    self.assertEqual(cut.for_score(scores, kind=kind), whole.for_score(scores, kind=kind))
            self.assertEqual((cut.count(), cut.count(3, 5)), (whole.count(), whole.count(3, 5)))
            for board in (whole, cut):
                board.incr(names[5], tuple(1 for _ in schema.get("fields", [1])))
            self.assertEqual(cut.get(names[5]).scores, whole.get(names[5]).scores)
            self.assertEqual((cut.remove(*names[:9], "nobody"), whole.remove(*names[:9])), (9, 9))
            self.assertEqual(cut.count(), 291)

    def test_attributes(self) -> None:
        board = ShardedLeaderboard(self.cluster, "game", 4, data="who")
        for number in range(20):
            board.add(f"m{number}", number, data={"number": number})
        self.assertEqual([row.data for row in board.top(3, data=True)], [{"number": at} for at in (19, 18, 17)])
        self.assertEqual(board.get("m7", data=True).data, {"number": 7})

    def test_an_empty_board(self) -> None:
        board = ShardedLeaderboard(self.cluster, "game", 4)
        self.assertEqual((board.top(3), board.count(), board.get("ann"), board.percentile("ann")), ([], 0, None, None))
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
        for start in (1, 1000, 2500, 4999):
            self.assertLessEqual(rounds(calls.range(start, start + 49)), 7)

    def test_asyncio(self) -> None:
        _, cut, names = self.boards({"ties": "FIRST"}, 100)

        async def work() -> list[Any]:
            async with redis.asyncio.RedisCluster.from_url(CLUSTER_URL) as cluster:
                board = redis_rank.asyncio.ShardedLeaderboard(cluster, "cut", 8, ties="FIRST")
                return [await board.top(9), await board.get(names[3]), await board.range(50, 58), await board.count()]

        self.assertEqual(asyncio.run(work()), [cut.top(9), cut.get(names[3]), cut.range(50, 58), cut.count()])
