"""Declared boards keep their promises, as the user `writer` of redis.conf.example too."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import redis
import redis.asyncio
from servers import REPOSITORY
from support import CLUSTER_URL, URL, Awaited, Case, flush_all, on_each_client, row, with_client

import redis_rank
from redis_rank import Leaderboard, NoBoard, NotPermitted, Period, SchemaError, ShardedLeaderboard, execute

GAME: dict[str, Any] = {"fields": ["points INT", "wins INT"], "ties": "FIRST", "update": "BEST", "data": "board:{g}:who"}
KEY = "board:{g}"
SHARDED: dict[str, Any] = {"fields": GAME["fields"], "ties": "FIRST", "data": "who"}


def rules_of(user: str) -> list[str]:
    """The line of a user in redis.conf.example, after its name."""
    lines = (REPOSITORY / "redis.conf.example").read_text().splitlines()
    [line] = [line for line in lines if line.startswith(f"user {user} on ")]
    return line.split()[2:]


class FirstWrites(Case):
    """Every first write makes the board."""

    def test_each_one(self) -> None:
        firsts: dict[str, Any] = {
            "add": ("ann", (1, 2)), "add_many": ({"ann": (1, 2)},), "incr": ("ann", (1, 2)), "set_data": ("ann", {"name": "Ann"}),
            "put_data": ("ann", {"age": 7}), "add_ranked": ("ann", (1, 2)), "load": (['{"member":"ann","scores":{"points":1,"wins":2}}'],),
        }  # fmt: skip

        async def scenario(client: Any, package: Any) -> None:
            for make in (lambda: package.Leaderboard(client, KEY, **GAME), lambda: package.ShardedLeaderboard(client, "b", 4, **SHARDED)):
                for name, arguments in firsts.items():
                    board = Awaited(make())
                    if not hasattr(board.inner, name):
                        continue
                    flush_all()
                    with self.subTest(name, client=client):
                        await getattr(board, name)(*arguments)
                        await board.add("bob", (3, 4))
                        self.assertEqual((await board.get("bob")).rank, 1)

        on_each_client(scenario)

    def test_without_permission_to_create(self) -> None:
        board = Leaderboard(self.redis, KEY, **GAME, create="never")
        for write in (lambda: board.set_data("ann", {"name": "Ann"}), lambda: board.put_data("ann", {})):
            with self.assertRaises(SchemaError):
                write()
        self.assertEqual(self.redis.dbsize(), 0)

    def test_a_board_without_a_hash_stays_as_it_is(self) -> None:
        Leaderboard(self.redis, KEY, ties="LAST").create()
        with self.assertRaises(SchemaError):
            Leaderboard(self.redis, KEY, **GAME).put_data("ann", {"age": 7})
        with self.assertRaises(SchemaError):
            Leaderboard(self.redis, "other", ties="FIRST").put_data("ann", {"age": 7})
        self.assertEqual(self.redis.keys(), [KEY.encode()])


class Writer(Case):
    """Each feature, by the user that is meant for it."""

    def as_user(self, name: str, url: str = URL) -> dict[str, Any]:
        nodes: list[Any] = [self.redis]
        if url == CLUSTER_URL:
            with redis.RedisCluster.from_url(url) as cluster:
                nodes = [redis.Redis(host=node.host, port=node.port) for node in cluster.get_nodes()]
        for node in nodes:
            node.execute_command("ACL", "SETUSER", name, "reset", *rules_of(name), "nopass")
            self.addCleanup(node.execute_command, "ACL", "DELUSER", name)
        return {"username": name, "password": "x"}

    @contextlib.contextmanager
    def client(self, name: str = "writer") -> Iterator[Any]:
        with redis.Redis.from_url(URL, **self.as_user(name)) as client:
            yield client

    def test_whatever_happens_to_the_board(self) -> None:
        def altered() -> None:
            self.redis.execute_command("RANK.ALTER", KEY, "KEEP", 1000, "UPDATE", "SET", "PERIOD", "DAY", KEY + ":day:")

        def expired() -> None:
            self.redis.pexpire(KEY, 1)
            while self.redis.exists(KEY):
                pass

        def a_new_process() -> None:
            nonlocal board
            board = Leaderboard(client, KEY, **GAME)

        with self.client() as client:
            board = Leaderboard(client, KEY, **GAME)
            happenings = [
                a_new_process, lambda: self.redis.delete(KEY), expired, self.redis.flushall, altered, a_new_process,
                lambda: self.redis.unlink(KEY), lambda: None,
            ]  # fmt: skip
            for at, happen in enumerate(happenings):
                happen()
                with self.subTest(at):
                    change = board.add_ranked("ann", (at, 0), data={"name": "Ann"})
                    self.assertEqual((change.score, change.rank), (at, 1))
                    info = board.info()
                    assert info is not None
                    self.assertEqual((info.ties, [field.name for field in info.fields]), ("FIRST", ["points", "wins"]))
                    self.assertEqual(info.keep, 1000 if happen is altered or at == 5 else None)

    def test_a_rule_is_never_lost_in_silence(self) -> None:
        with self.client() as client:
            board = Leaderboard(client, KEY, **GAME)
            board.add("ann", (1, 1))
            self.redis.execute_command("ACL SETUSER writer -rank.create")
            self.redis.delete(KEY)
            with self.assertRaises(NotPermitted):
                board.add("ann", (1, 1))
            self.assertEqual(self.redis.exists(KEY), 0)

    def test_one_command_each(self) -> None:
        with self.client() as client:
            board = Leaderboard(client, KEY, **GAME)
            board.add("ann", (1, 1))
            self.redis.config_resetstat()
            for _ in range(10):
                board.add("ann", (1, 1))
                board.incr("ann", (1, 0))
            stats = {name: value["calls"] for name, value in self.redis.info("commandstats").items() if "rank" in name}
            self.assertEqual(stats, {"cmdstat_rank.add": 10, "cmdstat_rank.incr": 10})

    def test_a_rolling_deploy(self) -> None:
        """Two versions of a declaration, each of which may be the first; and all at once."""
        old, new = GAME, {**GAME, "keep": 5, "update": "SET"}
        with self.client() as client:
            for first, second in ((old, new), (new, old)):
                self.redis.delete(KEY)
                for schema in (first, second, first):
                    Leaderboard(client, KEY, **schema).add("ann", (1, 1))
                self.assertEqual(Leaderboard(client, KEY).info().keep, first.get("keep"))  # type: ignore[union-attr]
            for _ in range(20):
                self.redis.delete(KEY)
                errors: list[Exception] = []

                def write(schema: Any, name: str) -> None:
                    try:
                        with redis.Redis.from_url(URL, username="writer", password="x") as own:
                            Leaderboard(own, KEY, **schema).add(name, (1, 1))
                    except Exception as error:
                        errors.append(error)

                threads = [threading.Thread(target=write, args=((old, new)[at % 2], f"m{at}")) for at in range(4)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                self.assertEqual((errors, Leaderboard(client, KEY).count()), ([], 4))
            # Another number of fields is a mistake, and nothing is written.
            with self.assertRaises(SchemaError):
                Leaderboard(client, KEY, fields=["points INT"]).add("ann", 1)
            with self.assertRaises(SchemaError):
                Leaderboard(client, KEY, fields=["points INT"]).create()

    def test_an_import(self) -> None:
        with self.client() as client:
            since = datetime(2020, 1, 1, tzinfo=timezone.utc)
            board = Leaderboard(client, KEY, fields=["points INT"], ties="FIRST", since=since)
            board.add("ann", 5, at=datetime(2020, 3, 1, tzinfo=timezone.utc))
            # Who writes later need not know it.
            Leaderboard(client, KEY, fields=["points INT"], ties="FIRST").add("bob", 5)
            self.assertEqual([row.member for row in board.top(2)], ["ann", "bob"])
            self.assertEqual(board.info().since, since.timestamp())  # type: ignore[union-attr]

    def test_never(self) -> None:
        with self.client() as client:
            board = Leaderboard(client, KEY, create="never", **GAME)
            with self.assertRaises(NoBoard):
                board.add("ann", (1, 1))
            board.create()
            self.assertEqual(board.add("ann", (1, 1)), 1)
            with self.assertRaises(ValueError):
                Leaderboard(client, KEY, create="sometimes")  # type: ignore[arg-type]

    def test_each_feature_in_a_cluster(self) -> None:
        options = self.as_user("writer", CLUSTER_URL)
        self.as_user("worker", CLUSTER_URL)

        async def work(client: Any, package: Any) -> Any:
            board = Awaited(package.Leaderboard(client, KEY, **GAME))
            await board.add("ann", (1, 2), data={"name": "Ann"})
            await Awaited(package).execute(client, board.calls.incr("ann", (1, 1)), transaction=True)
            sharded = Awaited(package.ShardedLeaderboard(client, "board:world", 4, ties="FIRST"))
            await sharded.add_many({"ann": 1, "bob": 2})
            limiter = Awaited(package.RateLimiter(client, "5/1s", prefix="limit:"))
            return [
                (await board.get("ann", data=True)).scores, (await sharded.get("ann")).rank,
                (await limiter.check("ann")).remaining, (await limiter.refund("ann")).remaining,
                await Awaited(package.Schedule(client, "due:{j}", data="due:{j}:data")).add("a", after=0, data="x"),
                (await Awaited(package.Lease(client, "limit:l", 2)).acquire()).allowed,
            ]  # fmt: skip

        for name in ("redis", "cluster", "asyncio redis", "asyncio cluster"):
            if not name.endswith("cluster"):
                self.as_user("writer")
            with self.subTest(name):
                answer = asyncio.run(with_client(name, 3, False, work, **options))
                self.assertEqual(answer, [(2, 3), 2, 4, 5, 1, True])

    def test_a_worker(self) -> None:
        jobs = redis_rank.Schedule(self.redis, "due:jobs", data="due:jobs:data")
        jobs.add("a", after=0, data="x")
        jobs.add("b", after=0, data="y")
        with self.client("worker") as client:
            seen: list[Any] = []

            def handle(job: redis_rank.Job) -> None:
                seen.append((job.item, job.data))
                if job.item == "b":
                    worker.stop()
                    raise ValueError("b")

            schedule = redis_rank.Schedule(client, "due:jobs", data="due:jobs:data")
            worker = redis_rank.Worker(schedule, handle, attempts=1, dead="due:jobs:dead", signals=False)
            with self.assertLogs("redis_rank.worker"):
                worker.run()
            self.assertEqual(seen, [("a", "x"), ("b", "y")])
            self.assertEqual(schedule.claim(attempts=1, dead="due:jobs:dead"), [])
        self.assertEqual(self.redis.zrange("due:jobs:dead", 0, -1), [b"b"])

    def test_dead_letters(self) -> None:
        with self.client() as client:
            jobs = redis_rank.Schedule(client, "due:jobs", "due:jobs:data", dead="due:jobs:dead")
            jobs.add("job", after=0, data=1)

            def handle(job: redis_rank.Job) -> None:
                worker.stop()
                raise redis_rank.Dead("it is")

            worker = redis_rank.Worker(jobs, handle, attempts=3)
            worker.run()
            self.assertEqual((jobs.info().items, [item.data for item in jobs.dead.list()]), (0, [1]))
            self.assertEqual((jobs.revive("job"), jobs.get("job") is None, jobs.dead.get("job"), jobs.dead.discard("job")), (True, False, None, False))
            self.assertEqual(len(jobs.list()), 1)


class Migration(Case):
    def test_what_can_be_changed(self) -> None:
        async def work(client: Any, package: Any) -> Any:
            periods = [Period("DAY", KEY + ":day:", 3), Period("WEEK", KEY + ":week:")]
            schemas: list[dict[str, Any]] = [
                {"ties": "FIRST"},
                {"ties": "FIRST", "keep": 5, "update": "BEST", "data": KEY + ":who", "owned": True},
                {"ties": "FIRST", "periods": periods, "offset": "+09:00"},
                {"ties": "FIRST", "periods": [Period("DAY", KEY + ":other:", 7)], "offset": "+09:00", "keep": 9},
                {"ties": "FIRST"},
            ]
            seen = []
            for schema in schemas:
                board = Awaited(package.Leaderboard(client, KEY, **schema))
                await board.migrate()
                await board.migrate()
                await board.create()
                await board.add("ann", 1)
                info = await board.info()
                seen.append((info.keep, info.update, info.data, [(at["unit"], at["past"]) for at in info.periods]))
            for other in ({"ties": "LAST"}, {"fields": ["a INT"], "ties": "FIRST"}, {"ties": "FIRST", "since": 0}):
                try:
                    await Awaited(package.Leaderboard(client, KEY, **other)).migrate()
                    seen.append("no error")
                except SchemaError as error:
                    seen.append(type(error).__name__)
            return seen

        for variant, seen in on_each_client(work):
            with self.subTest(variant):
                self.assertEqual(seen, [
                    (None, "SET", None, []), (5, "BEST", KEY + ":who", []), (None, "SET", None, [("day", 3), ("week", 1)]),
                    (9, "SET", None, [("day", 7)]), (None, "SET", None, []), *["SchemaError"] * 3,
                ])  # fmt: skip

    def test_shards(self) -> None:
        with redis.RedisCluster.from_url(CLUSTER_URL) as cluster:
            ShardedLeaderboard(cluster, "game", 4, ties="FIRST").create()
            board = ShardedLeaderboard(cluster, "game", 4, ties="FIRST", keep=7)
            with self.assertRaises(SchemaError):
                board.create()
            board.migrate()
            board.create()


class Mistakes(Case):
    """What is wrong is an error at the call, without a type checker too, and nothing is sent."""

    def test_unknown_options(self) -> None:
        board, limiter = Leaderboard(self.redis, "game"), redis_rank.RateLimiter(self.redis, "5/1m")
        jobs: Any = redis_rank.Schedule(self.redis, "jobs")
        sharded = ShardedLeaderboard(redis.RedisCluster.from_url(CLUSTER_URL), "game", 2)
        self.addCleanup(sharded.client.close)
        for mistake in (
            lambda: Leaderboard(self.redis, "game", tie="FIRST"),  # type: ignore[call-arg]
            lambda: board.top(5, perod="day"),  # type: ignore[call-arg]
            lambda: board.add("ann", 1, ttl=5),  # type: ignore[call-arg]
            lambda: board.alter(keeep=5),  # type: ignore[call-arg]
            lambda: limiter.check("a", const=5),  # type: ignore[call-arg]
            lambda: redis_rank.RateLimiter(self.redis, "5/1m", algoritm="GCRA"),  # type: ignore[call-arg]
            lambda: jobs.claim(5, leese=1),
            lambda: sharded.top(3, period="day"),  # type: ignore[call-arg]
            lambda: redis_rank.Worker(jobs, print, concurency=2),
        ):
            with self.assertRaises(TypeError):
                mistake()
        self.assertEqual(self.redis.dbsize(), 0)

    def test_units(self) -> None:
        jobs, board = redis_rank.Schedule(self.redis, "jobs"), Leaderboard(self.redis, "game", ties="FIRST")
        now = int(datetime.now().timestamp() * 1000)
        for mistake in (
            lambda: jobs.add("a", at=now), lambda: board.add("ann", 1, at=now), lambda: jobs.claim(lease=-1),
            lambda: jobs.claim(lease=now), lambda: jobs.add("a", after="5 minutes"), lambda: jobs.add("a"),
            lambda: jobs.add("a", at=1, after=1), lambda: Leaderboard(self.redis, "x", ties="FIRST", since=now).create(),
            lambda: jobs.claim(attempts=3), lambda: jobs.add("a", after=0, data="x"),
        ):  # fmt: skip
            with self.assertRaises(ValueError):
                mistake()
        for wrong in (lambda: jobs.add("a", at="now"), lambda: jobs.add("a", after=True)):  # type: ignore[arg-type]
            with self.assertRaises(TypeError):
                wrong()
        jobs.add("later", at=datetime.now().timestamp() + 3600)
        self.assertEqual(jobs.pop(), [])

    def test_fields(self) -> None:
        board = Leaderboard(self.redis, "game", fields=["gold INT", "silver INT"])
        for mistake in (
            lambda: board.add("ann", 5), lambda: board.add("ann", (1, 2, 3)), lambda: board.incr("ann", 5),
            lambda: board.add("ann", {"bronze": 5}),
        ):  # fmt: skip
            with self.assertRaises(ValueError):
                mistake()
        board.add("ann", {"silver": 5})
        board.add("ann", {"gold": 1})
        self.assertEqual(board.score("ann"), (1, 5))

    def test_the_wrong_kind_of_client(self) -> None:
        for package, client in ((redis_rank, redis.asyncio.Redis()), (redis_rank.asyncio, redis.Redis()), (redis_rank, None)):
            for make in ("Leaderboard", "RateLimiter", "Lease", "Schedule"):
                with self.subTest(package=package, make=make), self.assertRaisesRegex(TypeError, "expected a client of redis"):
                    getattr(package, make)(client, "x" if make != "RateLimiter" else "5/1s")

    def test_empty_batches_do_nothing(self) -> None:
        async def work(client: Any, package: Any) -> Any:
            board = Awaited(package.Leaderboard(client, "game"))
            jobs, lease = Awaited(package.Schedule(client, "jobs")), Awaited(package.Lease(client, "lease"))
            answers = [
                await board.add_many({}), await board.add_many_ranked({}), await board.multiset({}), await board.remove(),
                await board.load([]), await board.among([]), await jobs.add(after=0), await jobs.ack(), await jobs.cancel(),
                await jobs.again(), await lease.release(), await board.set_data("ann", {}),
            ]  # fmt: skip
            several = Awaited(package)
            calls = [board.calls.add_many({}), board.calls.count(), board.calls.remove()]
            answers.append(await several.execute(client))
            answers.append(await several.execute(client, *calls))
            answers.append(await several.execute(client, *calls, transaction=True))
            return answers

        for variant, answers in on_each_client(work):
            with self.subTest(variant):
                self.assertEqual(answers, [0, [], 0, 0, 0, [], 0, 0, 0, 0, 0, 0, [], [0, 0, 0], [0, 0, 0]])

    def test_names_in_transactions(self) -> None:
        async def work(client: Any, package: Any) -> Any:
            board = package.Leaderboard(client, "game")
            calls = [board.calls.incr_ranked(b"\xff\x00", 5), board.calls.top(1), board.calls.trim_returning(0)]
            return await Awaited(package).execute(client, *calls, transaction=True)

        for variant, [change, rows, left] in on_each_client(work):
            with self.subTest(variant):
                self.assertEqual((change.member, rows, left), ("\udcff\x00", [row(1, "\udcff\x00", 5)], ["\udcff\x00"]))
        board = Leaderboard(self.redis, "game", ties="FIRST")
        with self.assertRaisesRegex(NoBoard, "^game: "):
            execute(self.redis, board.calls.add("ann", 1), transaction=True)
