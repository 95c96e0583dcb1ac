"""The middleware in real frameworks, over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import http.client
import json
import socket
import threading
import time
import unittest
from collections.abc import Callable, Iterator
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import fastapi
import flask
import redis
import redis.asyncio
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from support import URL, Case

from redis_rank import RateLimiter, Verdict
from redis_rank.middleware import AsgiRateLimit, Asked, Policies, Request, Rule, WsgiRateLimit

RULES = [
    Rule("all", "6/1h", lambda request: "everybody"),
    Rule("user", "3/1h", lambda request: request.headers.get("x-user")),
]
# A busy machine is no reason to let a request pass.
OPTIONS: dict[str, Any] = {"cost": {"/costly": 2, "/free": 0}, "timeout": 30}


def with_starlette(client: Any, **options: Any) -> Any:
    async def fine(request: Any) -> Any:
        return PlainTextResponse("fine")

    async def broken(request: Any) -> Any:
        raise RuntimeError("broken")

    routes = [Route(path, fine) for path in ("/", "/costly", "/free")] + [Route("/broken", broken)]
    app = Starlette(routes=routes)
    app.add_middleware(AsgiRateLimit, client=client, **{"rules": RULES, **OPTIONS, **options})
    return app


def with_fastapi(client: Any, **options: Any) -> Any:
    app = fastapi.FastAPI()
    app.add_middleware(AsgiRateLimit, client=client, **{"rules": RULES, **OPTIONS, **options})
    for path in ("/", "/costly", "/free"):
        app.get(path)(lambda: "fine")

    @app.get("/broken")
    def broken() -> None:
        raise fastapi.HTTPException(503)

    return app


def with_flask(client: Any, **options: Any) -> Any:
    app = flask.Flask("test")
    for path in ("/", "/costly", "/free"):
        app.add_url_rule(path, path, lambda: "fine")

    @app.get("/broken")
    def broken() -> None:
        raise RuntimeError("broken")

    app.wsgi_app = WsgiRateLimit(app.wsgi_app, client, **{"rules": RULES, **OPTIONS, **options})  # type: ignore[method-assign]
    return app


@contextlib.contextmanager
def asgi_server(app: Any) -> Iterator[int]:
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


class Quiet(WSGIRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@contextlib.contextmanager
def wsgi_server(app: Any) -> Iterator[int]:
    app.logger.disabled = True
    with make_server("127.0.0.1", 0, app, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def get(port: int, path: str, user: str | None = None) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path, headers={} if user is None else {"X-User": user})
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    finally:
        connection.close()


FRAMEWORKS: dict[str, tuple[Callable[..., Any], Any, Any]] = {
    "Starlette": (with_starlette, asgi_server, redis.asyncio.Redis),
    "FastAPI": (with_fastapi, asgi_server, redis.asyncio.Redis),
    "Flask": (with_flask, wsgi_server, redis.Redis),
}


class Middleware(Case):
    def on_each(self, check: Callable[[int], None], url: str = URL, **options: Any) -> None:
        for name, (make, serve, client) in FRAMEWORKS.items():
            self.redis.flushall()
            with self.subTest(name), serve(make(client.from_url(url), **options)) as port:
                check(port)

    def used(self, key: str, limit: int) -> int:
        return limit - RateLimiter(self.redis, f"{limit}/1h", prefix="limit:", algorithm="GCRA").peek(key).remaining

    def test_limits_and_fields(self) -> None:
        def check(port: int) -> None:
            status, fields, body = get(port, "/", "ann")
            self.assertEqual(status, 200)
            self.assertIn(b"fine", body)
            self.assertEqual(fields["ratelimit-policy"], '"all";q=6;w=3600, "user";q=3;w=3600')
            self.assertRegex(fields["ratelimit"], '^"all";r=5;t=\\d+, "user";r=2;t=\\d+$')
            self.assertNotIn("retry-after", fields)
            self.assertEqual(get(port, "/costly", "ann")[0], 200)

            status, fields, body = get(port, "/", "ann")
            self.assertEqual((status, fields["content-type"]), (429, "application/problem+json"))
            self.assertIn(int(fields["retry-after"]), range(1100, 1201))
            self.assertRegex(fields["ratelimit"], '^"all";r=3;t=\\d+, "user";r=0;t=\\d+$')
            self.assertEqual(json.loads(body)["violated-policies"], ["user"])
            # A denied call counted for nobody, and others go on; without a key only the first rule applies.
            self.assertEqual(self.used("all:everybody", 6), 3)
            status, fields, _ = get(port, "/")
            self.assertEqual((status, fields["ratelimit-policy"]), (200, '"all";q=6;w=3600'))
            self.assertNotIn("ratelimit", get(port, "/free", "ann")[1])

        self.on_each(check)

    def test_a_handler_that_failed_costs_nothing(self) -> None:
        def check(port: int) -> None:
            for _ in range(5):
                status, _, _ = get(port, "/broken", "ann")
                self.assertIn(status, (500, 503))
                # The units come back just after the response.
                end = time.monotonic() + 30
                while (self.used("user:ann", 3), self.used("all:everybody", 6)) != (0, 0):
                    self.assertLess(time.monotonic(), end)

        self.on_each(check, refund=True)

    def test_what_failed_counts_unless_told_otherwise(self) -> None:
        def check(port: int) -> None:
            statuses = [get(port, "/broken", "ann")[0] for _ in range(4)]
            self.assertEqual([status == 429 for status in statuses], [False] * 3 + [True])
            self.assertEqual(self.used("user:ann", 3), 3)

        self.on_each(check)

    def test_keys(self) -> None:
        """What the framework knows, asynchronous ones, and what is no key."""
        async def later(request: Request) -> int:
            return len(request.headers["x-user"])

        self.on_each(
            lambda port: self.assertEqual([get(port, "/", user)[0] for user in ("ann", "bob", "dora")], [200, 429, 200]),
            rules=[Rule("length", "1/1h", lambda request: len(request.native and request.headers["x-user"]))],
        )
        for name in ("Starlette", "FastAPI"):
            make, serve, client = FRAMEWORKS[name]
            self.redis.flushall()
            with serve(make(client.from_url(URL), rules=[Rule("length", "1/1h", later)])) as port:
                self.assertEqual([get(port, "/", user)[0] for user in ("ann", "bob", "dora")], [200, 429, 200])
        with self.assertRaises(TypeError):
            WsgiRateLimit(None, self.redis, [Rule("length", "1/1h", later)])

        def said(environ: Any, start: Any) -> list[bytes]:
            raise AssertionError("it must not be asked")

        for key in (object(), True, b"x", [1], Request("GET", "/", {}, "")):
            with self.subTest(key=key), self.assertRaisesRegex(TypeError, "text, a number or None"):
                WsgiRateLimit(said, self.redis, [Rule("x", "1/1h", lambda request: key)])({"REQUEST_METHOD": "GET"}, None)
        with self.assertRaises(TypeError):
            WsgiRateLimit(said, self.redis, [Rule("x", "1/1h", lambda request: later(request))])({"REQUEST_METHOD": "GET"}, None)
        with self.assertRaises(TypeError):
            WsgiRateLimit(said, self.redis, [Rule("x", "1/1h")], cost=lambda request: "5")({"REQUEST_METHOD": "GET"}, None)  # type: ignore[arg-type,return-value]

    def test_the_address_is_that_of_the_connection(self) -> None:
        """Whoever sends another X-Forwarded-For with each request is the same client still."""
        rules = [Rule("address", "2/1h")]
        statuses: list[int] = []

        def wsgi(environ: Any, start: Any) -> list[bytes]:
            start("200 OK", [])
            return []

        for at in range(3):
            environ = {"REQUEST_METHOD": "GET", "REMOTE_ADDR": "2001:db8::1", "HTTP_X_FORWARDED_FOR": f"192.0.2.{at}"}
            WsgiRateLimit(wsgi, self.redis, rules)(environ, lambda status, _: statuses.append(int(status[:3])))

        async def asgi(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200})

        async def work() -> None:
            async def send(message: Any) -> None:
                if "status" in message:
                    statuses.append(message["status"])

            async with redis.asyncio.Redis.from_url(URL) as client:
                for at in range(3):
                    headers = [(b"x-forwarded-for", b"192.0.2.%d" % at), (b"forwarded", b"for=192.0.2.%d" % at)]
                    scope = {"type": "http", "method": "GET", "path": "/", "headers": headers, "client": ("2001:db8:0:2::2", 9)}
                    await AsgiRateLimit(asgi, client, rules)(scope, None, send)

        asyncio.run(work())
        self.assertEqual(statuses, [200, 200, 429] * 2)
        self.assertEqual([self.used(f"address:2001:db8:{at}/64", 2) for at in (":", "0:2::")], [2, 2])

    def test_a_body_that_fails_costs_nothing(self) -> None:
        def lazy(environ: Any, start: Any) -> Iterator[bytes]:
            raise RuntimeError("before the status")
            yield

        def torn(environ: Any, start: Any) -> Iterator[bytes]:
            start("200 OK", [])
            yield b"a part"
            raise RuntimeError("after the status")

        def whole(environ: Any, start: Any) -> Iterator[bytes]:
            start("200 OK", [])
            yield from (b"a part", b"the rest")

        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "HTTP_X_USER": "ann"}
        for app in (lazy, torn):
            body = WsgiRateLimit(app, self.redis, RULES, **{**OPTIONS, "refund": True})(environ, lambda *_: None)
            with self.assertRaises(RuntimeError):
                list(body)
            body.close()  # type: ignore[attr-defined]
            self.assertEqual(self.used("user:ann", 3), 0)
        # Who goes away in the middle of a body gets nothing back.
        body = WsgiRateLimit(whole, self.redis, RULES, **{**OPTIONS, "refund": True})(environ, lambda *_: None)
        next(iter(body))
        body.close()  # type: ignore[attr-defined]
        self.assertEqual(self.used("user:ann", 3), 1)

    def test_a_client_that_goes_away_gets_nothing_back(self) -> None:
        async def work() -> None:
            started = asyncio.Event()

            async def app(scope: Any, receive: Any, send: Any) -> None:
                started.set()
                await asyncio.Event().wait()

            async with redis.asyncio.Redis.from_url(URL) as client:
                limited = AsgiRateLimit(app, client, RULES, **OPTIONS)
                scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"x-user", b"ann")]}
                request = asyncio.create_task(limited(scope, None, None))
                await started.wait()
                request.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await request

        asyncio.run(work())
        self.assertEqual(self.used("user:ann", 3), 1)

    def test_a_cost_that_never_fits_has_no_time_to_retry(self) -> None:
        def check(port: int) -> None:
            status, fields, _ = get(port, "/costly", "ann")
            self.assertEqual((status, "retry-after" in fields), (429, False))

        self.on_each(check, cost=lambda request: 99)

    def test_a_server_that_does_not_answer(self) -> None:
        # It accepts connections, and says nothing.
        with socket.create_server(("127.0.0.1", 0)) as mute:
            url = f"redis://127.0.0.1:{mute.getsockname()[1]}"
            self.on_each(lambda port: self.assertEqual(get(port, "/", "ann")[0], 200), url, timeout=0.2)

            def closed(port: int) -> None:
                status, fields, _ = get(port, "/", "ann")
                self.assertEqual((status, fields["retry-after"]), (503, "1"))

            self.on_each(closed, url, timeout=0.2, failing="closed")


class Fields(unittest.TestCase):
    def test_mistakes_are_found_at_once(self) -> None:
        for rule in ("100", "100/", "100/1x", "/1s", "a/1s", "100/1s/", "100 60", "1.5/1s", "0/1s", "5/400d"):
            with self.subTest(rule), self.assertRaises(ValueError):
                Rule("x", rule)
        for options in (
            {"algorithm": "GRCA"}, {"algorithm": "CALENDAR"}, {"failing": "opne"}, {"trusted_proxies": "10.0.0.0/8"},
            {"trusted_proxies": -1}, {"timeout": "5 s"}, {"trusted_proxies": ["10.0.0.1/8"]},
        ):  # fmt: skip
            with self.subTest(options), self.assertRaises(ValueError):
                Policies(RULES, options)  # type: ignore[arg-type]
        with self.assertRaises(TypeError):
            Policies(RULES, {"fialing": "open"})  # type: ignore[typeddict-unknown-key]
        with self.assertRaises(ValueError):
            Policies([Rule("x", "5/month")], {})
        with self.assertRaises(TypeError):
            WsgiRateLimit(None, redis.asyncio.Redis(), RULES)
        for name in ("é", "a\r\nSet-Cookie: x", "\x7f"):
            with self.subTest(name), self.assertRaises(ValueError):
                Rule(name, "1/1s")

    def test_policies(self) -> None:
        for rule, policy in {
            "5/1s": '"x";q=5;w=1', "10/2m/20": '"x";q=10;w=120', "9/1500ms": '"x";q=9;w=2', "7/60": '"x";q=7;w=60',
            "1/day": '"x";q=1;w=86400', "1/month": '"x";q=1', "1/DAY": '"x";q=1;w=86400', "9/2500MS": '"x";q=9;w=3',
        }.items():  # fmt: skip
            self.assertEqual(Rule("x", rule).policy(), policy)
        self.assertEqual(Rule('a"b\\', "1/1s").policy(), '"a\\"b\\\\";q=1;w=1')

    def test_times_are_rounded_up(self) -> None:
        policies, asked = Policies(RULES[:1], {}), Asked(RULES[:1], ["k"], 1)
        for milliseconds, seconds in {1: "1", 1000: "1", 1001: "2"}.items():
            state = Verdict(False, True, 6, 0, milliseconds / 1000, milliseconds / 1000, 1)
            fields = dict(policies.fields(asked, dataclasses.replace(state, rules=(state,))))
            self.assertEqual((fields["Retry-After"], fields["RateLimit"]), (seconds, f'"all";r=0;t={seconds}'))

    def test_costs_by_path(self) -> None:
        policies = Policies(RULES, {"cost": {"/export/*": 10, "/*": 2}})
        costs = [policies.questions(Request("GET", path, {}, ""))[0] for path in ("/export/x", "/x", "*")]
        self.assertEqual(costs, [10, 2, 1])
