"""Boards, limiters and schedules on pipelines of redis-py: what is queued is sent with the pipeline, or never."""

from __future__ import annotations

import asyncio
import inspect
import unittest
from typing import Any

import redis
import redis.asyncio
from support import CLUSTER_URL, URL, Case, on_each_client, row, servers

import redis_rank
import redis_rank.asyncio
from redis_rank import Leaderboard, Lease, NoBoard, RateLimiter, Schedule, ShardedLeaderboard, Worker, raw


async def awaited(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


class Pipelines(Case):
    def test_each_client(self) -> None:
        async def scenario(client: Any, package: Any) -> Any:
            kinds = [False] if "Cluster" in type(client).__name__ else [False, True]
            answers = []
            for is_transaction in kinds:
                pipe = client.pipeline(transaction=is_transaction)
                key = f"{{game}}:{is_transaction}"
                board = package.Leaderboard(pipe, key, ties="FIRST", data="{game}:data")
                jobs = package.Schedule(pipe, f"{{jobs}}:{is_transaction}", "{jobs}:data")
                board.create()
                board.add("ann", 5, data={"age": 7})
                pipe.set(f"{{x}}{is_transaction}", "1")
                board.add_many({"bob": 6, "eve": 4})
                board.top(2)
                board.get("ann", data=True)
                board.score("eve")
                board.add_ranked("eve", 9)
                package.RateLimiter(pipe, "5/1s").check(f"ann{is_transaction}")
                package.RateLimiter(pipe, "5/1s", "9/1h").check(f"bob{is_transaction}")
                jobs.add("job", after=0, data=[1])
                jobs.claim()
                jobs.info()
                self.assertEqual(sum(map(len, [await awaited(client.zrange(key, 0, -1))])), 0)
                results = await awaited(pipe.execute())
                self.assertEqual([type(result).__name__ for result in results], [
                    "NoneType", "int", "bool", "int", "list", "Row", "int", "Change", "Verdict", "Verdict", "int", "list", "ScheduleInfo",
                ])  # fmt: skip
                self.assertEqual(results[4], [row(1, "bob", 6), row(2, "ann", 5)])
                self.assertEqual(results[5], row(2, "ann", 5, data={"age": 7}))
                self.assertEqual((results[7].rank, results[8].remaining, len(results[9].rules)), (1, 4, 2))
                self.assertEqual([(claim.item, claim.data) for claim in results[11]], [("job", [1])])
                answers.append(len(results))
            return answers

        for variant, answers in on_each_client(scenario):
            with self.subTest(variant):
                self.assertEqual(answers[0], 13)

    def test_what_was_discarded_did_not_happen(self) -> None:
        pipe = self.redis.pipeline()
        pipe.set("a", 1)
        self.assertIs(Leaderboard(pipe, "g").add("y", 1), pipe)
        pipe.reset()
        self.assertEqual(self.redis.dbsize(), 0)

        async def discarded() -> None:
            async with redis.asyncio.Redis.from_url(URL) as client:
                other = client.pipeline()
                await redis_rank.asyncio.Leaderboard(other, "g").add("y", 1)
                await other.reset()

        asyncio.run(discarded())
        self.assertEqual(self.redis.dbsize(), 0)

    def test_watch(self) -> None:
        with self.redis.pipeline() as pipe:
            pipe.watch("g")
            board = Leaderboard(pipe, "g")
            self.assertEqual(board.top(1), [])
            pipe.multi()
            board.add("ann", 5)
            self.redis.zadd("g", {"bob": 1})
            with self.assertRaises(redis.WatchError):
                pipe.execute()
        self.assertEqual(Leaderboard(self.redis, "g").top(2), [row(1, "bob", 1)])

    def test_errors_are_raised_by_the_pipeline(self) -> None:
        pipe = self.redis.pipeline()
        Leaderboard(pipe, "g", ties="FIRST").add("ann", 5)
        with self.assertRaisesRegex(redis.ResponseError, "NOBOARD"):
            pipe.execute()
        self.assertEqual(self.redis.dbsize(), 0)
        Leaderboard(pipe, "g", ties="FIRST").add("ann", 5)
        [error] = pipe.execute(raise_on_error=False)
        self.assertIsInstance(redis_rank.errors.translate(error), NoBoard)

    def test_others_see_their_replies_as_they_were(self) -> None:
        Leaderboard(self.redis.pipeline(), "g").score("ann")
        self.redis.zadd("g", {"ann": 5})
        self.assertEqual(float(self.redis.execute_command("RANK.SCORE", "g", "ann")), 5)

    def test_what_cannot_be_queued_is_an_error(self) -> None:
        cluster = servers()[1]
        for client in (self.redis, cluster):
            pipe = client.pipeline()
            makers: list[Any] = [
                lambda: ShardedLeaderboard(pipe, "g", 4), lambda: Lease(pipe, "l"), lambda: RateLimiter(pipe, "5/1s", timeout=1),
                lambda: RateLimiter(pipe, "5/1s", failing="open"), lambda: redis_rank.execute(pipe, raw("PING")),
                lambda: Leaderboard(pipe, "g").migrate(), lambda: Schedule(pipe, "s").cancel("x"),
                lambda: Schedule(pipe, "s").claim(block=1), lambda: RateLimiter(pipe, "5/1s").enforce("ann"),
                lambda: list(Leaderboard(pipe, "g").scan_all()), lambda: Worker(Schedule(pipe, "s"), print),
            ]  # fmt: skip
            for at, make in enumerate(makers):
                with self.subTest(at=at, client=client), self.assertRaises(TypeError):
                    make()
            with self.assertRaises(ValueError):
                Leaderboard(pipe, "g").add_many({})
            self.assertEqual(len(pipe.command_stack), 0)

        async def asynchronous() -> None:
            for other in (redis.asyncio.Redis.from_url(URL), redis.asyncio.RedisCluster.from_url(CLUSTER_URL)):
                pipe = other.pipeline()
                for make in (redis_rank.asyncio.Lease, lambda pipe, key: redis_rank.asyncio.ShardedLeaderboard(pipe, key, 4)):
                    with self.assertRaises(TypeError):
                        make(pipe, "l")
                with self.assertRaises(TypeError):
                    await redis_rank.asyncio.RateLimiter(pipe, "5/1s").enforce("ann")
                with self.assertRaises(TypeError):
                    Leaderboard(pipe, "g")
                await other.aclose()

        asyncio.run(asynchronous())


if __name__ == "__main__":
    unittest.main()
