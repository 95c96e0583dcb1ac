"""The versions of redis-py that are supported, and what is used of it beyond its documented interface."""

from __future__ import annotations

import inspect
import re
import sys
import typing
import unittest
from pathlib import Path

import redis
import redis.asyncio
import redis.asyncio.client
import redis.asyncio.cluster
import redis.client
import redis.cluster
from support import CLUSTER_URL, Case

import redis_rank
import redis_rank.asyncio
from redis_rank import Leaderboard, ModuleNotLoaded, WrongType, library

ROOT = Path(__file__).parent.parent


class Library(unittest.TestCase):
    def test_versions_have_an_upper_bound(self) -> None:
        [low, high] = re.findall(r'"redis>=(\d+),<(\d+)"', (ROOT / "pyproject.toml").read_text())[0]
        self.assertTrue(int(low) <= int(redis.__version__.split(".")[0]) < int(high), redis.__version__)
        # The newest that is supported, and by tests/clients.rs the oldest, run these tests.
        self.assertIn(f"redis=={int(high) - 1}.", (ROOT / "tests/requirements.txt").read_text())

    def test_internals_are_used_in_one_place(self) -> None:
        """A new major version of redis-py that lacks one of these fails here, by its name."""
        for name, owner in {
            "READ_COMMANDS": redis.cluster, "nodes_manager": redis.RedisCluster, "get_node_from_slot": redis.cluster.NodesManager,
            "initialize": redis.cluster.NodesManager, "get_redis_connection": redis.RedisCluster,
            "acquire_connection": redis.asyncio.cluster.ClusterNode, "check_health": redis.Connection,
            "send_packed_command": redis.Connection, "read_response": redis.Connection,
            "can_read_destructive": redis.asyncio.Connection, "execute_command": redis.client.Pipeline,
        }.items():  # fmt: skip
            source = inspect.getsource(owner) if name == "nodes_manager" else ""
            self.assertTrue(hasattr(owner, name) or name in source, f"{owner}.{name}")
        self.assertTrue(hasattr(redis.cluster.NodesManager, "move_slot") or hasattr(redis.cluster.NodesManager, "update_moved_exception"))
        self.assertTrue(hasattr(redis.asyncio.cluster.ClusterNode, "release") or "_free" in redis.asyncio.cluster.ClusterNode.__slots__)
        self.assertIn("disable_decoding", inspect.signature(redis.Connection.read_response).parameters)
        self.assertIn("NEVER_DECODE", inspect.getsource(redis.client) + inspect.getsource(redis.asyncio.client))
        private = re.compile(r"(?:client|node|manager|pool|connection|pipe|pipeline)\._[a-z]\w*")
        for path in (ROOT / "src/redis_rank").glob("*.py"):
            if path.name != "library.py":
                self.assertEqual(private.findall(path.read_text()), [], path.name)

    def test_methods_describe_themselves(self) -> None:
        for package in (redis_rank, redis_rank.asyncio):
            add = package.Leaderboard.add
            self.assertEqual((add.__name__, inspect.signature(add).return_annotation), ("add", "int"))
            self.assertIn("RANK.ADD", inspect.getdoc(add) or "")
            self.assertEqual(list(inspect.signature(package.Leaderboard.top).parameters), ["self", "n", "options"])
            for kind in ("Leaderboard", "ShardedLeaderboard", "RateLimiter", "Lease", "Schedule", "DeadLetters"):
                for name, method in vars(getattr(package, kind)).items():
                    if sys.version_info >= (3, 11) and hasattr(method, "__wrapped__"):
                        with self.subTest(f"{kind}.{name}"):
                            self.assertIn("return", typing.get_type_hints(method))
        if hasattr(inspect, "markcoroutinefunction"):
            self.assertTrue(inspect.iscoroutinefunction(redis_rank.asyncio.Leaderboard.add))


class Messages(Case):
    def test_errors_of_the_server(self) -> None:
        self.redis.set("text", "x")
        for client in (self.redis, redis.RedisCluster.from_url(CLUSTER_URL)):
            client.set("text", "x")
            with self.assertRaisesRegex(WrongType, "key 'text'"):
                Leaderboard(client, "text").add("ann", 5)
        with self.assertRaisesRegex(ModuleNotLoaded, "does not know RANK.NOTHING: load the module"):
            redis_rank.execute(self.redis, redis_rank.raw("RANK.NOTHING", "x"))
        self.assertTrue(library.PIPELINES)
