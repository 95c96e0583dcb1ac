"""The classes for redis.asyncio.Redis and redis.asyncio.RedisCluster. board.py, rate.py and due.py say what each method does."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from .board import BoardCalls
from .call import Call, Name, Work
from .due import ScheduleCalls
from .rate import LeaseCalls, LimiterCalls, Spend
from .send import Async, AsyncClient, several
from .shards import ShardedCalls
from .shared import BaseDeadLetters, BaseLeaderboard, BaseLease, BaseRateLimiter, BaseReservation, BaseSchedule
from .shared import BaseShardedLeaderboard, described, enforced, refuse_pipeline
from .tasks import Handler, TaskKeeper, TaskWorker
from .values import Entry, Verdict
from .worker import WorkerOptions

if sys.version_info >= (3, 11):
    from typing import Self, Unpack
elif TYPE_CHECKING:
    from typing_extensions import Self, Unpack

__all__ = ["DeadLetters", "Leaderboard", "Lease", "RateLimiter", "Reservation", "Schedule", "ShardedLeaderboard", "Worker", "execute"]

P = ParamSpec("P")
T = TypeVar("T")


async def execute(client: AsyncClient, *calls: Call[Any], transaction: bool = False) -> list[Any]:
    """Several calls in one round trip, in order: `await execute(client, board.calls.add("ann", 5), board.calls.top(3))`."""
    return await Async(client).run(several(calls), transaction)


def _asynchronous(build: Callable[Concatenate[Any, P], Work[T]]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The method that sends what `build`, a method of `self.calls`, only describes."""

    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return self.link.run(build(self.calls, *args, **kwargs))  # type: ignore[no-any-return]

    return described(method, build, Async)  # type: ignore[no-any-return]


def _limiting(build: Callable[Concatenate[Any, P], Work[T]]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The same for a limiter, which may have to decide while the server is away."""

    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return self.link.run(self.limited(build, *args, **kwargs))  # type: ignore[no-any-return]

    return described(method, build, Async)  # type: ignore[no-any-return]


async def _scan_all(self: Any, *, count: int | None = None, time: bool = False, data: bool = False) -> AsyncIterator[Entry]:
    """A complete RANK.SCAN. Returns every member that stays on the board; some may be returned twice."""
    refuse_pipeline(self.client, "scan_all")
    cursor = "0"
    while True:
        step = await self.scan(cursor, count=count, time=time, data=data)
        for entry in step.entries:
            yield entry
        if (cursor := step.cursor) == "0":
            return


class Leaderboard(BaseLeaderboard[Async, AsyncClient]):
    __doc__ = BaseLeaderboard.__doc__
    _link = Async

    create = _asynchronous(BoardCalls.create)
    migrate = _asynchronous(BoardCalls.migrate)
    create_like = _asynchronous(BoardCalls.create_like)
    alter = _asynchronous(BoardCalls.alter)
    info = _asynchronous(BoardCalls.info)
    clear = _asynchronous(BoardCalls.clear)
    rotate = _asynchronous(BoardCalls.rotate)
    verify = _asynchronous(BoardCalls.verify)
    periods = _asynchronous(BoardCalls.periods)
    add = _asynchronous(BoardCalls.add)
    add_many = _asynchronous(BoardCalls.add_many)
    add_ranked = _asynchronous(BoardCalls.add_ranked)
    add_many_ranked = _asynchronous(BoardCalls.add_many_ranked)
    multiset = _asynchronous(BoardCalls.multiset)
    incr = _asynchronous(BoardCalls.incr)
    incr_ranked = _asynchronous(BoardCalls.incr_ranked)
    remove = _asynchronous(BoardCalls.remove)
    trim = _asynchronous(BoardCalls.trim)
    trim_returning = _asynchronous(BoardCalls.trim_returning)
    pop = _asynchronous(BoardCalls.pop)
    load = _asynchronous(BoardCalls.load)
    get = _asynchronous(BoardCalls.get)
    score = _asynchronous(BoardCalls.score)
    query = _asynchronous(BoardCalls.query)
    stats = _asynchronous(BoardCalls.stats)
    top = _asynchronous(BoardCalls.top)
    range = _asynchronous(BoardCalls.range)
    page = _asynchronous(BoardCalls.page)
    around = _asynchronous(BoardCalls.around)
    by_score = _asynchronous(BoardCalls.by_score)
    among = _asynchronous(BoardCalls.among)
    after = _asynchronous(BoardCalls.after)
    before = _asynchronous(BoardCalls.before)
    scan = _asynchronous(BoardCalls.scan)
    scan_lines = _asynchronous(BoardCalls.scan_lines)
    count = _asynchronous(BoardCalls.count)
    for_score = _asynchronous(BoardCalls.for_score)
    percentile = _asynchronous(BoardCalls.percentile)
    score_at = _asynchronous(BoardCalls.score_at)
    set_data = _asynchronous(BoardCalls.set_data)
    put_data = _asynchronous(BoardCalls.put_data)
    get_data = _asynchronous(BoardCalls.get_data)
    get_attributes = _asynchronous(BoardCalls.get_attributes)
    del_data = _asynchronous(BoardCalls.del_data)
    scan_all = _scan_all


class ShardedLeaderboard(BaseShardedLeaderboard[Async, AsyncClient]):
    __doc__ = BaseShardedLeaderboard.__doc__
    _link = Async

    shards = _asynchronous(ShardedCalls.shards)
    shard = _asynchronous(ShardedCalls.shard)
    create = _asynchronous(ShardedCalls.create)
    migrate = _asynchronous(ShardedCalls.migrate)
    alter = _asynchronous(ShardedCalls.alter)
    info = _asynchronous(ShardedCalls.info)
    clear = _asynchronous(ShardedCalls.clear)
    verify = _asynchronous(ShardedCalls.verify)
    add = _asynchronous(ShardedCalls.add)
    add_many = _asynchronous(ShardedCalls.add_many)
    incr = _asynchronous(ShardedCalls.incr)
    remove = _asynchronous(ShardedCalls.remove)
    load = _asynchronous(ShardedCalls.load)
    set_data = _asynchronous(ShardedCalls.set_data)
    put_data = _asynchronous(ShardedCalls.put_data)
    get_data = _asynchronous(ShardedCalls.get_data)
    get_attributes = _asynchronous(ShardedCalls.get_attributes)
    del_data = _asynchronous(ShardedCalls.del_data)
    count = _asynchronous(ShardedCalls.count)
    score = _asynchronous(ShardedCalls.score)
    get = _asynchronous(ShardedCalls.get)
    among = _asynchronous(ShardedCalls.among)
    top = _asynchronous(ShardedCalls.top)
    range = _asynchronous(ShardedCalls.range)
    page = _asynchronous(ShardedCalls.page)
    around = _asynchronous(ShardedCalls.around)
    by_score = _asynchronous(ShardedCalls.by_score)
    after = _asynchronous(ShardedCalls.after)
    before = _asynchronous(ShardedCalls.before)
    scan = _asynchronous(ShardedCalls.scan)
    scan_lines = _asynchronous(ShardedCalls.scan_lines)
    scan_all = _scan_all
    percentile = _asynchronous(ShardedCalls.percentile)
    for_score = _asynchronous(ShardedCalls.for_score)


class RateLimiter(BaseRateLimiter[Async, AsyncClient]):
    __doc__ = BaseRateLimiter.__doc__
    _link = Async

    check = _limiting(LimiterCalls.check)
    peek = _limiting(LimiterCalls.peek)
    refund = _limiting(LimiterCalls.refund)
    check_all = _limiting(LimiterCalls.check_all)
    reset = _limiting(LimiterCalls.reset)
    settle = _limiting(LimiterCalls.settle)
    wait = _limiting(LimiterCalls.wait)
    throttle = _asynchronous(LimiterCalls.throttle)

    def reserve(self, key: Name, cost: int, *, refund_on_error: bool = False) -> Reservation:
        """Units whose number is known only afterwards: `async with limiter.reserve(key, 2000) as hold: …; await hold.settle(1350)`.

        Raises RateLimited if they are denied. Without settle() the estimate stays counted; with refund_on_error it is
        given back if the block raises.
        """
        return Reservation(self, key, cost, refund_on_error)

    async def enforce(self, key: Name, **options: Unpack[Spend]) -> Verdict:
        """Like check, but raises RateLimited if the call is denied."""
        refuse_pipeline(self.client, "enforce")
        return enforced(key, await self.check(key, **options))


class Reservation(BaseReservation[Async, AsyncClient]):
    __doc__ = BaseReservation.__doc__

    async def settle(self, used: int) -> Verdict:
        """Tells how many units were used, once: the others are given back, or what is missing is counted."""
        return await self.link.run(self.settling(used))

    async def __aenter__(self) -> Self:
        await self.link.run(self.enter())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.link.run(self.leave(kind is not None))


class Lease(BaseLease[Async, AsyncClient]):
    __doc__ = BaseLease.__doc__
    _link = Async
    _keeper = TaskKeeper

    acquire = _asynchronous(LeaseCalls.acquire)
    release = _asynchronous(LeaseCalls.release)
    held = _asynchronous(LeaseCalls.held)
    renew_token = _asynchronous(LeaseCalls.renew_token)

    async def renew(self) -> bool:
        """Renews the lease, for `lease` from now. False if it was lost."""
        return await self.link.run(self.renew_steps())

    async def __aenter__(self) -> Self:
        with self.entering():
            await self.link.run(self.enter())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Only what the keeper has cancelled ends as a lost lease.
        is_lost = kind is not None and self._keeping is not None and self._keeping.has_ended(kind)
        await self.link.run(self.leave(kind is not None and not is_lost))


class Schedule(BaseSchedule[Async, AsyncClient]):
    __doc__ = BaseSchedule.__doc__
    _link = Async

    add = _asynchronous(ScheduleCalls.add)
    again = _asynchronous(ScheduleCalls.again)
    claim = _asynchronous(ScheduleCalls.claim)
    pop = _asynchronous(ScheduleCalls.pop)
    ack = _asynchronous(ScheduleCalls.ack)
    move = _asynchronous(ScheduleCalls.move)
    cancel = _asynchronous(ScheduleCalls.cancel)
    info = _asynchronous(ScheduleCalls.info)
    list = _asynchronous(ScheduleCalls.list)
    get = _asynchronous(ScheduleCalls.get)
    bury = _asynchronous(ScheduleCalls.bury)
    revive = _asynchronous(ScheduleCalls.revive)

    @property
    def dead(self) -> DeadLetters:
        """The items that were given up."""
        self.calls.dead_key()
        return DeadLetters(self)


class DeadLetters(BaseDeadLetters[Async, AsyncClient]):
    __doc__ = BaseDeadLetters.__doc__

    list = _asynchronous(ScheduleCalls.dead_list)
    get = _asynchronous(ScheduleCalls.dead_get)
    discard = _asynchronous(ScheduleCalls.discard)


class Worker(TaskWorker):
    __doc__ = TaskWorker.__doc__
    _schedules = Schedule

    def __init__(self, schedule: Schedule, handle: Handler, **options: Unpack[WorkerOptions]):
        super().__init__(schedule, handle, **options)
