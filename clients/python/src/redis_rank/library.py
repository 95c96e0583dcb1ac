"""What this package uses of redis-py beyond its documented interface, all in one place; test_library.py names it."""

from __future__ import annotations

import inspect
from typing import Any

import redis
import redis.asyncio
import redis.asyncio.client
import redis.asyncio.cluster
import redis.client
import redis.cluster
import redis.commands.cluster

from .call import READS

# redis-py sends to replicas only what stands in this set, and has no other way to add to it.
for _module in (redis.commands.cluster, redis.cluster, redis.asyncio.cluster):
    _module.READ_COMMANDS |= READS  # type: ignore[attr-defined]

# Until redis-py 5.3 the pool asked for the name of a command, which it did not use.
_parameter = inspect.signature(redis.ConnectionPool.get_connection).parameters["command_name"]
FOR = ("_",) if _parameter.default is inspect.Parameter.empty else ()

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
