"""DUE.*: items that become due at a time, as values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from .call import (
    Call,
    Duration,
    Moment,
    Name,
    Number,
    Wait,
    duration,
    encode,
    flags,
    list_of,
    milliseconds,
    moment,
    option,
    pairs,
    text,
)
from .values import Claim, Due, ScheduleInfo

T = TypeVar("T")
Arguments = list[Name | Number]


def _when(at: Moment | None, after: Duration | None) -> Arguments:
    if (at is None) == (after is None):
        raise ValueError("give one of at= and after=")
    return ["AT", moment(at)] if at is not None else ["IN", duration(after or 0)]


def _take(count: int | None, lease: Duration | None, block: Duration | None, now: Moment | None) -> Arguments:
    words = option("COUNT", count)
    words += option("LEASE", None if lease is None else duration(lease))
    words += option("BLOCK", None if block is None else duration(block))
    return words + option("NOW", None if now is None else moment(now))


class ScheduleCalls:
    """The commands of one schedule. Each method returns a Call."""

    def __init__(self, key: Name, items: Callable[[bytes], Any] | None = None):
        self.key = key
        self._as_item = items

    def _item(self, item: Any) -> Any:
        return text(item) if self._as_item is None else self._as_item(item)

    def _call(self, name: str, words: Iterable[Name | Number], parse: Callable[[Any], T]) -> Call[T]:
        return Call(name, encode([self.key, *words]), parse)

    def _take(
        self,
        name: str,
        parse: Callable[[Any], T],
        count: int | None,
        lease: Duration | None,
        block: Duration | None,
        now: Moment | None,
    ) -> Call[list[T]]:
        def call_for(block: Duration | None) -> Call[list[T]]:
            return self._call(name, _take(count, lease, block, now), list_of(parse))

        time = None if block is None else milliseconds(block)
        wait = None if time is None else Wait(time, lambda piece: call_for(f"{piece}ms"))
        return replace(call_for(block), wait=wait)

    def add(
        self, *items: Name, at: Moment | None = None, after: Duration | None = None, nx: bool = False, xx: bool = False
    ) -> Call[int]:
        """DUE.ADD: schedule items. Returns how many are new. A waiting item is moved, a claimed one stays."""
        return self._call("DUE.ADD", [*flags(nx=nx, xx=xx), *_when(at, after), *items], int)

    def claim(
        self,
        count: int | None = None,
        *,
        lease: Duration | None = None,
        block: Duration | None = None,
        now: Moment | None = None,
    ) -> Call[list[Claim]]:
        """DUE.CLAIM: items that are due, earliest first, yours until the lease ends. Delivered at least once."""

        def claim(row: Any) -> Claim:
            return Claim(self._item(row[0]), *map(int, row[1:]))

        return self._take("DUE.CLAIM", claim, count, lease, block, now)

    def pop(
        self, count: int | None = None, *, block: Duration | None = None, now: Moment | None = None
    ) -> Call[list[Due]]:
        """DUE.POP: items that are due, removed at once. Delivered at most once."""
        return self._take("DUE.POP", lambda row: Due(self._item(row[0]), int(row[1])), count, None, block, now)

    def ack(self, *claims: Claim) -> Call[int]:
        """DUE.ACK: remove items that are done. Returns how many were still held."""
        return self._call("DUE.ACK", [word for claim in claims for word in (claim.token, claim.item)], int)

    def move(self, claim: Claim, *, at: Moment | None = None, after: Duration | None = None) -> Call[Claim | None]:
        """DUE.MOVE: retry an item later, or hold it longer. None if it is no longer held."""

        def parse(token: int) -> Claim | None:
            return Claim(claim.item, token, claim.attempt, claim.due_ms) if token else None

        return self._call("DUE.MOVE", [*_when(at, after), claim.token, claim.item], parse)

    def cancel(self, *items: Name) -> Call[int]:
        """ZREM: cancel items. Returns how many there were."""
        return self._call("ZREM", items, int)

    def info(self, *, now: Moment | None = None) -> Call[ScheduleInfo]:
        """DUE.INFO."""

        def parse(reply: Any) -> ScheduleInfo:
            info = pairs(reply)
            return ScheduleInfo(**{**info, "next_ms": None if info["next_ms"] < 0 else info["next_ms"]})

        return self._call("DUE.INFO", option("NOW", None if now is None else moment(now)), parse)
