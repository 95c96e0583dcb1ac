"""What the commands return: times are Unix time in seconds, durations are seconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from .call import Number


@dataclass(slots=True)
class Row:
    """A member of a board. `score` is the score of a board with one field; of others, the first.

    `time` is there with time=True, and `data` with data=True: a dict, or None for a member without attributes.
    """

    rank: int
    member: str
    score: Number
    scores: tuple[Number, ...]
    time: float | None = None
    data: Any = None


@dataclass(slots=True)
class GroupRow:
    """A member among others: its place in that group and its rank on the board."""

    place: int
    rank: int
    member: str
    score: Number
    scores: tuple[Number, ...]
    time: float | None = None
    data: Any = None


@dataclass(slots=True)
class Entry:
    """A member as a scan returns it, without a rank."""

    member: str
    score: Number
    scores: tuple[Number, ...]
    time: float | None = None
    data: Any = None


@dataclass(slots=True)
class Change:
    """
    What a write did to one member. If it is not on the board now, it has no rank and no scores; if it is new, it has no
    previous ones. `improved` is true if it is new, or better than before on the fields.
    """

    rank: int | None
    previous_rank: int | None
    member: str
    score: Number | None
    previous_score: Number | None
    scores: tuple[Number, ...] | None
    previous_scores: tuple[Number, ...] | None
    improved: bool


@dataclass(slots=True)
class Tied:
    """Members that are equal on all fields. `data` maps each to its attributes, with data=True."""

    rank: int
    members: tuple[str, ...]
    data: Any = None


@dataclass(slots=True)
class Page:
    page: int
    pages: int
    members: int
    rows: list[Row]


@dataclass(slots=True)
class Scan:
    """One step of a scan; `cursor` is "0" when it was the last."""

    cursor: str
    entries: list[Entry]


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    order: str
    type: str


@dataclass(frozen=True, slots=True)
class BoardInfo:
    members: int
    fields: tuple[Field, ...]
    ties: str
    keep: int | None
    update: str
    layout: str
    overflow: int  # members that do not fit their score
    since: float | None  # tie times are counted from here
    data: str | None
    periods: tuple[dict[str, Any], ...]
    shard: tuple[int, int] | None
    schema: str | None


@dataclass(frozen=True, slots=True)
class Verification:
    """One step of RANK.VERIFY; `cursor` is "0" when it was the last."""

    cursor: str
    checked: int
    undecodable: int
    missing: int
    orphaned: int
    duplicated: int
    repaired: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PeriodBoard:
    """The board of one period."""

    unit: str
    id: str
    key: str
    start: float
    end: float
    members: int
    expires: float | None


@dataclass(slots=True)
class Verdict:
    """What a limiter says. True in an `if` when the call may pass.

    `retry_after` is None if the cost can never fit. `source` is "server", "memory"
    (remember_denied), or what decided while the server was away.
    """

    allowed: bool
    limited: bool
    limit: int
    remaining: int
    retry_after: float | None
    reset_after: float
    rule: int
    source: Literal["server", "memory", "open", "closed", "local"] = "server"
    rules: tuple[Verdict, ...] = ()

    def __bool__(self) -> bool:
        return self.allowed


@dataclass(slots=True)
class Grant:
    """The answer to a request for a lease. True in an `if` when it was granted."""

    allowed: bool
    limited: bool
    limit: int
    remaining: int
    retry_after: float | None
    reset_after: float
    token: int

    def __bool__(self) -> bool:
        return self.allowed


@dataclass(frozen=True, slots=True)
class Held:
    """How many leases are held, and in how many seconds the next one ends (None: none is held)."""

    held: int
    next_end: float | None


@dataclass(frozen=True, slots=True)
class Claim:
    """An item that is yours until its lease ends: acknowledge it or move it."""

    item: str
    token: int
    attempt: int
    due: float
    data: Any = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Due:
    item: str
    due: float
    data: Any = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ScheduledItem:
    """An item of a schedule. While it is claimed, `due` is the end of its lease."""

    item: str
    due: float
    data: Any = field(default=None, repr=False)
    claimed: bool = False
    attempt: int = 0


class BadPayload(str):
    """The text of a payload that is no JSON, although the schedule says that its payloads are."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ScheduleInfo:
    items: int
    due: int
    claimed: int
    invalid: int
    next: float | None
