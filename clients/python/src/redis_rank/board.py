"""RANK.*: a board's schema and its commands, as values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

from . import values
from .call import (
    Call,
    Moment,
    Name,
    NewScore,
    NewScores,
    Number,
    Score,
    argument,
    at,
    encode,
    flags,
    json_name,
    json_text,
    json_value,
    list_of,
    moment,
    new_scores,
    nothing,
    number,
    numbers,
    option,
    optional,
    pairs,
    plain,
    text,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
Arguments = list[Name | Number]
Kind = Literal["COMPETITION", "DENSE", "ORDINAL"]
PeriodChoice = str | tuple[str, int | str]


@dataclass(frozen=True, slots=True)
class Period:
    """Boards per HOUR, DAY, WEEK, MONTH or YEAR, or "EVERY 14d FROM 1767225600000", under prefix + id."""

    unit: str
    prefix: str
    past: int | None = None

    def arguments(self) -> Arguments:
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

    kind: Kind
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


def _schema(schema: Schema | Alteration) -> Arguments:
    words: Arguments = []
    keep, data = schema.get("keep"), schema.get("data")
    words += option("KEEP", keep) + option("UPDATE", schema.get("update"))
    words += option("DATA", data) + flags(owned=schema.get("owned"))
    for period in schema.get("periods", ()):
        words += period.arguments()
    return words + option("OFFSET", schema.get("offset"))


def _rank(kind: Kind | None = None, period: PeriodChoice | None = None) -> Arguments:
    words: Arguments = [kind] if kind else []
    if period is not None:
        words += ["PERIOD", *([period] if isinstance(period, str) else period)]
    return words


def _read(options: Read) -> Arguments:
    words = _rank(options.get("kind"), options.get("period"))
    words += [options["order"]] if "order" in options else []
    # JSON: one shape in RESP2 and RESP3, and attributes keep their types.
    return words + flags(withdata=options.get("data"), withtime=options.get("time"), json=True)


def _write(options: Write) -> Arguments:
    words = flags(nx=options.get("nx"), xx=options.get("xx"))
    words += [options["update"]] if "update" in options else []
    words += option("KEEP", options.get("keep")) + flags(ch=options.get("ch"))
    words += at(options.get("at"))
    return words + (["DATA", json_text(options["data"])] if "data" in options else [])


def _limit(limit: tuple[int, int] | None) -> Arguments:
    return [] if limit is None else ["LIMIT", *limit]


class BoardCalls:
    """The commands of one board. Each method returns a Call; see `execute`."""

    def __init__(
        self,
        key: Name,
        schema: Schema,
        members: Callable[[bytes], Any] | None = None,
        shard: Sequence[Name | Number] = (),
    ):
        self.key = key
        self.schema = schema
        self.shard = shard
        self.made = False
        self._as_member = members

    # --- how replies become values --------------------------------------------------------------------

    def _member(self, name: str) -> Any:
        return name if self._as_member is None else self._as_member(argument(name))

    def _scores(self, row: dict[str, Any]) -> tuple[Number, ...]:
        scores = row["scores"].values() if "scores" in row else [row["score"]]
        return tuple(number(score) for score in scores)

    def _rest(self, row: dict[str, Any]) -> dict[str, Any]:
        member, scores = self._member(json_name(row["member"])), self._scores(row)
        return {"member": member, "scores": scores, "time": row.get("time"), "data": row.get("data")}

    def _row(self, row: dict[str, Any]) -> values.Row:
        return values.Row(rank=row["rank"], **self._rest(row))

    def _group_row(self, row: dict[str, Any]) -> values.GroupRow:
        return values.GroupRow(place=row["place"], rank=row["rank"], **self._rest(row))

    def _tied(self, rank: int, users: list[Any]) -> values.Tied:
        if not users or not isinstance(users[0], dict) or "member" not in users[0]:
            return values.Tied(rank, tuple(self._member(json_name(user)) for user in users))
        data = {self._member(json_name(user["member"])): user["data"] for user in users}
        return values.Tied(rank, tuple(data), data)

    def _change(self, reply: Any) -> values.Change:
        rank, previous_rank, member, *scores = reply
        fields = len(scores) // 2
        now = None if rank is None else tuple(number(score) for score in scores[:fields])
        before = None if previous_rank is None else tuple(number(score) for score in scores[fields:])
        return values.Change(rank, previous_rank, self._member(text(member)), now, before)

    def _many_rows(self, reply: Any) -> list[values.Row]:
        return [self._row(row) for row in json_value(reply)]

    def _call(self, name: str, words: Iterable[Name | Number], parse: Callable[[Any], T]) -> Call[T]:
        return Call(f"RANK.{name}", encode([self.key, *words]), parse)

    def _change_call(self, name: str, words: Iterable[Name | Number], parse: Callable[[Any], T]) -> Call[T]:
        # A board without a schema needs no setup.
        return Call(f"RANK.{name}", encode([self.key, *words]), parse, self if self.schema or self.shard else None)

    # --- the board --------------------------------------------------------------------------------------

    def create(self, *, adopt: bool = False) -> Call[None]:
        """RANK.CREATE with the declared schema. Writes of scores and attributes call it if needed."""
        words: Arguments = [self.schema["order"]] if "order" in self.schema else []
        for field in self.schema.get("fields", ()):
            words += ["FIELD", *field.split()]
        if "ties" in self.schema:
            words += ["TIES", *self.schema["ties"].split()]
        words += [*_schema(self.schema), *self.shard]
        if "since" in self.schema:
            words += ["SINCE", moment(self.schema["since"])]
        return self._call("CREATE", [*words, *flags(adopt=adopt)], self._created)

    def _created(self, _reply: Any) -> None:
        self.made = True

    def create_like(self, other: Name) -> Call[None]:
        """RANK.CREATE … LIKE: the schema of another board, without its periods."""
        return self._call("CREATE", ["LIKE", other], self._created)

    def alter(self, **changes: Unpack[Alteration]) -> Call[None]:
        """RANK.ALTER. keep=None is NOKEEP, data=None is NODATA."""
        words = _schema(changes)
        words += flags(nokeep="keep" in changes and changes["keep"] is None)
        words += flags(nodata="data" in changes and changes["data"] is None)
        for unit in changes.get("drop_periods", ()):
            words += ["NOPERIOD", unit]
        return self._change_call("ALTER", words, nothing)

    def info(self) -> Call[values.BoardInfo | None]:
        """RANK.INFO, or None for a key that does not exist."""
        return self._call("INFO", [], optional(_info))

    def clear(self) -> Call[int]:
        """RANK.CLEAR: remove all members, keep the schema. Returns how many there were."""
        return self._call("CLEAR", [], int)

    def rotate(self, archive: Name, *, data: Name | None = None) -> Call[int]:
        """RANK.ROTATE: the board becomes `archive`, and an empty one takes its place. Returns how many moved."""
        return self._call("ROTATE", [archive, *option("DATA", data)], int)

    def verify(self, *, repair: bool = False, cursor: str = "0", count: int | None = None) -> Call[values.Verification]:
        """RANK.VERIFY, one step."""
        words = flags(repair=repair) + ["CURSOR", cursor] + option("COUNT", count)
        return self._call("VERIFY", words, _verification)

    def periods(self, unit: str | None = None, *, now: Moment | None = None) -> Call[list[values.PeriodBoard]]:
        """RANK.PERIODS: the boards of the periods that are kept, newest first."""
        words: Arguments = [unit] if unit else []
        words += option("NOW", None if now is None else moment(now))
        return self._call("PERIODS", words, list_of(_period))

    # --- writes -----------------------------------------------------------------------------------------

    def _add(
        self, scores: Mapping[Any, NewScore], words: Arguments, parse: Callable[[Any], T], name: str = "ADD"
    ) -> Call[T]:
        for member, score in scores.items():
            words += [*new_scores(score), member]
        return self._change_call(name, words, parse)

    def add(self, member: Name, score: NewScore, **options: Unpack[Write]) -> Call[int]:
        """RANK.ADD: 1 if the member is new; with ch=True also if its score changed. None keeps a field as it is."""
        return self._add({member: score}, _write(options), int)

    def add_many(self, scores: NewScores, **options: Unpack[Write]) -> Call[int]:
        """RANK.ADD for several members, all or none. Returns how many are new."""
        return self._add(scores, _write(options), int)

    def add_ranked(
        self, member: Name, score: NewScore, *, period: str | None = None, **options: Unpack[Write]
    ) -> Call[values.Change]:
        """RANK.ADD … WITHRANK: rank and scores, now and before."""
        words = ["WITHRANK", *_rank(period=period), *_write(options)]
        return self._add({member: score}, words, lambda reply: self._change(reply[0]))

    def add_many_ranked(
        self,
        scores: NewScores,
        *,
        period: str | None = None,
        **options: Unpack[Write],
    ) -> Call[list[values.Change]]:
        """RANK.ADD … WITHRANK for several members."""
        return self._add(scores, ["WITHRANK", *_rank(period=period), *_write(options)], list_of(self._change))

    def multiset(self, scores: NewScores, **options: Unpack[Write]) -> Call[int]:
        """RANK.MULTISET: like add_many, but one member on a new key creates a board with INT fields."""
        return self._add(scores, _write(options), int, "MULTISET")

    def incr(self, member: Name, delta: Score, *, at: Moment | None = None) -> Call[tuple[Number, ...] | None]:
        """RANK.INCR: the new scores, or None if KEEP refused the member."""
        return self._change_call("INCR", _incr(at, delta, member), optional(_scores))

    def incr_ranked(
        self, member: Name, delta: Score, *, at: Moment | None = None, period: str | None = None
    ) -> Call[values.Change | None]:
        """RANK.INCR … WITHRANK: rank and scores, now and before."""
        words = ["WITHRANK", *_rank(period=period), *_incr(at, delta, member)]
        return self._change_call("INCR", words, optional(self._change))

    def remove(self, *members: Name) -> Call[int]:
        """RANK.REM: how many were removed, from the board and from the periods that are kept."""
        return self._call("REM", members, int)

    def trim(self, n: int) -> Call[int]:
        """RANK.TRIM: keep the best n. Returns how many were removed."""
        return self._call("TRIM", [n], int)

    def trim_returning(self, n: int) -> Call[list[str]]:
        """RANK.TRIM … RETURN: keep the best n. Returns the removed members, best first."""
        return self._call("TRIM", [n, "RETURN"], list_of(lambda name: self._member(text(name))))

    def pop(self, n: int = 1, *, worst: bool = False, **options: Unpack[Read]) -> Call[list[values.Row]]:
        """RANK.POP: remove the best n, or the worst, and return them."""
        return self._call("POP", [n, *flags(worst=worst), *_read(options)], self._many_rows)

    def load(self, lines: Iterable[str | bytes], *, nx: bool = False) -> Call[int]:
        """RANK.LOAD: lines as `scan_lines` returns them, all or none. Returns how many members are new."""
        return self._change_call("LOAD", [*flags(nx=nx), *lines], int)

    # --- reads ------------------------------------------------------------------------------------------

    def get(self, member: Name, **options: Unpack[Read]) -> Call[values.Row | None]:
        """RANK.GET: the member's row, or None."""
        return self._call("GET", [member, *_read(options)], optional(lambda reply: self._row(json_value(reply))))

    def score(self, member: Name) -> Call[tuple[Number, ...] | None]:
        """RANK.SCORE: one for each field, or None."""
        return self._call("SCORE", [member], optional(_scores))

    def query(
        self, member: Name, *, limit: tuple[int, int] | None = None, **options: Unpack[Read]
    ) -> Call[values.Tied | None]:
        """RANK.QUERY: the rank of a member, and all members that share it."""

        def parse(reply: Any) -> values.Tied:
            answer = json_value(reply)
            return self._tied(answer["rank"], answer["users"])

        return self._call("QUERY", [member, *_limit(limit), *_read(options)], optional(parse))

    def stats(self, *, limit: tuple[int, int] | None = None, **options: Unpack[Read]) -> Call[list[values.Tied]]:
        """RANK.STATS: the groups of equal members, best first."""

        def parse(reply: Any) -> list[values.Tied]:
            return [] if reply is None else [self._tied(*group) for group in json_value(reply)]

        return self._call("STATS", [*_limit(limit), *_read(options)], parse)

    def top(self, n: int, **options: Unpack[Read]) -> Call[list[values.Row]]:
        """RANK.TOPN: the best n."""
        return self._call("TOPN", [n, *_read(options)], self._many_rows)

    def range(self, start: int, stop: int, **options: Unpack[Read]) -> Call[list[values.Row]]:
        """RANK.RANGE: by position, from 1, both ends included; negative positions count from the end."""
        return self._call("RANGE", [start, stop, *_read(options)], self._many_rows)

    def page(self, page: int, size: int, **options: Unpack[Read]) -> Call[values.Page]:
        """RANK.PAGE: a page from 1, with the number of pages and members."""

        def parse(reply: Any) -> values.Page:
            answer = json_value(reply)
            rows = [self._row(row) for row in answer["rows"]]
            return values.Page(answer["page"], answer["pages"], answer["members"], rows)

        return self._call("PAGE", [page, size, *_read(options)], parse)

    def around(
        self, member: Name, distance: int, *, fill: bool = False, **options: Unpack[Read]
    ) -> Call[list[values.Row]]:
        """RANK.AROUND: the member and its neighbours; empty if it is not on the board."""
        words = [member, distance, *flags(fill=fill), *_read(options)]
        return self._call("AROUND", words, lambda reply: [] if reply is None else self._many_rows(reply))

    def by_score(
        self, low: Number | str, high: Number | str, *, limit: tuple[int, int] | None = None, **options: Unpack[Read]
    ) -> Call[list[values.Row]]:
        """RANK.BYSCORE: rows whose first field is within low … high; "(5", "inf" and "-inf" as in ZRANGE."""
        return self._call("BYSCORE", [low, high, *_limit(limit), *_read(options)], self._many_rows)

    def among(self, members: Sequence[Name], **options: Unpack[Read]) -> Call[list[values.GroupRow]]:
        """RANK.AMONG: the ranking within a group, such as friends. Members that are not on the board are left out."""
        words = [len(members), *members, *_read(options)]
        return self._call("AMONG", words, lambda reply: [self._group_row(row) for row in json_value(reply)])

    def after(
        self, n: int, score: Score, *, at: Moment | None = None, member: Name | None = None, **options: Unpack[Read]
    ) -> Call[list[values.Row]]:
        """RANK.AFTER: the n rows after a given row or score."""
        return self._call("AFTER", [n, *_place(score, at, member), *_read(options)], self._many_rows)

    def before(
        self, n: int, score: Score, *, at: Moment | None = None, member: Name | None = None, **options: Unpack[Read]
    ) -> Call[list[values.Row]]:
        """RANK.BEFORE: the n rows just before a given row or score, best first."""
        return self._call("BEFORE", [n, *_place(score, at, member), *_read(options)], self._many_rows)

    def scan(
        self, cursor: str = "0", *, count: int | None = None, time: bool = False, data: bool = False
    ) -> Call[values.Scan]:
        """One step of RANK.SCAN; `scan_all` runs all of them."""

        def parse(reply: Any) -> values.Scan:
            lines = _lines(reply[1])
            return values.Scan(text(reply[0]), [values.Entry(**self._rest(json_value(line))) for line in lines])

        return self._call("SCAN", _scan(cursor, count, time, data), parse)

    def scan_lines(
        self, cursor: str = "0", *, count: int | None = None, time: bool = False, data: bool = False
    ) -> Call[tuple[str, list[str]]]:
        """RANK.SCAN, one step: the next cursor, and lines that `load` takes."""

        def parse(reply: Any) -> tuple[str, list[str]]:
            return text(reply[0]), _lines(reply[1])

        return self._call("SCAN", _scan(cursor, count, time, data), parse)

    def count(self, low: Number | str | None = None, high: Number | str | None = None) -> Call[int]:
        """RANK.COUNT: members, or those whose first field is within low … high."""
        bounds: Arguments = (
            []
            if low is None and high is None
            else [
                "-inf" if low is None else low,
                "inf" if high is None else high,
            ]
        )
        return self._call("COUNT", bounds, int)

    def for_score(
        self, score: Score, *, kind: Kind | None = None, at: Moment | None = None, member: Name | None = None
    ) -> Call[int]:
        """RANK.FORSCORE: the rank that a newcomer with this score would get."""
        return self._call("FORSCORE", [*_place(score, None, None), *_rank(kind), *_place([], at, member)], int)

    def percentile(self, member: Name) -> Call[float | None]:
        """RANK.PERCENTILE: the percentage of members that are worse."""
        return self._call("PERCENTILE", [member], optional(lambda reply: float(number(reply))))

    def score_at(self, percentile: float) -> Call[float | None]:
        """RANK.SCOREAT: the score at a percentile."""
        return self._call("SCOREAT", [percentile], optional(lambda reply: float(number(reply))))

    # --- attributes -------------------------------------------------------------------------------------

    def set_data(self, member: Name, data: Mapping[str, str], *, nx: bool = False) -> Call[int]:
        """RANK.SETDATA: set some attributes, as strings. Returns how many are new."""
        words = [*flags(nx=nx), *(word for pair in data.items() for word in pair)]
        return self._change_call("SETDATA", [member, *words], int)

    def put_data(self, member: Name, data: Mapping[str, Any]) -> Call[None]:
        """RANK.PUTDATA: replace all attributes; numbers, booleans and nested values keep their types."""
        return self._change_call("PUTDATA", [member, json_text(data)], nothing)

    def get_data(self, member: Name) -> Call[dict[str, str] | None]:
        """RANK.GETDATA: all attributes as text. (`get(member, data=True)` keeps their types.)"""
        return self._call("GETDATA", [member], optional(lambda reply: plain(pairs(reply))))

    def get_attributes(self, member: Name, *attributes: str) -> Call[list[str | None] | None]:
        """RANK.GETDATA with names: the text of each, or None."""
        return self._call("GETDATA", [member, *attributes], optional(list_of(optional(text))))

    def del_data(self, member: Name, *attributes: str) -> Call[int]:
        """RANK.DELDATA: remove some attributes, or all. Returns how many were removed."""
        return self._call("DELDATA", [member, *attributes], int)


def _incr(when: Moment | None, delta: Score, member: Name) -> Arguments:
    return [*at(when), *numbers(delta), member]


def _place(score: Score, when: Moment | None, member: Name | None) -> Arguments:
    return [*numbers(score), *at(when), *option("MEMBER", member)]


def _scan(cursor: str, count: int | None, time: bool, data: bool) -> Arguments:
    return [cursor, *option("COUNT", count), *flags(withtime=time, withdata=data, json=True)]


def _lines(reply: Any) -> list[str]:
    # Not splitlines, which also splits at U+2028 and others that may be in a name.
    return [line for line in text(reply).split("\n") if line]


def _scores(reply: Any) -> tuple[Number, ...]:
    return tuple(map(number, reply)) if isinstance(reply, list) else (number(reply),)


def _known(kind: Callable[..., T], reply: dict[str, Any]) -> T:
    """Ignores what a newer server may add."""
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in reply.items() if name in names})


def _info(reply: Any) -> values.BoardInfo:
    info = plain(pairs(reply))
    info["fields"] = tuple(_known(values.Field, pairs(field)) for field in info["fields"])
    info["periods"] = tuple(pairs(period) for period in info.get("periods") or ())
    info["shard"] = tuple(info["shard"]) if info.get("shard") else None
    return _known(values.BoardInfo, info)


def _verification(reply: Any) -> values.Verification:
    step = plain(pairs(reply))
    return _known(values.Verification, {**step, "cursor": str(step["cursor"]), "examples": tuple(step["examples"])})


def _period(reply: Any) -> values.PeriodBoard:
    return values.PeriodBoard(**plain(pairs(reply)))
