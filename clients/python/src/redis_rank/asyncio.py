"""The classes for redis.asyncio.Redis and redis.asyncio.RedisCluster. board.py, rate.py and due.py say what each method does."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from .board import BoardCalls
from .call import Call, Name, Work
from .due import ScheduleCalls
from .rate import LeaseCalls, LimiterCalls, Spend
from .send import Async, several
from .shards import ShardedCalls
from .shared import BaseLeaderboard, BaseLease, BaseRateLimiter, BaseSchedule, BaseShardedLeaderboard, enforced
from .values import Entry, Verdict
from .worker import AsyncWorker as Worker
if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

__all__ = ["Leaderboard", "Lease", "RateLimiter", "Schedule", "ShardedLeaderboard", "Worker", "execute"]

P = ParamSpec("P")
T = TypeVar("T")


async def execute(client: Any, *calls: Call[Any], transaction: bool = False) -> list[Any]:
    """Several calls in one round trip, in order: `await execute(client, board.calls.add("ann", 5), board.calls.top(3))`."""
    return await Async(client).run(several(calls), transaction)


def asynchronous(build: Callable[Concatenate[Any, P], Work[T]]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The method that sends what `build`, a method of `self.calls`, only describes."""

    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return self.link.run(build(self.calls, *args, **kwargs))  # type: ignore[no-any-return]

    return functools.wraps(build)(method)


def _limiting(build: Callable[Concatenate[Any, P], Call[Verdict]]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, Verdict]]:
    """The same for a limiter, which may have to decide while the server is away."""

    async def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Verdict:
        call = build(self.calls, *args, **kwargs)
        try:
            return await self.link.run(call)  # type: ignore[no-any-return]
        except Exception as error:
            subject: Any = args[0] if args else kwargs.get("key", kwargs.get("rules"))
            cost: Any = kwargs.get("cost", 1)
            return self.decided(error, build.__name__, subject, cost)  # type: ignore[no-any-return]

    return functools.wraps(build)(method)


async def _scan_all(self: Any, *, count: int | None = None, time: bool = False, data: bool = False) -> AsyncIterator[Entry]:
    """A complete RANK.SCAN. Returns every member that stays on the board; some may be returned twice."""
    cursor = "0"
    while True:
        step = await self.scan(cursor, count=count, time=time, data=data)
        for entry in step.entries:
            yield entry
        if (cursor := step.cursor) == "0":
            return


class Leaderboard(BaseLeaderboard[Async]):
    __doc__ = BaseLeaderboard.__doc__
    _link = Async

    create = asynchronous(BoardCalls.create)
    migrate = asynchronous(BoardCalls.migrate)
    create_like = asynchronous(BoardCalls.create_like)
    alter = asynchronous(BoardCalls.alter)
    info = asynchronous(BoardCalls.info)
    clear = asynchronous(BoardCalls.clear)
    rotate = asynchronous(BoardCalls.rotate)
    verify = asynchronous(BoardCalls.verify)
    periods = asynchronous(BoardCalls.periods)
    add = asynchronous(BoardCalls.add)
    add_many = asynchronous(BoardCalls.add_many)
    add_ranked = asynchronous(BoardCalls.add_ranked)
    add_many_ranked = asynchronous(BoardCalls.add_many_ranked)
    multiset = asynchronous(BoardCalls.multiset)
    incr = asynchronous(BoardCalls.incr)
    incr_ranked = asynchronous(BoardCalls.incr_ranked)
    remove = asynchronous(BoardCalls.remove)
    trim = asynchronous(BoardCalls.trim)
    trim_returning = asynchronous(BoardCalls.trim_returning)
    pop = asynchronous(BoardCalls.pop)
    load = asynchronous(BoardCalls.load)
    get = asynchronous(BoardCalls.get)
    score = asynchronous(BoardCalls.score)
    query = asynchronous(BoardCalls.query)
    stats = asynchronous(BoardCalls.stats)
    top = asynchronous(BoardCalls.top)
    range = asynchronous(BoardCalls.range)
    page = asynchronous(BoardCalls.page)
    around = asynchronous(BoardCalls.around)
    by_score = asynchronous(BoardCalls.by_score)
    among = asynchronous(BoardCalls.among)
    after = asynchronous(BoardCalls.after)
    before = asynchronous(BoardCalls.before)
    scan = asynchronous(BoardCalls.scan)
    scan_lines = asynchronous(BoardCalls.scan_lines)
    count = asynchronous(BoardCalls.count)
    for_score = asynchronous(BoardCalls.for_score)
    percentile = asynchronous(BoardCalls.percentile)
    score_at = asynchronous(BoardCalls.score_at)
    set_data = asynchronous(BoardCalls.set_data)
    put_data = asynchronous(BoardCalls.put_data)
    get_data = asynchronous(BoardCalls.get_data)
    get_attributes = asynchronous(BoardCalls.get_attributes)
    del_data = asynchronous(BoardCalls.del_data)
    scan_all = _scan_all


class ShardedLeaderboard(BaseShardedLeaderboard[Async]):
    __doc__ = BaseShardedLeaderboard.__doc__
    _link = Async

    shards = asynchronous(ShardedCalls.shards)
    shard = asynchronous(ShardedCalls.shard)
    create = asynchronous(ShardedCalls.create)
    migrate = asynchronous(ShardedCalls.migrate)
    alter = asynchronous(ShardedCalls.alter)
    info = asynchronous(ShardedCalls.info)
    clear = asynchronous(ShardedCalls.clear)
    verify = asynchronous(ShardedCalls.verify)
    add = asynchronous(ShardedCalls.add)
    add_many = asynchronous(ShardedCalls.add_many)
    incr = asynchronous(ShardedCalls.incr)
    remove = asynchronous(ShardedCalls.remove)
    load = asynchronous(ShardedCalls.load)
    set_data = asynchronous(ShardedCalls.set_data)
    put_data = asynchronous(ShardedCalls.put_data)
    get_data = asynchronous(ShardedCalls.get_data)
    get_attributes = asynchronous(ShardedCalls.get_attributes)
    del_data = asynchronous(ShardedCalls.del_data)
    count = asynchronous(ShardedCalls.count)
    score = asynchronous(ShardedCalls.score)
    get = asynchronous(ShardedCalls.get)
    among = asynchronous(ShardedCalls.among)
    top = asynchronous(ShardedCalls.top)
    range = asynchronous(ShardedCalls.range)
    page = asynchronous(ShardedCalls.page)
    around = asynchronous(ShardedCalls.around)
    by_score = asynchronous(ShardedCalls.by_score)
    after = asynchronous(ShardedCalls.after)
    before = asynchronous(ShardedCalls.before)
    scan = asynchronous(ShardedCalls.scan)
    scan_lines = asynchronous(ShardedCalls.scan_lines)
    scan_all = _scan_all
    percentile = asynchronous(ShardedCalls.percentile)
    for_score = asynchronous(ShardedCalls.for_score)


class RateLimiter(BaseRateLimiter[Async]):
    __doc__ = BaseRateLimiter.__doc__
    _link = Async

    check = _limiting(LimiterCalls.check)
    peek = _limiting(LimiterCalls.peek)
    refund = _limiting(LimiterCalls.refund)
    check_all = _limiting(LimiterCalls.check_all)
    reset = asynchronous(LimiterCalls.reset)
    throttle = asynchronous(LimiterCalls.throttle)

    async def enforce(self, key: Name, **options: Unpack[Spend]) -> Verdict:
        """Like check, but raises RateLimited if the call is denied."""
        return enforced(key, await self.check(key, **options))


class Lease(BaseLease[Async]):
    __doc__ = BaseLease.__doc__
    _link = Async

    acquire = asynchronous(LeaseCalls.acquire)
    release = asynchronous(LeaseCalls.release)
    held = asynchronous(LeaseCalls.held)
    renew_token = asynchronous(LeaseCalls.renew_token)

    async def renew(self) -> bool:
        """Renews the lease, for `lease` from now. False if it was lost."""
        return await self.renew_token(self.token)

    async def __aenter__(self) -> Self:
        with self.entering():
            await self.link.run(self.enter())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.link.run(self.leave(kind is not None))


class Schedule(BaseSchedule[Async]):
    __doc__ = BaseSchedule.__doc__
    _link = Async

    add = asynchronous(ScheduleCalls.add)
    again = asynchronous(ScheduleCalls.again)
    claim = asynchronous(ScheduleCalls.claim)
    pop = asynchronous(ScheduleCalls.pop)
    ack = asynchronous(ScheduleCalls.ack)
    move = asynchronous(ScheduleCalls.move)
    cancel = asynchronous(ScheduleCalls.cancel)
    info = asynchronous(ScheduleCalls.info)
