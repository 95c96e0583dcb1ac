"""A command as a value: what to send, and how to read the reply. Nothing here talks to a server."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")

Number = int | float
Name = str | bytes
Words = list[Name | Number]
Score = Number | Sequence[Number]
# None keeps a field as it is; a mapping sets the fields that it names.
NewScore = Number | Sequence[Number | None] | Mapping[str, Number]
NewScores = Mapping[str, NewScore] | Mapping[bytes, NewScore]
Duration = float | timedelta | str
Moment = float | datetime

READS = frozenset(
    "RANK.INFO RANK.GET RANK.SCORE RANK.QUERY RANK.STATS RANK.TOPN RANK.RANGE RANK.PAGE RANK.AROUND RANK.BYSCORE "
    "RANK.AMONG RANK.AFTER RANK.BEFORE RANK.SCAN RANK.COUNT RANK.FORSCORE RANK.PERCENTILE RANK.SCOREAT RANK.GETDATA "
    "RANK.PERIODS RANK.SHARD RANK.SHARDS RATE.PEEK RATE.HELD DUE.INFO".split()
)

# Where the first key of a command stands, if it is not the first argument.
_KEY_AT = {"RATE.ALL": 1, "EVAL": 2}
# The units of a duration, in milliseconds.
_UNITS = {"ms": 1, "s": 1000, "": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_LATEST = 1e11


class Board(Protocol):
    """A declared board, which is created when a write finds that it is not there."""

    automatic: bool

    def create(self) -> Call[None]: ...


@dataclass(slots=True, eq=False)
class Call(Generic[T]):
    """One command. `board` is the declared one that it writes to; `wait` is there if it may block."""

    name: str
    args: tuple[bytes, ...]
    parse: Callable[[Any], T]
    board: Board | None = None
    keyless: bool = False
    wait: Wait[T] | None = None
    # Whether it writes attributes, which the declared board has a hash for.
    needs_data: bool = False

    def key(self) -> bytes | None:
        if self.keyless or not self.args:
            return None
        return self.args[_KEY_AT.get(self.name, 0)]

    def packed(self) -> bytes:
        """The command as it is sent."""
        name, args = self.name.encode(), self.args
        words = [b"*%d\r\n$%d\r\n%b\r\n" % (len(args) + 1, len(name), name)]
        words += [b"$%d\r\n%b\r\n" % (len(arg), arg) for arg in args]
        return b"".join(words)


@dataclass(slots=True, eq=False)
class Wait(Generic[T]):
    """For how many milliseconds a call blocks (0: forever), and the same call for another time."""

    milliseconds: int
    call_for: Callable[[int], Call[T]]


@dataclass(frozen=True)
class Pause:
    """A multi-step operation asks its runner to wait."""

    seconds: float


# An operation that needs several rounds: it yields the calls of a round, all sent at once, and receives
# the result or the error of each.
Steps = Generator["Sequence[Call[Any]] | Pause", "list[Any]", T]
Work = Call[T] | Steps[T]


def raw(name: str, *args: Name | Number) -> Call[Any]:
    """Any other command, to send with others. Its reply is returned as it is, in bytes.

    In a cluster its first argument is taken for a key.
    """
    return Call(name, encode(args), lambda reply: reply, keyless=not args)


def done(value: T) -> Call[T]:
    """For a batch of nothing: no command is sent."""
    return Call("", (), lambda _: value)


# --- arguments --------------------------------------------------------------------------------------


def argument(value: Name | Number) -> bytes:
    kind = type(value)
    if kind is str:
        # A name that is not UTF-8 arrives as surrogates, and goes back as the same bytes.
        return value.encode("utf-8", "surrogateescape")  # type: ignore[union-attr]
    if kind is int or kind is float:
        return repr(value).encode()
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"expected a str, bytes, int or float, got {value!r}: convert it")
    return str(int(value) if isinstance(value, int) else float(value)).encode()


def encode(args: Iterable[Name | Number]) -> tuple[bytes, ...]:
    return tuple([argument(arg) for arg in args])


def known(options: Mapping[str, Any], kind: type) -> None:
    """An option that does not exist is an error, also for those who do not use a type checker."""
    for name in options:
        if name not in kind.__annotations__:
            raise TypeError(f"unknown option {name!r}, expected one of {', '.join(kind.__annotations__)}")


def numbers(score: Score) -> list[Number]:
    if isinstance(score, (int, float)):
        return [score]
    if isinstance(score, (str, bytes)) or not isinstance(score, Iterable):
        raise TypeError(f"expected an int or a float, or one for each field, got {score!r}")
    return list(score)


def option(word: str, value: Name | Number | None) -> Words:
    return [] if value is None else [word, value]


def flags(**words: bool | None) -> Words:
    return [word.upper() for word, given in words.items() if given]


def milliseconds(value: Duration) -> int:
    """Seconds as a number, a timedelta, or text with a unit: 500ms, 30s, 5m, 2h, 1d."""
    if isinstance(value, str):
        if not (match := re.fullmatch(r"(\d+)(ms|[smhd]?)", value, re.I)):
            raise ValueError(f"expected seconds, a timedelta or text such as 500ms, 30s or 2h, got {value!r}")
        return int(match[1]) * _UNITS[match[2].lower()]
    if isinstance(value, bool) or not isinstance(value, (int, float, timedelta)):
        raise TypeError(f"expected seconds, a timedelta or text such as 30s, got {value!r}")
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if not 0 <= seconds < _LATEST:
        raise ValueError(f"a duration is in seconds, 0 or more, got {value!r}")
    # A short time must not become 0, which would block forever.
    return round(seconds * 1000) or int(seconds > 0)


def duration(value: Duration) -> str:
    return f"{milliseconds(value)}ms"


def moment(value: Moment) -> int:
    """Unix time in seconds, or a datetime (one without a zone is local time, as in Python), as milliseconds."""
    if isinstance(value, datetime):
        value = value.timestamp()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"expected Unix time in seconds or a datetime, got {value!r}")
    if not abs(value) <= _LATEST:
        raise ValueError(f"a time is a datetime or Unix time in seconds, got {value!r}: are these milliseconds?")
    return round(value * 1000)


def at(value: Moment | None, word: str = "AT") -> Words:
    return [] if value is None else [word, moment(value)]


def json_text(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


# --- replies: the same values in RESP2 and RESP3, decoded or not --------------------------------------


def text(value: bytes | str) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def number(value: Any) -> Number:
    """An integer, a double, or either as text. A whole number is an int, as it is in JSON."""
    if isinstance(value, (bytes, str)):
        try:
            return int(value)
        except ValueError:
            value = float(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    result: Number = value
    return result


def seconds(milliseconds: int | None) -> float | None:
    """None for null, and for the negative numbers that mean "none"."""
    return None if milliseconds is None or milliseconds < 0 else milliseconds / 1000


def optional(parse: Callable[[Any], T]) -> Callable[[Any], T | None]:
    return lambda reply: None if reply is None else parse(reply)


def list_of(parse: Callable[[Any], T]) -> Callable[[Any], list[T]]:
    return lambda reply: [parse(item) for item in reply]


def pairs(reply: Any) -> dict[str, Any]:
    """A map: in RESP3 it is one, in RESP2 a flat array."""
    items = reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2])
    return {text(key): value for key, value in items}


def plain(value: Any) -> Any:
    """A reply of unknown shape with its strings as text."""
    if isinstance(value, dict):
        return {text(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return text(value) if isinstance(value, bytes) else value


def nothing(_reply: Any) -> None:
    return None


def json_name(value: Any) -> str:
    """A name in JSON: text, or base64 where it is not UTF-8."""
    return value if type(value) is str else text(base64.b64decode(value["base64"]))
