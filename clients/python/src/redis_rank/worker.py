"""Workers: they claim the items of a schedule, hand them to a function, and acknowledge them.

    Worker(Schedule(redis.Redis(), "due:mails", data="due:{mails}:data"), send_mail).run()

An item is done when the function returns. If it raises, the item is tried again later; after `attempts` claims it moves
to the schedule `dead`. A worker that dies holds its items until their leases end; then they are claimed again.

Here is what both kinds of workers share: what a job is, and what becomes of its item. threads.py and tasks.py run them.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import random
import signal
import sys
import time
import types
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from .call import Call, Duration, Name, Pause, milliseconds
from .due import Rate, ScheduleCalls
from .errors import OutcomeUnknown, is_temporary
from .values import BadPayload, Claim

if sys.version_info >= (3, 11):
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack

log = logging.getLogger("redis_rank.worker")

# One claim waits for this long at most.
_BLOCK = 1.0
# What does not answer for this long is away.
TIMEOUT = 5.0
_LONGEST_PAUSE = 5.0
# How long stop() waits for handlers, unless told otherwise.
_GRACE = 30.0

Kind = Literal["done", "retry", "dead", "failed", "lost"]


class Retry(Exception):
    """Raised by a handler: try the item again after a time, by default as `backoff` says. It is no error."""

    def __init__(self, after: Duration | None = None):
        super().__init__("try again later" if after is None else f"try again after {after!r}")
        if after is not None:
            milliseconds(after)
        self.after = after


class Dead(Exception):
    """Raised by a handler: trying again is of no use. The item moves to the schedule `dead`."""


@dataclass(frozen=True, slots=True)
class Event:
    """What `observe` is told after each call of the handler, which took `seconds`."""

    kind: Kind
    item: Any
    attempt: int
    seconds: float


@dataclass(slots=True, eq=False)
class Job:
    """What a handler gets. `lost` is true once the lease has ended: somebody else may work on the item."""

    item: Any
    data: Any = field(default=None, repr=False)
    attempt: int = 1
    due: float = 0.0
    claim: Claim | None = field(default=None, repr=False)
    # The end of the lease by this machine's clock. It began later at the server, so it ends later there.
    _end: float = field(default=float("inf"), repr=False)
    begun: float = field(default=0.0, repr=False)
    # A job is renewed, or its item acknowledged, never both at once.
    lock: Any = field(default=None, repr=False)
    settled: bool = field(default=False, repr=False)

    @property
    def token(self) -> int:
        return self.claim.token if self.claim else 0

    @property
    def lost(self) -> bool:
        return time.monotonic() >= self._end

    @property
    def time_left(self) -> float:
        return self._end - time.monotonic()

    def renewed(self, claim: Claim | None, end: float) -> None:
        """What was lost stays so: somebody else may have begun to work on the item."""
        if claim is None:
            self.lose()
        elif not self.lost:
            self.claim, self._end = claim, end

    def lose(self) -> None:
        self._end = 0.0


class WorkerOptions(TypedDict, total=False):
    concurrency: int  # how many handlers run at a time
    lease: Duration  # renewed while the handler runs
    attempts: int | None  # after so many claims the item moves to `dead`
    dead: Name | None  # a schedule of the same slot
    backoff: Callable[[int], Duration]  # when an item is tried again, by its attempt
    grace: Duration  # how long run() waits for handlers after stop()
    time_limit: Duration | None  # what takes longer is tried again
    every: Duration | None  # what is done is due again at the next multiple of this time
    rate: Rate | None  # (limiter, "100/1m"): no more items than this rule allows
    observe: Callable[[Event], object] | None
    signals: bool | None  # whether SIGINT and SIGTERM stop it


def exponential(attempt: int) -> float:
    """1 s, 2 s, 4 s … at most an hour, and up to a quarter less, so that retries spread."""
    return min(2.0 ** min(attempt - 1, 12), 3600.0) * random.uniform(0.75, 1.0)


class BaseWorker:
    """Claims items of a schedule and handles up to `concurrency` of them at a time.

    The lease is renewed while the handler runs. A handler that raises is tried again after `backoff(attempt)`;
    after `attempts` claims the item moves to the schedule `dead`, a key of the same slot. A handler may raise
    Retry(after=) or Dead(reason). `run` returns after `stop`: nothing more is claimed, what runs is finished, and what
    still runs `grace` seconds later is left to the next worker.
    """

    _schedules: type[Any]
    _links: type[Any]

    def __init__(self, schedule: Any, handle: Callable[[Job], Any], **options: Unpack[WorkerOptions]):
        for name in options:
            if name not in WorkerOptions.__annotations__:
                raise TypeError(f"unknown option {name!r}, expected one of {', '.join(WorkerOptions.__annotations__)}")
        if not isinstance(schedule, self._schedules):
            wanted = f"{self._schedules.__module__}.{self._schedules.__name__}"
            raise TypeError(f"expected a Schedule ({wanted}), got {schedule!r}")
        self._check_handler(handle)
        self.schedule = schedule
        self.handle = handle
        self.concurrency = options.get("concurrency", 1)
        self.lease = milliseconds(options.get("lease", 30.0)) / 1000
        self.attempts = options.get("attempts")
        self.dead = options.get("dead", schedule.calls.dead if self.attempts is not None else None)
        self.backoff = options.get("backoff", exponential)
        self.grace = milliseconds(options.get("grace", _GRACE)) / 1000
        self.time_limit = _seconds(options.get("time_limit"))
        self.every = _seconds(options.get("every"))
        self.rate = options.get("rate")
        self.observe = options.get("observe")
        self.signals = options.get("signals")
        if self.concurrency < 1:
            raise ValueError(f"concurrency is 1 or more, got {self.concurrency}")
        if self.lease < 0.1:
            raise ValueError(f"lease is 100 ms or more, got {options.get('lease')!r}")
        # Calls that give up in time, so that a host that has vanished is noticed.
        self.link = self._links(schedule.client, TIMEOUT)
        self.calls: ScheduleCalls = schedule.calls
        # A mistake in these options is an error here.
        self._claim(1)

    @staticmethod
    def _check_handler(handle: Any) -> None:
        raise NotImplementedError

    def _claim(self, count: int) -> Call[list[Claim]]:
        # The lease is counted from the moment at which the claim is sent: waiting must not use it up.
        block = min(_BLOCK, self.lease / 3)
        options: Any = {"attempts": self.attempts, "dead": self.dead, "rate": self.rate}
        return self.calls.claim(count, lease=self.lease, block=block, **options)

    def _jobs(self, claims: Sequence[Claim], sent: float, lock: Callable[[], Any]) -> list[Job]:
        return [
            Job(claim.item, claim.data, claim.attempt, claim.due, claim, sent + self.lease, lock=lock())
            for claim in claims
        ]

    def _renewal(self, job: Job) -> Call[Claim | None]:
        assert job.claim
        return self.calls.move(job.claim, after=self.lease)

    # --- what becomes of an item ------------------------------------------------------------------------

    def _settling(self, job: Job, error: BaseException | None) -> tuple[Kind, Call[Any]]:
        """What happened, and the call that tells the server."""
        assert job.claim
        if error is None:
            if self.every is None:
                return "done", self.calls.ack(job.claim)
            # The due time too, in case that this machine's clock is behind the server's.
            now = max(time.time(), job.due)
            return "done", self.calls.ack(job.claim, at=(now // self.every + 1) * self.every)
        if isinstance(error, Dead):
            if self.dead is None:
                raise RuntimeError(f"{job.item!r} is dead: tell the worker attempts= and dead=, where such items go") from error
            log.warning("%r is dead at attempt %d: %s", job.item, job.attempt, error)
            return "dead", self.calls.bury(job.claim, self.dead)
        if isinstance(error, Retry):
            after = self._after(job) if error.after is None else error.after
            return "retry", self.calls.move(job.claim, after=after)
        is_last = self.attempts is not None and job.attempt >= self.attempts
        log.error("%r failed at attempt %d%s", job.item, job.attempt, ", the last" if is_last else "", exc_info=error)
        # The next claim moves it to the dead ones.
        return "failed", self.calls.move(job.claim, after=0.0 if is_last else self._after(job))

    def _after(self, job: Job) -> Duration:
        try:
            after = self.backoff(job.attempt)
            milliseconds(after)
            return after
        except Exception:
            log.exception("backoff failed")
            return exponential(job.attempt)

    def _settled(self, job: Job, kind: Kind, call: Call[Any]) -> Generator[Call[Any] | Pause, Any, Kind]:
        """Sends the call until the server has answered or the lease has ended. Returns what happened in the end.

        The second time does no harm.
        """
        failures, may_have_happened = 0, False
        while not job.lost:
            result = yield call
            if not isinstance(result, Exception):
                if result or may_have_happened:
                    return kind
                job.lose()
            else:
                may_have_happened = may_have_happened or isinstance(result, OutcomeUnknown)
                yield Pause(min(pause_after(failures, result), max(job.time_left, 0)))
                failures += 1
        log.warning("the lease of %r ended before its item was acknowledged", job.item)
        return "lost"

    def _observed(self, job: Job, kind: Kind) -> None:
        if self.observe is not None:
            try:
                self.observe(Event(kind, job.item, job.attempt, time.monotonic() - job.begun))
            except Exception:
                log.exception("observe failed")

    @staticmethod
    def _unreadable(job: Job) -> Exception | None:
        if isinstance(job.data, BadPayload):
            return ValueError(f"the payload of {job.item!r} is no JSON text")
        return None

    # --- signals ------------------------------------------------------------------------------------------

    @contextmanager
    def _stopped_by_signals(self, wanted: bool, stop: Callable[[], None]) -> Iterator[None]:
        """SIGINT and SIGTERM stop the worker; handlers that were there are called too, and are back afterwards."""
        before: dict[int, Any] = {}

        def on_signal(number: int, frame: types.FrameType | None) -> None:
            stop()
            # The second signal ends the program as if there were no worker.
            signal.signal(number, before[number])
            if callable(before[number]) and not _only_interrupts(before[number]):
                before[number](number, frame)

        if wanted:
            before.update({number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)})
        try:
            yield
        finally:
            for number, handler in before.items():
                if signal.getsignal(number) is on_signal:
                    signal.signal(number, handler)


def _only_interrupts(handler: Any) -> bool:
    """Whether it is Python's own way to end a program by SIGINT, which the worker replaces."""
    if handler is signal.default_int_handler:
        return True
    owner = getattr(getattr(handler, "func", None), "__self__", None)
    return sys.version_info >= (3, 11) and isinstance(owner, asyncio.Runner)


def _seconds(value: Duration | None) -> float | None:
    if value is None:
        return None
    if not (time := milliseconds(value)):
        raise ValueError(f"expected a time of 1 ms or more, got {value!r}")
    return time / 1000


def pause_after(failures: int, error: Exception) -> float:
    """How long to wait before the next attempt to reach the server; raises what will not pass."""
    if not is_temporary(error):
        raise error
    pause: float = min(0.05 * 2 ** min(failures, 10), _LONGEST_PAUSE) * random.uniform(0.5, 1.0)
    log.warning("the server does not answer, next attempt in %.1f s: %r", pause, error)
    return pause


# --- kinds of handlers ----------------------------------------------------------------------------------


def _implementation(handle: Any) -> Any:
    """The function that a call of `handle` runs, below partial, bound methods and decorators."""
    while True:
        if isinstance(handle, partial):
            handle = handle.func
        elif inspect.ismethod(handle):
            handle = handle.__func__
        elif hasattr(handle, "__wrapped__"):
            handle = handle.__wrapped__
        elif inspect.isroutine(handle) or inspect.isclass(handle) or not callable(handle):
            return handle
        elif inspect.iscoroutinefunction(handle):
            return handle
        else:
            handle = type(handle).__call__


def check_plain_handler(handle: Any) -> None:
    function = _implementation(handle)
    if not callable(function):
        raise TypeError(f"expected a function that takes a job, got {handle!r}")
    if inspect.iscoroutinefunction(function):
        raise TypeError(f"{handle!r} is asynchronous: use redis_rank.asyncio.Worker, or an ordinary function")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{handle!r} is a generator function, which would do nothing: expected an ordinary function")


def check_async_handler(handle: Any) -> None:
    function = _implementation(handle)
    if not callable(function):
        raise TypeError(f"expected an asynchronous function that takes a job, got {handle!r}")
    # A lambda may return what a coroutine function returned.
    is_unknown = isinstance(function, types.FunctionType) and function.__name__ == "<lambda>"
    if not inspect.iscoroutinefunction(function) and not is_unknown:
        raise TypeError(f"{handle!r} is not asynchronous: use async def, or redis_rank.Worker, which has threads")


def check_result(result: Any, is_async: bool) -> None:
    """A handler of the wrong kind in disguise must not pass for one that has done its work."""
    if inspect.isawaitable(result) != is_async:
        if inspect.iscoroutine(result):
            result.close()
        if is_async:
            raise WrongHandler("the handler returned no awaitable: use async def, or redis_rank.Worker, which has threads")
        raise WrongHandler("the handler returned an awaitable: use redis_rank.asyncio.Worker, or an ordinary function")


class WrongHandler(TypeError):
    """Found when it was called; the item is not acknowledged, and run() ends."""
