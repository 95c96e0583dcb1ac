"""Limits when the server is away, behind proxies, in a cluster, and on single routes."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
import unittest
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import fastapi
import redis
import redis.asyncio
from servers import Server, wait_for
from support import CLUSTER_URL, URL, Awaited, Case, supports
from test_middleware import FRAMEWORKS, asgi_server, get

import redis_rank
import redis_rank.asyncio
from redis_rank import NotPermitted, RateLimiter, WrongType
from redis_rank.fastapi import RateLimit
from redis_rank.middleware import AsgiRateLimit, ClientAddress, Rule, WsgiRateLimit
from redis_rank.rate import Fallback


@contextlib.contextmanager
def away() -> Iterator[str]:
    """The URL of a server that is not there any more."""
    server = Server()
    server.close()
    yield server.url


class Failing(Case):
    def verdicts(self, url: str, count: int = 4, **options: Any) -> list[Any]:
        async def work(package: Any, client: Any) -> list[Any]:
            # Quick where nobody answers, patient where the machine is busy.
            timeout = 30 if url == URL else 0.3
            limiter = Awaited(package.RateLimiter(client, "2/1h", "9/1d", timeout=timeout, **options))
            return [await limiter.check("ann") for _ in range(count)]

        answers = []
        for package, library in ((redis_rank, redis), (redis_rank.asyncio, redis.asyncio)):
            answers.append(asyncio.run(work(package, library.Redis.from_url(url))))
        return answers

    def test_each_way(self) -> None:
        with away() as url:
            for verdicts in self.verdicts(url, failing="open"):
                self.assertEqual([(verdict.allowed, verdict.source) for verdict in verdicts], [(True, "open")] * 4)
            for verdicts in self.verdicts(url, failing="closed"):
                self.assertEqual([(verdict.limited, verdict.source) for verdict in verdicts], [(True, "closed")] * 4)
            for verdicts in self.verdicts(url, failing="local"):
                self.assertEqual([verdict.allowed for verdict in verdicts], [True, True, False, False])
                self.assertEqual([verdict.remaining for verdict in verdicts], [1, 0, 0, 0])
                self.assertEqual((verdicts[2].rule, verdicts[2].source, len(verdicts[2].rules)), (1, "local", 2))
                self.assertAlmostEqual(verdicts[2].retry_after, 1800, delta=5)
            with self.assertRaises(redis.ConnectionError):
                self.verdicts(url)
        for way in ("open", "closed", "local"):
            for verdicts in self.verdicts(URL, failing=way):
                self.assertEqual(verdicts[0].source, "server")
        with self.assertRaises(ValueError):
            RateLimiter(self.redis, "5/1s", failing="opne")  # type: ignore[arg-type]
        for rule in ("5", "5/1x", "5/month", "5/1s/9"):
            with self.assertRaises(ValueError):
                RateLimiter(self.redis, rule)

    def test_a_mistake_is_no_outage(self) -> None:
        self.redis.set("ann", "text")
        with self.assertRaises(WrongType):
            self.verdicts(URL, failing="open")
        self.redis.execute_command("ACL SETUSER nobody on nopass ~* +ping")
        self.addCleanup(self.redis.execute_command, "ACL", "DELUSER", "nobody")
        with self.assertRaises(NotPermitted):
            self.verdicts(URL.replace("redis://", "redis://nobody:x@"), failing="open")
        self.redis.execute_command("ACL SETUSER nobody resetpass >right")
        with self.assertRaises(redis.AuthenticationError):
            self.verdicts(URL.replace("redis://", "redis://nobody:wrong@"), failing="open")

    def test_a_server_that_loads_or_is_busy_is_an_outage(self) -> None:
        for error in (redis.BusyLoadingError("x"), redis.ResponseError("BUSY Redis is busy"), redis.ReadOnlyError("x")):
            with patch.object(redis_rank.send.Sync, "send", return_value=[error]):
                self.assertEqual(RateLimiter(self.redis, "5/1s", failing="open").check("ann").source, "open")

    def test_each_method_obeys_it(self) -> None:
        async def work(package: Any, client: Any) -> None:
            limiter = Awaited(package.RateLimiter(client, "2/1h", algorithm="GCRA", timeout=0.3, failing="open"))
            for verdict in (await limiter.peek("ann"), await limiter.refund("ann"), await limiter.wait("ann", 1)):
                self.assertEqual((verdict.allowed, verdict.source), (True, "open"))
            self.assertFalse(await limiter.reset("ann"))

        with away() as url:
            for package, library in ((redis_rank, redis), (redis_rank.asyncio, redis.asyncio)):
                asyncio.run(work(package, library.Redis.from_url(url)))

    def test_its_memory_is_bounded(self) -> None:
        fallback, error = Fallback("local", most=100), redis.ConnectionError()
        for at in range(1000):
            self.assertTrue(fallback.verdict(error, [(b"%d" % at, "1/1h")], 1))
        self.assertEqual(len(fallback._full_at), 100)
        self.assertFalse(fallback.verdict(error, [(b"999", "1/1h")], 1))
        self.assertTrue(fallback.verdict(error, [(b"0", "1/1h")], 1))

    def test_the_local_limiter(self) -> None:
        fallback, error = Fallback("local"), redis.ConnectionError()
        with patch("redis_rank.rate.time.monotonic") as clock:
            clock.return_value = 1000.0

            def check(*rules: str, cost: int = 1) -> Any:
                return fallback.verdict(error, [(b"key", rule) for rule in rules], cost)

            self.assertEqual([check("2/1s/4").remaining for _ in range(4)], [3, 2, 1, 0])
            self.assertEqual((check("2/1s/4").allowed, check("2/1s/4").retry_after), (False, 0.5))
            clock.return_value += 0.5
            self.assertEqual((check("2/1s/4").allowed, check("2/1s/4").allowed), (True, False))
            clock.return_value += 100
            self.assertEqual((check("2/1s/4", cost=5).allowed, check("2/1s/4", cost=5).retry_after), (False, None))
            # All rules, or none.
            self.assertEqual([check("3/1m", "1/1h").allowed for _ in range(3)], [True, False, False])
            self.assertEqual(check("3/1m", cost=0).remaining, 2)


class Remembered(Case):
    """Calls that were denied are not asked again until they may pass."""

    def asked(self) -> int:
        calls = self.redis.info("commandstats").get("cmdstat_RATE.CHECK", self.redis.info("commandstats").get("cmdstat_rate.check"))
        return int(calls["calls"]) if calls else 0

    def test_each_client(self) -> None:
        async def scenario(package: Any, make: Any) -> None:
            client = make()
            limiter = Awaited(package.RateLimiter(client, "2/1h", remember_denied=True))
            self.redis.config_resetstat()
            verdicts = [await limiter.check("ann") for _ in range(10)]
            self.assertEqual([verdict.source for verdict in verdicts], ["server"] * 3 + ["memory"] * 7)
            self.assertEqual([verdict.allowed for verdict in verdicts], [True] * 2 + [False] * 8)
            self.assertEqual(self.asked(), 3)
            self.assertLessEqual(verdicts[9].retry_after, verdicts[2].retry_after)
            # Other keys, costs and options are other calls; peeks always ask.
            self.assertTrue(await limiter.check("bob"))
            self.assertEqual((await limiter.check("ann", cost=2)).source, "server")
            self.assertEqual((await limiter.peek("ann")).source, "server")
            for _ in range(2):
                self.assertEqual((await limiter.check("ann", force=True)).source, "server")
            # What gives units back, gives the key back.
            await limiter.refund("ann", cost=4)
            self.assertTrue(await limiter.check("ann"))
            [await limiter.check("ann") for _ in range(9)]
            await limiter.reset("ann")
            self.assertTrue(await limiter.check("ann"))
            # It may pass when the time has come.
            short = Awaited(package.RateLimiter(client, "1/200ms", remember_denied=5, prefix="short:"))
            self.assertTrue(await short.check("ann"))
            await asyncio.sleep(0.25)
            self.assertTrue(await short.check("ann"))
            # What costs more than the limit has no time to wait for.
            self.assertEqual([(await short.check("ann", cost=9)).source for _ in range(2)], ["server"] * 2)

        for package, library in ((redis_rank, redis), (redis_rank.asyncio, redis.asyncio)):
            self.redis.flushall()
            asyncio.run(scenario(package, lambda: library.Redis.from_url(URL)))

    def test_its_memory_is_bounded(self) -> None:
        limiter = RateLimiter(self.redis, "50/1h", remember_denied=10)
        for at in range(100):
            self.assertEqual([limiter.check(f"user{at}", cost=50).allowed for _ in range(2)], [True, False])
        assert limiter._denied
        self.assertEqual(len(limiter._denied._until), 10)
        for cost in range(1, 40):
            limiter.check("user0", cost=cost)
        self.assertLessEqual(len(limiter._denied._until[b"user0"]), 16)
        for wrong in (-1, "10"):
            with self.assertRaises((ValueError, TypeError)):
                RateLimiter(self.redis, "1/1h", remember_denied=wrong)  # type: ignore[arg-type]


class Budgets(Case):
    def test_mistakes_are_errors_at_the_call(self) -> None:
        for limiter in (RateLimiter(self.redis, "5/1s"), redis_rank.asyncio.RateLimiter(redis.asyncio.Redis.from_url(URL), "5/1s")):
            with self.assertRaisesRegex(ValueError, "GCRA"):
                limiter.reserve("ann", 2)
            with self.assertRaisesRegex(ValueError, "GCRA"):
                limiter.wait("ann", 2)

    @unittest.skipUnless(supports("RATE.CHECK", "STAMP"), "the server has no RATE.SETTLE")
    def test_reserve_and_settle(self) -> None:
        async def scenario(package: Any, client: Any) -> None:
            for rules in (("10/1h",), ("10/1h", "100/1d")):
                limiter = package.RateLimiter(client, *rules, algorithm="COUNTER", prefix=f"{len(rules)}:")
                remaining = functools.partial(Awaited(limiter).peek, "ann")

                async def use(cost: int, used: int | None, error: bool = False, **options: Any) -> Any:
                    hold = limiter.reserve("ann", cost, **options)
                    with contextlib.suppress(KeyError):
                        async with _entered(hold):
                            if used is not None:
                                await Awaited(hold).settle(used)
                            if error:
                                raise KeyError
                    return hold

                await use(6, 2)
                self.assertEqual((await remaining()).remaining, 8)
                hold = await use(2, 4)
                self.assertEqual((await remaining()).remaining, 4)
                with self.assertRaises(RuntimeError):
                    await Awaited(hold).settle(4)
                # What was not settled stays counted, and so does what failed, unless told otherwise.
                await use(1, None)
                await use(1, None, error=True)
                self.assertEqual((await remaining()).remaining, 2)
                await use(2, None, error=True, refund_on_error=True)
                self.assertEqual((await remaining()).remaining, 2)
                with self.assertRaises(redis_rank.RateLimited):
                    await use(3, None)

        for package, library in ((redis_rank, redis), (redis_rank.asyncio, redis.asyncio)):
            self.redis.flushall()
            asyncio.run(scenario(package, library.Redis.from_url(URL)))

    def test_what_was_decided_here_is_not_settled(self) -> None:
        with away() as url:
            limiter = RateLimiter(redis.Redis.from_url(url), "5/1s", algorithm="GCRA", failing="open", timeout=0.3)
            with limiter.reserve("ann", 2) as hold:
                self.assertEqual(hold.verdict.source, "open")
                self.assertTrue(hold.settle(1))

    @unittest.skipUnless(supports("RATE.CHECK", "WAIT"), "the server has no CHECK … WAIT")
    def test_wait(self) -> None:
        async def scenario(package: Any, client: Any) -> None:
            for rules in (("1/200ms",), ("1/200ms", "100/1h")):
                limiter = Awaited(package.RateLimiter(client, *rules, algorithm="GCRA", prefix=f"{len(rules)}:"))
                begin = time.monotonic()
                self.assertTrue(all([await limiter.wait("ann", 10) for _ in range(3)]))
                self.assertGreaterEqual(time.monotonic() - begin, 0.39)
                self.assertFalse(await limiter.wait("ann", 0.05))

        for package, library in ((redis_rank, redis), (redis_rank.asyncio, redis.asyncio)):
            self.redis.flushall()
            asyncio.run(scenario(package, library.Redis.from_url(URL)))


@contextlib.asynccontextmanager
async def _entered(hold: Any) -> Any:
    """Of either package."""
    if hasattr(hold, "__aenter__"):
        async with hold:
            yield hold
    else:
        with hold:
            yield hold


class Middleware(Case):
    def on_each(self, check: Any, url: str = URL, **options: Any) -> None:
        for name, (make, serve, client) in FRAMEWORKS.items():
            self.redis.flushall()
            with self.subTest(name):
                app = make(client.from_url(url), **options)
                with serve(app) as port:
                    check(port)

    def test_local_while_the_server_is_away(self) -> None:
        def check(port: int) -> None:
            answers = [get(port, "/", "ann") for _ in range(5)]
            self.assertEqual([status for status, *_ in answers], [200] * 3 + [429] * 2)
            self.assertIn('"user";r=2;t=1200', answers[0][1]["ratelimit"])

        with away() as url:
            self.on_each(check, url, failing="local", timeout=0.3)

    def test_a_mistake_is_logged_and_counted(self) -> None:
        self.redis.execute_command("ACL SETUSER nobody on nopass ~* +ping")
        self.addCleanup(self.redis.execute_command, "ACL", "DELUSER", "nobody")
        url = URL.replace("redis://", "redis://nobody:x@")
        for failing, status in (("open", 200), ("closed", 503), ("local", 503)):
            with self.assertLogs("redis_rank.middleware", "ERROR"):
                self.on_each(lambda port: self.assertEqual(get(port, "/", "ann")[0], status), url, failing=failing)
        statuses: list[str] = []
        limited = WsgiRateLimit(lambda *_: [], redis.Redis.from_url(url), [Rule("x", "1/1h")])
        with self.assertLogs("redis_rank.middleware", "ERROR"):
            list(limited({"REQUEST_METHOD": "GET", "REMOTE_ADDR": "::1"}, lambda status, _: statuses.append(status)))
        self.assertEqual((limited.policies.errors, statuses), (1, []))

    def test_proxies(self) -> None:
        cases: list[tuple[Any, str, str | None, str]] = [
            (0, "10.0.0.1", "192.0.2.1", "10.0.0.1"),
            (1, "10.0.0.1", "192.0.2.66, 192.0.2.1", "192.0.2.1"),
            (2, "10.0.0.1", "192.0.2.66,192.0.2.1, 10.0.0.2", "192.0.2.1"),
            (2, "10.0.0.1", "192.0.2.1", "192.0.2.1"),
            (1, "10.0.0.1", None, "10.0.0.1"),
            (1, "10.0.0.1", "192.0.2.1:4711", "192.0.2.1"),
            (1, "10.0.0.1", "[2001:db8::1]:80", "2001:db8::/64"),
            (1, "10.0.0.1", "2001:db8::1", "2001:db8::/64"),
            (0, "2001:db8:0:0:ffff::1", None, "2001:db8::/64"),
            (0, "fe80::1%eth0", None, "fe80::/64"),
            (0, "::ffff:192.0.2.1", None, "192.0.2.1"),
            (1, "10.0.0.1", "::ffff:192.0.2.1", "192.0.2.1"),
            (["10.0.0.0/8"], "::ffff:10.0.0.1", "192.0.2.1", "192.0.2.1"),
            (0, "", None, ""),
            (["10.0.0.0/8"], "10.0.0.1", "192.0.2.66, 192.0.2.1, 10.0.0.2", "192.0.2.1"),
            (["10.0.0.0/8"], "192.0.2.9", "192.0.2.1", "192.0.2.9"),
            (["10.0.0.0/8", "::1/128"], "::1", "junk, 10.9.9.9", "junk"),
            (["10.0.0.0/8"], "10.0.0.1", "10.0.0.3", "10.0.0.3"),
        ]
        for proxies, peer, forwarded, client in cases:
            with self.subTest(proxies=proxies, forwarded=forwarded):
                self.assertEqual(ClientAddress(proxies)(peer, forwarded), client)

        def check(port: int) -> None:
            import http.client

            def ask(forwarded: str) -> int:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
                connection.request("GET", "/", headers={"X-Forwarded-For": forwarded})
                status = connection.getresponse().status
                connection.close()
                return status

            # What the client says for itself is worth nothing, what the proxy says is.
            self.assertEqual([ask(f"192.0.2.{at}, 198.51.100.1") for at in range(3)], [200, 200, 429])
            self.assertEqual(ask("192.0.2.1, 198.51.100.2"), 200)

        self.on_each(check, rules=[Rule("address", "2/1h")], trusted_proxies=["127.0.0.0/8"])
        self.on_each(check, rules=[Rule("address", "2/1h")], trusted_proxies=1)

    def test_a_cluster(self) -> None:
        """The keys are in several slots: still all or none."""
        rules = [Rule("all", "5/1h", lambda request: "everybody"), Rule("user", "2/1h", lambda request: request.headers["x-user"])]

        def wsgi(environ: Any, start: Any) -> list[bytes]:
            start("200 OK", [])
            return []

        with redis.RedisCluster.from_url(CLUSTER_URL) as cluster:
            limited = WsgiRateLimit(wsgi, cluster, rules, timeout=30)

            def ask(user: str) -> int:
                statuses: list[int] = []
                environ = {"REQUEST_METHOD": "GET", "HTTP_X_USER": user}
                list(limited(environ, lambda status, _: statuses.append(int(status[:3]))))
                return statuses[0]

            self.assertEqual([ask("ann") for _ in range(4)], [200, 200, 429, 429])
            left = RateLimiter(cluster, "5/1h", algorithm="GCRA", prefix="limit:").peek("all:everybody").remaining
            self.assertEqual(left, 3)
            self.assertEqual([ask("bob"), ask("bob"), ask("cid"), ask("dan")], [200, 200, 200, 429])

    def test_routes_of_fastapi(self) -> None:
        client = redis.asyncio.Redis.from_url(URL)
        app = fastapi.FastAPI()

        @app.get("/search/{word}", dependencies=[fastapi.Depends(RateLimit(client, "2/1h", "9/1d", timeout=30))])
        async def search(word: str) -> str:
            return word

        login = RateLimit(client, "1/1h", name="login", key=lambda request: request.headers.get("x-user"), timeout=30)

        @app.get("/login", dependencies=[fastapi.Depends(login)])
        def log_in() -> str:
            return "fine"

        @app.get("/login2", dependencies=[fastapi.Depends(login)])
        def log_in_elsewhere() -> str:
            return "fine"

        @app.get("/free")
        def free() -> str:
            return "free"

        with asgi_server(app) as port:
            answers = [get(port, f"/search/{word}") for word in "abc"]
            self.assertEqual([status for status, *_ in answers], [200, 200, 429])
            self.assertEqual(answers[0][1]["ratelimit-policy"], '"route";q=2;w=3600, "route-2";q=9;w=86400')
            self.assertIn('"route";r=1;t=1800', answers[0][1]["ratelimit"])
            self.assertIn(int(answers[2][1]["retry-after"]), range(1700, 1801))
            self.assertIn(b'"violated-policies":["route"]', answers[2][2])
            self.assertEqual([get(port, path, "ann")[0] for path in ("/login", "/login2")], [200, 429])
            self.assertEqual([get(port, path, "bob")[0] for path in ("/login", "/login2")], [200, 429])
            self.assertEqual([get(port, "/login")[0] for _ in range(3)], [200] * 3)
            status, fields, _ = get(port, "/free")
            self.assertEqual((status, "ratelimit" in fields), (200, False))
        keys = {key for key in self.redis.scan_iter("*")}
        self.assertEqual(keys, {b"limit:GET /search/{word}:127.0.0.1", b"limit:login:ann", b"limit:login:bob"})
        with self.assertRaises(ValueError):
            RateLimit(client, "5 per minute")
        with self.assertRaises(TypeError):
            RateLimit(client, "5/1m", fialing="open")  # type: ignore[call-arg]

    def test_several_limits_of_a_route(self) -> None:
        """All of them or none, with the fields of all; what exceptions answer has them too."""
        client = redis.asyncio.Redis.from_url(URL)
        app = fastapi.FastAPI()
        wide = RateLimit(client, "9/1h", name="wide", timeout="30s")
        narrow = RateLimit(client, "2/1h", name="narrow", timeout=30, refund=True)
        verdicts: list[Any] = []

        @app.get("/x/{what}", dependencies=[fastapi.Depends(wide)])
        async def route(what: str, verdict: Any = fastapi.Depends(narrow)) -> str:
            verdicts.append(verdict)
            if what == "missing":
                raise fastapi.HTTPException(404, headers={"X-Own": "1"})
            if what == "broken":
                raise fastapi.HTTPException(503)
            return what

        async def whose(request: Any) -> str:
            return f"{request.native.headers['x-user']} {request.native.path_params['id']}"

        @app.get("/of/{id}", dependencies=[fastapi.Depends(RateLimit(client, "1/1h", key=whose, timeout=30))])
        async def own(id: str) -> str:
            return id

        inner = fastapi.FastAPI()

        @inner.get("/of/{id}", dependencies=[fastapi.Depends(RateLimit(client, "1/1h", key=whose, timeout=30))])
        async def mounted(id: str) -> str:
            return id

        app.mount("/inner", inner)
        app.add_middleware(AsgiRateLimit, client=client, rules=[Rule("app", "50/1h", lambda request: "all")], timeout=30)

        def used(key: str, limit: int) -> int:
            return limit - RateLimiter(self.redis, f"{limit}/1h", prefix="limit:", algorithm="GCRA").peek(key).remaining

        with asgi_server(app) as port:
            for _ in range(3):
                status, fields, _ = get(port, "/x/broken")
                self.assertEqual(status, 503)
                wait_for(lambda: used("narrow:127.0.0.1", 2) == 0)
            self.assertEqual((used("wide:127.0.0.1", 9), used("app:all", 50)), (3, 3))
            status, fields, _ = get(port, "/x/missing")
            self.assertEqual((status, fields["x-own"]), (404, "1"))
            self.assertEqual(fields["ratelimit-policy"], '"app";q=50;w=3600, "wide";q=9;w=3600, "narrow";q=2;w=3600')
            self.assertRegex(fields["ratelimit"], '^"app";r=46;t=\\d+, "wide";r=5;t=\\d+, "narrow";r=1;t=\\d+$')
            self.assertEqual(get(port, "/x/fine")[0], 200)
            for _ in range(3):
                status, fields, _ = get(port, "/x/fine")
                self.assertEqual((status, fields["ratelimit-policy"]), (429, '"narrow";q=2;w=3600'))
                self.assertIn("retry-after", fields)
                # What one has denied, the others have not counted.
                wait_for(lambda: (used("wide:127.0.0.1", 9), used("app:all", 50)) == (5, 5))
            self.assertIsInstance(verdicts[0], redis_rank.Verdict)
            self.assertEqual([get(port, path, "ann")[0] for path in ("/of/1", "/of/1", "/of/2", "/inner/of/1", "/inner/of/1")], [200, 429, 200, 200, 429])

    def test_rows_are_answers_of_fastapi(self) -> None:
        redis_rank.Leaderboard(self.redis, "game", ties="FIRST").add("ann", 5)
        app = fastapi.FastAPI()

        @app.get("/top")
        def top() -> list[redis_rank.Row]:
            return redis_rank.Leaderboard(self.redis, "game").top(1)

        @app.get("/change")
        def change() -> redis_rank.Change:
            return redis_rank.Leaderboard(self.redis, "game").add_ranked("ann", 7)

        with asgi_server(app) as port:
            body = b'[{"rank":1,"member":"ann","score":5,"scores":[5],"time":null,"data":null}]'
            self.assertEqual(get(port, "/top")[2], body)
            self.assertIn(b'"score":7,"previous_score":5', get(port, "/change")[2])
