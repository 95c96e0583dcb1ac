"""RANK.*: a board's schema and its commands, as values."""

from __future__ import annotations

import sys
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

from redis.utils import HIREDIS_AVAILABLE

from . import values
from .call import (
    Call,
    Moment,
    Name,
    NewScore,
    NewScores,
    Number,
    Score,
    Steps,
    Words,
    argument,
    at,
    done,
    encode,
    flags,
    json_name,
    json_text,
    known,
    list_of,
    nothing,
    number,
    numbers,
    option,
    optional,
    pairs,
    plain,
    seconds,
    text,
)
from .errors import SchemaError

if sys.version_info >= (3, 11):
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
Kind = Literal["COMPETITION", "DENSE", "ORDINAL"]
PeriodChoice = str | tuple[str, int | str]
OneScore = Number | tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class Period:
    """Boards per HOUR, DAY, WEEK, MONTH or YEAR, or "EVERY 14d FROM 1767225600000", under prefix + id."""

    unit: str
    prefix: str
    past: int | None = None

    def words(self) -> Words:
        return ["PERIOD", *self.unit.split(), self.prefix, *option("PAST", self.past)]


class Schema(TypedDict, total=False):
    """The schema of a board. Without any options, it is a plain sorted set."""

    fields: Sequence[str]  # as in RANK.CREATE: "gold DIGITS 3", "seconds ASC INT"
    order: Literal["ASC", "DESC"]  # of a board without named fields
    ties: str  # SHARED, FIRST, LAST or JOINED, and MS or S: "FIRST S"
    since: Moment  # for an import: a time before the oldest one
    keep: int | None
    update: Literal["SET", "BEST"]
    data: str | None  # the hash with the attributes of members
    owned: bool  # that hash belongs to this board alone
    periods: Sequence[Period]
    offset: str


class Alteration(TypedDict, total=False):
    """What RANK.ALTER changes. None removes KEEP or DATA."""

    keep: int | None
    update: Literal["SET", "BEST"]
    data: str | None
    owned: bool
    periods: Sequence[Period]
    drop_periods: Sequence[str]
    offset: str


class Read(TypedDict, total=False):
    """The options of every read that returns rows."""

    kind: Kind | None
    data: bool
    time: bool
    period: PeriodChoice | None  # "day", ("day", -1), ("day", "2026-11-16")
    order: Literal["ASC", "DESC"]  # only of a board without a schema


class Write(TypedDict, total=False):
    """The options of every write of scores."""

    nx: bool
    xx: bool
    update: Literal["SET", "BEST"]
    keep: int
    ch: bool
    at: Moment
    data: Mapping[str, Any]  # with one member only


def _settings(schema: Schema | Alteration) -> Words:
    words: Words = []
    keep, data = schema.get("keep"), schema.get("data")
    words += option("KEEP", keep) + option("UPDATE", schema.get("update"))
    words += option("DATA", data) + flags(owned=schema.get("owned"))
    for period in schema.get("periods", ()):
        words += period.words()
    return words + option("OFFSET", schema.get("offset"))


def _rank(kind: Kind | None = None, period: PeriodChoice | None = None) -> Words:
    words: Words = [kind] if kind else []
    if period is not None:
        words += ["PERIOD", *([period] if isinstance(period, str) else period)]
    return words


def _read(options: Read) -> Words:
    if not options:
        return ["JSON"]
    known(options, Read)
    words = _rank(options.get("kind"), options.get("period"))
    words += [options["order"]] if "order" in options else []
    # JSON: one shape in RESP2 and RESP3, and attributes keep their types.
    return words + flags(withdata=options.get("data"), withtime=options.get("time"), json=True)


def _write(options: Write) -> Words:
    if not options:
        return []
    known(options, Write)
    words = flags(nx=options.get("nx"), xx=options.get("xx"))
    words += [options["update"]] if "update" in options else []
    words += option("KEEP", options.get("keep")) + flags(ch=options.get("ch"))
    words += at(options.get("at"))
    return words + (["DATA", json_text(options["data"])] if "data" in options else [])


def _limit(limit: tuple[int, int] | None) -> Words:
    return [] if limit is None else ["LIMIT", *limit]


class BoardCalls:
    """The commands of one board. Each method returns a Call; see `execute`."""

    def __init__(
        self,
        key: Name,
        schema: Schema,
        members: Callable[[bytes], Any] | None = None,
        shard: Sequence[Name | Number] = (),
        create: str = "auto",
    ):
        known(schema, Schema)
        for name in ("fields", "periods"):
            if isinstance(schema.get(name, ()), (str, bytes, Period)):
                raise TypeError(f"{name}= takes a list, got {schema.get(name)!r}")
        if create not in ("auto", "never"):
            raise ValueError(f"create is 'auto' or 'never', got {create!r}")
        self.key = key
        self.schema = schema
        self.shard = shard
        self.automatic = create == "auto"
        self._as_member = members
        given = [field.split() for field in schema.get("fields", ())] or [["score", schema.get("order", "DESC")]]
        self._fields = [field[0] for field in given]
        self._signs = [-1 if "ASC" in map(str.upper, field[1:]) else 1 for field in given]
        # A board without a schema needs no setup, and takes what the server finds there.
        self._declared = bool(schema or shard)
        self._key = argument(key)
        self._target = (self._key, *(encode(["BOARD", len(given)]) if self._declared else ()))

    # --- how replies become values --------------------------------------------------------------------

    def _entry(self, row: dict[str, Any]) -> tuple[Any, Number, tuple[Number, ...], float | None, dict[str, Any] | None]:
        member = row["member"]
        if type(member) is not str:
            member = json_name(member)
        if self._as_member is not None:
            member = self._as_member(argument(member))
        scores = row.get("scores")
        if scores is None:
            score = row["score"]
            if type(score) is not int:
                score = number(score)
            scores = (score,)
        else:
            scores = tuple([number(score) for score in scores.values()])
        time = row.get("time")
        return member, scores[0], scores, None if time is None else time / 1000, row.get("data")

    def _row(self, row: dict[str, Any]) -> values.Row:
        return values.Row(row["rank"], *self._entry(row))

    def _rows(self, reply: Any, has_time: bool = False) -> list[values.Row]:
        if reply is None:
            return []
        if not isinstance(reply, list):
            return [values.Row(row["rank"], *self._entry(row)) for row in json.loads(reply)]
        rows, new = [], values.Row
        for row in reply:
            if len(row) == 3:
                # The usual row, without what the others need.
                rank, name, score = row
                if type(score) is not int:
                    score = number(score)
                scores: tuple[Number, ...] = (score,)
                time = None
            else:
                rank, name, *rest = row
                time = rest.pop() if has_time else None
                scores = tuple([number(score) for score in rest])
                score, time = scores[0], None if time is None else time / 1000
            # A transaction of redis-py has decoded it, if the client does.
            member = name if type(name) is str else str(name, "utf-8", "surrogateescape")
            rows.append(new(rank, member, score, scores, time))
        if self._as_member is not None:
            for parsed in rows:
                parsed.member = self._as_member(argument(parsed.member))
        return rows

    def _rows_call(self, name: str, words: Words, options: Read) -> Call[list[values.Row]]:
        read = _read(options)
        if HIREDIS_AVAILABLE and not options.get("data"):
            # hiredis reads arrays faster than Python reads JSON; redis-py by itself does not.
            read.remove("JSON")
        return self._call(name, words + read, partial(self._rows, has_time=options.get("time", False)))

    def _group_row(self, row: dict[str, Any]) -> values.GroupRow:
        return values.GroupRow(row["place"], row["rank"], *self._entry(row))

    def _member(self, name: Any) -> Any:
        name = json_name(name)
        return name if self._as_member is None else self._as_member(argument(name))

    def _tied(self, rank: int, users: list[Any]) -> values.Tied:
        if not users or not isinstance(users[0], dict) or "member" not in users[0]:
            return values.Tied(rank, tuple(self._member(user) for user in users))
        data = {self._member(user["member"]): user["data"] for user in users}
        return values.Tied(rank, tuple(data), data)

    def _change(self, reply: Any) -> values.Change:
        rank, previous_rank, member, *scores = reply
        fields = len(scores) // 2
        now = None if rank is None else tuple([number(score) for score in scores[:fields]])
        before = None if previous_rank is None else tuple([number(score) for score in scores[fields:]])
        improved = now is not None and (before is None or self._is_better(now, before))
        member = self._member(text(member))
        score, previous = now[0] if now else None, before[0] if before else None
        return values.Change(rank, previous_rank, member, score, previous, now, before, improved)

    def _is_better(self, now: Sequence[Number], before: Sequence[Number]) -> bool:
        for at, (new, old) in enumerate(zip(now, before)):
            if new != old:
                return (new > old) == (at >= len(self._signs) or self._signs[at] > 0)
        return False

    # --- how calls are made -----------------------------------------------------------------------------

    def _new_scores(self, score: NewScore) -> Words:
        if isinstance(score, (int, float)):
            values: Words = [score]
        elif isinstance(score, Mapping):
            if not self._declared:
                raise TypeError(f"scores by name are for boards with declared fields, got {score!r}")
            if unknown := score.keys() - set(self._fields):
                raise ValueError(f"no field {min(unknown)!r}: the board has {', '.join(self._fields)}")
            values = [score.get(field, "*") for field in self._fields]
        elif isinstance(score, (str, bytes)) or not isinstance(score, Iterable):
            raise TypeError(f"expected an int or a float, or one for each field, got {score!r}")
        else:
            values = ["*" if value is None else value for value in score]
        if len(values) != len(self._fields) and self._declared:
            raise ValueError(f"the board has {len(self._fields)} fields, got {len(values)} scores: {score!r}")
        return values

    def _call(self, name: str, words: Iterable[Name | Number], parse: Callable[[Any], T]) -> Call[T]:
        return Call(name, (self._key, *[argument(word) for word in words]), parse)

    def _write_call(self, name: str, words: Iterable[Name | Number], parse: Callable[[Any], T]) -> Call[T]:
        board = self if self._declared else None
        return Call(name, (*self._target, *[argument(word) for word in words]), parse, board)

    def _data_call(self, name: str, words: Iterable[Name | Number], parse: Callable[[Any], T]) -> Call[T]:
        call = self._call(name, words, parse)
        call.board = self if self._declared else None
        call.needs_data = self.schema.get("data") is not None
        return call

    # --- the board --------------------------------------------------------------------------------------

    def create(self, *, adopt: bool = False) -> Call[None]:
        """RANK.CREATE with the declared schema. With create="auto", writes do it when the board is not there."""
        words: Words = [self.schema["order"]] if "order" in self.schema else []
        for field in self.schema.get("fields", ()):
            words += ["FIELD", *field.split()]
        if "ties" in self.schema:
            words += ["TIES", *self.schema["ties"].split()]
        words += [*_settings(self.schema), *self.shard]
        if "since" in self.schema:
            words += at(self.schema["since"], "SINCE")
        return self._call("RANK.CREATE", [*words, *flags(adopt=adopt)], nothing)

    def create_like(self, other: Name) -> Call[None]:
        """RANK.CREATE … LIKE: everything but periods and shard is copied from another board."""
        return self._call("RANK.CREATE", ["LIKE", other], nothing)

    def migrate(self) -> Steps[None]:
        """Creates the board, or makes it what is declared, as far as RANK.ALTER can: keep, update, data, periods.

        SchemaError says what cannot be changed.
        """
        [created] = yield [self.create()]
        if isinstance(created, SchemaError):
            [info] = yield [self.info()]
            if isinstance(info, values.BoardInfo):
                declared = {period.unit.split()[0].lower() for period in self.schema.get("periods", ())}
                words = flags(nokeep=self.schema.get("keep") is None, nodata=self.schema.get("data") is None)
                words += [] if "update" in self.schema else ["UPDATE", "SET"]
                for period in info.periods:
                    words += [] if period["unit"] in declared else ["NOPERIOD", period["unit"]]
                settings = self.schema.copy()
                if info.periods:
                    # It is set with the first period of a board.
                    settings.pop("offset", None)
                [altered] = yield [self._call("RANK.ALTER", [*_settings(settings), *words], nothing)]
                # What cannot be changed is in the error of the creation, as long as nothing else is.
                created = (yield [self.create()])[0] if altered is None else altered
        if isinstance(created, Exception):
            raise created

    def alter(self, **changes: Unpack[Alteration]) -> Call[None]:
        """RANK.ALTER. keep=None is NOKEEP, data=None is NODATA."""
        known(changes, Alteration)
        words = _settings(changes)
        words += flags(nokeep="keep" in changes and changes["keep"] is None)
        words += flags(nodata="data" in changes and changes["data"] is None)
        for unit in changes.get("drop_periods", ()):
            words += ["NOPERIOD", unit]
        call = self._call("RANK.ALTER", words, nothing)
        call.board = self if self._declared else None
        return call

    def info(self) -> Call[values.BoardInfo | None]:
        """RANK.INFO, or None for a key that does not exist."""
        return self._call("RANK.INFO", [], optional(_info))

    def clear(self) -> Call[int]:
        """RANK.CLEAR: remove all members, keep the schema. Returns how many there were."""
        return self._call("RANK.CLEAR", [], int)

    def rotate(self, archive: Name, *, data: Name | None = None) -> Call[int]:
        """RANK.ROTATE: the board becomes `archive`, and an empty one takes its place. Returns how many moved."""
        return self._call("RANK.ROTATE", [archive, *option("DATA", data)], int)

    def verify(self, *, repair: bool = False, cursor: str = "0", count: int | None = None) -> Call[values.Verification]:
        """RANK.VERIFY, one step."""
        words = flags(repair=repair) + ["CURSOR", cursor] + option("COUNT", count)
        return self._call("RANK.VERIFY", words, _verification)

    def periods(self, unit: str | None = None, *, now: Moment | None = None) -> Call[list[values.PeriodBoard]]:
        """RANK.PERIODS: the boards of the periods that are kept, newest first."""
        words: Words = [unit] if unit else []
        words += at(now, "NOW")
        return self._call("RANK.PERIODS", words, list_of(_period))

    # --- writes -----------------------------------------------------------------------------------------

    def _add(
        self, scores: Mapping[Any, NewScore], words: Words, parse: Callable[[Any], T], name: str = "RANK.ADD"
    ) -> Call[T]:
        for member, score in scores.items():
            words += self._new_scores(score)
            words.append(member)
        return self._write_call(name, words, parse)

    def add(self, member: Name, score: NewScore, **options: Unpack[Write]) -> Call[int]:
        """RANK.ADD: 1 if the member is new; with ch=True also if its score changed. None keeps a field as it is."""
        return self._add({member: score}, _write(options), int)

    def add_many(self, scores: NewScores, **options: Unpack[Write]) -> Call[int]:
        """RANK.ADD for several members, all or none. Returns how many are new."""
        return self._add(scores, _write(options), int) if scores else done(0)

    def add_ranked(
        self, member: Name, score: NewScore, *, period: PeriodChoice | None = None, **options: Unpack[Write]
    ) -> Call[values.Change]:
        """RANK.ADD … WITHRANK: rank and scores, now and before."""
        words = ["WITHRANK", *_rank(period=period), *_write(options)]
        return self._add({member: score}, words, lambda reply: self._change(reply[0]))

    def add_many_ranked(
        self,
        scores: NewScores,
        *,
        period: PeriodChoice | None = None,
        **options: Unpack[Write],
    ) -> Call[list[values.Change]]:
        """RANK.ADD … WITHRANK for several members."""
        words = ["WITHRANK", *_rank(period=period), *_write(options)]
        return self._add(scores, words, list_of(self._change)) if scores else done([])

    def multiset(self, scores: NewScores, **options: Unpack[Write]) -> Call[int]:
        """RANK.MULTISET: like add_many, but one member on a new key creates a board with INT fields."""
        return self._add(scores, _write(options), int, "RANK.MULTISET") if scores else done(0)

    def incr(self, member: Name, delta: Score, *, at: Moment | None = None) -> Call[OneScore | None]:
        """RANK.INCR: the new score, or one for each field; None if KEEP refused the member."""
        return self._write_call("RANK.INCR", self._incr(at, delta, member), optional(_score))

    def incr_ranked(
        self, member: Name, delta: Score, *, at: Moment | None = None, period: PeriodChoice | None = None
    ) -> Call[values.Change | None]:
        """RANK.INCR … WITHRANK: rank and scores, now and before."""
        words = ["WITHRANK", *_rank(period=period), *self._incr(at, delta, member)]
        return self._write_call("RANK.INCR", words, optional(self._change))

    def _incr(self, when: Moment | None, delta: Score, member: Name) -> Words:
        return [*at(when), *self._new_scores(tuple(numbers(delta))), member]

    def remove(self, *members: Name) -> Call[int]:
        """RANK.REM: how many were removed, from the board and from the periods that are kept."""
        return self._call("RANK.REM", members, int) if members else done(0)

    def trim(self, n: int) -> Call[int]:
        """RANK.TRIM: keep the best n. Returns how many were removed."""
        return self._call("RANK.TRIM", [n], int)

    def trim_returning(self, n: int) -> Call[list[str]]:
        """RANK.TRIM … RETURN: keep the best n. Returns the removed members, best first."""
        return self._call("RANK.TRIM", [n, "RETURN"], list_of(lambda name: self._member(text(name))))

    def pop(self, n: int = 1, *, worst: bool = False, **options: Unpack[Read]) -> Call[list[values.Row]]:
        """RANK.POP: remove the best n, or the worst, and return them."""
        return self._rows_call("RANK.POP", [n, *flags(worst=worst)], options)

    def load(self, lines: Iterable[str | bytes], *, nx: bool = False) -> Call[int]:
        """RANK.LOAD: lines as `scan_lines` returns them, all or none. Returns how many members are new."""
        lines = list(lines)
        return self._write_call("RANK.LOAD", [*flags(nx=nx), *lines], int) if lines else done(0)

    # --- reads ------------------------------------------------------------------------------------------

    def get(self, member: Name, **options: Unpack[Read]) -> Call[values.Row | None]:
        """RANK.GET: the member's row, or None."""
        rows = self._rows_call("RANK.GET", [member], options)

        def parse(reply: Any) -> values.Row | None:
            if reply is None:
                return None
            # One row, as an array or as JSON.
            return rows.parse([reply])[0] if type(reply) is list else self._row(json.loads(reply))

        return Call("RANK.GET", rows.args, parse)

    def score(self, member: Name, *, period: PeriodChoice | None = None) -> Call[OneScore | None]:
        """RANK.SCORE: a number, or one for each field; None if it is not on the board."""
        return self._call("RANK.SCORE", [member, *_rank(period=period)], optional(_score))

    def query(
        self, member: Name, *, limit: tuple[int, int] | None = None, **options: Unpack[Read]
    ) -> Call[values.Tied | None]:
        """RANK.QUERY: the rank of a member, and all members that share it."""

        def parse(reply: Any) -> values.Tied:
            answer = json.loads(reply)
            return self._tied(answer["rank"], answer["users"])

        return self._call("RANK.QUERY", [member, *_limit(limit), *_read(options)], optional(parse))

    def stats(self, *, limit: tuple[int, int] | None = None, **options: Unpack[Read]) -> Call[list[values.Tied]]:
        """RANK.STATS: the groups of equal members, best first."""

        def parse(reply: Any) -> list[values.Tied]:
            return [] if reply is None else [self._tied(*group) for group in json.loads(reply)]

        return self._call("RANK.STATS", [*_limit(limit), *_read(options)], parse)

    def top(self, n: int, **options: Unpack[Read]) -> Call[list[values.Row]]:
        """RANK.TOPN: the best n."""
        return self._rows_call("RANK.TOPN", [n], options)

    def range(self, start: int, stop: int, **options: Unpack[Read]) -> Call[list[values.Row]]:
        """RANK.RANGE: by position, from 1, both ends included; negative positions count from the end."""
        return self._rows_call("RANK.RANGE", [start, stop], options)

    def page(self, page: int, size: int, **options: Unpack[Read]) -> Call[values.Page]:
        """RANK.PAGE: a page from 1, with the number of pages and members."""

        def parse(reply: Any) -> values.Page:
            answer = json.loads(reply)
            rows = [self._row(row) for row in answer["rows"]]
            return values.Page(answer["page"], answer["pages"], answer["members"], rows)

        return self._call("RANK.PAGE", [page, size, *_read(options)], parse)

    def around(
        self, member: Name, distance: int, *, fill: bool = False, **options: Unpack[Read]
    ) -> Call[list[values.Row]]:
        """RANK.AROUND: the member and its neighbours; empty if it is not on the board."""
        return self._rows_call("RANK.AROUND", [member, distance, *flags(fill=fill)], options)

    def by_score(
        self, low: Number | str, high: Number | str, *, limit: tuple[int, int] | None = None, **options: Unpack[Read]
    ) -> Call[list[values.Row]]:
        """RANK.BYSCORE: rows whose first field is within low … high; "(5", "inf" and "-inf" as in ZRANGE."""
        return self._rows_call("RANK.BYSCORE", [low, high, *_limit(limit)], options)

    def among(self, members: Sequence[Name], **options: Unpack[Read]) -> Call[list[values.GroupRow]]:
        """RANK.AMONG: the ranking within a group, such as friends. Members that are not on the board are left out."""
        words = [len(members), *members, *_read(options)]
        call = self._call("RANK.AMONG", words, lambda reply: [self._group_row(row) for row in json.loads(reply)])
        return call if members else done([])

    def after(
        self, n: int, score: Score, *, at: Moment | None = None, member: Name | None = None, **options: Unpack[Read]
    ) -> Call[list[values.Row]]:
        """RANK.AFTER: the n rows after a given row or score."""
        return self._rows_call("RANK.AFTER", [n, *_place(score, at, member)], options)

    def before(
        self, n: int, score: Score, *, at: Moment | None = None, member: Name | None = None, **options: Unpack[Read]
    ) -> Call[list[values.Row]]:
        """RANK.BEFORE: the n rows just before a given row or score, best first."""
        return self._rows_call("RANK.BEFORE", [n, *_place(score, at, member)], options)

    def scan(
        self, cursor: str = "0", *, count: int | None = None, time: bool = False, data: bool = False
    ) -> Call[values.Scan]:
        """One step of RANK.SCAN; `scan_all` runs all of them."""

        def parse(reply: Any) -> values.Scan:
            lines = _lines(reply[1])
            return values.Scan(text(reply[0]), [values.Entry(*self._entry(json.loads(line))) for line in lines])

        return self._call("RANK.SCAN", _scan(cursor, count, time, data), parse)

    def scan_lines(
        self, cursor: str = "0", *, count: int | None = None, time: bool = False, data: bool = False
    ) -> Call[tuple[str, list[str]]]:
        """RANK.SCAN, one step: the next cursor, and lines that `load` takes."""

        def parse(reply: Any) -> tuple[str, list[str]]:
            return text(reply[0]), _lines(reply[1])

        return self._call("RANK.SCAN", _scan(cursor, count, time, data), parse)

    def count(
        self,
        low: Number | str | None = None,
        high: Number | str | None = None,
        *,
        period: PeriodChoice | None = None,
    ) -> Call[int]:
        """RANK.COUNT: members, or those whose first field is within low … high."""
        bounds: Words = ["-inf" if low is None else low, "inf" if high is None else high]
        words = [] if low is None and high is None else bounds
        return self._call("RANK.COUNT", [*words, *_rank(period=period)], int)

    def for_score(
        self,
        score: Score,
        *,
        kind: Kind | None = None,
        at: Moment | None = None,
        member: Name | None = None,
        period: PeriodChoice | None = None,
    ) -> Call[int]:
        """RANK.FORSCORE: the rank that a newcomer with this score would get."""
        words = [*numbers(score), *_rank(kind, period), *_place([], at, member)]
        return self._call("RANK.FORSCORE", words, int)

    def percentile(self, member: Name, *, period: PeriodChoice | None = None) -> Call[float | None]:
        """RANK.PERCENTILE: the percentage of members that are worse."""
        return self._call("RANK.PERCENTILE", [member, *_rank(period=period)], optional(float))

    def score_at(self, percentile: float, *, period: PeriodChoice | None = None) -> Call[float | None]:
        """RANK.SCOREAT: the score at a percentile."""
        return self._call("RANK.SCOREAT", [percentile, *_rank(period=period)], optional(float))

    # --- attributes -------------------------------------------------------------------------------------

    def set_data(self, member: Name, data: Mapping[str, str], *, nx: bool = False) -> Call[int]:
        """RANK.SETDATA: set some attributes, as strings. Returns how many are new."""
        words = [*flags(nx=nx), *(word for pair in data.items() for word in pair)]
        return self._data_call("RANK.SETDATA", [member, *words], int) if data else done(0)

    def put_data(self, member: Name, data: Mapping[str, Any]) -> Call[None]:
        """RANK.PUTDATA: replace all attributes; numbers, booleans and nested values keep their types."""
        return self._data_call("RANK.PUTDATA", [member, json_text(data)], nothing)

    def get_data(self, member: Name) -> Call[dict[str, str] | None]:
        """RANK.GETDATA: all attributes as text. (`get(member, data=True)` keeps their types.)"""
        return self._call("RANK.GETDATA", [member], optional(lambda reply: plain(pairs(reply))))

    def get_attributes(self, member: Name, *attributes: str) -> Call[list[str | None] | None]:
        """RANK.GETDATA with names: the text of each, or None."""
        return self._call("RANK.GETDATA", [member, *attributes], optional(list_of(optional(text))))

    def del_data(self, member: Name, *attributes: str) -> Call[int]:
        """RANK.DELDATA: remove some attributes, or all. Returns how many were removed."""
        return self._call("RANK.DELDATA", [member, *attributes], int)


def _place(score: Score, when: Moment | None, member: Name | None) -> Words:
    return [*numbers(score), *at(when), *option("MEMBER", member)]


def _scan(cursor: str, count: int | None, time: bool, data: bool) -> Words:
    return [cursor, *option("COUNT", count), *flags(withtime=time, withdata=data, json=True)]


def _lines(reply: Any) -> list[str]:
    # Not splitlines, which also splits at U+2028 and others that may be in a name.
    return [line for line in text(reply).split("\n") if line]


def _score(reply: Any) -> OneScore:
    return tuple([number(score) for score in reply]) if isinstance(reply, list) else number(reply)


def _known(kind: Callable[..., T], reply: dict[str, Any]) -> T:
    """Ignores what a newer server may add."""
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in reply.items() if name in names})


def _info(reply: Any) -> values.BoardInfo:
    info = plain(pairs(reply))
    info["fields"] = tuple(_known(values.Field, pairs(field)) for field in info["fields"])
    info["periods"] = tuple(pairs(period) for period in info.get("periods") or ())
    info["shard"] = tuple(info["shard"]) if info.get("shard") else None
    info["since"] = seconds(info["since"])
    return _known(values.BoardInfo, info)


def _verification(reply: Any) -> values.Verification:
    step = plain(pairs(reply))
    return _known(values.Verification, {**step, "cursor": str(step["cursor"]), "examples": tuple(step["examples"])})


def _period(reply: Any) -> values.PeriodBoard:
    period = plain(pairs(reply))
    times = {name: seconds(period[name]) for name in ("start", "end", "expires")}
    return _known(values.PeriodBoard, {**period, **times})
