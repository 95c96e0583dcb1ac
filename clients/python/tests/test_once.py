"""Nothing happens twice, and nothing happens late: connections break before, in the middle of and after each command."""

from __future__ import annotations

import asyncio
import contextlib
import unittest
from collections.abc import AsyncIterator, Callable
from typing import Any

import redis
import redis.asyncio
from proxy import Proxy
from servers import Cluster, Server, wait_for
from support import Awaited

import redis_rank
import redis_rank.asyncio
from redis_rank import OutcomeUnknown, execute

NOW = 1_700_000_000


async def many_incr(client: Any, package: Any) -> None:
    board = package.Leaderboard(client, "game", ties="FIRST")
    await Awaited(package).execute(client, board.calls.count(), board.calls.incr("ann", 1), board.calls.count())


async def transaction(client: Any, package: Any) -> None:
    board = package.Leaderboard(client, "game", ties="FIRST")
    await Awaited(package).execute(client, board.calls.incr("ann", 1), transaction=True)


# What is sent, and how often it has happened.
CASES: dict[str, tuple[str, Callable[[Any, Any], Any], Callable[[Any], Any]]] = {
    "incr": (
        "RANK.INCR",
        lambda client, package: Awaited(package.Leaderboard(client, "game", ties="FIRST")).incr("ann", 1),
        lambda client: redis_rank.Leaderboard(client, "game").score("ann") - 10,
    ),
    "a pipeline": ("RANK.INCR", many_incr, lambda client: redis_rank.Leaderboard(client, "game").score("ann") - 10),
    "a transaction": ("RANK.INCR", transaction, lambda client: redis_rank.Leaderboard(client, "game").score("ann") - 10),
    "add": (
        "RANK.ADD",
        lambda client, package: Awaited(package.Leaderboard(client, "game", ties="FIRST")).add("new", 1),
        lambda client: redis_rank.Leaderboard(client, "game").count() - 3,
    ),
    "pop": (
        "RANK.POP",
        lambda client, package: Awaited(package.Leaderboard(client, "game")).pop(),
        lambda client: 3 - redis_rank.Leaderboard(client, "game").count(),
    ),
    "check": (
        "RATE.CHECK",
        lambda client, package: Awaited(package.RateLimiter(client, "9/1h")).check("limit"),
        lambda client: 9 - redis_rank.RateLimiter(client, "9/1h").peek("limit").remaining,
    ),
    "acquire": (
        "RATE.ACQUIRE",
        lambda client, package: Awaited(package.Lease(client, "lease", 5)).acquire(),
        lambda client: redis_rank.Lease(client, "lease").held().held,
    ),
    "claim": (
        "DUE.CLAIM",
        lambda client, package: Awaited(package.Schedule(client, "jobs")).claim(),
        lambda client: redis_rank.Schedule(client, "jobs").info().claimed,
    ),
    "a claim that waits": (
        "DUE.CLAIM",
        lambda client, package: Awaited(package.Schedule(client, "jobs")).claim(block=5),
        lambda client: redis_rank.Schedule(client, "jobs").info().claimed,
    ),
    "pop of a schedule": (
        "DUE.POP",
        lambda client, package: Awaited(package.Schedule(client, "jobs")).pop(),
        lambda client: 3 - redis_rank.Schedule(client, "jobs").info().items,
    ),
    "add to a schedule": (
        "DUE.ADD",
        lambda client, package: Awaited(package.Schedule(client, "jobs")).add("new", after=0),
        lambda client: redis_rank.Schedule(client, "jobs").info().items - 3,
    ),
}


class Once(unittest.TestCase):
    server: Any
    cluster: Any
    proxies: list[Proxy]

    @classmethod
    def setUpClass(cls) -> None:
        cls.server, cls.cluster = Server(), Cluster(False)
        cls.proxies = [Proxy(node.port) for node in (cls.server, *cls.cluster.nodes)]
        for node, proxy in zip(cls.cluster.nodes, cls.proxies[1:]):
            with node.client() as client:
                client.config_set("cluster-announce-port", proxy.port)
        ports = {proxy.port for proxy in cls.proxies[1:]}

        def announced() -> bool:
            for node in cls.cluster.nodes:
                with node.client() as client:
                    if {part[2][1] for part in client.execute_command("CLUSTER SLOTS")} != ports:
                        return False
            return True

        wait_for(announced)

    @classmethod
    def tearDownClass(cls) -> None:
        for part in (*cls.proxies, cls.server, cls.cluster):
            part.close()

    def url(self, is_cluster: bool) -> str:
        return f"redis://127.0.0.1:{self.proxies[1 if is_cluster else 0].port}"

    def arm(self, how: Any, word: str) -> None:
        for proxy in self.proxies:
            proxy.arm(how, word)

    def disarm(self) -> bool:
        was_broken = not all(proxy.armed for proxy in self.proxies)
        for proxy in self.proxies:
            proxy.armed = None
        return was_broken

    @contextlib.asynccontextmanager
    async def client(self, name: str, **options: Any) -> AsyncIterator[tuple[Any, Any]]:
        is_async, is_cluster = name.startswith("asyncio"), name.endswith("cluster")
        library = redis.asyncio if is_async else redis
        client: Any = (library.RedisCluster if is_cluster else library.Redis).from_url(self.url(is_cluster), **options)
        try:
            yield client, redis_rank.asyncio if is_async else redis_rank
        finally:
            closed = client.aclose() if is_async else client.close()
            if closed is not None:
                await closed

    def prepare(self, client: Any) -> None:
        client.delete("game"), client.delete("limit"), client.delete("lease"), client.delete("jobs")
        board = redis_rank.Leaderboard(client, "game", ties="FIRST")
        board.add_many({"ann": 10, "bob": 5, "cid": 1})
        redis_rank.Schedule(client, "jobs").add("a", "b", "c", at=NOW)

    def test_at_most_once(self) -> None:
        for name in ("redis", "cluster", "asyncio redis", "asyncio cluster"):
            kind = redis.RedisCluster if name.endswith("cluster") else redis.Redis
            with kind.from_url(self.url(name.endswith("cluster"))) as observer:  # type: ignore[attr-defined]
                asyncio.run(self.break_each(name, observer))

    async def break_each(self, name: str, observer: Any) -> None:
        async with self.client(name) as (client, package):
            for case, (word, act, happened) in CASES.items():
                for how in ("before", "middle", "after"):
                    with self.subTest(name, case=case, how=how):
                        self.prepare(observer)
                        # A connection that works, so that it is the command that breaks it.
                        await Awaited(package.Leaderboard(client, "game", ties="FIRST")).add("bob", 5)
                        self.arm(how, word)
                        with self.assertRaises(OutcomeUnknown) as caught:
                            await act(client, package)
                        self.assertTrue(self.disarm())
                        self.assertIsInstance(caught.exception, redis.ConnectionError)
                        self.assertEqual(happened(observer), 1 if how == "after" else 0)
                        # The client goes on.
                        await act(client, package)
                        # To add the same again changes nothing.
                        expected = 2 if how == "after" and not case.startswith("add") else 1
                        self.assertEqual(happened(observer), expected)

    def test_shards(self) -> None:
        with redis.RedisCluster.from_url(self.url(True)) as client:
            board = redis_rank.ShardedLeaderboard(client, "world", 4, ties="FIRST")
            board.add_many({"ann": 1, "bob": 2})
            for how in ("before", "middle", "after"):
                for act in (lambda: board.incr("ann", 1), lambda: board.add("ann", 7)):
                    board.add("ann", 1)
                    self.arm(how, "ann")
                    with self.assertRaises(OutcomeUnknown):
                        act()
                    self.disarm()
                # Reads, and what does the same twice, are repeated.
                board.add("ann", 1)
                self.arm(how, "RANK.FORSCORE")
                self.assertEqual(board.get("ann").rank, 2)  # type: ignore[union-attr]
                self.assertTrue(self.disarm())
                self.arm(how, "RANK.REM")
                self.assertEqual(board.remove("ann"), 0 if how == "after" else 1)
                self.assertEqual((self.disarm(), board.get("ann")), (True, None))

    def test_a_server_that_is_away_was_sent_nothing(self) -> None:
        async def work() -> None:
            for kind in ("redis", "asyncio redis"):
                library, package = (redis.asyncio, redis_rank.asyncio) if kind != "redis" else (redis, redis_rank)
                from redis.backoff import NoBackoff
                from redis.retry import Retry as SyncRetry
                from redis.asyncio.retry import Retry as AsyncRetry

                retry: Any = SyncRetry if library is redis else AsyncRetry
                client: Any = library.Redis(port=1, retry=retry(NoBackoff(), 0))
                with self.assertRaises(redis.ConnectionError) as caught:
                    await Awaited(package.Leaderboard(client, "game")).incr("ann", 1)
                self.assertNotIsInstance(caught.exception, OutcomeUnknown)

        asyncio.run(work())

    def test_who_gives_up_gets_no_late_reply(self) -> None:
        async def work() -> None:
            for name in ("asyncio redis", "asyncio cluster"):
                async with self.client(name) as (client, package):
                    board, jobs = package.Leaderboard(client, "game"), package.Schedule(client, "empty")
                    await board.add("ann", 1)
                    for _ in range(3):
                        with self.assertRaises(asyncio.TimeoutError):
                            await asyncio.wait_for(jobs.claim(block=2), 0.1)
                        self.assertEqual(await board.incr("ann", 0), 1)

        asyncio.run(work())

    def test_order_is_kept(self) -> None:
        for kind, is_cluster in ((redis.Redis, False), (redis.RedisCluster, True)):
            with kind.from_url(self.url(is_cluster)) as client:  # type: ignore[attr-defined]
                self.prepare(client)
                boards = [redis_rank.Leaderboard(client, f"order{at}") for at in range(20)]
                calls = [call for at in range(5) for board in boards for call in (board.calls.incr("ann", 1), board.calls.score("ann"))]
                expected = [at for at in range(1, 6) for _ in boards for _ in range(2)]
                for board in boards:
                    client.delete(board.calls.key)
                self.assertEqual(execute(client, *calls), expected)
                self.assertEqual(execute(client), [])


class Outage(unittest.TestCase):
    def test_checks_of_an_outage_never_happen(self) -> None:
        server = Server()
        self.addCleanup(server.close)
        with server.client() as client:
            limiter = redis_rank.RateLimiter(client, "5/1h", failing="open", timeout=0.3)
            self.assertEqual(limiter.check("ann").source, "server")
            server.kill()
            self.assertEqual({limiter.check("ann").source for _ in range(25)}, {"open"})
            server.start()
            self.assertEqual((limiter.check("ann").remaining, limiter.check("ann").remaining), (4, 3))
        asyncio.run(self.with_asyncio(server))

    async def with_asyncio(self, server: Server) -> None:
        async with redis.asyncio.Redis.from_url(server.url) as client:
            limiter = redis_rank.asyncio.RateLimiter(client, "5/1h", failing="open", timeout=0.3)
            await limiter.check("bob")
            server.kill()
            verdicts = await asyncio.gather(*(limiter.check("bob") for _ in range(25)))
            self.assertEqual({verdict.source for verdict in verdicts}, {"open"})
            server.start()
            self.assertEqual([(await limiter.check("bob")).remaining for _ in range(2)], [4, 3])
