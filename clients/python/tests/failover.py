"""Boards over many keys while slots move, when a primary dies, and when a part of the cluster is gone.

Not among the others: it leaves a cluster behind that nobody can use. tests/clients.rs runs it.
"""

from __future__ import annotations

import asyncio
import threading
import unittest
from typing import Any

import redis
import redis.asyncio
from support import CLUSTER_URL, address

import redis_rank.asyncio
from redis_rank import IncompleteAnswer, ShardedLeaderboard
from redis_rank.shards import SLOTS, crc16

MEMBERS = {f"member {number}": number % 50 for number in range(400)}
SCHEMA: dict[str, Any] = {"fields": ["score BITS 20"], "ties": "FIRST", "timeout": 60}


def slot_of(key: str) -> int:
    return crc16(key[key.index("{") + 1 : key.index("}")].encode()) % SLOTS


class Failover(unittest.TestCase):
    def setUp(self) -> None:
        self.cluster = redis.RedisCluster.from_url(CLUSTER_URL, socket_timeout=5)
        self.addCleanup(self.cluster.close)
        self.board = ShardedLeaderboard(self.cluster, "game", 8, **SCHEMA)

    def node(self, key: str) -> Any:
        """A client to the primary of a key, by the cluster's own account."""
        self.cluster.nodes_manager.initialize()
        node = self.cluster.get_node_from_key(key)
        client = redis.Redis(host=node.host, port=node.port)
        self.addCleanup(client.close)
        return client

    def move(self, key: str) -> None:
        source, slot = self.node(key), slot_of(key)
        source_id = source.execute_command("CLUSTER MYID").decode()
        # The node of the URL gets nothing, so that it is not among those that will end.
        known = address(CLUSTER_URL)["port"]
        nodes = [node for node in self.cluster.get_primaries() if node.port != known]
        primaries = [redis.Redis(host=node.host, port=node.port) for node in nodes]
        target = next(node for node in primaries if node.execute_command("CLUSTER MYID").decode() != source_id)
        target_id = target.execute_command("CLUSTER MYID").decode()
        target.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", source_id)
        source.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", target_id)
        port = target.connection_pool.connection_kwargs["port"]
        source.execute_command("MIGRATE", "127.0.0.1", port, "", 0, 5000, "KEYS", key)
        for node in (target, source):
            node.execute_command("CLUSTER SETSLOT", slot, "NODE", target_id)
        for node in primaries:
            node.close()

    def answers(self) -> list[Any]:
        board, name = self.board, "member 123"
        return [
            board.top(20),
            board.get(name),
            board.range(200, 219),
            board.around(name, 5),
            board.count(),
            board.percentile(name),
        ]

    async def answers_of_asyncio(self) -> list[Any]:
        name = "member 123"
        async with redis.asyncio.RedisCluster.from_url(CLUSTER_URL, socket_timeout=5) as cluster:
            board = redis_rank.asyncio.ShardedLeaderboard(cluster, "game", 8, **SCHEMA)
            return [
                await board.top(20), await board.get(name), await board.range(200, 219), await board.around(name, 5),
                await board.count(), await board.percentile(name),
            ]  # fmt: skip

    def test_1_slots_that_move(self) -> None:
        self.board.add_many(MEMBERS)
        expected = self.answers()
        moves = threading.Thread(target=lambda: [self.move(key) for key in self.board.calls.keys])
        moves.start()
        rounds = 0
        while moves.is_alive() or rounds < 3:
            self.assertEqual(self.answers(), expected)
            self.assertEqual(asyncio.run(self.answers_of_asyncio()), expected)
            self.assertEqual(self.board.add("member 7", MEMBERS["member 7"]), 0)
            rounds += 1
        moves.join()

    def test_2_a_primary_that_dies(self) -> None:
        expected = self.answers()
        primary = self.node(self.board.calls.keys[0])
        primary.incr("x" + self.board.calls.keys[0].split(":")[-1])
        self.assertGreaterEqual(primary.wait(1, 20_000), 1)
        with self.assertRaises(redis.ConnectionError):
            primary.execute_command("SHUTDOWN", "NOSAVE")
            primary.ping()
        self.assertEqual(self.answers(), expected)
        self.assertEqual(asyncio.run(self.answers_of_asyncio()), expected)
        self.assertEqual((self.board.add("newcomer", 1), self.board.remove("newcomer")), (1, 1))

    def test_3_a_part_that_is_gone(self) -> None:
        primary = self.node(self.board.calls.keys[0])
        with self.assertRaises(redis.ConnectionError):
            primary.execute_command("SHUTDOWN", "NOSAVE")
            primary.ping()
        self.board.calls.timeout = 1
        for question in (self.board.count, lambda: self.board.top(5), lambda: self.board.percentile("member 1")):
            with self.assertRaises(IncompleteAnswer):
                question()
