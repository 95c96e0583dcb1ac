"""DUE.*: items that become due at a time, as values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from .call import Call, Duration, Moment, Name, Steps, Wait, Words, argument, at, done, duration, encode, flags, list_of
from .call import milliseconds, moment, option, pairs, seconds, text
from .values import Claim, Due, ScheduleInfo

T = TypeVar("T")


def _when(at: Moment | None, after: Duration | None) -> Words:
    if (at is None) == (after is None):
        raise ValueError("give one of at= and after=")
    return ["AT", moment(at)] if at is not None else ["IN", duration(after or 0)]


class ScheduleCalls:
    """The commands of one schedule. `data` is the hash with the payloads of items, if it has one."""

    def __init__(self, key: Name, items: Callable[[bytes], Any] | None = None, data: Name | None = None):
        self.key = key
        self.data = data
        self._as_item = items

    def _item(self, item: Any) -> Any:
        return text(item) if self._as_item is None else self._as_item(item)

    def _call(self, name: str, words: Iterable[Name | float], parse: Callable[[Any], T]) -> Call[T]:
        return Call(name, encode([self.key, *words]), parse)

    def _take(
        self,
        name: str,
        parse: Callable[[Any], T],
        words: Words,
        block: Duration | None,
        now: Moment | None,
    ) -> Call[list[T]]:
        def call_for(piece: int | None) -> Call[list[T]]:
            blocks = option("BLOCK", None if piece is None else f"{piece}ms")
            return self._call(name, [*words, *blocks, *at(now, "NOW")], list_of(parse))

        time = None if block is None else milliseconds(block)
        return replace(call_for(time), wait=None if time is None else Wait(time, call_for))

    def _payload(self, row: Any, at: int) -> str | None:
        return text(row[at]) if self.data is not None and row[at] is not None else None

    def _payload_words(self, items: tuple[Name, ...], data: Name | None) -> Words:
        if data is None:
            return []
        if self.data is None:
            raise ValueError("the schedule was declared without data=, the hash for payloads")
        if len(items) != 1:
            raise ValueError(f"a payload is for one item, got {len(items)} items")
        return ["DATA", self.data, data]

    def add(
        self,
        *items: Name,
        at: Moment | None = None,
        after: Duration | None = None,
        nx: bool = False,
        xx: bool = False,
        data: Name | None = None,
    ) -> Call[int]:
        """DUE.ADD: schedule items. Returns how many are new. A waiting item is moved, a claimed one stays."""
        words = [*flags(nx=nx, xx=xx), *self._payload_words(items, data), *_when(at, after), *items]
        return self._call("DUE.ADD", words, int) if items else done(0)

    def again(self, *items: Name, data: Name | None = None) -> Call[int]:
        """DUE.ADD … AGAIN: due now; one that is being worked on is due again when it is acknowledged."""
        words = [*self._payload_words(items, data), "AGAIN", *items]
        return self._call("DUE.ADD", words, int) if items else done(0)

    def claim(
        self,
        count: int | None = None,
        *,
        lease: Duration | None = None,
        block: Duration | None = None,
        attempts: int | None = None,
        dead: Name | None = None,
        now: Moment | None = None,
    ) -> Call[list[Claim]]:
        """DUE.CLAIM: items that are due, earliest first, yours until the lease ends. Delivered at least once.

        Items that were claimed `attempts` times and came back move to the schedule `dead`.
        """
        if (attempts is None) != (dead is None):
            raise ValueError("attempts= and dead= go together")

        def claim(row: Any) -> Claim:
            return Claim(self._item(row[0]), int(row[1]), int(row[2]), row[3] / 1000, self._payload(row, 4))

        words = option("COUNT", count) + option("LEASE", None if lease is None else duration(lease))
        words += option("ATTEMPTS", attempts) + option("DEAD", dead) + option("DATA", self.data)
        return self._take("DUE.CLAIM", claim, words, block, now)

    def pop(
        self, count: int | None = None, *, block: Duration | None = None, now: Moment | None = None
    ) -> Call[list[Due]]:
        """DUE.POP: items that are due, removed at once. Delivered at most once."""

        def due(row: Any) -> Due:
            return Due(self._item(row[0]), row[1] / 1000, self._payload(row, 2))

        return self._take("DUE.POP", due, option("COUNT", count) + option("DATA", self.data), block, now)

    def ack(self, *claims: Claim) -> Call[int]:
        """DUE.ACK: remove items that are done. Returns how many were still held."""
        words: Words = option("DATA", self.data)
        for claim in claims:
            words += [claim.token, claim.item]
        return self._call("DUE.ACK", words, int) if claims else done(0)

    def move(self, claim: Claim, *, at: Moment | None = None, after: Duration | None = None) -> Call[Claim | None]:
        """DUE.MOVE: retry an item later, or hold it longer. None if it is no longer held."""

        def parse(token: int) -> Claim | None:
            return replace(claim, token=token) if token else None

        return self._call("DUE.MOVE", [*_when(at, after), claim.token, claim.item], parse)

    def cancel(self, *items: Name) -> Steps[int]:
        """ZREM, and HDEL of the payloads: cancel items. Returns how many there were."""
        if not items:
            return 0
        calls = [self._call("ZREM", items, int)]
        if self.data is not None:
            calls.append(Call("HDEL", (argument(self.data), *encode(items)), int))
        results = yield calls
        for result in results:
            if isinstance(result, Exception):
                raise result
        return int(results[0])

    def info(self, *, now: Moment | None = None) -> Call[ScheduleInfo]:
        """DUE.INFO."""

        def parse(reply: Any) -> ScheduleInfo:
            info = pairs(reply)
            return ScheduleInfo(
                info["items"], info["due"], info["claimed"], info["invalid"], seconds(info["next_ms"])
            )

        return self._call("DUE.INFO", at(now, "NOW"), parse)
