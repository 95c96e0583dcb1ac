"""Replicas get the reads, primaries the writes."""

import asyncio
from typing import Any

import redis
import redis.asyncio
from support import CLUSTER_URL, Case

import redis_rank.asyncio
from redis_rank import Leaderboard, execute


def calls_of(nodes: list[Any], command: str) -> int:
    """How often a command was called on these nodes."""
    total = 0
    for node in nodes:
        with redis.Redis(host=node.host, port=node.port) as client:
            total += client.info("commandstats").get(f"cmdstat_{command}", {"calls": 0})["calls"]
    return total


class Replicas(Case):
    def setUp(self) -> None:
        super().setUp()
        self.cluster = redis.RedisCluster.from_url(CLUSTER_URL, read_from_replicas=True)
        self.addCleanup(self.cluster.close)
        for node in self.cluster.get_nodes():
            with redis.Redis(host=node.host, port=node.port) as client:
                client.config_resetstat()

    def counts(self, command: str) -> tuple[int, int]:
        replicas, primaries = self.cluster.get_replicas(), self.cluster.get_primaries()
        return calls_of(replicas, command), calls_of(primaries, command)

    def test_reads_reach_replicas(self) -> None:
        for index in range(30):
            board = Leaderboard(self.cluster, f"game{index}")
            board.add("ann", 5)
            board.top(1)
            execute(self.cluster, board.calls.count(), board.calls.score("ann"))
        for command in ("rank.topn", "rank.count"):
            replicas, primaries = self.counts(command)
            self.assertEqual(replicas + primaries, 30, command)
            self.assertGreater(replicas, 5, command)
        self.assertEqual(self.counts("rank.add")[1], 30)

    def test_reads_reach_replicas_with_asyncio(self) -> None:
        async def work() -> None:
            async with redis.asyncio.RedisCluster.from_url(CLUSTER_URL, read_from_replicas=True) as cluster:
                for index in range(30):
                    board = redis_rank.asyncio.Leaderboard(cluster, f"game{index}")
                    await board.top(1)

        asyncio.run(work())
        replicas, primaries = self.counts("rank.topn")
        self.assertEqual(replicas + primaries, 30)
        self.assertGreater(replicas, 5)

    def test_a_pipeline_over_several_nodes(self) -> None:
        cluster = redis.RedisCluster.from_url(CLUSTER_URL)
        self.addCleanup(cluster.close)
        boards = [Leaderboard(cluster, f"game{index}", ties="FIRST") for index in range(20)]
        for board in boards:
            board.create()
        self.assertEqual(execute(cluster, *(board.calls.add("ann", 5) for board in boards)), [1] * 20)
        self.assertEqual({board.info().ties for board in boards}, {"FIRST"})
