"""A command as a value: what to send, and how to read the reply. Nothing here talks to a server."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")

Number = int | float
Name = str | bytes
Score = Number | Sequence[Number]
NewScore = Number | Sequence[Number | None]  # None: the field stays as it is
NewScores = Mapping[str, NewScore] | Mapping[bytes, NewScore]
Duration = str | int | float | timedelta
Moment = int | datetime


# The units of a duration, in milliseconds.
_UNITS = {"ms": 1, "s": 1000, "": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class Board(Protocol):
    """What a write needs before it may run: a board that has been created at least once."""

    made: bool

    def create(self) -> Call[None]: ...


@dataclass(frozen=True, eq=False)
class Call(Generic[T]):
    """One command. `board` is the declared one that it writes to; `wait` is there if it may block."""

    name: str
    args: tuple[bytes, ...]
    parse: Callable[[Any], T]
    board: Board | None = None
    keyless: bool = False
    wait: Wait[T] | None = None


@dataclass(frozen=True, eq=False)
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
    """Any other command, to send in the same pipeline. Its reply is returned as it is, in bytes."""
    return Call(name, encode(args), lambda reply: reply)


# --- arguments --------------------------------------------------------------------------------------


def encode(args: Iterable[Name | Number]) -> tuple[bytes, ...]:
    return tuple(argument(arg) for arg in args)


def argument(value: Name | Number) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        # A name that is not UTF-8 arrives as surrogates, and goes back as the same bytes.
        return value.encode("utf-8", "surrogateescape")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"expected a str, bytes, int or float, got {value!r}")
    return repr(value).encode()


def numbers(score: Score) -> list[Number]:
    if isinstance(score, (str, bytes)):
        raise TypeError(f"expected a number, or one for each field, got {score!r}")
    return [score] if isinstance(score, (int, float)) else list(score)


def new_scores(score: NewScore) -> list[Name | Number]:
    values = [score] if isinstance(score, (int, float)) else score
    if isinstance(values, (str, bytes)):
        raise TypeError(f"expected a number, or one for each field, got {values!r}")
    return ["*" if value is None else value for value in values]


def option(word: str, value: Name | Number | None) -> list[Name | Number]:
    return [] if value is None else [word, value]


def flags(**words: bool | None) -> list[Name | Number]:
    return [word.upper() for word, given in words.items() if given]


def duration(value: Duration) -> str:
    """Seconds as a number, a timedelta, or text with a unit: 500ms, 30s, 5m, 2h, 1d."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    # A short time must not become 0, which would block forever.
    return value if isinstance(value, str) else f"{round(value * 1000) or int(value > 0)}ms"


def milliseconds(value: Duration) -> int | None:
    """The same as a number, or None for what the server will refuse."""
    match = re.fullmatch(r"(\d+)(ms|[smhd]?)", duration(value))
    return int(match[1]) * _UNITS[match[2]] if match else None


def moment(value: Moment) -> int:
    """Unix time in milliseconds, or a datetime; one without a zone is in UTC."""
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        return round(aware.timestamp() * 1000)
    return value


def at(value: Moment | None) -> list[Name | Number]:
    return option("AT", None if value is None else moment(value))


def json_text(data: Mapping[str, Any]) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


# --- replies: the same values in RESP2 and RESP3, decoded or not --------------------------------------


def text(value: bytes | str) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def number(value: Any) -> Number:
    """An integer, a double, or either as text. A whole number is an int, as it is in JSON."""
    if isinstance(value, (bytes, str)):
        value = text(value)
        try:
            return int(value)
        except ValueError:
            value = float(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    result: Number = value
    return result


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


def json_value(reply: Any) -> Any:
    return json.loads(reply)


def json_name(value: Any) -> str:
    """A name in JSON: text, or base64 where it is not UTF-8."""
    return text(base64.b64decode(value["base64"])) if isinstance(value, dict) else str(value)
