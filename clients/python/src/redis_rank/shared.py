"""What the sync and the asyncio classes share: how they are made."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from . import library
from .board import BoardCalls, Schema
from .call import Call, Duration, Name, Pause, Steps, Work, milliseconds
from .due import Payload, ScheduleCalls
from .errors import LeaseDenied, LeaseLost, RateLimited, is_outage
from .rate import Denied, Failing, Fallback, LeaseCalls, LimiterCalls, Limits
from .pipeline import Queued
from .send import Async, Sync, one, succeeded
from .shards import ShardedCalls
from .values import Verdict

if sys.version_info >= (3, 11):
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack

Link = TypeVar("Link", Sync, Async)
Client = TypeVar("Client")
Create = Literal["auto", "never"]


def _link_to(kind: type[Link], client: Any) -> Link:
    """Sends calls, or queues them if the client is a pipeline."""
    pipelines = library.PIPELINES if kind is Sync else library.ASYNC_PIPELINES
    return Queued(client) if isinstance(client, pipelines) else kind(client)  # type: ignore[return-value]


def described(method: Any, build: Any, kind: type[Link]) -> Any:
    """Gives a method the name, documentation and types of what it sends, for help(), inspect and type hints."""
    functools.update_wrapper(method, build)
    result = re.sub(r"^(?:Call|Steps|Work)\[(.*)\]$", r"\1", build.__annotations__["return"])
    method.__annotations__ = {**build.__annotations__, "return": result}
    method.__signature__ = inspect.signature(build).replace(return_annotation=result)
    if kind is Async and sys.version_info >= (3, 12):
        inspect.markcoroutinefunction(method)
    return method


class BaseLeaderboard(Generic[Link, Client]):
    """A board, declared once. Its first write creates it; with create="never" that is an error.

    `client` is a Redis or RedisCluster. Names of members are str; with members=bytes they are bytes.
    """

    _link: type[Link]

    def __init__(
        self,
        client: Client,
        key: Name,
        *,
        members: Callable[[bytes], Any] | None = None,
        create: Create = "auto",
        **schema: Unpack[Schema],
    ):
        self.client = client
        self.link: Link = _link_to(self._link, client)
        self.calls = BoardCalls(key, schema, members, create=create)


class BaseShardedLeaderboard(Generic[Link, Client]):
    """A board that is cut into 2, 4, 8 … 1024 shards, spread over a cluster by their keys. Answers are exact.

    Shards that cannot be reached are retried for `timeout` seconds; then IncompleteAnswer is raised.
    """

    _link: type[Link]

    def __init__(
        self,
        client: Client,
        name: str,
        shards: int,
        *,
        timeout: Duration = 10.0,
        create: Create = "auto",
        **schema: Unpack[Schema],
    ):
        self.client = client
        self.link: Link = self._link(client)
        self.calls = ShardedCalls(name, shards, schema, milliseconds(timeout) / 1000, create)


class BaseRateLimiter(Generic[Link, Client]):
    """Limiters with the same rules, one per key: RateLimiter(client, "5/1s", "1000/1h").

    A rule is "limit/window"; with the algorithm GCRA also "limit/window/burst". `prefix` is added to every key.
    `failing` says what happens while the server is away: "open" lets calls pass, "closed" denies them, "local" counts
    them in this process; None raises the error. `timeout` is how long a call may take at most. With
    `remember_denied` a call that was denied is denied here, without asking, until its `retry_after` has passed; a
    number says for how many keys at most.
    """

    _link: type[Link]

    def __init__(
        self,
        client: Client,
        *rules: str,
        prefix: str = "",
        failing: Failing | None = None,
        timeout: Duration | None = None,
        remember_denied: bool | int = False,
        **limits: Unpack[Limits],
    ):
        self.client = client
        if failing is None and timeout is None and not remember_denied:
            self.link: Link = _link_to(self._link, client)
        else:
            self.link = self._link(client, None if timeout is None else milliseconds(timeout) / 1000)
        self.calls = LimiterCalls(rules, limits, prefix)
        self._fallback = Fallback(failing) if failing is not None else None
        most = 10_000 if remember_denied is True else remember_denied
        self._denied = Denied(most) if remember_denied else None
        self._burst = limits.get("burst")

    def limited(self, build: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """What to send, and what to do if there is no answer."""
        work = build(self.calls, *args, **kwargs)
        if self._fallback is None and self._denied is None:
            return work
        subject: Any = args[0] if args else kwargs.get("key", kwargs.get("rules"))
        return self._decided(work, build.__name__, subject, kwargs.get("cost", 1))

    def _decided(self, work: Work[Any], name: str, subject: Any, cost: int) -> Steps[Any]:
        denied = self._denied if isinstance(work, Call) and name in ("check", "refund", "reset", "settle") else None
        if denied is not None and isinstance(work, Call):
            if (verdict := denied.look_up(work)) is not None:
                return verdict
        sent = time.monotonic()
        try:
            result = succeeded((yield [work])[0]) if isinstance(work, Call) else (yield from work)
        except Exception as error:
            return self.decided(error, name, subject, cost)
        if denied is not None and isinstance(work, Call):
            denied.note(work, result, sent)
        return result

    def decided(self, error: Exception, name: str, subject: Any, cost: int) -> Any:
        """The verdict while the server is away; raises the error if there is none, or if it is no outage."""
        if self._fallback is None or not is_outage(error):
            raise error
        if name == "reset":
            return False
        if name == "check_all":
            pairs = list(subject.items() if hasattr(subject, "items") else subject)
        else:
            pairs = [(subject, rule) for rule in self.calls.rules]
        keys = [(self.calls.key(key), rule) for key, rule in pairs]
        is_spent = name in ("check", "check_all", "wait", "reserve")
        return self._fallback.verdict(error, keys, cost if is_spent else 0, self._burst)


class BaseReservation(Generic[Link, Client]):
    """Units that were taken before their number was known. `verdict` is the limiter's."""

    def __init__(self, limiter: BaseRateLimiter[Link, Client], key: Name, cost: int, refund_on_error: bool):
        self._limiter: BaseRateLimiter[Link, Client] = limiter
        self._key, self._cost, self._refund_on_error = key, cost, refund_on_error
        self.link: Link = limiter.link
        self._call = limiter.calls.reserve(key, cost)
        self._at: int | None = None
        self._is_settled = False
        self.verdict: Verdict

    def enter(self) -> Steps[None]:
        [result] = yield [self._call]
        if isinstance(result, Exception):
            self.verdict = self._limiter.decided(result, "reserve", self._key, self._cost)
        else:
            self.verdict, self._at = result
        enforced(self._key, self.verdict)

    def settling(self, used: int) -> Steps[Verdict]:
        if self._is_settled:
            raise RuntimeError("a reservation is settled once")
        # It is sent once: the second time would give back, or count, more.
        self._is_settled = True
        # What was decided without the server was not counted there.
        if self._at is None:
            return self.verdict
        call = self._limiter.calls.settle(self._key, self._cost, used, at_ms=self._at)
        try:
            return succeeded((yield [call])[0])  # type: ignore[no-any-return]
        except Exception as error:
            return self._limiter.decided(error, "settle", self._key, used)  # type: ignore[no-any-return]

    def leave(self, failed: bool) -> Steps[None]:
        if failed and self._refund_on_error and not self._is_settled:
            yield from self.settling(0)


def enforced(key: Name, verdict: Verdict) -> Verdict:
    if verdict.limited:
        raise RateLimited(shown(key), verdict)
    return verdict


def refuse_pipeline(client: Any, name: str) -> None:
    if isinstance(client, library.PIPELINES + library.ASYNC_PIPELINES):
        raise TypeError(f"{name} needs replies at once, which a pipeline does not give: use the client")


def shown(key: Name) -> str:
    return key if isinstance(key, str) else repr(key)


class BaseLease(Generic[Link, Client]):
    """One of `limit` leases, which ends after `lease` unless it is renewed. With limit=1 it is a lock.

    As a context manager it waits up to `wait` for a lease, and raises LeaseDenied if it gets none. While the block
    runs, the lease is renewed (unless renewing=False). `lost` tells the block that it has ended all the same, by the
    clock of this machine; with asyncio the block is cancelled then. LeaseLost is raised at its end.
    `token` grows with every grant: pass it on as a fencing token. Each holder needs a Lease of its own.
    """

    _link: type[Link]
    _keeper: type[Any]

    def __init__(
        self,
        client: Client,
        key: Name,
        limit: int = 1,
        lease: Duration = 30.0,
        *,
        wait: Duration = 0.0,
        renewing: bool = True,
    ):
        self.client = client
        self.link: Link = self._link(client)
        self.calls = LeaseCalls(key, limit, lease)
        self.seconds = milliseconds(lease) / 1000
        self.wait = milliseconds(wait) / 1000
        self.renewing = renewing
        self.token = 0
        # The end of the lease by this machine's clock. It began later at the server, so it ends later there.
        self._end = 0.0
        self._keeping: Any = None
        self._free = threading.Lock()

    @property
    def lost(self) -> bool:
        """Whether the lease of the block has ended: somebody else may have it."""
        return self.token != 0 and time.monotonic() >= self._end

    @property
    def time_left(self) -> float:
        return self._end - time.monotonic()

    def renewed(self, is_held: bool, sent: float) -> bool:
        """What was lost stays so: somebody else may have had it meanwhile."""
        if not is_held:
            self._end = 0.0
        elif not self.lost:
            self._end = sent + self.seconds
        return is_held

    @contextlib.contextmanager
    def entering(self) -> Iterator[None]:
        # Two holders of one object would release each other's token.
        if not self._free.acquire(blocking=False):
            raise RuntimeError("this Lease is in use: make another one for each holder")
        try:
            yield
        except BaseException:
            self._free.release()
            raise

    def enter(self) -> Steps[None]:
        left, sent = self.wait, time.monotonic()
        while not (grant := (yield from one(self.calls.acquire()))):
            if left <= 0:
                raise LeaseDenied(shown(self.calls.key), grant)
            # The server says when the next lease ends, so nothing is asked before.
            pause = min(left, max(grant.retry_after or 0, 0.001))
            yield Pause(pause)
            left, sent = left - pause, time.monotonic()
        self.token, self._end = grant.token, sent + self.seconds
        if self.renewing:
            self._keeping = self._keeper(self, self._link(self.client, max(self.seconds / 3, 1.0)))

    def renew_steps(self) -> Steps[bool]:
        sent = time.monotonic()
        return self.renewed((yield from one(self.calls.renew_token(self.token))), sent)

    def leave(self, failed: bool) -> Steps[None]:
        was_lost, token, self.token = self.lost, self.token, 0
        if self._keeping is not None:
            self._keeping.stop()
            self._keeping = None
        self._free.release()
        [held] = yield [self.calls.release(token)]
        if failed:
            # The error of the work is the one to see.
            return
        if was_lost or not succeeded(held):
            raise LeaseLost(f"{shown(self.calls.key)}: the lease ended before it was released")


class BaseSchedule(Generic[Link, Client]):
    """Items that become due at a time. With items=bytes they are bytes.

    `data` names the hash of their payloads, which are kept as JSON, or with payload=str as text. `dead` names the
    schedule of items that are given up.
    """

    _link: type[Link]

    def __init__(
        self,
        client: Client,
        key: Name,
        data: Name | None = None,
        *,
        payload: Payload = "json",
        dead: Name | None = None,
        items: Callable[[bytes], Any] | None = None,
    ):
        self.client = client
        self.link: Link = _link_to(self._link, client)
        self.calls = ScheduleCalls(key, items, data, payload, dead)


class BaseDeadLetters(Generic[Link, Client]):
    """The items of a schedule that were given up: to look at, to revive (`schedule.revive`), and to forget."""

    def __init__(self, schedule: BaseSchedule[Link, Client]):
        self.link: Link = schedule.link
        self.calls = schedule.calls
