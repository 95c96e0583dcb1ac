"""The classes for redis.asyncio.Redis and RedisCluster. board.py, rate.py and due.py say what each method does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING

from .base import BaseLeaderboard, BaseLease, BaseRateLimiter, BaseSchedule, BaseShardedLeaderboard, enforced
from .board import BoardCalls
from .call import Name
from .due import ScheduleCalls
from .rate import LeaseCalls, LimiterCalls, Spend
from .run import asynchronous, run_async
from .run import execute_async as execute
from .shards import ShardedCalls
from .values import Entry, Verdict

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

__all__ = ["Leaderboard", "Lease", "RateLimiter", "Schedule", "ShardedLeaderboard", "execute"]


class Leaderboard(BaseLeaderboard):
    __doc__ = BaseLeaderboard.__doc__

    create = asynchronous(BoardCalls.create)
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

    async def scan_all(
        self, *, count: int | None = None, time: bool = False, data: bool = False
    ) -> AsyncIterator[Entry]:
        """A complete RANK.SCAN. Returns every member that stays on the board; some may be returned twice."""
        cursor = "0"
        while True:
            step = await self.scan(cursor, count=count, time=time, data=data)
            for entry in step.entries:
                yield entry
            if (cursor := step.cursor) == "0":
                return


class ShardedLeaderboard(BaseShardedLeaderboard):
    __doc__ = BaseShardedLeaderboard.__doc__

    shards = asynchronous(ShardedCalls.shards)
    shard = asynchronous(ShardedCalls.shard)
    create = asynchronous(ShardedCalls.create)
    add = asynchronous(ShardedCalls.add)
    add_many = asynchronous(ShardedCalls.add_many)
    incr = asynchronous(ShardedCalls.incr)
    remove = asynchronous(ShardedCalls.remove)
    count = asynchronous(ShardedCalls.count)
    get = asynchronous(ShardedCalls.get)
    friends = asynchronous(ShardedCalls.friends)
    top = asynchronous(ShardedCalls.top)
    range = asynchronous(ShardedCalls.range)
    page = asynchronous(ShardedCalls.page)
    around = asynchronous(ShardedCalls.around)
    percentile = asynchronous(ShardedCalls.percentile)


class RateLimiter(BaseRateLimiter):
    __doc__ = BaseRateLimiter.__doc__

    check = asynchronous(LimiterCalls.check)
    peek = asynchronous(LimiterCalls.peek)
    refund = asynchronous(LimiterCalls.refund)
    check_all = asynchronous(LimiterCalls.check_all)
    reset = asynchronous(LimiterCalls.reset)
    throttle = asynchronous(LimiterCalls.throttle)

    async def enforce(self, key: Name, **options: Unpack[Spend]) -> Verdict:
        """Like check, but raises RateLimited if the call is denied."""
        return enforced(key, await self.check(key, **options))


class Lease(BaseLease):
    __doc__ = BaseLease.__doc__

    acquire = asynchronous(LeaseCalls.acquire)
    release = asynchronous(LeaseCalls.release)
    held = asynchronous(LeaseCalls.held)
    renew_token = asynchronous(LeaseCalls.renew_token)

    async def renew(self) -> bool:
        """Renews the lease, for `lease` from now. False if it was lost."""
        return await self.renew_token(self.token)

    async def __aenter__(self) -> Self:
        with self._entering():
            await run_async(self.client, self._enter())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await run_async(self.client, self._exit(kind is not None))


class Schedule(BaseSchedule):
    __doc__ = BaseSchedule.__doc__

    add = asynchronous(ScheduleCalls.add)
    claim = asynchronous(ScheduleCalls.claim)
    pop = asynchronous(ScheduleCalls.pop)
    ack = asynchronous(ScheduleCalls.ack)
    move = asynchronous(ScheduleCalls.move)
    cancel = asynchronous(ScheduleCalls.cancel)
    info = asynchronous(ScheduleCalls.info)
