"""What happens with boards: made by the first write, pipelines, errors."""

from datetime import datetime, timezone
from typing import Any

import redis
from support import CLUSTER_URL, URL, Awaited, Case, flush_all, on_each_client

from redis_rank import (
    CommandError,
    CrossSlot,
    DamagedBoard,
    Leaderboard,
    ModuleNotLoaded,
    NoBoard,
    NotPermitted,
    Period,
    RankError,
    SchemaError,
    ValueOutOfRange,
    WrongType,
    execute,
    raw,
)  # fmt: skip


class Creation(Case):
    def test_the_first_write_makes_the_board(self) -> None:
        board = Leaderboard(self.redis, "game", fields=["score BITS 20"], keep=2)
        self.assertEqual(board.top(3), [])
        self.assertEqual(self.redis.exists("game"), 0)
        board.add_many({"ann": 1, "bob": 2, "cid": 3})
        self.assertEqual([row.member for row in board.top(3)], ["cid", "bob"])
        self.assertEqual(Leaderboard(self.redis, "game", fields=["score BITS 20"], keep=2).add("dan", 9), 1)

    def test_a_board_without_a_schema_is_a_sorted_set(self) -> None:
        Leaderboard(self.redis, "plain").add("ann", 5)
        self.assertEqual(self.redis.zrange("plain", 0, -1, withscores=True), [(b"ann", 5.0)])

    def test_another_schema_is_an_error_of_its_creation(self) -> None:
        Leaderboard(self.redis, "game", keep=2).add("ann", 1)
        with self.assertRaises(SchemaError):
            Leaderboard(self.redis, "game", keep=3).create()
        with self.assertRaises(SchemaError):
            Leaderboard(self.redis, "game", fields=["a", "b"]).add("bob", (1, 2))
        self.assertEqual(Leaderboard(self.redis, "game").count(), 1)

    def test_a_board_that_was_deleted_is_made_again(self) -> None:
        async def work(client: Any, package: Any) -> Any:
            medals = Awaited(package.Leaderboard(client, "medals", fields=["gold INT", "silver INT", "bronze INT"]))
            await medals.add("USA", (1, 2, 3))
            flush_all()
            await medals.add("USA", (4, 5, 6))
            flush_all()
            with self.assertRaisesRegex(NoBoard, "^medals: "):
                await Awaited(package).execute(client, medals.calls.add("GBR", (1, 1, 1)), medals.calls.count())
            await medals.create()
            await Awaited(package).execute(client, medals.calls.add("GBR", (1, 1, 1)), medals.calls.incr("USA", (7, 8, 9)))
            # Somebody changed it: their schema stays.
            await Awaited(package.Leaderboard(client, "medals")).alter(keep=1)
            await medals.add("AUT", (0, 0, 1))
            return [(row.member, row.scores) for row in await medals.top(9)], (await medals.info()).keep

        for variant, values in on_each_client(work):
            with self.subTest(variant):
                self.assertEqual(values, ([("USA", (7, 8, 9))], 1))


class Pipelines(Case):
    def test_several_calls_in_one_round_trip(self) -> None:
        board = Leaderboard(self.redis, "game", ties="FIRST")
        board.create()
        results = execute(self.redis, board.calls.add("ann", 5), board.calls.top(1), board.calls.count())
        self.assertEqual((results[0], results[1][0].member, results[2]), (1, "ann", 1))
        self.assertEqual(board.info().ties, "FIRST")

    def test_a_transaction(self) -> None:
        board = Leaderboard(self.redis, "game")
        with redis.Redis.from_url(URL, decode_responses=True) as decoded:
            for client in (self.redis, decoded):
                added, row = execute(client, board.calls.add("ann", 5), board.calls.get("ann"), transaction=True)
                self.assertEqual((row.rank, row.member, row.score), (1, "ann", 5))

    def test_an_error_among_several_is_raised(self) -> None:
        board = Leaderboard(self.redis, "game", fields=["score INT"])
        with self.assertRaises(ValueOutOfRange):
            board.create()
            execute(self.redis, board.calls.add("ann", 5), board.calls.add("bob", 0.5))


class Errors(Case):
    def expect(self, kind: type[Exception], act: object) -> Exception:
        with self.assertRaises(kind) as caught:
            act()  # type: ignore[operator]
        self.assertIs(type(caught.exception), kind)
        self.assertIsInstance(caught.exception, RankError)
        return caught.exception

    def test_errors_are_classes(self) -> None:
        board = Leaderboard(self.redis, "game", fields=["gold BITS 10"])
        error = self.expect(ValueOutOfRange, lambda: board.add("ann", 2000))
        self.assertEqual(str(error), "field 'gold' takes 0 to 1023, got 2000")
        self.assertIsInstance(error, redis.ResponseError)
        self.expect(SchemaError, lambda: Leaderboard(self.redis, "game", keep=3).create())
        self.redis.set("text", "x")
        self.expect(WrongType, lambda: Leaderboard(self.redis, "text").top(1))
        self.redis.zadd("game", {"stranger": 0.5})
        self.expect(DamagedBoard, lambda: board.top(5))

    def test_an_import_of_old_times(self) -> None:
        old = datetime(2020, 3, 1, tzinfo=timezone.utc)
        for since, overflow in ((datetime(2020, 1, 1, tzinfo=timezone.utc), 0), (None, 1)):
            self.redis.delete("game")
            schema: dict[str, Any] = {"fields": ["points INT"], "ties": "FIRST"}
            board = Leaderboard(self.redis, "game", **schema, **({"since": since} if since else {}))
            board.add("ann", 100_000, at=old)
            info = board.info()
            assert info is not None
            self.assertEqual((info.layout, info.overflow, board.get("ann", time=True).time), ("coded", overflow, 1583020800))
            # Who writes later needs not know it.
            self.assertEqual(Leaderboard(self.redis, "game", **schema).add("bob", 1), 1)
        self.expect(SchemaError, lambda: Leaderboard(self.redis, "game", **schema, since=0).create())
        self.expect(CommandError, lambda: Leaderboard(self.redis, "other", since=0).create())

    def test_replies_of_a_newer_server(self) -> None:
        board = Leaderboard(self.redis, "game", keep=5)
        board.add("ann", 1)
        for call, name in ((board.calls.info(), "RANK.INFO"), (board.calls.verify(), "RANK.VERIFY")):
            reply = self.redis.execute_command(name, "game")
            newer = {**reply, b"new": 1} if isinstance(reply, dict) else [*reply, b"new", 1]
            self.assertEqual(call.parse(newer), call.parse(reply))

    def test_what_a_board_lacks(self) -> None:
        board = Leaderboard(self.redis, "game")
        board.add("ann", 1)
        self.expect(SchemaError, lambda: board.get("ann", data=True))
        self.expect(SchemaError, lambda: board.top(1, period="day"))
        with redis.RedisCluster.from_url(CLUSTER_URL) as cluster:
            self.expect(CrossSlot, lambda: Leaderboard(cluster, "game", periods=[Period("DAY", "day:")]).add("ann", 1))

    def test_names_decide_nothing(self) -> None:
        board = Leaderboard(self.redis, "game", fields=["schema BITS 4"], data="{game}:who", owned=True)
        self.expect(ValueOutOfRange, lambda: board.add("ann", 99))
        for name in ("the schema", "RANK.VERIFY x", "field 'x' takes 5"):
            self.expect(CommandError, lambda: board.put_data(name, {"x": 1}))
        self.expect(CommandError, lambda: Leaderboard(self.redis, "other", fields=["a INT", "a INT"]).create())

    def test_permissions(self) -> None:
        self.redis.execute_command("ACL SETUSER reader on nopass ~game* +rank.topn")
        self.addCleanup(self.redis.execute_command, "ACL DELUSER", "reader")
        with redis.Redis.from_url(URL, username="reader", password="x") as client:
            self.assertEqual(Leaderboard(client, "game").top(1), [])
            self.expect(NotPermitted, lambda: Leaderboard(client, "game").add("ann", 1))
            self.expect(NotPermitted, lambda: Leaderboard(client, "other").top(1))

    def test_what_is_not_of_the_server_stays_as_it_is(self) -> None:
        with self.assertRaises(redis.ConnectionError):
            Leaderboard(redis.Redis(port=1), "game").top(1)

    def test_a_server_without_the_command(self) -> None:
        self.expect(ModuleNotLoaded, lambda: execute(self.redis, raw("RANK.NONE", "x")))
