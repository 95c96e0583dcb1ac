"""What follows execute_command, as OpenTelemetry and Sentry do, sees writes as well as reads, and each of them once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
import redis
import redis.asyncio
from proxy import Proxy
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry
from support import URL, Awaited, Case, address, on_each_client

import redis_rank
import redis_rank.asyncio
from redis_rank import CommandError, OutcomeUnknown, RateLimiter, library


async def used(client: Any, package: Any) -> None:
    board = Awaited(package.Leaderboard(client, "{game}", ties="FIRST"))
    await board.add("ann", 5)
    await board.incr("ann", 1)
    assert (await board.get("ann")).score == 6
    assert await Awaited(package.RateLimiter(client, "5/1s")).check("bob")
    jobs = Awaited(package.Schedule(client, "{jobs}"))
    await jobs.add("job", after=0)
    [claim] = await jobs.claim()
    assert await jobs.ack(claim) == 1


# The first write finds no board.
EXPECTED = ["RANK.ADD", "RANK.CREATE", "RANK.ADD", "RANK.INCR", "RANK.GET", "RATE.CHECK", "DUE.ADD", "DUE.CLAIM", "DUE.ACK"]


@contextlib.contextmanager
def recorded() -> Iterator[list[str]]:
    """Names of commands, from a method that somebody has put in the place of redis-py's."""
    seen: list[str] = []
    sync, asynchronous = redis.Redis.execute_command, redis.asyncio.Redis.execute_command

    def follow(self: Any, *args: Any, **options: Any) -> Any:
        seen.append(args[0])
        return sync(self, *args, **options)

    async def follow_async(self: Any, *args: Any, **options: Any) -> Any:
        seen.append(args[0])
        return await asynchronous(self, *args, **options)

    with patch.object(redis.Redis, "execute_command", follow), patch.object(redis.asyncio.Redis, "execute_command", follow_async):
        yield seen


class Tracing(Case):
    def test_each_client(self) -> None:
        self.assertFalse(library.is_followed(redis.Redis) or library.is_followed(redis.asyncio.Redis))
        with recorded() as seen:

            async def scenario(client: Any, package: Any) -> list[str]:
                seen.clear()
                await used(client, package)
                return [name for name in seen if name.split(".")[0] in ("RANK", "RATE", "DUE")]

            for variant, names in on_each_client(scenario):
                # Reads of a cluster go through the cluster's own method.
                with self.subTest(variant):
                    self.assertEqual([name for name in names if name != "RANK.GET"], [name for name in EXPECTED if name != "RANK.GET"])

    def test_each_once_also_after_a_broken_connection(self) -> None:
        proxy = Proxy(address(URL)["port"])
        self.addCleanup(proxy.close)
        url = f"redis://127.0.0.1:{proxy.port}"
        with recorded() as seen:
            # These clients try three times by themselves.
            with redis.Redis.from_url(url, retry=Retry(NoBackoff(), 3)) as client:
                limiter = RateLimiter(client, "5/1h")
                proxy.arm("after", "RATE.CHECK")
                with self.assertRaises(OutcomeUnknown):
                    limiter.check("ann")
                self.assertEqual(limiter.check("ann").remaining, 3)
                with self.assertRaises(CommandError):
                    limiter.calls.rules = ["x"]
                    redis_rank.Leaderboard(client, "g").add("ann", 5, keep=-1)

            async def work() -> None:
                async with redis.asyncio.Redis.from_url(url, retry=AsyncRetry(NoBackoff(), 3)) as other:
                    limited = redis_rank.asyncio.RateLimiter(other, "5/1h")
                    proxy.arm("after", "RATE.CHECK")
                    with self.assertRaises(OutcomeUnknown):
                        await limited.check("ann")
                    self.assertEqual((await limited.check("ann")).remaining, 1)

            asyncio.run(work())
            self.assertEqual(seen.count("RATE.CHECK"), 4)

    def test_opentelemetry(self) -> None:
        instrumentation = pytest.importorskip("opentelemetry.instrumentation.redis")
        trace = pytest.importorskip("opentelemetry.sdk.trace")
        export = pytest.importorskip("opentelemetry.sdk.trace.export")
        memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
        exporter, provider = memory.InMemorySpanExporter(), trace.TracerProvider()
        provider.add_span_processor(export.SimpleSpanProcessor(exporter))
        instrumentation.RedisInstrumentor().instrument(tracer_provider=provider)
        try:

            async def scenario(client: Any, package: Any) -> list[str]:
                exporter.clear()
                await used(client, package)
                return [span.name for span in exporter.get_finished_spans()]

            for variant, names in on_each_client(scenario):
                with self.subTest(variant):
                    self.assertLessEqual(set(EXPECTED), set(names))
                    self.assertEqual(names.count("RATE.CHECK"), 1)
        finally:
            instrumentation.RedisInstrumentor().uninstrument()
