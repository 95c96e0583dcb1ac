"""Clients of every kind, to the servers that conftest.py or tests/clients.rs has started."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import unittest
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import redis
import redis.asyncio

import redis_rank
import redis_rank.asyncio

URL = os.environ["REDIS_URL"]
CLUSTER_URL = os.environ["REDIS_CLUSTER_URL"]

CLIENTS: dict[str, tuple[Any, str]] = {
    "redis": (redis.Redis, URL),
    "cluster": (redis.RedisCluster, CLUSTER_URL),
    "asyncio redis": (redis.asyncio.Redis, URL),
    "asyncio cluster": (redis.asyncio.RedisCluster, CLUSTER_URL),
}
VARIANTS = [
    (name, protocol, decoded) for name in CLIENTS for protocol in (2, 3) for decoded in (False, True)
]  # fmt: skip


class Awaited:
    """An object whose methods can all be awaited, whether it is of the sync package or of the other."""

    def __init__(self, inner: Any):
        self.inner = inner
        self.calls = getattr(inner, "calls", None)

    def __getattr__(self, name: str) -> Any:
        async def method(*args: Any, **kwargs: Any) -> Any:
            result = getattr(self.inner, name)(*args, **kwargs)
            return await result if inspect.isawaitable(result) else result

        return method


def on_each_client(scenario: Callable[[Any, Any], Awaitable[Any]]) -> list[tuple[str, Any]]:
    """Runs a scenario, which gets a client and a package, with each client, in RESP2 and RESP3, decoded and not."""
    return [(f"{variant}", asyncio.run(with_client(*variant, scenario))) for variant in VARIANTS]


async def with_client(name: str, protocol: int, decoded: bool, scenario: Any, **options: Any) -> Any:
    make, url = CLIENTS[name]
    package = redis_rank.asyncio if name.startswith("asyncio") else redis_rank
    client = make.from_url(url, protocol=protocol, decode_responses=decoded, **options)
    try:
        flush_all()
        return await scenario(client, package)
    finally:
        closed = client.aclose() if name.startswith("asyncio") else client.close()
        if closed is not None:
            await closed


@functools.cache
def servers() -> tuple[redis.Redis, redis.RedisCluster]:
    return redis.Redis.from_url(URL), redis.RedisCluster.from_url(CLUSTER_URL)


def flush_all() -> None:
    single, cluster = servers()
    single.flushall()
    cluster.flushall(target_nodes=redis.RedisCluster.PRIMARIES)


def address(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    return {"host": parts.hostname, "port": parts.port}


def row(rank: int, member: Any, *scores: Any, time: float | None = None, data: Any = None) -> redis_rank.Row:
    return redis_rank.Row(rank, member, scores[0], scores, time, data)


class Case(unittest.TestCase):
    """A test with an empty server, and `self.redis` to it."""

    maxDiff = None

    def setUp(self) -> None:
        flush_all()
        self.redis = redis.Redis.from_url(URL)
        self.addCleanup(self.redis.close)


@functools.cache
def supports(command: str, word: str) -> bool:
    """Whether the module's command has this option; read from its documentation."""
    return f"b'{word}'" in repr(servers()[0].execute_command("COMMAND DOCS", command))
