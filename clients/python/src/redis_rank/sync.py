"""The classes for redis.Redis and redis.RedisCluster. board.py, rate.py and due.py say what each method does."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from .board import BoardCalls
from .call import Call, Name, Work
from .due import ScheduleCalls
from .rate import LeaseCalls, LimiterCalls, Spend
from .send import Sync, several
from .shards import ShardedCalls
from .shared import BaseLeaderboard, BaseLease, BaseRateLimiter, BaseSchedule, BaseShardedLeaderboard, enforced
from .values import Entry, Verdict

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

__all__ = ["Leaderboard", "Lease", "RateLimiter", "Schedule", "ShardedLeaderboard", "execute"]

P = ParamSpec("P")
T = TypeVar("T")


def execute(client: Any, *calls: Call[Any], transaction: bool = False) -> list[Any]:
    """Several calls in one round trip, in order: `execute(client, board.calls.add("ann", 5), board.calls.top(3))`."""
    return Sync(client).run(several(calls), transaction)


def sync(build: Callable[Concatenate[Any, P], Work[T]]) -> Callable[Concatenate[Any, P], T]:
    """The method that sends what `build`, a method of `self.calls`, only describes."""

    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.link.run(build(self.calls, *args, **kwargs))  # type: ignore[no-any-return]

    return functools.wraps(build)(method)


def _limiting(build: Callable[Concatenate[Any, P], Call[Verdict]]) -> Callable[Concatenate[Any, P], Verdict]:
    """The same for a limiter, which may have to decide while the server is away."""

    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Verdict:
        call = build(self.calls, *args, **kwargs)
        try:
            return self.link.run(call)  # type: ignore[no-any-return]
        except Exception as error:
            subject: Any = args[0] if args else kwargs.get("key", kwargs.get("rules"))
            cost: Any = kwargs.get("cost", 1)
            return self.decided(error, build.__name__, subject, cost)  # type: ignore[no-any-return]

    return functools.wraps(build)(method)


def _scan_all(self: Any, *, count: int | None = None, time: bool = False, data: bool = False) -> Iterator[Entry]:
    """A complete RANK.SCAN. Returns every member that stays on the board; some may be returned twice."""
    cursor = "0"
    while True:
        step = self.scan(cursor, count=count, time=time, data=data)
        yield from step.entries
        if (cursor := step.cursor) == "0":
            return


class Leaderboard(BaseLeaderboard[Sync]):
    __doc__ = BaseLeaderboard.__doc__
    _link = Sync

    create = sync(BoardCalls.create)
    migrate = sync(BoardCalls.migrate)
    create_like = sync(BoardCalls.create_like)
    alter = sync(BoardCalls.alter)
    info = sync(BoardCalls.info)
    clear = sync(BoardCalls.clear)
    rotate = sync(BoardCalls.rotate)
    verify = sync(BoardCalls.verify)
    periods = sync(BoardCalls.periods)
    add = sync(BoardCalls.add)
    add_many = sync(BoardCalls.add_many)
    add_ranked = sync(BoardCalls.add_ranked)
    add_many_ranked = sync(BoardCalls.add_many_ranked)
    multiset = sync(BoardCalls.multiset)
    incr = sync(BoardCalls.incr)
    incr_ranked = sync(BoardCalls.incr_ranked)
    remove = sync(BoardCalls.remove)
    trim = sync(BoardCalls.trim)
    trim_returning = sync(BoardCalls.trim_returning)
    pop = sync(BoardCalls.pop)
    load = sync(BoardCalls.load)
    get = sync(BoardCalls.get)
    score = sync(BoardCalls.score)
    query = sync(BoardCalls.query)
    stats = sync(BoardCalls.stats)
    top = sync(BoardCalls.top)
    range = sync(BoardCalls.range)
    page = sync(BoardCalls.page)
    around = sync(BoardCalls.around)
    by_score = sync(BoardCalls.by_score)
    among = sync(BoardCalls.among)
    after = sync(BoardCalls.after)
    before = sync(BoardCalls.before)
    scan = sync(BoardCalls.scan)
    scan_lines = sync(BoardCalls.scan_lines)
    count = sync(BoardCalls.count)
    for_score = sync(BoardCalls.for_score)
    percentile = sync(BoardCalls.percentile)
    score_at = sync(BoardCalls.score_at)
    set_data = sync(BoardCalls.set_data)
    put_data = sync(BoardCalls.put_data)
    get_data = sync(BoardCalls.get_data)
    get_attributes = sync(BoardCalls.get_attributes)
    del_data = sync(BoardCalls.del_data)
    scan_all = _scan_all


class ShardedLeaderboard(BaseShardedLeaderboard[Sync]):
    __doc__ = BaseShardedLeaderboard.__doc__
    _link = Sync

    shards = sync(ShardedCalls.shards)
    shard = sync(ShardedCalls.shard)
    create = sync(ShardedCalls.create)
    migrate = sync(ShardedCalls.migrate)
    alter = sync(ShardedCalls.alter)
    info = sync(ShardedCalls.info)
    clear = sync(ShardedCalls.clear)
    verify = sync(ShardedCalls.verify)
    add = sync(ShardedCalls.add)
    add_many = sync(ShardedCalls.add_many)
    incr = sync(ShardedCalls.incr)
    remove = sync(ShardedCalls.remove)
    load = sync(ShardedCalls.load)
    set_data = sync(ShardedCalls.set_data)
    put_data = sync(ShardedCalls.put_data)
    get_data = sync(ShardedCalls.get_data)
    get_attributes = sync(ShardedCalls.get_attributes)
    del_data = sync(ShardedCalls.del_data)
    count = sync(ShardedCalls.count)
    score = sync(ShardedCalls.score)
    get = sync(ShardedCalls.get)
    among = sync(ShardedCalls.among)
    top = sync(ShardedCalls.top)
    range = sync(ShardedCalls.range)
    page = sync(ShardedCalls.page)
    around = sync(ShardedCalls.around)
    by_score = sync(ShardedCalls.by_score)
    after = sync(ShardedCalls.after)
    before = sync(ShardedCalls.before)
    scan = sync(ShardedCalls.scan)
    scan_lines = sync(ShardedCalls.scan_lines)
    scan_all = _scan_all
    percentile = sync(ShardedCalls.percentile)
    for_score = sync(ShardedCalls.for_score)


class RateLimiter(BaseRateLimiter[Sync]):
    __doc__ = BaseRateLimiter.__doc__
    _link = Sync

    check = _limiting(LimiterCalls.check)
    peek = _limiting(LimiterCalls.peek)
    refund = _limiting(LimiterCalls.refund)
    check_all = _limiting(LimiterCalls.check_all)
    reset = sync(LimiterCalls.reset)
    throttle = sync(LimiterCalls.throttle)

    def enforce(self, key: Name, **options: Unpack[Spend]) -> Verdict:
        """Like check, but raises RateLimited if the call is denied."""
        return enforced(key, self.check(key, **options))


class Lease(BaseLease[Sync]):
    __doc__ = BaseLease.__doc__
    _link = Sync

    acquire = sync(LeaseCalls.acquire)
    release = sync(LeaseCalls.release)
    held = sync(LeaseCalls.held)
    renew_token = sync(LeaseCalls.renew_token)

    def renew(self) -> bool:
        """Renews the lease, for `lease` from now. False if it was lost."""
        return self.renew_token(self.token)

    def __enter__(self) -> Self:
        with self.entering():
            self.link.run(self.enter())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.link.run(self.leave(kind is not None))


class Schedule(BaseSchedule[Sync]):
    __doc__ = BaseSchedule.__doc__
    _link = Sync

    add = sync(ScheduleCalls.add)
    again = sync(ScheduleCalls.again)
    claim = sync(ScheduleCalls.claim)
    pop = sync(ScheduleCalls.pop)
    ack = sync(ScheduleCalls.ack)
    move = sync(ScheduleCalls.move)
    cancel = sync(ScheduleCalls.cancel)
    info = sync(ScheduleCalls.info)
