"""Sends calls with redis-py, each at most once.

Reads go through redis-py's own `execute_command`, which may repeat them. Everything else is written to a connection
directly, since redis-py's retries cannot be switched off for single commands: what fails before the command was sent is
the error of redis-py, what fails later is OutcomeUnknown. In a cluster a command that a node refused (MOVED, ASK,
TRYAGAIN) is sent to the right one; that is not a repetition.

The sync and the asyncio half differ only in where they wait.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeVar

import redis
import redis.asyncio
import redis.asyncio.cluster
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.exceptions import AskError, ConnectionError, MovedError, RedisError, ResponseError, TimeoutError, TryAgainError
from redis.retry import Retry

from . import library
from .call import READS, Call, Pause, Steps, Work, text
from .errors import NoBoard, OutcomeUnknown, SchemaError, translate

T = TypeVar("T")

# What redis-py 8 waits for a reply, in seconds, where nothing else was said.
_USUAL_TIMEOUT = 5
_FAILED = (RedisError, OSError, asyncio.TimeoutError)
_ASKING = Call("ASKING", (), text).packed()
_MULTI, _EXEC = Call("MULTI", (), text).packed(), Call("EXEC", (), text).packed()
# How often a command is sent on to where a cluster says, and the pause between when a slot is on its way.
_REDIRECTIONS = 16
_PAUSE = 0.05


_NO_PIPELINE = (
    "it needs replies at once, which a pipeline does not give: pass the client"
)
# Pools of connections that give up in time, by the client's pool and the time.
_POOLS: weakref.WeakKeyDictionary[Any, dict[float, Any]] = weakref.WeakKeyDictionary()


# --- rounds of calls ----------------------------------------------------------------------------------


def succeeded(result: Any) -> Any:
    if isinstance(result, Exception):
        raise result
    return result


def lacks_board(call: Call[Any], result: Any) -> bool:
    """Whether a write was refused because its board, which is declared, is not there."""
    if not isinstance(result, (NoBoard, SchemaError)) or call.board is None or not call.board.automatic:
        return False
    # Where there is no board there is no hash for attributes either, and this is what the server says of it.
    return isinstance(result, NoBoard) or call.needs_data


def with_boards(calls: Sequence[Call[Any]]) -> Steps[list[Any]]:
    """The results of calls; a declared board that is not there is created, and the write sent again."""
    results = yield calls
    missing = [
        (at, call.board)
        for at, (call, result) in enumerate(zip(calls, results))
        if call.board and lacks_board(call, result)
    ]
    if missing:
        created = yield [board.create() for _, board in missing]
        # If somebody else was faster and declared it differently, their board is written to, as it would be later.
        again = [at for (at, _), error in zip(missing, created) if error is None or isinstance(error, SchemaError)]
        errors = {at: error for (at, _), error in zip(missing, created) if error is not None}
        results = [errors.get(at, result) for at, result in enumerate(results)]
        for at, result in zip(again, (yield [calls[at] for at in again]) if again else []):
            results[at] = errors.get(at, result) if lacks_board(calls[at], result) else result
    return results


def one(call: Call[T]) -> Steps[T]:
    [result] = yield from with_boards([call])
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


def several(calls: Sequence[Call[Any]]) -> Steps[list[Any]]:
    results = yield calls
    for call, result in zip(calls, results):
        if isinstance(result, NoBoard):
            raise NoBoard(f"{text(call.key() or b'')}: {result} (here it is not created: call create() before)")
    return [succeeded(result) for result in results]


def steps_of(client: Any, work: Work[T]) -> Steps[T]:
    if not isinstance(work, Call):
        return work
    return waited(work, patience(client)) if work.wait else one(work)


def patience(client: Any) -> int:
    """For how many milliseconds a call may block: half of what the client waits for a reply."""
    return max(1, round((library.settings(client).get("socket_timeout") or _USUAL_TIMEOUT) * 500))


def _read_arguments(client: Any, call: Call[Any]) -> dict[str, Any]:
    # Never decoded by the client, so that decode_responses makes no difference and names may be any bytes.
    options: dict[str, Any] = {"NEVER_DECODE": True}
    if call.keyless and hasattr(client, "get_random_node"):
        options["target_nodes"] = client.get_random_node()
    return options


def _result(call: Call[Any], reply: Any) -> Any:
    if not isinstance(reply, Exception):
        return call.parse(reply)
    key = call.key()
    return translate(reply, None if key is None else text(key))


def _unknown(error: Exception) -> Exception:
    """What is known of a command after whose sending the connection failed."""
    # A ConnectionError of another class was a reply: -LOADING, for example.
    if isinstance(error, ConnectionError) and type(error) is not ConnectionError:
        return error
    unknown = OutcomeUnknown(f"the command may have been run or not: {error}")
    unknown.__cause__ = error
    return unknown


def _broken(replies: list[Any], count: int, error: Exception) -> list[Any]:
    """The replies that have arrived, and what is known of the other commands."""
    if len(replies) < count:
        replies.append(_unknown(error))
    return replies + [_unknown(ConnectionError(str(error)))] * (count - len(replies))


# --- where calls go -----------------------------------------------------------------------------------


class Parcel(NamedTuple):
    """Packed commands for one node of a cluster (None: the only server), and how many replies they have.

    `call` is there if it is a single command.
    """

    node: Any
    payload: bytes
    replies: int
    call: Call[Any] | None = None


# Yields parcels, which are sent at the same time, for lists of replies; a MovedError for nothing; None to learn the
# cluster's nodes again; or a Pause.
Route = Generator["list[Parcel] | MovedError | Pause | None", Any, list[Any]]


def _node(client: Any, call: Call[Any]) -> Any:
    key = call.key()
    if key is None:
        return client.get_random_node()
    return library.node_of_slot(client, key_slot(key), call.name in READS)


def routed(client: Any, calls: Sequence[Call[Any]]) -> Route:
    """The replies of a cluster. Calls for one node keep their order."""
    replies: list[Any] = [None] * len(calls)
    waiting, asked, is_fresh = list(range(len(calls))), dict[int, Any](), False
    for _ in range(_REDIRECTIONS):
        nodes: dict[str, Any] = {}
        groups: dict[str, list[int]] = {}
        for at in waiting:
            node = asked.get(at) or _node(client, calls[at])
            nodes[node.name] = node
            groups.setdefault(node.name, []).append(at)
        parcels = [
            Parcel(
                nodes[name],
                b"".join([(_ASKING if at in asked else b"") + calls[at].packed() for at in group]),
                sum(2 if at in asked else 1 for at in group),
                calls[group[0]] if len(group) == 1 and group[0] not in asked else None,
            )
            for name, group in groups.items()
        ]
        answers = yield parcels
        for group, answer in zip(groups.values(), answers):
            answer = iter(answer)
            for at in group:
                if at in asked:
                    next(answer)
                replies[at] = next(answer)
        asked, waiting, pause, is_stale = {}, [], False, False
        for at, reply in enumerate(replies):
            if isinstance(reply, MovedError):
                yield reply
            elif isinstance(reply, AskError):
                asked[at] = client.get_node(host=reply.host, port=reply.port)
            elif isinstance(reply, TryAgainError):
                pause = True
            elif isinstance(reply, (ConnectionError, TimeoutError)) and not isinstance(reply, OutcomeUnknown):
                # It was not sent: perhaps another node has the slot by now.
                if is_fresh:
                    continue
                is_stale = True
            else:
                continue
            waiting.append(at)
        if not waiting:
            break
        if is_stale or None in asked.values():
            yield None
            is_fresh = is_fresh or is_stale
            asked = {at: client.get_node(host=replies[at].host, port=replies[at].port) for at in asked}
        if pause:
            yield Pause(_PAUSE)
    return replies


def transaction(client: Any, calls: Sequence[Call[Any]], is_cluster: bool) -> Route:
    """The replies of MULTI … EXEC, sent in one piece."""
    payload = b"".join([_MULTI, *[call.packed() for call in calls], _EXEC])
    is_fresh = False
    for _ in range(_REDIRECTIONS):
        keyed = next((call for call in calls if call.key()), calls[0])
        [answers] = yield [Parcel(_node(client, keyed) if is_cluster else None, payload, len(calls) + 2)]
        refused = next((answer for answer in answers[:-1] if isinstance(answer, Exception)), None)
        if isinstance(refused, MovedError):
            yield refused
        elif isinstance(refused, TryAgainError):
            yield Pause(_PAUSE)
        elif is_cluster and isinstance(refused, ConnectionError) and not isinstance(refused, OutcomeUnknown) and not is_fresh:
            is_fresh = True
            yield None
        else:
            break
    result = answers[-1]
    if isinstance(result, list):
        return result
    return [refused or result] * len(calls)


# --- sync ---------------------------------------------------------------------------------------------


SyncClient = redis.Redis | redis.RedisCluster
AsyncClient = redis.asyncio.Redis | redis.asyncio.RedisCluster | redis.asyncio.cluster.ClusterPipeline


class Sync:
    """Runs calls with redis.Redis or redis.RedisCluster."""

    def __init__(self, client: Any, timeout: float | None = None):
        if not isinstance(client, (redis.Redis, redis.RedisCluster)):
            raise TypeError(f"expected a client of redis, got {_named(client)}: redis.asyncio goes with redis_rank.asyncio")
        if isinstance(client, library.PIPELINES):
            raise TypeError(_NO_PIPELINE)
        self.client: Any = client
        self.is_cluster = isinstance(client, redis.RedisCluster)
        self._timeout = timeout

    def _pool(self, node: Any) -> Any:
        pool = (self.client.get_redis_connection(node) if node else self.client).connection_pool
        if self._timeout is None:
            return pool
        own = _POOLS.setdefault(pool, {})
        if self._timeout not in own:
            own[self._timeout] = library.pool_with_timeout(pool, self._timeout, Retry(NoBackoff(), 0))
        return own[self._timeout]

    def _exchange(self, node: Any, payload: bytes, count: int, call: Call[Any] | None = None) -> list[Any]:
        try:
            pool = self._pool(node)
            connection = pool.get_connection(*library.FOR)
            try:
                connection.check_health()
            except BaseException:
                pool.release(connection)
                raise
        except _FAILED as error:
            return [error] * count
        replies: list[Any] = []
        try:
            if call is not None and library.is_followed(redis.Redis):
                try:
                    return [library.follow(pool, connection, (call.name, *call.args))]
                except ResponseError as error:
                    return [error]
            connection.send_packed_command((payload,), check_health=False)
            while len(replies) < count:
                try:
                    replies.append(connection.read_response(disable_decoding=True))
                except ResponseError as error:
                    replies.append(error)
        except _FAILED as error:
            connection.disconnect()
            replies = _broken(replies, count, error)
        except BaseException:
            connection.disconnect()
            raise
        finally:
            pool.release(connection)
        return replies

    def _travel(self, route: Route) -> list[Any]:
        answer: Any = None
        while True:
            try:
                step = route.send(answer)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            answer = None
            if isinstance(step, list):
                answer = [self._exchange(*parcel) for parcel in step]
            elif isinstance(step, Pause):
                time.sleep(step.seconds)
            elif isinstance(step, MovedError):
                library.note_move(self.client, step)
            else:
                try:
                    self.client.nodes_manager.initialize()
                except _FAILED:
                    pass

    def send(self, calls: Sequence[Call[Any]], is_transaction: bool = False) -> list[Any]:
        """The result of each call, or its error."""
        if not all(call.name for call in calls):
            sent = iter(self.send([call for call in calls if call.name], is_transaction))
            return [next(sent) if call.name else call.parse(None) for call in calls]
        if not calls:
            return []
        try:
            if is_transaction:
                replies = self._travel(transaction(self.client, calls, self.is_cluster))
            elif len(calls) == 1 and calls[0].name in READS and self._timeout is None:
                [call] = calls
                replies = [self.client.execute_command(call.name, *call.args, **_read_arguments(self.client, call))]
            elif self.is_cluster:
                replies = self._travel(routed(self.client, calls))
            else:
                single = calls[0] if len(calls) == 1 else None
                replies = self._exchange(None, b"".join([call.packed() for call in calls]), len(calls), single)
        except _FAILED as error:
            replies = [error] * len(calls)
        return [_result(call, reply) for call, reply in zip(calls, replies)]

    def run(self, work: Work[T], is_transaction: bool = False) -> T:
        steps, answer = None, None
        if type(work) is Call and work.wait is None:
            [result] = self.send((work,))
            if not lacks_board(work, result):
                return succeeded(result)  # type: ignore[no-any-return]
            # The first round is over: the board has to be made.
            steps, answer = one(work), [result]
            next(steps)
        steps = steps or steps_of(self.client, work)
        while True:
            try:
                step = steps.send(answer)  # type: ignore[arg-type]
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            if isinstance(step, Pause):
                time.sleep(step.seconds)
            else:
                answer = self.send(step, is_transaction)


# --- asyncio ------------------------------------------------------------------------------------------


class Async:
    """Runs calls with redis.asyncio.Redis or redis.asyncio.RedisCluster."""

    def __init__(self, client: Any, timeout: float | None = None):
        if isinstance(client, library.ASYNC_PIPELINES):
            raise TypeError(_NO_PIPELINE)
        if not isinstance(client, (redis.asyncio.Redis, redis.asyncio.RedisCluster)):
            raise TypeError(f"expected a client of redis.asyncio, got {_named(client)}: redis goes with redis_rank")
        self.client: Any = client
        self.is_cluster = isinstance(client, redis.asyncio.RedisCluster)
        self._timeout = timeout

    async def _connection(self, node: Any) -> Any:
        if node is None:
            return await self.client.connection_pool.get_connection(*library.FOR)
        connection = node.acquire_connection()
        try:
            await connection.connect()
            try:
                is_closed = await library.is_closed_by_server(connection)
            except _FAILED:
                is_closed = True
            if is_closed:
                await connection.disconnect()
                await connection.connect()
        except BaseException:
            library.release_to_node(node, connection)
            raise
        return connection

    async def _exchange(self, node: Any, payload: bytes, count: int, call: Call[Any] | None = None) -> list[Any]:
        try:
            connection = await self._connection(node)
        except _FAILED as error:
            return [error] * count
        replies: list[Any] = []
        try:
            try:
                await connection.check_health()
            except _FAILED as error:
                return [error] * count
            if call is not None and library.is_followed(redis.asyncio.Redis):
                try:
                    pool = self.client.connection_pool if node is None else node
                    return [await library.follow_async(pool, connection, (call.name, *call.args))]
                except ResponseError as error:
                    return [error]
            await connection.send_packed_command((payload,), check_health=False)
            while len(replies) < count:
                try:
                    replies.append(await connection.read_response(disable_decoding=True))
                except ResponseError as error:
                    replies.append(error)
        except _FAILED as error:
            await connection.disconnect(nowait=True)
            replies = _broken(replies, count, error)
        except BaseException:
            # Somebody gave up: the command must not be run later, nor its reply be taken for another one's.
            await connection.disconnect(nowait=True)
            raise
        finally:
            if node is None:
                await self.client.connection_pool.release(connection)
            else:
                library.release_to_node(node, connection)
        return replies

    async def _travel(self, route: Route) -> list[Any]:
        answer: Any = None
        while True:
            try:
                step = route.send(answer)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            answer = None
            if isinstance(step, list):
                answer = await asyncio.gather(*(self._exchange(*parcel) for parcel in step))
            elif isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
            elif isinstance(step, MovedError):
                await library.note_move_async(self.client, step)
            else:
                try:
                    await self.client.nodes_manager.initialize()
                except _FAILED:
                    pass

    async def send(self, calls: Sequence[Call[Any]], is_transaction: bool = False) -> list[Any]:
        """The result of each call, or its error."""
        if not all(call.name for call in calls):
            sent = iter(await self.send([call for call in calls if call.name], is_transaction))
            return [next(sent) if call.name else call.parse(None) for call in calls]
        if not calls:
            return []
        try:
            if self._timeout is None:
                replies = await self._send(calls, is_transaction)
            else:
                replies = await asyncio.wait_for(self._send(calls, is_transaction), self._timeout)
        except asyncio.TimeoutError:
            replies = [_unknown(TimeoutError("no reply in time"))] * len(calls)
        except _FAILED as error:
            replies = [error] * len(calls)
        return [_result(call, reply) for call, reply in zip(calls, replies)]

    async def _send(self, calls: Sequence[Call[Any]], is_transaction: bool) -> list[Any]:
        # A client that is new learns its nodes first.
        if self.is_cluster:
            await self.client.initialize()
        if is_transaction:
            return await self._travel(transaction(self.client, calls, self.is_cluster))
        if len(calls) == 1 and calls[0].name in READS:
            [call] = calls
            return [await self.client.execute_command(call.name, *call.args, **_read_arguments(self.client, call))]
        if self.is_cluster:
            return await self._travel(routed(self.client, calls))
        single = calls[0] if len(calls) == 1 else None
        return await self._exchange(None, b"".join([call.packed() for call in calls]), len(calls), single)

    async def run(self, work: Work[T], is_transaction: bool = False) -> T:
        steps, answer = None, None
        if type(work) is Call and work.wait is None:
            [result] = await self.send((work,))
            if not lacks_board(work, result):
                return succeeded(result)  # type: ignore[no-any-return]
            # The first round is over: the board has to be made.
            steps, answer = one(work), [result]
            next(steps)
        steps = steps or steps_of(self.client, work)
        while True:
            try:
                step = steps.send(answer)  # type: ignore[arg-type]
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
            else:
                answer = await self.send(step, is_transaction)


def _named(client: Any) -> str:
    return f"{type(client).__module__}.{type(client).__qualname__}"
