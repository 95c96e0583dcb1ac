"""Storages for PyPI's `limits`, and so for Flask-Limiter and slowapi, which stay as they are. Import this module once:

    import redis_rank.limits
    Limiter(get_remote_address, app=app, storage_uri="redis-rank://localhost:6379", strategy="moving-window")

The strategy "moving-window" is exact here and one command for each hit, whatever it costs: RATE.CHECK … SLIDING, sent
at most once. A limit above the server's option rank.rate-max-log (100,000) is an error that says so. The other two
strategies have no exact counterpart (they ask for counters without saying their windows), and work as they do with the
library's own Redis storage, whose scripts they use.
"""

from __future__ import annotations

import functools
import time
from typing import Any

import limits.aio.storage
import limits.storage

from .rate import LimiterCalls
from .send import Async, Sync

__all__ = ["AsyncClusterStorage", "AsyncSentinelStorage", "AsyncStorage", "ClusterStorage", "SentinelStorage", "Storage"]


@functools.lru_cache(1000)
def _calls(limit: int, expiry: int) -> LimiterCalls:
    return LimiterCalls([f"{limit}/{expiry}s"], {"algorithm": "SLIDING"})


def _redis_uri(uri: str) -> str:
    return uri.replace("redis-rank", "redis", 1).replace("rediss-rank", "rediss", 1)


def _moving(key: str) -> str:
    """The key of the moving window, beside the counter of the other strategies."""
    return f"{key}/moving"


class _Window:
    """The moving window of synchronous storages."""

    def __init__(self, uri: str, *args: Any, **options: Any):
        super().__init__(_redis_uri(uri), *args, **options)  # type: ignore[call-arg]
        self._link = Sync(self.get_connection())  # type: ignore[attr-defined]

    def _key(self, key: str) -> str:
        return self.prefixed_key(_moving(key))  # type: ignore[attr-defined,no-any-return]

    def clear(self, key: str) -> None:
        super().clear(key)  # type: ignore[misc]
        super().clear(_moving(key))  # type: ignore[misc]

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        return self._link.run(_calls(limit, expiry).check(self._key(key), cost=amount)).allowed

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        calls, name = _calls(limit, expiry), self._key(key)
        left = self._link.run(calls.peek(name)).remaining
        if left >= limit:
            return time.time(), 0
        # One more than there is has to wait for the oldest to leave.
        wait = self._link.run(calls.peek(name, cost=left + 1)).retry_after or 0.0
        return time.time() + wait - expiry, limit - left


class _AsyncWindow:
    """The moving window of asynchronous storages."""

    def __init__(self, uri: str, *args: Any, **options: Any):
        super().__init__(_redis_uri(uri), *args, **{**options, "implementation": "redispy"})  # type: ignore[call-arg]

    @functools.cached_property
    def _link(self) -> Async:
        return Async(self.bridge.get_connection())  # type: ignore[attr-defined]

    def _key(self, key: str) -> str:
        return self.bridge.prefixed_key(_moving(key))  # type: ignore[attr-defined,no-any-return]

    async def clear(self, key: str) -> None:
        await super().clear(key)  # type: ignore[misc]
        await super().clear(_moving(key))  # type: ignore[misc]

    async def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        return (await self._link.run(_calls(limit, expiry).check(self._key(key), cost=amount))).allowed

    async def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        calls, name = _calls(limit, expiry), self._key(key)
        left = (await self._link.run(calls.peek(name))).remaining
        if left >= limit:
            return time.time(), 0
        wait = (await self._link.run(calls.peek(name, cost=left + 1))).retry_after or 0.0
        return time.time() + wait - expiry, limit - left


class Storage(_Window, limits.storage.RedisStorage):
    STORAGE_SCHEME = ["redis-rank", "rediss-rank", "redis-rank+unix"]


class ClusterStorage(_Window, limits.storage.RedisClusterStorage):
    STORAGE_SCHEME = ["redis-rank+cluster"]


class SentinelStorage(_Window, limits.storage.RedisSentinelStorage):
    STORAGE_SCHEME = ["redis-rank+sentinel"]


class AsyncStorage(_AsyncWindow, limits.aio.storage.RedisStorage):
    STORAGE_SCHEME = ["async+redis-rank", "async+rediss-rank", "async+redis-rank+unix"]


class AsyncClusterStorage(_AsyncWindow, limits.aio.storage.RedisClusterStorage):
    STORAGE_SCHEME = ["async+redis-rank+cluster"]


class AsyncSentinelStorage(_AsyncWindow, limits.aio.storage.RedisSentinelStorage):
    STORAGE_SCHEME = ["async+redis-rank+sentinel"]
