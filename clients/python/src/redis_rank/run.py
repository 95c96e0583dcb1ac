"""Sends calls with redis-py. The two halves, sync and asyncio, differ only in where they wait."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

import redis.asyncio.cluster
import redis.cluster
import redis.commands.cluster
from redis.exceptions import RedisError

from .call import Call, Pause, Steps, Work
from .errors import translate

P = ParamSpec("P")
T = TypeVar("T")

READS = frozenset(
    "RANK.INFO RANK.GET RANK.SCORE RANK.QUERY RANK.STATS RANK.TOPN RANK.RANGE RANK.PAGE RANK.AROUND RANK.BYSCORE "
    "RANK.AMONG RANK.AFTER RANK.BEFORE RANK.SCAN RANK.COUNT RANK.FORSCORE RANK.PERCENTILE RANK.SCOREAT RANK.GETDATA "
    "RANK.PERIODS RANK.SHARD RANK.SHARDS RATE.PEEK RATE.HELD DUE.INFO".split()
)

# redis-py sends to replicas only what stands in this set, and has no other way to add to it.
for _module in (redis.commands.cluster, redis.cluster, redis.asyncio.cluster):
    _module.READ_COMMANDS |= READS  # type: ignore[attr-defined]

# What redis-py 8 waits for a reply, in seconds, where nothing else was said.
_USUAL_TIMEOUT = 5

_FAILED = (RedisError, OSError, asyncio.TimeoutError)


def one(call: Call[T]) -> Steps[T]:
    [result] = yield [call]
    return succeeded(result)  # type: ignore[no-any-return]


def waited(call: Call[T], most: int) -> Steps[T]:
    """Repeats a call that blocks, for at most `most` milliseconds each time."""
    assert call.wait
    left = call.wait.milliseconds
    while True:
        piece = min(left or most, most)
        result = yield from one(call.wait.call_for(piece))
        if result or left == piece:
            return result
        left = left and left - piece


def patience(client: Any) -> int:
    """For how many milliseconds a call may block: half of what the client waits for a reply."""
    settings = getattr(client, "connection_pool", None) or getattr(client, "nodes_manager", client)
    timeout = getattr(settings, "connection_kwargs", {}).get("socket_timeout") or _USUAL_TIMEOUT
    return max(1, round(timeout * 500))


def several(calls: Sequence[Call[Any]]) -> Steps[list[Any]]:
    results = yield calls
    return [succeeded(result) for result in results]


def succeeded(result: Any) -> Any:
    if isinstance(result, Exception):
        raise result
    return result


def prepared(client: Any, work: Work[T]) -> Steps[T]:
    """The steps of some work, where a board is created before the first write to it.

    Later its RANK.CREATE travels with each write, since a key may expire or be deleted meanwhile: a write to a key that
    is not there makes another board. What it answers then does not matter.
    """
    if not isinstance(work, Call):
        steps = work
    else:
        steps = waited(work, patience(client)) if work.wait else one(work)
    answer: Any = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        if not isinstance(step, Pause):
            boards = {id(call.board): call.board for call in step if call.board}.values()
            creations = [board.create() for board in boards if board.made]
            new = [board.create() for board in boards if not board.made]
            results = (yield new) if new else []
            failed = next((result for result in results if isinstance(result, Exception)), None)
            # Without its board nothing is sent: the work decides whether to try again.
            answer = [failed] * len(step) if failed else (yield [*creations, *step])[len(creations) :]
        else:
            answer = yield step


def _words(client: Any, call: Call[Any]) -> tuple[list[Any], dict[str, Any]]:
    # Never decoded by the client, so that decode_responses makes no difference and names may be any bytes.
    options: dict[str, Any] = {"NEVER_DECODE": True}
    if call.keyless and hasattr(client, "get_random_node"):
        options["target_nodes"] = client.get_random_node()
    return [call.name, *call.args], options


def _results(calls: Sequence[Call[Any]], replies: Sequence[Any]) -> list[Any]:
    return [
        translate(reply) if isinstance(reply, Exception) else call.parse(reply) for call, reply in zip(calls, replies)
    ]


def _pipeline(client: Any, calls: Sequence[Call[Any]], transaction: bool) -> Any:
    pipeline = client.pipeline(transaction=transaction)
    for call in calls:
        args, options = _words(client, call)
        pipeline.execute_command(*args, **options)
    return pipeline.execute(raise_on_error=False)


# --- sync ---------------------------------------------------------------------------------------------


def _send(client: Any, calls: Sequence[Call[Any]], transaction: bool) -> list[Any]:
    try:
        if len(calls) == 1:
            args, options = _words(client, calls[0])
            replies = [client.execute_command(*args, **options)]
        else:
            replies = _pipeline(client, calls, transaction)
    except _FAILED as error:
        replies = [error] * len(calls)
    return _results(calls, replies)


def run(client: Any, work: Work[T], transaction: bool = False) -> T:
    steps, answer = prepared(client, work), None
    while True:
        try:
            step = steps.send(answer)  # type: ignore[arg-type]
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        if isinstance(step, Pause):
            time.sleep(step.seconds)
        else:
            answer = _send(client, step, transaction)


def execute(client: Any, *calls: Call[Any], transaction: bool = False) -> list[Any]:
    """Several calls in one round trip: `execute(client, board.calls.add("ann", 5), board.calls.top(3))`."""
    return run(client, several(calls), transaction)


def sync(build: Callable[Concatenate[Any, P], Work[T]]) -> Callable[Concatenate[Any, P], T]:
    """The method that sends what `build`, a method of `self.calls`, only describes."""

    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return run(self.client, build(self.calls, *args, **kwargs))

    functools.update_wrapper(method, build)
    return method


# --- asyncio ------------------------------------------------------------------------------------------


async def _send_async(client: Any, calls: Sequence[Call[Any]], transaction: bool) -> list[Any]:
    try:
        if len(calls) == 1:
            args, options = _words(client, calls[0])
            replies = [await client.execute_command(*args, **options)]
        else:
            replies = await _pipeline(client, calls, transaction)
    except _FAILED as error:
        replies = [error] * len(calls)
    return _results(calls, replies)


async def run_async(client: Any, work: Work[T], transaction: bool = False) -> T:
    steps, answer = prepared(client, work), None
    while True:
        try:
            step = steps.send(answer)  # type: ignore[arg-type]
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
        else:
            answer = await _send_async(client, step, transaction)


async def execute_async(client: Any, *calls: Call[Any], transaction: bool = False) -> list[Any]:
    """Several calls in one round trip: `await execute(client, board.calls.add("ann", 5), board.calls.top(3))`."""
    return await run_async(client, several(calls), transaction)


def asynchronous(build: Callable[Concatenate[Any, P], Work[T]]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The same for asyncio."""

    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return run_async(self.client, build(self.calls, *args, **kwargs))

    functools.update_wrapper(method, build)
    return method
