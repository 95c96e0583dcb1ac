"""What the sync and the asyncio classes share: how they are made."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .board import BoardCalls, Schema
from .call import Duration, Name, Pause, Steps
from .due import ScheduleCalls
from .errors import LeaseDenied, LeaseLost, RateLimited
from .rate import LeaseCalls, LimiterCalls, Limits
from .run import one, succeeded
from .shards import ShardedCalls
from .values import Verdict

if TYPE_CHECKING:
    from typing_extensions import Unpack


class BaseLeaderboard:
    """A board, declared once and created by its first write.

    `client` is a Redis or RedisCluster. Names of members are str; with members=bytes they are bytes.
    """

    def __init__(
        self, client: Any, key: Name, *, members: Callable[[bytes], Any] | None = None, **schema: Unpack[Schema]
    ):
        self.client = client
        self.calls = BoardCalls(key, schema, members)


class BaseShardedLeaderboard:
    """A board that is cut into 2, 4, 8 … 1024 shards, spread over a cluster by their keys. Answers are exact.

    Shards that cannot be reached are retried for `timeout` seconds; then IncompleteAnswer is raised.
    """

    def __init__(self, client: Any, name: str, shards: int, *, timeout: float = 10, **schema: Unpack[Schema]):
        self.client = client
        self.calls = ShardedCalls(name, shards, schema, timeout)


class BaseRateLimiter:
    """Limiters with the same rules, one per key: RateLimiter(client, "5/1s", "1000/1h").

    A rule is "limit/window"; with the algorithm GCRA also "limit/window/burst". `prefix` is added to every key.
    """

    def __init__(self, client: Any, *rules: str, prefix: str = "", **limits: Unpack[Limits]):
        self.client = client
        self.calls = LimiterCalls(rules, limits, prefix)


def _shown(key: Name) -> str:
    return key if isinstance(key, str) else repr(key)


def enforced(key: Name, verdict: Verdict) -> Verdict:
    if verdict.limited:
        raise RateLimited(_shown(key), verdict)
    return verdict


class BaseLease:
    """One of `limit` leases, which ends after `lease` unless it is renewed. With limit=1 it is a lock.

    As a context manager it waits up to `wait` seconds for a lease, and raises LeaseDenied if it gets none.
    `token` grows with every grant: pass it on as a fencing token. Each holder needs a Lease of its own.
    """

    def __init__(self, client: Any, key: Name, limit: int = 1, lease: Duration = "30s", *, wait: float = 0):
        self.client = client
        self.calls = LeaseCalls(key, limit, lease)
        self.wait = wait
        self.token = 0
        self._free = threading.Lock()

    @contextlib.contextmanager
    def _entering(self) -> Iterator[None]:
        # Two holders of one object would release each other's token.
        if not self._free.acquire(blocking=False):
            raise RuntimeError("this Lease is in use: make another one for each holder")
        try:
            yield
        except BaseException:
            self._free.release()
            raise

    def _enter(self) -> Steps[None]:
        left = self.wait
        while not (grant := (yield from one(self.calls.acquire()))):
            if left <= 0:
                raise LeaseDenied(_shown(self.calls.key), grant)
            # Others may release earlier than their leases end.
            pause = min(left, max(grant.retry_after_ms, 1) / 1000, 0.1)
            yield Pause(pause)
            left -= pause
        self.token = grant.token

    def _exit(self, failed: bool) -> Steps[None]:
        token, self.token = self.token, 0
        self._free.release()
        [held] = yield [self.calls.release(token)]
        if failed:
            # The error of the work is the one to see.
            return
        if not succeeded(held):
            raise LeaseLost(f"{_shown(self.calls.key)}: the lease ended before it was released")


class BaseSchedule:
    """Items that become due at a time. With items=bytes they are bytes."""

    def __init__(self, client: Any, key: Name, *, items: Callable[[bytes], Any] | None = None):
        self.client = client
        self.calls = ScheduleCalls(key, items)
