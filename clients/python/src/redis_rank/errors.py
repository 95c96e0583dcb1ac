"""Every error of this package is a RankError; those that the server sent are redis.ResponseError too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import redis.exceptions as exceptions
from redis.exceptions import ConnectionError, NoPermissionError, ResponseError

if TYPE_CHECKING:
    from .values import Grant, Verdict


class RankError(Exception):
    """The base class of all errors of this package."""


class OutcomeUnknown(RankError, ConnectionError):
    """The connection broke after the command may have been sent: it may have been run or not.

    The package does not send it again. `__cause__` is the error of redis-py.
    """


class CommandError(RankError, ResponseError):
    """The server refused a command; the text says what it expected."""


class SchemaError(CommandError):
    """The board has another schema, or lacks what the command needs."""


class NoBoard(CommandError):
    """The key has no board with a schema."""


class ValueOutOfRange(CommandError):
    """A score is out of the range of its field."""


class DamagedBoard(CommandError):
    """A core command has damaged the board: see RANK.VERIFY."""


class TooBig(CommandError):
    """More than the server's options allow: rank.max-rows, rank.max-hops or rank.rate-max-log."""


class WrongType(CommandError):
    """The key holds something else."""


class NotPermitted(RankError, NoPermissionError):
    """The user may not do this, or not with this key."""


class CrossSlot(CommandError, exceptions.ClusterCrossSlotError):
    """In a cluster, all keys of a command must be in one slot."""


class TryAgain(CommandError, exceptions.TryAgainError):
    """The slot is being moved, and a key that the command needs is not there at the moment."""


class OutOfMemory(CommandError, exceptions.OutOfMemoryError):
    """The server has no memory left for writes."""


class Unblocked(CommandError):
    """The server became a replica while a claim waited."""


class ModuleNotLoaded(CommandError):
    """The server does not know the command: the module, or this version of it, is not loaded."""


class RateLimited(RankError):
    """Raised by RateLimiter.enforce; `verdict` has the numbers."""

    def __init__(self, key: str, verdict: Verdict):
        wait = verdict.retry_after
        super().__init__(f"{key}: " + ("it costs more than the limit" if wait is None else f"try again in {wait:g} s"))
        self.verdict = verdict


class LeaseDenied(RankError):
    """All leases are taken; `grant` says when one may become free."""

    def __init__(self, key: str, grant: Grant):
        super().__init__(f"{key}: all {grant.limit} are taken, the next lease ends in {grant.retry_after} s")
        self.grant = grant


class LeaseLost(RankError):
    """The lease ended before the work did: somebody else may hold it."""


class IncompleteAnswer(RankError):
    """Some shards of a board did not answer in time, so there is no exact answer."""


_BY_CODE: dict[str, type[CommandError]] = {
    "SCHEMA": SchemaError, "NOBOARD": NoBoard, "OUTOFRANGE": ValueOutOfRange, "DAMAGED": DamagedBoard,
    "TOOBIG": TooBig, "WRONGTYPE": WrongType, "UNBLOCKED": Unblocked,
}  # fmt: skip
# Errors that redis-py has classes for, without their codes.
_BY_CLASS: dict[type[Exception], type[RankError]] = {
    NoPermissionError: NotPermitted, exceptions.ClusterCrossSlotError: CrossSlot,
    exceptions.OutOfMemoryError: OutOfMemory, exceptions.TryAgainError: TryAgain,
}  # fmt: skip


def translate(error: Exception, key: str | None = None) -> Exception:
    """Converts an error of the server to a class of this package; leaves other errors as they are."""
    message = str(error)
    kind = _BY_CLASS.get(type(error))
    if kind is None and type(error) is ResponseError:
        code, _, rest = message.partition(" ")
        kind = _BY_CODE.get(code, CommandError)
        if kind is not CommandError and kind is not WrongType:
            message = rest
        elif message.startswith("unknown command"):
            kind = ModuleNotLoaded
            name = message.partition("'")[2].partition("'")[0] or message
            message = f"the server does not know {name}: load the module redis-rank, or a version that has this command"
    if kind is None:
        return error
    if kind is WrongType and key is not None:
        # The server does not say which one.
        message = f"{message} (key {key!r})"
    translated = kind(message)
    translated.__cause__ = error
    return translated


# The server is away or cannot answer for a while. A wrong password is a ConnectionError of redis-py too, but no outage.
_OUTAGES = (
    ConnectionError, exceptions.TimeoutError, exceptions.ClusterDownError, exceptions.MasterDownError,
    exceptions.ReadOnlyError, exceptions.TryAgainError, exceptions.RedisClusterException, OSError, TimeoutError,
)  # fmt: skip
_MISTAKES = (exceptions.AuthenticationError, exceptions.AuthorizationError)


# Replies of a server that cannot answer, or not write, for a while.
_PASSING = ("BUSY ", "MISCONF ", "NOREPLICAS ")


def is_outage(error: BaseException) -> bool:
    if isinstance(error, ResponseError) and str(error).startswith(_PASSING):
        return True
    return isinstance(error, _OUTAGES) and not isinstance(error, _MISTAKES)


def is_temporary(error: BaseException) -> bool:
    """What a worker waits for: outages, and what passes while the server goes on."""
    return is_outage(error) or isinstance(error, (OutOfMemory, Unblocked))
