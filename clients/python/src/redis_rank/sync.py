"""The classes for redis.Redis and redis.RedisCluster. board.py, rate.py and due.py say what each method does."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING

from .base import BaseLeaderboard, BaseLease, BaseRateLimiter, BaseSchedule, BaseShardedLeaderboard, enforced
from .board import BoardCalls
from .call import Name
from .due import ScheduleCalls
from .rate import LeaseCalls, LimiterCalls, Spend
from .run import execute, run, sync
from .shards import ShardedCalls
from .values import Entry, Verdict

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

__all__ = ["Leaderboard", "Lease", "RateLimiter", "Schedule", "ShardedLeaderboard", "execute"]


class Leaderboard(BaseLeaderboard):
    __doc__ = BaseLeaderboard.__doc__

    create = sync(BoardCalls.create)
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

    def scan_all(self, *, count: int | None = None, time: bool = False, data: bool = False) -> Iterator[Entry]:
        """A complete RANK.SCAN. Returns every member that stays on the board; some may be returned twice."""
        cursor = "0"
        while True:
            step = self.scan(cursor, count=count, time=time, data=data)
            yield from step.entries
            if (cursor := step.cursor) == "0":
                return


class ShardedLeaderboard(BaseShardedLeaderboard):
    __doc__ = BaseShardedLeaderboard.__doc__

    shards = sync(ShardedCalls.shards)
    shard = sync(ShardedCalls.shard)
    create = sync(ShardedCalls.create)
    add = sync(ShardedCalls.add)
    add_many = sync(ShardedCalls.add_many)
    incr = sync(ShardedCalls.incr)
    remove = sync(ShardedCalls.remove)
    count = sync(ShardedCalls.count)
    get = sync(ShardedCalls.get)
    friends = sync(ShardedCalls.friends)
    top = sync(ShardedCalls.top)
    range = sync(ShardedCalls.range)
    page = sync(ShardedCalls.page)
    around = sync(ShardedCalls.around)
    percentile = sync(ShardedCalls.percentile)


class RateLimiter(BaseRateLimiter):
    __doc__ = BaseRateLimiter.__doc__

    check = sync(LimiterCalls.check)
    peek = sync(LimiterCalls.peek)
    refund = sync(LimiterCalls.refund)
    check_all = sync(LimiterCalls.check_all)
    reset = sync(LimiterCalls.reset)
    throttle = sync(LimiterCalls.throttle)

    def enforce(self, key: Name, **options: Unpack[Spend]) -> Verdict:
        """Like check, but raises RateLimited if the call is denied."""
        return enforced(key, self.check(key, **options))


class Lease(BaseLease):
    __doc__ = BaseLease.__doc__

    acquire = sync(LeaseCalls.acquire)
    release = sync(LeaseCalls.release)
    held = sync(LeaseCalls.held)
    renew_token = sync(LeaseCalls.renew_token)

    def renew(self) -> bool:
        """Renews the lease, for `lease` from now. False if it was lost."""
        return self.renew_token(self.token)

    def __enter__(self) -> Self:
        with self._entering():
            run(self.client, self._enter())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run(self.client, self._exit(kind is not None))


class Schedule(BaseSchedule):
    __doc__ = BaseSchedule.__doc__

    add = sync(ScheduleCalls.add)
    claim = sync(ScheduleCalls.claim)
    pop = sync(ScheduleCalls.pop)
    ack = sync(ScheduleCalls.ack)
    move = sync(ScheduleCalls.move)
    cancel = sync(ScheduleCalls.cancel)
    info = sync(ScheduleCalls.info)
