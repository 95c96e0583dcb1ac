# Made by generate.py from asyncio.py: change that one.

"""The classes for redis.Redis and redis.RedisCluster. board.py, rate.py and due.py say what each method does."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from .board import BoardCalls
from .call import Call, Name, Work
from .due import ScheduleCalls
from .rate import LeaseCalls, LimiterCalls, Spend
from .send import Sync, SyncClient, several
from .shards import ShardedCalls
from .shared import BaseDeadLetters, BaseLeaderboard, BaseLease, BaseRateLimiter, BaseReservation, BaseSchedule
from .shared import BaseShardedLeaderboard, described, enforced, refuse_pipeline
from .threads import Handler, ThreadKeeper, ThreadWorker
from .values import Entry, Verdict
from .worker import WorkerOptions

if sys.version_info >= (3, 11):
    from typing import Self, Unpack
elif TYPE_CHECKING:
    from typing_extensions import Self, Unpack

__all__ = ["DeadLetters", "Leaderboard", "Lease", "RateLimiter", "Reservation", "Schedule", "ShardedLeaderboard", "Worker", "execute"]

P = ParamSpec("P")
T = TypeVar("T")


def execute(client: SyncClient, *calls: Call[Any], transaction: bool = False) -> list[Any]:
    """Several calls in one round trip, in order: `execute(client, board.calls.add("ann", 5), board.calls.top(3))`."""
    return Sync(client).run(several(calls), transaction)


def _synchronous(build: Callable[Concatenate[Any, P], Work[T]]) -> Callable[Concatenate[Any, P], T]:
    """The method that sends what `build`, a method of `self.calls`, only describes."""

    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.link.run(build(self.calls, *args, **kwargs))  # type: ignore[no-any-return]

    return described(method, build, Sync)  # type: ignore[no-any-return]


def _limiting(build: Callable[Concatenate[Any, P], Work[T]]) -> Callable[Concatenate[Any, P], T]:
    """The same for a limiter, which may have to decide while the server is away."""

    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.link.run(self.limited(build, *args, **kwargs))  # type: ignore[no-any-return]

    return described(method, build, Sync)  # type: ignore[no-any-return]


def _scan_all(self: Any, *, count: int | None = None, time: bool = False, data: bool = False) -> Iterator[Entry]:
    """A complete RANK.SCAN. Returns every member that stays on the board; some may be returned twice."""
    refuse_pipeline(self.client, "scan_all")
    cursor = "0"
    while True:
        step = self.scan(cursor, count=count, time=time, data=data)
        for entry in step.entries:
            yield entry
        if (cursor := step.cursor) == "0":
            return


class Leaderboard(BaseLeaderboard[Sync, SyncClient]):
    __doc__ = BaseLeaderboard.__doc__
    _link = Sync

    create = _synchronous(BoardCalls.create)
    migrate = _synchronous(BoardCalls.migrate)
    create_like = _synchronous(BoardCalls.create_like)
    alter = _synchronous(BoardCalls.alter)
    info = _synchronous(BoardCalls.info)
    clear = _synchronous(BoardCalls.clear)
    rotate = _synchronous(BoardCalls.rotate)
    verify = _synchronous(BoardCalls.verify)
    periods = _synchronous(BoardCalls.periods)
    add = _synchronous(BoardCalls.add)
    add_many = _synchronous(BoardCalls.add_many)
    add_ranked = _synchronous(BoardCalls.add_ranked)
    add_many_ranked = _synchronous(BoardCalls.add_many_ranked)
    multiset = _synchronous(BoardCalls.multiset)
    incr = _synchronous(BoardCalls.incr)
    incr_ranked = _synchronous(BoardCalls.incr_ranked)
    remove = _synchronous(BoardCalls.remove)
    trim = _synchronous(BoardCalls.trim)
    trim_returning = _synchronous(BoardCalls.trim_returning)
    pop = _synchronous(BoardCalls.pop)
    load = _synchronous(BoardCalls.load)
    get = _synchronous(BoardCalls.get)
    score = _synchronous(BoardCalls.score)
    query = _synchronous(BoardCalls.query)
    stats = _synchronous(BoardCalls.stats)
    top = _synchronous(BoardCalls.top)
    range = _synchronous(BoardCalls.range)
    page = _synchronous(BoardCalls.page)
    around = _synchronous(BoardCalls.around)
    by_score = _synchronous(BoardCalls.by_score)
    among = _synchronous(BoardCalls.among)
    after = _synchronous(BoardCalls.after)
    before = _synchronous(BoardCalls.before)
    scan = _synchronous(BoardCalls.scan)
    scan_lines = _synchronous(BoardCalls.scan_lines)
    count = _synchronous(BoardCalls.count)
    for_score = _synchronous(BoardCalls.for_score)
    percentile = _synchronous(BoardCalls.percentile)
    score_at = _synchronous(BoardCalls.score_at)
    set_data = _synchronous(BoardCalls.set_data)
    put_data = _synchronous(BoardCalls.put_data)
    get_data = _synchronous(BoardCalls.get_data)
    get_attributes = _synchronous(BoardCalls.get_attributes)
    del_data = _synchronous(BoardCalls.del_data)
    scan_all = _scan_all


class ShardedLeaderboard(BaseShardedLeaderboard[Sync, SyncClient]):
    __doc__ = BaseShardedLeaderboard.__doc__
    _link = Sync

    shards = _synchronous(ShardedCalls.shards)
    shard = _synchronous(ShardedCalls.shard)
    create = _synchronous(ShardedCalls.create)
    migrate = _synchronous(ShardedCalls.migrate)
    alter = _synchronous(ShardedCalls.alter)
    info = _synchronous(ShardedCalls.info)
    clear = _synchronous(ShardedCalls.clear)
    verify = _synchronous(ShardedCalls.verify)
    add = _synchronous(ShardedCalls.add)
    add_many = _synchronous(ShardedCalls.add_many)
    incr = _synchronous(ShardedCalls.incr)
    remove = _synchronous(ShardedCalls.remove)
    load = _synchronous(ShardedCalls.load)
    set_data = _synchronous(ShardedCalls.set_data)
    put_data = _synchronous(ShardedCalls.put_data)
    get_data = _synchronous(ShardedCalls.get_data)
    get_attributes = _synchronous(ShardedCalls.get_attributes)
    del_data = _synchronous(ShardedCalls.del_data)
    count = _synchronous(ShardedCalls.count)
    score = _synchronous(ShardedCalls.score)
    get = _synchronous(ShardedCalls.get)
    among = _synchronous(ShardedCalls.among)
    top = _synchronous(ShardedCalls.top)
    range = _synchronous(ShardedCalls.range)
    page = _synchronous(ShardedCalls.page)
    around = _synchronous(ShardedCalls.around)
    by_score = _synchronous(ShardedCalls.by_score)
    after = _synchronous(ShardedCalls.after)
    before = _synchronous(ShardedCalls.before)
    scan = _synchronous(ShardedCalls.scan)
    scan_lines = _synchronous(ShardedCalls.scan_lines)
    scan_all = _scan_all
    percentile = _synchronous(ShardedCalls.percentile)
    for_score = _synchronous(ShardedCalls.for_score)


class RateLimiter(BaseRateLimiter[Sync, SyncClient]):
    __doc__ = BaseRateLimiter.__doc__
    _link = Sync

    check = _limiting(LimiterCalls.check)
    peek = _limiting(LimiterCalls.peek)
    refund = _limiting(LimiterCalls.refund)
    check_all = _limiting(LimiterCalls.check_all)
    reset = _limiting(LimiterCalls.reset)
    settle = _limiting(LimiterCalls.settle)
    wait = _limiting(LimiterCalls.wait)
    throttle = _synchronous(LimiterCalls.throttle)

    def reserve(self, key: Name, cost: int, *, refund_on_error: bool = False) -> Reservation:
        """Units whose number is known only afterwards: `with limiter.reserve(key, 2000) as hold: …; hold.settle(1350)`.

        Raises RateLimited if they are denied. Without settle() the estimate stays counted; with refund_on_error it is
        given back if the block raises.
        """
        return Reservation(self, key, cost, refund_on_error)

    def enforce(self, key: Name, **options: Unpack[Spend]) -> Verdict:
        """Like check, but raises RateLimited if the call is denied."""
        refuse_pipeline(self.client, "enforce")
        return enforced(key, self.check(key, **options))


class Reservation(BaseReservation[Sync, SyncClient]):
    __doc__ = BaseReservation.__doc__

    def settle(self, used: int) -> Verdict:
        """Tells how many units were used, once: the others are given back, or what is missing is counted."""
        return self.link.run(self.settling(used))

    def __enter__(self) -> Self:
        self.link.run(self.enter())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.link.run(self.leave(kind is not None))


class Lease(BaseLease[Sync, SyncClient]):
    __doc__ = BaseLease.__doc__
    _link = Sync
    _keeper = ThreadKeeper

    acquire = _synchronous(LeaseCalls.acquire)
    release = _synchronous(LeaseCalls.release)
    held = _synchronous(LeaseCalls.held)
    renew_token = _synchronous(LeaseCalls.renew_token)

    def renew(self) -> bool:
        """Renews the lease, for `lease` from now. False if it was lost."""
        return self.link.run(self.renew_steps())

    def __enter__(self) -> Self:
        with self.entering():
            self.link.run(self.enter())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Only what the keeper has cancelled ends as a lost lease.
        is_lost = kind is not None and self._keeping is not None and self._keeping.has_ended(kind)
        self.link.run(self.leave(kind is not None and not is_lost))


class Schedule(BaseSchedule[Sync, SyncClient]):
    __doc__ = BaseSchedule.__doc__
    _link = Sync

    add = _synchronous(ScheduleCalls.add)
    again = _synchronous(ScheduleCalls.again)
    claim = _synchronous(ScheduleCalls.claim)
    pop = _synchronous(ScheduleCalls.pop)
    ack = _synchronous(ScheduleCalls.ack)
    move = _synchronous(ScheduleCalls.move)
    cancel = _synchronous(ScheduleCalls.cancel)
    info = _synchronous(ScheduleCalls.info)
    list = _synchronous(ScheduleCalls.list)
    get = _synchronous(ScheduleCalls.get)
    bury = _synchronous(ScheduleCalls.bury)
    revive = _synchronous(ScheduleCalls.revive)

    @property
    def dead(self) -> DeadLetters:
        """The items that were given up."""
        self.calls.dead_key()
        return DeadLetters(self)


class DeadLetters(BaseDeadLetters[Sync, SyncClient]):
    __doc__ = BaseDeadLetters.__doc__

    list = _synchronous(ScheduleCalls.dead_list)
    get = _synchronous(ScheduleCalls.dead_get)
    discard = _synchronous(ScheduleCalls.discard)


class Worker(ThreadWorker):
    __doc__ = ThreadWorker.__doc__
    _schedules = Schedule

    def __init__(self, schedule: Schedule, handle: Handler, **options: Unpack[WorkerOptions]):
        super().__init__(schedule, handle, **options)
