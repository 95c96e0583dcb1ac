"""Leaderboards, rate limits and schedules in Redis and Valkey, with the module redis-rank.

    board = Leaderboard(redis.Redis(), "game", ties="FIRST")
    board.add("ann", 310)
    board.top(10)

`redis_rank.asyncio` has the same classes for redis.asyncio.
"""

from .board import Period
from .call import Call, raw
from .errors import (
    CommandError,
    DamagedBoard,
    IncompleteAnswer,
    LeaseDenied,
    LeaseLost,
    ModuleNotLoaded,
    NotPermitted,
    RankError,
    RateLimited,
    SchemaError,
    ValueOutOfRange,
    WrongType,
)
from .sync import Leaderboard, Lease, RateLimiter, Schedule, ShardedLeaderboard, execute
from .values import (
    BoardInfo,
    Change,
    Claim,
    Due,
    Entry,
    Field,
    Grant,
    GroupRow,
    Held,
    Page,
    PeriodBoard,
    Row,
    Scan,
    ScheduleInfo,
    Tied,
    Verdict,
    Verification,
)

__all__ = [
    "BoardInfo",
    "Call",
    "Change",
    "Claim",
    "CommandError",
    "DamagedBoard",
    "Due",
    "Entry",
    "Field",
    "Grant",
    "GroupRow",
    "Held",
    "IncompleteAnswer",
    "Leaderboard",
    "Lease",
    "LeaseDenied",
    "LeaseLost",
    "ModuleNotLoaded",
    "NotPermitted",
    "Page",
    "Period",
    "PeriodBoard",
    "RankError",
    "RateLimited",
    "RateLimiter",
    "Row",
    "Scan",
    "Schedule",
    "ScheduleInfo",
    "ShardedLeaderboard",
    "SchemaError",
    "Tied",
    "ValueOutOfRange",
    "Verdict",
    "Verification",
    "WrongType",
    "execute",
    "raw",
]
