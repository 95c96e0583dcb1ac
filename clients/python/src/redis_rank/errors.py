"""Every error of this package is a RankError; those that the server sent are redis.ResponseError too."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from redis.exceptions import ClusterCrossSlotError, NoPermissionError, ResponseError

if TYPE_CHECKING:
    from .values import Grant, Verdict


class RankError(Exception):
    """The base class of all errors of this package."""


class CommandError(RankError, ResponseError):
    """The server refused a command; the text says what it expected."""


class SchemaError(CommandError):
    """The board has another schema, or lacks what the command needs."""


class ValueOutOfRange(CommandError):
    """A score is out of the range of its field."""


class DamagedBoard(CommandError):
    """A core command has damaged the board: see RANK.VERIFY."""


class WrongType(CommandError):
    """The key holds something else."""


class NotPermitted(RankError, NoPermissionError):
    """The user may not do this, or not with this key."""


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
        super().__init__(f"{key}: all {grant.limit} are taken, the next lease ends in {grant.retry_after_ms} ms")
        self.grant = grant


class LeaseLost(RankError):
    """The lease ended before the work did: somebody else may hold it."""


class IncompleteAnswer(RankError):
    """Some shards of a board did not answer in time, so there is no exact answer."""


# The first that matches the server's text decides. Names of fields and members are in quotes, and decide nothing.
_BY_TEXT: tuple[tuple[str, type[CommandError]], ...] = (
    ("WRONGTYPE ", WrongType),
    (".*unknown command ", ModuleNotLoaded),
    ("(in the board's period '.*': )?field '.*' takes ", ValueOutOfRange),
    (".* RANK.VERIFY ", DamagedBoard),
    ("(the board|the sorted set|ADOPT)|[^']* schema", SchemaError),
)


def translate(error: Exception) -> Exception:
    """Converts an error of the server to a class of this package; leaves other errors as they are."""
    translated: Exception
    if type(error) is NoPermissionError:
        translated = NotPermitted(str(error))
    elif type(error) in (ResponseError, ClusterCrossSlotError):
        message = str(error)
        translated = next((kind for text, kind in _BY_TEXT if re.match(text, message)), CommandError)(message)
    else:
        return error
    translated.__cause__ = error
    return translated
