"""Boards, limiters and schedules on a pipeline of redis-py: their commands are queued in it, like any other.

    with client.pipeline() as pipe:
        Leaderboard(pipe, "game").add("ann", 5)
        Leaderboard(pipe, "game").top(3)
        added, rows = pipe.execute()

Results have the types that they have elsewhere. Errors are those of redis-py, which raises them in `execute`.
"""

from __future__ import annotations

from typing import Any

from . import library
from .call import Call, Work

# redis-py hands the options of a command to the function that converts its reply.
_OPTION = "redis_rank"


def _convert(reply: Any, **options: Any) -> Any:
    call = options.get(_OPTION)
    return reply if call is None or isinstance(reply, Exception) else call.parse(reply)


class Queued:
    """Puts calls into a pipeline instead of sending them."""

    is_cluster = False

    def __init__(self, pipeline: Any):
        self.client = pipeline

    def run(self, work: Work[Any], is_transaction: bool = False) -> Any:
        """The pipeline, as its own methods return it; after watch() and before multi(), the result."""
        if not isinstance(work, Call):
            if hasattr(work, "close"):
                work.close()
            raise TypeError("this takes several round trips, which a pipeline cannot make: use the client")
        if work.wait is not None:
            raise TypeError("a pipeline cannot wait: leave out block=")
        if not work.name:
            raise ValueError("nothing to do, and so nothing to put into the pipeline")
        library.set_callback(self.client, work.name, _convert)
        return self.client.execute_command(work.name, *work.args, **{_OPTION: work, "NEVER_DECODE": True})
