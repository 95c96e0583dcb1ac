"""What this package uses of redis-py beyond its documented interface, all in one place; test_library.py names it."""

from __future__ import annotations

import inspect
import types
from typing import Any

import redis
import redis.asyncio
import redis.asyncio.client
import redis.asyncio.cluster
import redis.client
import redis.cluster
import redis.commands.cluster
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

from .call import READS

# redis-py sends to replicas only what stands in this set, and has no other way to add to it.
for _module in (redis.commands.cluster, redis.cluster, redis.asyncio.cluster):
    _module.READ_COMMANDS |= READS  # type: ignore[attr-defined]

# Until redis-py 5.3 the pool asked for the name of a command, which it did not use.
_parameter = inspect.signature(redis.ConnectionPool.get_connection).parameters["command_name"]
FOR = ("_",) if _parameter.default is inspect.Parameter.empty else ()

# --- who follows execute_command ---------------------------------------------------------------------

_ORIGINALS = {
    kind: kind.execute_command
    for kind, module in ((redis.Redis, redis.client), (redis.asyncio.Redis, redis.asyncio.client))
    if getattr(kind.execute_command, "__code__", None) and type(kind.execute_command) is types.FunctionType
    and kind.execute_command.__code__.co_filename == module.__file__
}  # fmt: skip


def is_followed(kind: Any) -> bool:
    """Whether somebody, such as OpenTelemetry or Sentry, has replaced the method through which redis-py sends."""
    return kind.execute_command is not _ORIGINALS.get(kind)


class _Lent(redis.ConnectionPool):
    """Lends one connection, which does not try again."""

    lent: Any = None

    def get_connection(self, *args: Any, **options: Any) -> Any:
        return self.lent

    def release(self, connection: Any) -> None:
        pass


class _AsyncLent(redis.asyncio.ConnectionPool):
    lent: Any = None

    async def get_connection(self, *args: Any, **options: Any) -> Any:
        return self.lent

    async def release(self, connection: Any) -> None:
        pass


def _lent(kind: Any, pool: Any, connection: Any) -> Any:
    options = {name: value for name, value in pool.connection_kwargs.items() if "maint_notifications" not in name}
    lent = kind(connection_class=type(connection), **options)
    lent.lent = connection
    return lent


def follow(pool: Any, connection: Any, words: tuple[Any, ...]) -> Any:
    """Sends a command once on this connection, through execute_command."""
    before, connection.retry = connection.retry, Retry(NoBackoff(), 0)
    try:
        return redis.Redis(connection_pool=_lent(_Lent, pool, connection)).execute_command(*words, NEVER_DECODE=True)  # type: ignore[no-untyped-call]
    finally:
        connection.retry = before


async def follow_async(pool: Any, connection: Any, words: tuple[Any, ...]) -> Any:
    before, connection.retry = connection.retry, AsyncRetry(NoBackoff(), 0)
    try:
        client = redis.asyncio.Redis(connection_pool=_lent(_AsyncLent, pool, connection))
        return await client.execute_command(*words, NEVER_DECODE=True)  # type: ignore[no-untyped-call]
    finally:
        connection.retry = before


# --- pipelines, pools, clusters -----------------------------------------------------------------------

PIPELINES = (redis.client.Pipeline, redis.cluster.ClusterPipeline)
ASYNC_PIPELINES = (redis.asyncio.client.Pipeline, redis.asyncio.cluster.ClusterPipeline)


def settings(client: Any) -> dict[str, Any]:
    """How the client makes its connections."""
    source = getattr(client, "connection_pool", None) or getattr(client, "nodes_manager", client)
    found: dict[str, Any] = getattr(source, "connection_kwargs", {})
    return found


def pool_with_timeout(pool: Any, timeout: float, retry: Any) -> Any:
    """To the same server, but it gives up in time, and does not try again."""
    options = {name: value for name, value in pool.connection_kwargs.items() if "maint_notifications" not in name}
    options.update(socket_timeout=timeout, socket_connect_timeout=timeout, retry=retry, retry_on_timeout=False)
    return redis.ConnectionPool(connection_class=pool.connection_class, **options)


def node_of_slot(client: Any, slot: int, is_read: bool) -> Any:
    options: dict[str, Any] = {}
    if is_read:
        options["read_from_replicas"] = client.read_from_replicas
        if getattr(client, "load_balancing_strategy", None):
            options["load_balancing_strategy"] = client.load_balancing_strategy
    return client.nodes_manager.get_node_from_slot(slot, **options)


def note_move(client: Any, moved: Any) -> None:
    manager = client.nodes_manager
    if hasattr(manager, "move_slot"):
        manager.move_slot(moved)
    else:
        manager.update_moved_exception(moved)


async def note_move_async(client: Any, moved: Any) -> None:
    manager = client.nodes_manager
    if hasattr(manager, "move_slot"):
        await manager.move_slot(moved)
    else:
        manager._moved_exception = moved


async def is_closed_by_server(connection: Any) -> bool:
    """What the server has closed meanwhile looks connected until somebody reads."""
    read = getattr(connection, "can_read", None) or connection.can_read_destructive
    return bool(await read())


def release_to_node(node: Any, connection: Any) -> None:
    if hasattr(node, "release"):
        node.release(connection)
    else:
        node._free.append(connection)


def set_callback(pipeline: Any, name: str, callback: Any) -> None:
    """A pipeline converts replies as its client does."""
    if hasattr(pipeline, "set_response_callback"):
        pipeline.set_response_callback(name, callback)
    else:
        pipeline._client.set_response_callback(name, callback)
