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
    CrossSlot,
    DamagedBoard,
    IncompleteAnswer,
    LeaseDenied,
    LeaseLost,
    ModuleNotLoaded,
    NoBoard,
    NotPermitted,
    OutcomeUnknown,
    OutOfMemory,
    RankError,
    RateLimited,
    SchemaError,
    TooBig,
    TryAgain,
    Unblocked,
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
from .worker import Job, Worker

__all__ = [
    "BoardInfo",
    "Call",
    "Change",
    "Claim",
    "CommandError",
    "CrossSlot",
    "DamagedBoard",
    "Due",
    "Entry",
    "Field",
    "Grant",
    "GroupRow",
    "Held",
    "IncompleteAnswer",
    "Job",
    "Leaderboard",
    "Lease",
    "LeaseDenied",
    "LeaseLost",
    "ModuleNotLoaded",
    "NoBoard",
    "NotPermitted",
    "OutOfMemory",
    "OutcomeUnknown",
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
    "SchemaError",
    "ShardedLeaderboard",
    "Tied",
    "TooBig",
    "TryAgain",
    "Unblocked",
    "ValueOutOfRange",
    "Verdict",
    "Verification",
    "Worker",
    "WrongType",
    "execute",
    "raw",
]
