"""Schedules."""

from __future__ import annotations

import asyncio
from typing import Any

import redis
from support import CLIENTS, URL, Awaited, Case, on_each_client, with_client

from redis_rank import Due, Schedule, ScheduleInfo

NOW = 1_700_000_000


async def a_schedule(client: Any, package: Any) -> list[Any]:
    jobs = Awaited(package.Schedule(client, "jobs"))
    added = [
        await jobs.add("a", "b", at=NOW),
        await jobs.add("c", at=NOW + 5),
        await jobs.add("a", at=NOW - 0.001, nx=True),
    ]
    claims = await jobs.claim(2, lease="10s", now=NOW)
    moved = await jobs.move(claims[0], at=NOW + 60)
    return [
        added,
        [(claim.item, claim.attempt, claim.due) for claim in claims],
        await jobs.claim(now=NOW),
        [moved.item, moved.token != claims[0].token, await jobs.move(claims[0], after="1s")],
        await jobs.ack(claims[1], claims[1]),
        await jobs.info(now=NOW + 5),
        await jobs.pop(9, now=NOW + 5),
        await jobs.cancel("a", "none"),
        await jobs.info(),
    ]


class Schedules(Case):
    def test_the_same_values_from_every_client(self) -> None:
        expected = [
            [2, 1, 0],
            [("a", 1, NOW), ("b", 1, NOW)],
            [],
            ["a", True, None],
            1,
            ScheduleInfo(2, 1, 1, 0, NOW + 5),
            [Due("c", NOW + 5)],
            1,
            ScheduleInfo(0, 0, 0, 0, None),
        ]
        for variant, values in on_each_client(a_schedule):
            with self.subTest(variant):
                self.assertEqual(values, expected)

    def test_waiting(self) -> None:
        jobs = Schedule(self.redis, "jobs", items=bytes)
        jobs.add(b"\xff", after=0.3)
        [due] = jobs.pop(block=20)
        self.assertEqual(due.item, b"\xff")
        self.assertEqual(jobs.claim(block="10ms"), [])
        # Not 0, which is for ever.
        self.assertEqual(jobs.claim(block=0.0001), [])

    def test_waiting_for_longer_than_the_client_waits_for_a_reply(self) -> None:
        async def wait(client: Any, package: Any) -> list[Any]:
            jobs = Awaited(package.Schedule(client, "jobs"))
            await jobs.add("late", after="2500ms")
            return [await jobs.claim(block="1200ms"), [due.item for due in await jobs.pop(block="1m")]]

        for name in CLIENTS:
            with self.subTest(name):
                self.assertEqual(asyncio.run(with_client(name, 3, False, wait, socket_timeout=2)), [[], ["late"]])

    def test_waiting_for_ever(self) -> None:
        with redis.Redis.from_url(URL, socket_timeout=1) as client:
            jobs = Schedule(client, "jobs")
            jobs.add("late", after="1200ms")
            self.assertEqual([claim.item for claim in jobs.claim(block=0)], ["late"])

    def test_a_time_to_wait_that_is_none_is_an_error(self) -> None:
        for block in ("soon", -1):
            with self.assertRaises(ValueError):
                Schedule(self.redis, "jobs").claim(block=block)
