"""One board over many keys: exact answers for the whole from rounds of calls to all shards.

docs/design.md describes how. Every method is a generator of rounds, see `Steps`; a round that meets a slot on its way
or a primary that died is tried again, and an answer that lacks a shard is never given.
"""

from __future__ import annotations

import binascii
import functools
import itertools
import json
import math
import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

import redis.exceptions as exceptions

from .board import BoardCalls, Kind, OneScore, Schema, Write
from .call import Call, Moment, Name, NewScore, NewScores, Number, Pause, Score, Steps, argument, encode, known, list_of, text, READS
from .call import json_name, moment, number, numbers
from .errors import IncompleteAnswer, OutcomeUnknown
from .send import succeeded, with_boards
from .values import BoardInfo, GroupRow, Page, Row, Scan, Verification

if sys.version_info >= (3, 11):
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
Key = tuple[Any, ...]
Bounds = list[tuple[int, int]]

SLOTS = 16384
# The most rows of a shard that are fetched rather than narrowed down further, on average.
_ROWS_A_SHARD = 64
# A member that is written so often that it is never seen twice at one place.
_MOST_TRIES = 50
_PAUSE = 0.05

# The command was not run: try again.
_REFUSED = (
    exceptions.MovedError, exceptions.AskError, exceptions.TryAgainError, exceptions.ClusterDownError,
    exceptions.BusyLoadingError, exceptions.ReadOnlyError, exceptions.MasterDownError,
)  # fmt: skip
# Nothing was written, or it was a read: try again.
_LOST = (exceptions.ConnectionError, exceptions.TimeoutError, exceptions.RedisClusterException, OSError)


class ShardRead(TypedDict, total=False):
    kind: Literal["COMPETITION", "ORDINAL"] | None
    data: bool
    time: bool


class ShardAlteration(TypedDict, total=False):
    """What RANK.ALTER changes in every shard. None removes KEEP or DATA."""

    keep: int | None
    update: Literal["SET", "BEST"]
    data: str | None
    owned: bool


def crc16(name: bytes) -> int:
    return binascii.crc_hqx(name, 0)


@functools.cache
def tags(n: int) -> tuple[int, ...]:
    """For each shard the smallest number whose slot lies in its part of the slots."""
    if n not in {1 << bits for bits in range(1, 11)}:
        raise ValueError(f"a board has 2, 4, 8 … 1024 shards, got {n}")
    found: dict[int, int] = {}
    number = 0
    while len(found) < n:
        found.setdefault(crc16(str(number).encode()) % SLOTS * n // SLOTS, number)
        number += 1
    return tuple(found[shard] for shard in range(n))


def keys_of(name: str, n: int) -> list[str]:
    return [f"{name}:{n}:{{{tag}}}" for tag in tags(n)]


class Order:
    """How rows compare, as keys that sort best first: fields, then the tie time, then the name."""

    def __init__(self, schema: Schema):
        fields = [field.upper().split() for field in schema.get("fields", ())] or [[schema.get("order", "DESC")]]
        self._signs = [1 if "ASC" in field else -1 for field in fields]
        rule, *unit = schema.get("ties", "SHARED").upper().split()
        self._time = {"SHARED": 0, "LAST": -1}.get(rule, 1)
        self._unit = 1000 if unit == ["S"] else 1
        self.fields = len(fields)
        self.kind: Kind = "COMPETITION" if rule == "SHARED" else "ORDINAL"

    def fields_key(self, scores: Sequence[Number]) -> Key:
        return tuple(sign * score for sign, score in zip(self._signs, scores))

    def key(self, row: Row | GroupRow) -> Key:
        return (*self.fields_key(row.scores), self._time * (row.time or 0), self._name_key(row.member))

    def _name_key(self, member: Name) -> Key:
        name = argument(member)
        # Descending, and what is longer before what it starts with.
        return (*(-byte for byte in name), 1) if self._signs[0] < 0 else (name,)

    def place_key(self, score: Score, at: Moment | None, member: Name | None) -> Key:
        """What the keys of rows begin with that are at a place."""
        fields = self.fields_key(numbers(score))
        if at is None and self._time:
            return fields
        time = 0 if at is None else moment(at) // self._unit * self._unit / 1000
        return (*fields, self._time * time, *(() if member is None else (self._name_key(member),)))

    def is_descending(self) -> bool:
        return self._signs[0] < 0


@dataclass
class Window:
    """Rows of one shard from position `first`, all of one moment."""

    first: int
    rows: list[Row]
    keys: list[Key]
    is_last: bool


@dataclass
class Merged:
    """Neighbouring rows of the whole board; `before` are better than the first."""

    before: int
    rows: list[Row]
    is_last: bool

    def cut(self, start: int, n: int) -> list[Row] | None:
        """Rows by position, if these are among them or the board ends before."""
        end = self.before + len(self.rows)
        if self.before >= start or (end < start + n - 1 and not self.is_last):
            return None
        skip = start - self.before - 1
        return self.rows[skip : skip + n]


def merge(order: Order, windows: list[Window], kind: Kind) -> Merged | None:
    """The rows of which it is known how many are before them in every shard."""
    # Of a shard whose window does not begin with its first row, nothing is known of what is before the window.
    if any(window.first > 1 and not window.rows for window in windows):
        return None
    floor = max((window.keys[0] for window in windows if window.first > 1), default=None)
    ceiling = min((window.keys[-1] for window in windows if not window.is_last), default=None)
    known = [
        (key, row)
        for window in windows
        for key, row in zip(window.keys, window.rows)
        if (floor is None or key >= floor) and (ceiling is None or key <= ceiling)
    ]
    known.sort(key=lambda entry: entry[0])
    if not known:
        return Merged(0, [], True) if floor is None and ceiling is None else None
    before = sum(window.first - 1 + bisect_left(window.keys, known[0][0]) for window in windows)

    @functools.cache
    def better(fields: Key) -> int:
        total = 0
        for window in windows:
            at = bisect_left(window.keys, fields)
            is_equal = at < len(window.keys) and window.keys[at][: order.fields] == fields
            # The shard itself said how many are better than a row of its own.
            total += window.rows[at].rank - 1 if is_equal else window.first - 1 + at
        return total

    rows = [
        replace(row, rank=(before + at if kind == "ORDINAL" else better(key[: order.fields])) + 1)
        for at, (key, row) in enumerate(known)
    ]
    return Merged(before, rows, ceiling is None)


class ShardedCalls:
    """The commands of a board that is cut into shards."""

    def __init__(self, name: str, shards: int, schema: Schema, timeout: float, create: str = "auto"):
        if schema.get("periods"):
            raise ValueError("a board with shards has no periods")
        self.name = name
        self.keys = keys_of(name, shards)
        self.order = Order(schema)
        self.timeout = timeout
        self.boards = [
            BoardCalls(key, {**schema, "data": hash_name} if hash_name else schema, None, ["SHARD", index, shards], create)
            for index, (key, hash_name) in enumerate(zip(self.keys, self._hashes(schema.get("data"))))
        ]

    def _hashes(self, data: str | None) -> Sequence[str | None]:
        """Attributes are in the slot of their shard."""
        return [None] * len(self.keys) if data is None else keys_of(data, len(self.keys))

    # --- rounds -----------------------------------------------------------------------------------------

    def _round(self, calls: Sequence[Call[Any]]) -> Steps[list[Any]]:
        """The results of all calls; those that failed for a while, and were not run, are tried again."""
        end = time.monotonic() + self.timeout
        results = yield from with_boards(calls)
        while failed := [at for at, result in enumerate(results) if self._may_repeat(calls[at], result)]:
            if time.monotonic() >= end:
                error = results[failed[0]]
                raise IncompleteAnswer(f"{len(failed)} of {len(calls)} calls got no answer: {error!r}") from error
            yield Pause(_PAUSE)
            for at, result in zip(failed, (yield from with_boards([calls[at] for at in failed]))):
                results[at] = result
        return [succeeded(result) for result in results]

    @staticmethod
    def _may_repeat(call: Call[Any], result: Any) -> bool:
        if isinstance(result, OutcomeUnknown):
            # These do the same if they are run twice.
            return call.name in READS or call.name in ("RANK.REM", "RANK.CREATE", "RANK.ALTER", "RANK.PUTDATA", "RANK.DELDATA")
        return isinstance(result, _REFUSED + _LOST)

    def _home(self, member: Name) -> int:
        return crc16(argument(member)) % len(self.boards)

    def _kind(self, options: ShardRead) -> Kind:
        known(options, ShardRead)
        kind: Kind = options.get("kind") or self.order.kind
        if kind not in ("COMPETITION", "ORDINAL"):
            raise ValueError(f"ranks over shards are COMPETITION or ORDINAL, got {kind}")
        return kind

    def shards(self) -> Call[list[str]]:
        """RANK.SHARDS: the keys, as the server computes them; `calls.keys` are the same."""
        return Call("RANK.SHARDS", encode([self.name, len(self.keys)]), list_of(text), keyless=True)

    def shard(self, member: Name) -> Call[str]:
        """RANK.SHARD: the key of a member."""
        return Call("RANK.SHARD", encode([self.name, len(self.keys), member]), text, keyless=True)

    # --- the board --------------------------------------------------------------------------------------

    def create(self, *, adopt: bool = False) -> Steps[None]:
        """Creates all shards. With create="auto", writes create those they need."""
        yield from self._round([board.create(adopt=adopt) for board in self.boards])

    def migrate(self) -> Steps[None]:
        """Makes every shard what is declared, as far as RANK.ALTER can."""
        for board in self.boards:
            yield from board.migrate()

    def alter(self, **changes: Unpack[ShardAlteration]) -> Steps[None]:
        """RANK.ALTER of all shards. keep=None is NOKEEP, data=None is NODATA."""
        known(changes, ShardAlteration)
        calls = []
        for board, hash_name in zip(self.boards, self._hashes(changes.get("data"))):
            own = changes.copy()
            if "data" in changes:
                own["data"] = hash_name
            calls.append(board.alter(**own))
        yield from self._round(calls)

    def info(self) -> Steps[BoardInfo | None]:
        """RANK.INFO: the sums over all shards of `members` and `overflow`, the rest of the first shard that there is."""
        infos = yield from self._round([board.info() for board in self.boards])
        if not any(infos):
            return None
        at, first = next((at, info) for at, info in enumerate(infos) if info)
        suffix = self.keys[at][len(self.name) :]
        return replace(  # type: ignore[no-any-return]
            first,
            members=sum(info.members for info in infos if info),
            overflow=sum(info.overflow for info in infos if info),
            data=first.data and first.data.removesuffix(suffix),
            shard=None,
        )

    def clear(self) -> Steps[int]:
        """RANK.CLEAR of all shards: remove all members, keep the schema. Returns how many there were."""
        return sum((yield from self._round([board.clear() for board in self.boards])))

    def verify(self, *, repair: bool = False, cursor: str = "0", count: int | None = None) -> Steps[Verification]:
        """RANK.VERIFY, one step: one shard after the other."""
        shard, own = self._place_of(cursor)
        [step] = yield from self._round([self.boards[shard].verify(repair=repair, cursor=own, count=count)])
        return replace(step, cursor=self._cursor(shard, step.cursor))  # type: ignore[no-any-return]

    def _place_of(self, cursor: str) -> tuple[int, str]:
        """The shard that a step is in, and its own cursor."""
        shard, _, own = "0:0".partition(":") if cursor == "0" else cursor.partition(":")
        if not (own and shard.isdecimal() and int(shard) < len(self.boards)):
            raise ValueError(f"expected '0' or a cursor that a step returned, got {cursor!r}")
        return int(shard), own

    def _cursor(self, shard: int, own: str) -> str:
        """The cursor of the next step, in this shard or in the next."""
        if own == "0":
            return f"{shard + 1}:0" if shard + 1 < len(self.boards) else "0"
        return f"{shard}:{own}"

    # --- writes -----------------------------------------------------------------------------------------

    def _at_home(self, method: str, member: Name, *args: Any, **options: Any) -> Steps[Any]:
        """A call to the member's shard."""
        [result] = yield from self._round([getattr(self.boards[self._home(member)], method)(member, *args, **options)])
        return result

    def add(self, member: Name, score: NewScore, **options: Unpack[Write]) -> Steps[int]:
        """RANK.ADD to the member's shard."""
        return (yield from self._at_home("add", member, score, **options))  # type: ignore[no-any-return]

    def add_many(self, scores: NewScores, **options: Unpack[Write]) -> Steps[int]:
        """RANK.ADD to each shard: all or none of a shard's members are written."""
        parts: dict[int, dict[Any, NewScore]] = {}
        for member, score in scores.items():
            parts.setdefault(self._home(member), {})[member] = score
        return sum((yield from self._round([self.boards[at].add_many(part, **options) for at, part in parts.items()])))

    def incr(self, member: Name, delta: Score, *, at: Moment | None = None) -> Steps[OneScore | None]:
        """RANK.INCR: the new score, or one for each field; None if KEEP refused the member."""
        return (yield from self._at_home("incr", member, delta, at=at))  # type: ignore[no-any-return]

    def load(self, lines: Iterable[str | bytes], *, nx: bool = False) -> Steps[int]:
        """RANK.LOAD to each shard, as `scan_lines` returns them: all or none of a shard's lines are written."""
        parts: dict[int, list[str | bytes]] = {}
        for line in lines:
            parts.setdefault(self._home(json_name(json.loads(line)["member"])), []).append(line)
        return sum((yield from self._round([self.boards[at].load(part, nx=nx) for at, part in parts.items()])))

    def set_data(self, member: Name, data: Mapping[str, str], *, nx: bool = False) -> Steps[int]:
        """RANK.SETDATA: set some attributes, as strings. Returns how many are new."""
        return (yield from self._at_home("set_data", member, data, nx=nx))  # type: ignore[no-any-return]

    def put_data(self, member: Name, data: Mapping[str, Any]) -> Steps[None]:
        """RANK.PUTDATA: replace all attributes; numbers, booleans and nested values keep their types."""
        yield from self._at_home("put_data", member, data)

    def get_data(self, member: Name) -> Steps[dict[str, str] | None]:
        """RANK.GETDATA: all attributes as text."""
        return (yield from self._at_home("get_data", member))  # type: ignore[no-any-return]

    def get_attributes(self, member: Name, *attributes: str) -> Steps[list[str | None] | None]:
        """RANK.GETDATA with names: the text of each, or None."""
        return (yield from self._at_home("get_attributes", member, *attributes))  # type: ignore[no-any-return]

    def del_data(self, member: Name, *attributes: str) -> Steps[int]:
        """RANK.DELDATA: remove some attributes, or all. Returns how many were removed."""
        return (yield from self._at_home("del_data", member, *attributes))  # type: ignore[no-any-return]

    def remove(self, *members: Name) -> Steps[int]:
        """RANK.REM: how many were removed. If it had to be repeated, those of the first attempt are not counted."""
        return sum((yield from self._round([self.boards[self._home(member)].remove(member) for member in members])))

    # --- reads ------------------------------------------------------------------------------------------

    def count(self, low: Number | str | None = None, high: Number | str | None = None) -> Steps[int]:
        """RANK.COUNT of all shards: one round."""
        return sum((yield from self._round([board.count(low, high) for board in self.boards])))

    def score(self, member: Name) -> Steps[OneScore | None]:
        """RANK.SCORE: a number, or one for each field; None if it is not on the board."""
        return (yield from self._at_home("score", member))  # type: ignore[no-any-return]

    def for_score(
        self,
        score: Score,
        *,
        kind: Literal["COMPETITION", "ORDINAL"] | None = None,
        at: Moment | None = None,
        member: Name | None = None,
    ) -> Steps[int]:
        """RANK.FORSCORE in the whole board: the rank that a newcomer with this score would get."""
        of = self._kind({"kind": kind} if kind else {})
        ranks = yield from self._round([board.for_score(score, kind=of, at=at, member=member) for board in self.boards])
        return 1 + sum(int(rank) - 1 for rank in ranks)

    def get(self, member: Name, **options: Unpack[ShardRead]) -> Steps[Row | None]:
        """The member's row, with its rank in the whole board: its shard, then one round to the others."""
        row = yield from self._find(member, options)
        return None if row is None else self._shown((yield from self._ranked([row], self._kind(options))), options)[0]

    @staticmethod
    def _shown(rows: list[Any], options: ShardRead) -> list[Any]:
        """Rows as the caller wants them; the times are needed to merge them."""
        return rows if options.get("time") else [replace(row, time=None) for row in rows]

    def _find(self, member: Name, options: ShardRead) -> Steps[Row | None]:
        call = self.boards[self._home(member)].get(
            member, kind=self._kind(options), time=True, data=options.get("data", False)
        )
        [row] = yield from self._round([call])
        return row  # type: ignore[no-any-return]

    def _ranked(self, rows: list[Any], kind: Kind) -> Steps[list[Any]]:
        """Rows with the ranks of their shards get those of the whole board."""
        others = [
            (at, self._count_before(board, row, kind))
            for at, row in enumerate(rows)
            for shard, board in enumerate(self.boards)
            if shard != self._home(row.member)
        ]
        ranks = [row.rank for row in rows]
        for (at, _), rank in zip(others, (yield from self._round([call for _, call in others]))):
            ranks[at] += rank - 1
        return [replace(row, rank=rank) for row, rank in zip(rows, ranks)]

    @staticmethod
    def _count_before(board: BoardCalls, row: Row | GroupRow, kind: Kind = "ORDINAL") -> Call[int]:
        """One more than how many of a shard are before this place, or are better."""
        if kind == "ORDINAL":
            return board.for_score(row.scores, kind=kind, at=row.time, member=row.member)
        return board.for_score(row.scores, kind=kind)

    def among(self, members: Sequence[Name], **options: Unpack[ShardRead]) -> Steps[list[GroupRow]]:
        """The ranking within a group, like RANK.AMONG: two rounds."""
        parts: dict[int, list[Name]] = {}
        for member in members:
            parts.setdefault(self._home(member), []).append(member)
        kind, data = self._kind(options), options.get("data", False)
        groups = yield from self._round([
            self.boards[at].among(part, kind=kind, time=True, data=data) for at, part in parts.items()
        ])  # fmt: skip
        rows: list[GroupRow] = yield from self._ranked([row for group in groups for row in group], kind)
        rows.sort(key=self.order.key)
        fields = [self.order.fields_key(row.scores) for row in rows]
        places = [at if kind == "ORDINAL" else bisect_left(fields, fields[at]) for at in range(len(rows))]
        return self._shown([replace(row, place=place + 1) for row, place in zip(rows, places)], options)

    def top(self, n: int, **options: Unpack[ShardRead]) -> Steps[list[Row]]:
        """The best n: one round, or two if one shard has more than its share of them."""
        _at_least(0, n=n)
        return self._shown((yield from self._windows_until([(0, 0)] * len(self.boards), 1, n, options)), options)

    def range(self, start: int, stop: int, **options: Unpack[ShardRead]) -> Steps[list[Row]]:
        """By position, from 1, both ends included; negative positions count from the end. A few rounds anywhere."""
        if start == 0 or stop == 0:
            raise ValueError("positions begin at 1, or at -1 from the end, got 0")
        if start < 0 or stop < 0:
            members = yield from self.count()
            start = max(1, start + members + 1) if start < 0 else start
            stop = stop + members + 1 if stop < 0 else stop
        if stop < start:
            return []
        located = yield from self._locate(start - 1)
        return self._shown((yield from self._windows_until(located, start, stop - start + 1, options)), options)

    def page(self, page: int, size: int, **options: Unpack[ShardRead]) -> Steps[Page]:
        """A page from 1, with the number of pages and members."""
        _at_least(1, page=page, size=size)
        members = yield from self.count()
        rows = yield from self.range((page - 1) * size + 1, page * size, **options)
        return Page(page, -(-members // size), members, rows)

    def around(
        self, member: Name, distance: int, *, fill: bool = False, **options: Unpack[ShardRead]
    ) -> Steps[list[Row]]:
        """The member and its neighbours; empty if it is not on the board. Three rounds."""
        _at_least(0, distance=distance)
        for _ in range(_MOST_TRIES):
            row = yield from self._find(member, {"kind": "ORDINAL"})
            if row is None:
                return []
            ranks = yield from self._round([self._count_before(board, row) for board in self.boards])
            share = self._share(2 * distance if fill else distance) + 1
            while True:
                bounds = [(max(1, rank - share), rank + share) for rank in ranks]
                windows = yield from self._windows(bounds, options)
                if not any(other.member == row.member for window in windows for other in window.rows):
                    # It was written meanwhile, and is somewhere else now.
                    break
                found = self._neighbours(windows, row, distance, fill, self._kind(options))
                if found is not None:
                    return self._shown(found, options)
                share *= 2
        raise IncompleteAnswer(f"{text(argument(member))} was written all the time")

    def _neighbours(
        self, windows: list[Window], row: Row, distance: int, fill: bool, kind: Kind
    ) -> list[Row] | None:
        merged = merge(self.order, windows, kind)
        at = next((at for at, other in enumerate(merged.rows) if other.member == row.member), None) if merged else None
        if merged is None or at is None:
            return None
        position = merged.before + 1 + at
        start, stop = max(1, position - distance), position + distance
        if fill:
            if merged.is_last:
                start = max(1, min(start, merged.before + len(merged.rows) - 2 * distance))
            stop = start + 2 * distance
        return merged.cut(start, stop + 1 - start)

    def after(
        self, n: int, score: Score, *, at: Moment | None = None, member: Name | None = None, **options: Unpack[ShardRead]
    ) -> Steps[list[Row]]:
        """The n rows after a given row or score: two rounds."""
        _at_least(0, n=n)
        calls: list[Call[Any]] = [board.after(1, score, at=at, member=member, kind="ORDINAL") for board in self.boards]
        answers = yield from self._round(calls + [board.count() for board in self.boards])
        nexts, counts = answers[: len(calls)], answers[len(calls) :]
        located = [rows[0].rank - 1 if rows else count for rows, count in zip(nexts, counts)]
        place = self.order.place_key(score, at, member)
        return (yield from self._beside(located, n, lambda key: 0 if key[: len(place)] > place else -1, options))

    def before(
        self, n: int, score: Score, *, at: Moment | None = None, member: Name | None = None, **options: Unpack[ShardRead]
    ) -> Steps[list[Row]]:
        """The n rows just before a given row or score, best first: two rounds."""
        _at_least(0, n=n)
        calls = [board.before(1, score, at=at, member=member, kind="ORDINAL") for board in self.boards]
        located = [rows[0].rank if rows else 0 for rows in (yield from self._round(calls))]
        place = self.order.place_key(score, at, member)
        side: Callable[[Key], int] = lambda key: 0 if key[: len(place)] < place else 1
        return (yield from self._beside(located, n, side, options, back=True))

    def by_score(
        self,
        low: Number | str,
        high: Number | str,
        *,
        limit: tuple[int, int] | None = None,
        **options: Unpack[ShardRead],
    ) -> Steps[list[Row]]:
        """Rows whose first field is within low … high; "(5", "inf" and "-inf" as in ZRANGE. Two rounds.

        `limit` reads the rows that it skips: `after` is better for reading on.
        """
        offset, n = limit or (0, -1)
        _at_least(0, offset=offset)
        is_descending = self.order.is_descending()
        better: tuple[Number | str, Number | str] = (_beyond(high), "inf") if is_descending else ("-inf", _beyond(low))
        calls = [board.count(low, high) for board in self.boards] + [board.count(*better) for board in self.boards]
        answers = yield from self._round(calls)
        inside, located = answers[: len(self.boards)], answers[len(self.boards) :]
        sign = -1 if is_descending else 1
        (best, is_best_out), (worst, is_worst_out) = (_bound(end) for end in ((high, low) if is_descending else (low, high)))

        def side(key: Key) -> int:
            if key[0] < sign * best or (is_best_out and key[0] == sign * best):
                return -1
            return 1 if key[0] > sign * worst or (is_worst_out and key[0] == sign * worst) else 0

        end = offset + n if n >= 0 else sys.maxsize
        rows = yield from self._beside(located, end, side, options, most=max(inside))
        return rows[offset:]

    def scan(
        self, cursor: str = "0", *, count: int | None = None, time: bool = False, data: bool = False
    ) -> Steps[Scan]:
        """One step of RANK.SCAN, one shard after the other; `scan_all` runs all of them."""
        shard, own = self._place_of(cursor)
        [step] = yield from self._round([self.boards[shard].scan(own, count=count, time=time, data=data)])
        return Scan(self._cursor(shard, step.cursor), step.entries)

    def scan_lines(
        self, cursor: str = "0", *, count: int | None = None, time: bool = False, data: bool = False
    ) -> Steps[tuple[str, list[str]]]:
        """RANK.SCAN, one step: the next cursor, and lines that `load` takes."""
        shard, own = self._place_of(cursor)
        [step] = yield from self._round([self.boards[shard].scan_lines(own, count=count, time=time, data=data)])
        return self._cursor(shard, step[0]), step[1]

    def percentile(self, member: Name) -> Steps[float | None]:
        """RANK.PERCENTILE in the whole board."""
        row = yield from self._find(member, {})
        if row is None:
            return None
        fields = self.order.fields_key(row.scores)
        worse = members = 0
        boards = self.boards
        while boards:
            # How many are not worse: those before the first that is, or all.
            calls: list[Call[Any]] = [board.after(1, row.scores, kind="ORDINAL") for board in boards]
            answers = yield from self._round(calls + [board.count() for board in boards])
            border = [
                after[0].rank - 1 if after else count
                for after, count in zip(answers[: len(boards)], answers[len(boards) :])
            ]
            # One reply tells whether that is so, and how many there are: a page with both rows of the border.
            pages = yield from self._round([
                board.page(count // _page_size(count) + 1, _page_size(count), kind="ORDINAL")
                for board, count in zip(boards, border)
            ])  # fmt: skip
            again = []
            for board, count, page in zip(boards, border, pages):
                is_worse = {other.rank: self.order.fields_key(other.scores) > fields for other in page.rows}
                before_is_not = count == 0 or is_worse.get(count) is False
                after_is = page.members == count or is_worse.get(count + 1) is True
                if before_is_not and after_is:
                    worse, members = worse + page.members - count, members + page.members
                else:
                    again.append(board)
            boards = again
        return 100 * worse / members

    # --- positions --------------------------------------------------------------------------------------

    def _share(self, n: int) -> int:
        """How many of n consecutive rows to request from a shard: it hardly ever has more of them."""
        return min(n, 2 * -(-n // len(self.boards)) + 8)

    def _windows(self, bounds: Bounds, options: ShardRead) -> Steps[list[Window]]:
        """Rows by position of each shard, both ends included."""
        kind, data = self._kind(options), options.get("data", False)
        answers = yield from self._round([
            board.range(first, last, kind=kind, time=True, data=data) for board, (first, last) in zip(self.boards, bounds)
        ])  # fmt: skip
        return [
            Window(first, rows, [self.order.key(row) for row in rows], len(rows) < last + 1 - first)
            for (first, last), rows in zip(bounds, answers)
        ]

    def _windows_until(self, located: Bounds, start: int, n: int, options: ShardRead) -> Steps[list[Row]]:
        """n rows from a position, of which it is known how many rows of each shard are before it, from … to."""
        slack, share = 1, self._share(n)
        while True:
            bounds = [(max(1, low + 1 - slack), high + share + slack) for low, high in located]
            windows = yield from self._windows(bounds, options)
            merged = merge(self.order, windows, self._kind(options))
            found = merged.cut(start, n) if merged else None
            if found is not None:
                return found
            # A shard has more than its share of the rows, or somebody wrote meanwhile.
            slack, share = slack * 4, share * 2

    def _beside(
        self,
        located: list[int],
        n: int,
        side: Callable[[Key], int],
        options: ShardRead,
        *,
        back: bool = False,
        most: int | None = None,
    ) -> Steps[list[Row]]:
        """The first n rows of side 0, or the last: -1 is before them, 1 behind. `located` rows are before that place."""
        kind, slack = self._kind(options), 1
        share = self._share(n) if most is None else min(self._share(n), most)
        ahead, behind = (share, 0) if back else (0, share)
        while True:
            windows = yield from self._windows(
                [(max(1, count + 1 - ahead - slack), count + behind + slack) for count in located], options
            )
            if merged := merge(self.order, windows, kind):
                sides = [side(self.order.key(row)) for row in merged.rows]
                first, last = bisect_left(sides, 0), bisect_left(sides, 1)
                begins, ends = first > 0 or merged.before == 0, last < len(sides) or merged.is_last
                is_enough = last - first >= n
                if (begins or (back and is_enough)) and (ends or (is_enough and not back)):
                    first, last = (max(first, last - n), last) if back else (first, min(last, first + n))
                    return self._shown(merged.rows[first:last], options)
            slack, ahead, behind = slack * 4, ahead * 2, behind * 2

    def _locate(self, target: int) -> Steps[Bounds]:
        """How many rows of each shard are among the first `target`, from … to; two rounds narrow it down."""
        counts = yield from self._round([board.count() for board in self.boards])
        low, high = [0] * len(counts), counts
        if target == 0:
            return list(zip(low, low))
        halve = False
        for _ in range(64):
            width = sum(high) - sum(low)
            if width <= _ROWS_A_SHARD * len(self.boards):
                break
            pivots = yield from self._pivots(low, high, target, halve)
            calls = [self._count_before(board, pivot) for pivot in pivots for board in self.boards]
            ranks = iter((yield from self._round(calls)))
            for _ in pivots:
                before = [next(ranks) - 1 for _ in self.boards]
                narrowed = [min(max(count, least), most) for count, least, most in zip(before, low, high)]
                if sum(before) <= target:
                    low = narrowed
                if sum(before) >= target:
                    high = narrowed
            halve = not halve and sum(high) - sum(low) > width / 2
        return list(zip(low, high))

    def _pivots(self, low: list[int], high: list[int], target: int, halve: bool) -> Steps[list[Row]]:
        """Rows that are probably a little before and a little behind the target; to halve, one in the middle."""
        width = sum(high) - sum(low)
        share = min(max((target - sum(low)) / width, 0), 1)
        # Shards are random parts of the board: how far a pivot is off grows with the root of the distance.
        margin = (2 * math.sqrt(width * share * (1 - share)) + len(low)) / width
        parts = [0.5] if halve else [share - margin, share + margin]
        open_shards = [at for at in range(len(low)) if high[at] > low[at]]
        answers = iter((yield from self._round([
            self._row_at(at, low[at], high[at] - 1, part) for part in parts for at in open_shards
        ])))  # fmt: skip
        samples = [[(high[at] - low[at], row) for at in open_shards for row in next(answers)] for _ in parts]
        return [self._median(sample) for sample in samples if sample]

    def _row_at(self, shard: int, first: int, last: int, part: float) -> Call[list[Row]]:
        position = first + round((last - first) * min(max(part, 0), 1)) + 1
        return self.boards[shard].range(position, position, time=True)

    def _median(self, sample: list[tuple[int, Row]]) -> Row:
        """The row that leaves half of the weights, and so at least a quarter of the rows, on each side."""
        sample.sort(key=lambda weighted: self.order.key(weighted[1]))
        total = list(itertools.accumulate(weight for weight, _ in sample))
        return sample[bisect_left(total, total[-1] / 2)][1]


def _at_least(least: int, **values: int) -> None:
    for name, value in values.items():
        if value < least:
            raise ValueError(f"{name} takes {least} or more, got {value}")


def _bound(bound: Number | str) -> tuple[Number, bool]:
    """The number, and whether it is excluded itself."""
    shown = text(argument(bound))
    return number(shown.removeprefix("(")), shown.startswith("(")


def _beyond(bound: Number | str) -> str:
    """The bound of what is on its other side."""
    shown = text(argument(bound))
    return shown[1:] if shown.startswith("(") else f"({shown}"


def _page_size(position: int) -> int:
    """The smallest size of pages of which one holds this position and the next."""
    return 1 if position == 0 else next(size for size in range(2, position + 3) if position % size)
