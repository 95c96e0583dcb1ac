"""The storages for PyPI's `limits`, as Flask-Limiter and slowapi use them, and with that project's own tests."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

import pytest
import redis

limits = pytest.importorskip("limits")

import limits.aio.strategies  # noqa: E402
import limits.strategies  # noqa: E402
from servers import Cluster, Server  # noqa: E402
from support import CLUSTER_URL, URL, Case  # noqa: E402
from test_middleware import asgi_server, get, wsgi_server  # noqa: E402

import redis_rank.limits  # noqa: E402

OWN_URL, OWN_CLUSTER_URL = URL.replace("redis:", "redis-rank:"), CLUSTER_URL.replace("redis:", "redis-rank+cluster:")


class Storages(Case):
    def test_each_strategy(self) -> None:
        item = limits.parse("3/hour")
        for url in (OWN_URL, OWN_CLUSTER_URL):
            for strategy in limits.strategies.STRATEGIES.values():
                with self.subTest(url, strategy=strategy):
                    limiter = strategy(limits.storage.storage_from_string(url))
                    self.assertEqual([limiter.hit(item, "ann") for _ in range(4)], [True] * 3 + [False])
                    self.assertEqual((limiter.test(item, "ann"), limiter.get_window_stats(item, "ann").remaining), (False, 0))
                    limiter.clear(item, "ann")
                    self.assertEqual((limiter.hit(item, "ann", cost=3), limiter.hit(item, "ann", cost=4)), (True, False))

    @unittest.skipIf(tuple(map(int, redis.__version__.split(".")[:2])) < (5, 2), "limits needs redis-py 5.2 for asyncio")
    def test_each_strategy_with_asyncio(self) -> None:
        item = limits.parse("3/hour")

        async def scenario() -> None:
            for url in (OWN_URL, OWN_CLUSTER_URL):
                for strategy in limits.aio.strategies.STRATEGIES.values():
                    with self.subTest(url, strategy=strategy):
                        limiter = strategy(limits.storage.storage_from_string("async+" + url))
                        self.assertEqual([await limiter.hit(item, "ann") for _ in range(4)], [True] * 3 + [False])
                        self.assertEqual((await limiter.get_window_stats(item, "ann")).remaining, 0)
                        await limiter.clear(item, "ann")
                        self.assertEqual((await limiter.hit(item, "ann", cost=3), await limiter.hit(item, "ann", cost=4)), (True, False))

        asyncio.run(scenario())

    def test_the_window_begins_with_its_oldest_hit(self) -> None:
        item, limiter = limits.parse("3/hour"), limits.strategies.MovingWindowRateLimiter(limits.storage.storage_from_string(OWN_URL))
        begin = time.time()
        limiter.hit(item, "ann")
        middle = time.time()
        limiter.hit(item, "ann")
        stats = limiter.get_window_stats(item, "ann")
        self.assertEqual(stats.remaining, 1)
        self.assertTrue(begin + 3599 < stats.reset_time < middle + 3600 + 60)
        # It is one of the module's limiters.
        [key] = self.redis.keys()
        self.assertEqual(self.redis.execute_command("RATE.PEEK", key, "3/3600")[2], 1)

    def test_errors_are_wrapped_as_the_library_does(self) -> None:
        server = Server()
        storage = limits.storage.storage_from_string(server.url.replace("redis:", "redis-rank:"), wrap_exceptions=True)
        server.close()
        with self.assertRaises(limits.errors.StorageError):
            storage.acquire_entry("ann", 3, 60)

    def test_flask_limiter(self) -> None:
        flask, flask_limiter = pytest.importorskip("flask"), pytest.importorskip("flask_limiter")
        app = flask.Flask("test")
        limiter = flask_limiter.Limiter(lambda: "ann", app=app, storage_uri=OWN_URL, strategy="moving-window", headers_enabled=True)

        @app.get("/")
        @limiter.limit("2/hour")
        def home() -> str:
            return "fine"

        with wsgi_server(app) as port:
            answers = [get(port, "/") for _ in range(3)]
        self.assertEqual([status for status, *_ in answers], [200, 200, 429])
        self.assertEqual([fields["x-ratelimit-remaining"] for _, fields, _ in answers], ["1", "0", "0"])

    def test_slowapi(self) -> None:
        fastapi, slowapi = pytest.importorskip("fastapi"), pytest.importorskip("slowapi")
        limiter = slowapi.Limiter(key_func=lambda request: "ann", storage_uri=OWN_URL, strategy="moving-window")
        app = fastapi.FastAPI()
        app.state.limiter = limiter
        app.add_exception_handler(slowapi.errors.RateLimitExceeded, slowapi._rate_limit_exceeded_handler)

        # Its decorator looks for a parameter of this name.
        async def home(request: Any) -> str:
            return "fine"

        home.__annotations__ = {"request": fastapi.Request}
        app.get("/")(limiter.limit("2/hour")(home))
        with asgi_server(app) as port:
            self.assertEqual([get(port, "/")[0] for _ in range(3)], [200, 200, 429])

    @unittest.skipUnless(os.environ.get("PEERS"), "needs PyPI: make test-python sets PEERS=1")
    def test_the_tests_of_that_project(self) -> None:
        # Its moving window of a million needs more than the server allows without being told.
        server, cluster = Server("--rank.rate-max-log", "2000000"), Cluster(False, "--rank.rate-max-log", "2000000")
        try:
            with tempfile.TemporaryDirectory() as directory:
                program = Path(__file__).with_name("peer_limits.py")
                command = [sys.executable, str(program), directory, server.url, cluster.url]
                paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
                result = subprocess.run(command, capture_output=True, text=True, env=paths)
                self.assertEqual(result.returncode, 0, result.stdout[-4000:] + result.stderr[-2000:])
                self.assertRegex(result.stdout, r"\d\d+ passed")
        finally:
            server.close()
            cluster.close()
