"""DUE.*: items that become due at a time, as values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Literal, TypeVar

from .call import Call, Duration, Moment, Name, Steps, Wait, Words, argument, at, done, duration, encode, flags, json_text
from .call import list_of, milliseconds, moment, option, pairs, seconds, text
from .values import BadPayload, Claim, Due, ScheduledItem, ScheduleInfo

T = TypeVar("T")
# Where a method is called list.
_List = list
# How payloads are kept: JSON text, or text or bytes as they are.
Payload = Literal["json"] | type[str] | type[bytes]
# A limiter of the same slot, its rule in one word, and the algorithm if it is not SLIDING.
Rate = tuple[Name, str] | tuple[Name, str, str]

# The score of a claimed item is negative: -2^53, and from bit 12 on the end of its lease, in ms since 2020.
_CLAIMED, _LEASE_ORIGIN = 2**53, 1577836800000

# Scripts, since what is removed in one key must be in the other one, whatever happens meanwhile.
_REVIVE = b"""
if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then return 0 end
redis.call('DUE.ADD', KEYS[1], 'NX', 'IN', '0', ARGV[1])
return redis.call('ZREM', KEYS[2], ARGV[1])"""
_DISCARD = b"""
local removed = redis.call('ZREM', KEYS[2], ARGV[1])
if removed == 1 and KEYS[3] and not redis.call('ZSCORE', KEYS[1], ARGV[1]) then redis.call('HDEL', KEYS[3], ARGV[1]) end
return removed"""
# The second time, after a lost reply, the item is among the dead already and must stay there.
_BURY = b"""
local was_dead = redis.call('ZSCORE', KEYS[2], ARGV[1])
redis.call('DUE.ADD', KEYS[2], 'IN', '0', ARGV[1])
local held = redis.call('DUE.ACK', KEYS[1], ARGV[2], ARGV[1])
if held == 0 and not was_dead then redis.call('ZREM', KEYS[2], ARGV[1]) end
return held"""


def _when(at: Moment | None, after: Duration | None) -> Words:
    if (at is None) == (after is None):
        raise ValueError("give one of at= and after=")
    return ["AT", moment(at)] if at is not None else ["IN", duration(after or 0)]


class ScheduleCalls:
    """The commands of one schedule. `data` is the hash with the payloads of items, `dead` the schedule of those given up."""

    def __init__(
        self,
        key: Name,
        items: Callable[[bytes], Any] | None = None,
        data: Name | None = None,
        payload: Payload = "json",
        dead: Name | None = None,
    ):
        if payload not in ("json", str, bytes):
            raise ValueError(f'payload is "json", str or bytes, got {payload!r}')
        self.key = key
        self.data = data
        self.dead = dead
        self._payload_type = payload
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
    ) -> Call[_List[T]]:
        def call_for(piece: int | None) -> Call[_List[T]]:
            blocks = option("BLOCK", None if piece is None else f"{piece}ms")
            return self._call(name, [*words, *blocks, *at(now, "NOW")], list_of(parse))

        time = None if block is None else milliseconds(block)
        return replace(call_for(time), wait=None if time is None else Wait(time, call_for))

    def _payload(self, value: Any) -> Any:
        if value is None or self._payload_type is bytes:
            return value if value is None else argument(value)
        if self._payload_type is str:
            return text(value)
        try:
            return json.loads(value)
        except ValueError:
            # One that cannot be read must not keep the others from being claimed.
            return BadPayload(text(value))

    def _row_payload(self, row: Any, at: int) -> Any:
        return self._payload(row[at]) if self.data is not None else None

    def _payload_words(self, items: tuple[Name, ...], data: Any) -> Words:
        if data is None:
            return []
        if self.data is None:
            raise ValueError("the schedule was declared without data=, the hash for payloads")
        if len(items) != 1:
            raise ValueError(f"a payload is for one item, got {len(items)} items")
        if self._payload_type == "json":
            return ["DATA", self.data, json_text(data)]
        if not isinstance(data, (str, bytes)):
            raise TypeError(f"payloads of this schedule are text, got {type(data).__name__}")
        return ["DATA", self.data, data]

    def add(
        self,
        *items: Name,
        at: Moment | None = None,
        after: Duration | None = None,
        nx: bool = False,
        xx: bool = False,
        data: Any = None,
    ) -> Call[int]:
        """DUE.ADD: schedule items. Returns how many are new. A waiting item is moved, a claimed one stays.

        `data` is the payload of one item: what JSON can express, unless the schedule says otherwise.
        """
        words = [*flags(nx=nx, xx=xx), *self._payload_words(items, data), *_when(at, after), *items]
        return self._call("DUE.ADD", words, int) if items else done(0)

    def again(self, *items: Name, data: Any = None) -> Call[int]:
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
        rate: Rate | None = None,
        now: Moment | None = None,
    ) -> Call[_List[Claim]]:
        """DUE.CLAIM: items that are due, earliest first, yours until the lease ends. Delivered at least once.

        Items that were claimed `attempts` times and came back move to the schedule `dead`. `rate` is a limiter of the
        same slot and its rule, such as ("limit:mails", "100/1m"): no more items are claimed than it allows.
        """
        if attempts is not None and dead is None:
            dead = self.dead
        if (attempts is None) != (dead is None):
            raise ValueError("attempts= and dead= go together: where shall the items go that failed too often?")
        if rate is not None and (isinstance(rate, (str, bytes)) or len(rate) not in (2, 3)):
            raise ValueError(f'rate is a limiter and its rule, such as ("limit:mails", "100/1m"), got {rate!r}')

        def claim(row: Any) -> Claim:
            return Claim(self._item(row[0]), int(row[1]), int(row[2]), row[3] / 1000, self._row_payload(row, 4))

        words = option("COUNT", count) + option("LEASE", None if lease is None else duration(lease))
        words += option("ATTEMPTS", attempts) + option("DEAD", dead) + option("DATA", self.data)
        words += ["RATE", *rate] if rate is not None else []
        return self._take("DUE.CLAIM", claim, words, block, now)

    def pop(
        self, count: int | None = None, *, block: Duration | None = None, now: Moment | None = None
    ) -> Call[_List[Due]]:
        """DUE.POP: items that are due, removed at once. Delivered at most once."""

        def due(row: Any) -> Due:
            return Due(self._item(row[0]), row[1] / 1000, self._row_payload(row, 2))

        return self._take("DUE.POP", due, option("COUNT", count) + option("DATA", self.data), block, now)

    def ack(self, *claims: Claim, at: Moment | None = None, after: Duration | None = None) -> Call[int]:
        """DUE.ACK: remove items that are done. Returns how many were still held.

        With `at` or `after` the items stay, with their payloads, and are due again then.
        """
        words: Words = option("DATA", self.data)
        words += [] if at is None and after is None else _when(at, after)
        for claim in claims:
            words += [claim.token, claim.item]
        return self._call("DUE.ACK", words, int) if claims else done(0)

    def move(self, claim: Claim, *, at: Moment | None = None, after: Duration | None = None) -> Call[Claim | None]:
        """DUE.MOVE: retry an item later, or hold it longer. None if it is no longer held."""

        def parse(token: int) -> Claim | None:
            return replace(claim, token=token) if token else None

        return self._call("DUE.MOVE", [*_when(at, after), claim.token, claim.item], parse)

    def cancel(self, *items: Name) -> Steps[int]:
        """ZREM, and HDEL of the payloads: cancel items. Returns how many there were.

        For items that are dead, `dead.discard`: a payload may belong to a live item of the same name.
        """
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

    def list(self, start: int = 0, count: int = 100) -> Steps[_List[ScheduledItem]]:
        """ZRANGE, and HMGET of the payloads: claimed items, then the others, earliest first."""
        return self._items(self.key, start, count)

    def _items(self, key: Name, start: int, count: int) -> Steps[_List[ScheduledItem]]:
        if start < 0 or count < 0:
            raise ValueError(f"start and count are 0 or more, got {start} and {count}")
        if not count:
            return []
        words = encode([key, start, start + count - 1, "WITHSCORES"])
        [rows] = yield [Call("ZRANGE", words, _scored)]
        return (yield from self._with_payloads(_succeeded(rows)))

    def get(self, item: Name) -> Steps[ScheduledItem | None]:
        """ZSCORE, and HGET of the payload: one item, or None if it is not there."""
        return self._item_of(self.key, item)

    def _item_of(self, key: Name, item: Name) -> Steps[ScheduledItem | None]:
        [score] = yield [Call("ZSCORE", encode([key, item]), lambda reply: None if reply is None else float(reply))]
        if _succeeded(score) is None:
            return None
        return (yield from self._with_payloads([(argument(item), score)]))[0]

    def _with_payloads(self, rows: _List[tuple[Any, float]]) -> Steps[_List[ScheduledItem]]:
        payloads: _List[Any] = [None] * len(rows)
        if self.data is not None and rows:
            [payloads] = yield [Call("HMGET", (argument(self.data), *[argument(name) for name, _ in rows]), _items_of)]
        return [
            self._scheduled(name, score, self._payload(payload))
            for (name, score), payload in zip(rows, _succeeded(payloads))
        ]

    def _scheduled(self, name: Any, score: float, data: Any) -> ScheduledItem:
        if score >= 0 or score < -_CLAIMED:
            return ScheduledItem(self._item(argument(name)), score / 1000, data)
        number = int(score) + _CLAIMED
        end, attempt = (number >> 12) + _LEASE_ORIGIN, number >> 1 & 31
        return ScheduledItem(self._item(argument(name)), end / 1000, data, True, attempt)

    # --- dead letters -------------------------------------------------------------------------------------

    def dead_key(self) -> Name:
        if self.dead is None:
            raise ValueError("the schedule was declared without dead=, the schedule of items that were given up")
        return self.dead

    def _script(self, script: bytes, keys: _List[Name], *words: Name | float) -> Call[bool]:
        return Call("EVAL", (script, *encode([len(keys), *keys, *words])), bool)

    def revive(self, item: Name) -> Call[bool]:
        """A dead item is due again, as if it were new, with its payload. False if it is not dead."""
        return self._script(_REVIVE, [self.key, self.dead_key()], item)

    def discard(self, item: Name) -> Call[bool]:
        """Forgets a dead item, and its payload unless a live item has its name. False if it is not dead."""
        data = [] if self.data is None else [self.data]
        return self._script(_DISCARD, [self.key, self.dead_key(), *data], item)

    def bury(self, claim: Claim, dead: Name | None = None) -> Call[bool]:
        """An item that is yours moves to the dead ones; its payload stays. False if it is no longer yours.

        If it was triggered again meanwhile, it stays here as well.
        """
        return self._script(_BURY, [self.key, dead if dead is not None else self.dead_key()], claim.item, claim.token)

    def dead_list(self, start: int = 0, count: int = 100) -> Steps[_List[ScheduledItem]]:
        """ZRANGE, and HMGET of the payloads: dead items, by the time at which they were given up."""
        return self._items(self.dead_key(), start, count)

    def dead_get(self, item: Name) -> Steps[ScheduledItem | None]:
        """ZSCORE, and HGET of the payload: one dead item, or None."""
        return self._item_of(self.dead_key(), item)

    def info(self, *, now: Moment | None = None) -> Call[ScheduleInfo]:
        """DUE.INFO."""

        def parse(reply: Any) -> ScheduleInfo:
            info = pairs(reply)
            return ScheduleInfo(
                info["items"], info["due"], info["claimed"], info["invalid"], seconds(info["next_ms"])
            )

        return self._call("DUE.INFO", at(now, "NOW"), parse)


def _items_of(reply: Any) -> list[Any]:
    return list(reply)


def _succeeded(result: Any) -> Any:
    if isinstance(result, Exception):
        raise result
    return result


def _scored(reply: Any) -> list[tuple[Any, float]]:
    """Names and scores: pairs in RESP3, one after the other in RESP2, and pairs too where redis-py made them."""
    if reply and isinstance(reply[0], (list, tuple)):
        return [(name, float(score)) for name, score in reply]
    return [(name, float(score)) for name, score in zip(reply[::2], reply[1::2])]
