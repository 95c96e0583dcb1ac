"""What the commands return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .call import Number


class _Scored:
    __slots__ = ()
    scores: tuple[Number, ...] | None

    @property
    def score(self) -> Number:
        """The score of a board with one field; of others, the first."""
        if not self.scores:
            raise ValueError("it is not on the board: there is no score")
        return self.scores[0]


@dataclass(frozen=True, slots=True)
class Row(_Scored):
    """A member of a board. `time` is there with time=True, `data` with data=True."""

    rank: int
    member: str
    scores: tuple[Number, ...]
    time: int | None = None
    data: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class GroupRow(_Scored):
    """A member among others: its place in that group and its rank on the board."""

    place: int
    rank: int
    member: str
    scores: tuple[Number, ...]
    time: int | None = None
    data: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Entry(_Scored):
    """A member as a scan returns it, without a rank."""

    member: str
    scores: tuple[Number, ...]
    time: int | None = None
    data: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Change(_Scored):
    """
    What a write did to one member. If it is not on the board now, it has no rank and no scores; if it is new, it has no
    previous ones.
    """

    rank: int | None
    previous_rank: int | None
    member: str
    scores: tuple[Number, ...] | None
    previous_scores: tuple[Number, ...] | None

    @property
    def previous_score(self) -> Number | None:
        """The previous score of a board with one field; of others, the first. None if the member is new."""
        return self.previous_scores[0] if self.previous_scores else None


@dataclass(frozen=True, slots=True)
class Tied:
    """Members that are equal on all fields. `data` maps each to its attributes, with data=True."""

    rank: int
    members: tuple[str, ...]
    data: dict[str, dict[str, Any] | None] | None = None


@dataclass(frozen=True, slots=True)
class Page:
    page: int
    pages: int
    members: int
    rows: list[Row]


@dataclass(frozen=True, slots=True)
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
    since: int | None  # Unix milliseconds that tie times are counted from
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
    """The board of one period; times are Unix milliseconds."""

    unit: str
    id: str
    key: str
    start: int
    end: int
    members: int
    expires: int | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a limiter says. True in an `if` when the call may pass."""

    limited: bool
    limit: int
    remaining: int
    retry_after_ms: int
    reset_after_ms: int
    rule: int
    rules: tuple[Verdict, ...] = ()

    def __bool__(self) -> bool:
        return not self.limited

    @property
    def retry_after(self) -> float | None:
        """Seconds until the same call could pass; None if it never can."""
        return None if self.retry_after_ms < 0 else self.retry_after_ms / 1000


@dataclass(frozen=True, slots=True)
class Grant:
    """The answer to a request for a lease. True in an `if` when it was granted."""

    limited: bool
    limit: int
    remaining: int
    retry_after_ms: int
    reset_after_ms: int
    token: int

    def __bool__(self) -> bool:
        return not self.limited


@dataclass(frozen=True, slots=True)
class Held:
    """How many leases are held, and when the next one ends (None: none is held)."""

    held: int
    next_end_ms: int | None


@dataclass(frozen=True, slots=True)
class Claim:
    """An item that is yours until its lease ends: acknowledge it or move it."""

    item: str
    token: int
    attempt: int
    due_ms: int


@dataclass(frozen=True, slots=True)
class Due:
    item: str
    due_ms: int


@dataclass(frozen=True, slots=True)
class ScheduleInfo:
    items: int
    due: int
    claimed: int
    invalid: int
    next_ms: int | None
