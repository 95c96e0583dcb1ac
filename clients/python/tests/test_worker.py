"""Workers, in threads and in asyncio: each scenario of clients/scenarios/worker.json is the test of its name."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import json
import logging
import signal
import subprocess
import sys
import threading
import time
import unittest
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import redis
import redis.asyncio
from proxy import Proxy
from servers import Server, wait_for
from support import URL, Case, address, supports

import redis_rank.asyncio
from redis_rank import Claim, Dead, Event, Job, NotPermitted, Retry, Schedule, Worker, WrongType

LOG = "redis_rank.worker"
SCENARIOS = json.loads((Path(__file__).parents[2] / "scenarios/worker.json").read_text())["scenarios"]
KINDS = ("sync", "asyncio")

# What a handler returns says how it goes on: for so many seconds, until an event, or not at all.
Handler = Callable[[Job], "float | threading.Event | None"]


class Running:
    """A worker in a thread of its own."""

    def __init__(self, kind: str, handle: Handler, url: str = URL, keys: dict[str, Any] | None = None, **options: Any):
        self.kind, self.handle, self.url, self.options = kind, handle, url, options
        self.keys = {"data": "due:data"} if keys is None else keys
        self.error: BaseException | None = None
        self.cancelled: list[Job] = []
        self.worker: Any = None
        self.run_again = False
        self.stop = lambda: None
        self.is_ready = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        self.is_ready.wait(60)

    def run(self) -> None:
        try:
            self.run_threads() if self.kind == "sync" else asyncio.run(self.run_tasks())
        except BaseException as error:
            self.error = error
        finally:
            self.is_ready.set()

    def run_threads(self) -> None:
        def act(job: Job) -> None:
            work = self.handle(job)
            work.wait(60) if isinstance(work, threading.Event) else time.sleep(work or 0)

        with redis.Redis.from_url(self.url) as client:
            self.worker = Worker(Schedule(client, "due:jobs", **self.keys), act, **self.options)
            self.stop = self.worker.stop
            self.is_ready.set()
            self.worker.run()

    async def run_tasks(self) -> None:
        async def act(job: Job) -> None:
            work = self.handle(job)
            try:
                if not isinstance(work, threading.Event):
                    return await asyncio.sleep(work or 0)
                while not work.is_set():
                    await asyncio.sleep(0.005)
            except asyncio.CancelledError:
                self.cancelled.append(job)
                raise

        async with redis.asyncio.Redis.from_url(self.url) as client:
            self.worker = redis_rank.asyncio.Worker(redis_rank.asyncio.Schedule(client, "due:jobs", **self.keys), act, **self.options)
            loop = asyncio.get_running_loop()

            def stop() -> None:
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(self.worker.stop)

            self.stop = stop
            self.is_ready.set()
            await self.worker.run()

    def join(self) -> None:
        self.thread.join(60)
        if self.thread.is_alive():
            raise TimeoutError("run() does not end")
        if self.error is not None:
            raise self.error


def on_both_kinds(test: Callable[[Any, str], None]) -> Callable[[Any], None]:
    @functools.wraps(test)
    def each(self: Any) -> None:
        for kind in KINDS:
            with self.subTest(kind):
                self.redis.flushall()
                test(self, kind)

    return each


class Workers(Case):
    def setUp(self) -> None:
        super().setUp()
        self.shorten("_BLOCK", 0.1)
        self.schedule = Schedule(self.redis, "due:jobs", data="due:data")

    def shorten(self, name: str, seconds: float) -> None:
        """So that stop() is quick, or the notice that nothing comes through."""
        patched = patch(f"redis_rank.worker.{name}", seconds)
        patched.start()
        self.addCleanup(patched.stop)

    def start(self, kind: str, handle: Handler, *args: Any, **options: Any) -> Running:
        running = Running(kind, handle, *args, **options)
        self.addCleanup(running.stop)
        return running

    def proxy(self) -> tuple[Proxy, str]:
        proxy = Proxy(address(URL)["port"])
        self.addCleanup(proxy.close)
        return proxy, f"redis://127.0.0.1:{proxy.port}"

    def is_done(self) -> bool:
        return self.schedule.info().items == 0

    def claim(self) -> Claim:
        """By another client; waits until the item can be claimed."""
        [claim] = wait_for(lambda: self.schedule.claim(1, lease=60, block=1))
        return claim

    # --- what becomes of an item ------------------------------------------------------------------------

    @on_both_kinds
    def test_done(self, kind: str) -> None:
        before = time.time()
        self.schedule.add("job", after=0, data={"to": "ann"})
        seen: list[tuple[Any, ...]] = []

        def handle(job: Job) -> None:
            seen.append((job.item, job.data, job.attempt, job.token > 0, job.lost))
            self.assertAlmostEqual(job.due, before, delta=60)

        worker = self.start(kind, handle)
        wait_for(self.is_done)
        worker.stop()
        worker.join()
        self.assertEqual(seen, [("job", {"to": "ann"}, 1, True, False)])
        self.assertEqual(self.redis.exists("due:jobs", "due:data"), 0)

    @on_both_kinds
    def test_fails_and_is_retried(self, kind: str) -> None:
        self.schedule.add("job", after=0, data=1)
        seen: list[tuple[int, float]] = []

        def handle(job: Job) -> None:
            seen.append((job.attempt, time.monotonic()))
            if job.attempt == 1:
                raise ValueError("the first time")

        with self.assertLogs(LOG, "ERROR"):
            worker = self.start(kind, handle, backoff=lambda attempt: 0.05)
            wait_for(self.is_done)
            worker.stop()
            worker.join()
        self.assertEqual([attempt for attempt, _ in seen], [1, 2])
        self.assertGreaterEqual(seen[1][1] - seen[0][1], 0.049)
        self.assertEqual(self.redis.exists("due:jobs", "due:data"), 0)

    @on_both_kinds
    def test_fails_too_often(self, kind: str) -> None:
        self.schedule.add("job", after=0, data="text")
        attempts: list[int] = []

        def handle(job: Job) -> None:
            attempts.append(job.attempt)
            raise ValueError("always")

        with self.assertLogs(LOG, "ERROR"):
            worker = self.start(kind, handle, attempts=3, dead="due:dead", backoff=lambda attempt: 0.01)
            wait_for(self.is_done)
            worker.stop()
            worker.join()
        self.assertEqual(attempts, [1, 2, 3])
        self.assertEqual(self.redis.zrange("due:dead", 0, -1), [b"job"])
        self.assertEqual(self.redis.hgetall("due:data"), {b"job": b'"text"'})

    @on_both_kinds
    def test_handler_says_retry(self, kind: str) -> None:
        self.schedule.add("job", after=0, data="text")
        seen: list[tuple[int, Any, float]] = []

        def handle(job: Job) -> None:
            seen.append((job.attempt, job.data, time.monotonic()))
            if job.attempt == 1:
                raise Retry(after="200ms")

        with self.assertNoLogs(LOG, "ERROR") if hasattr(self, "assertNoLogs") else self.subTest():
            worker = self.start(kind, handle)
            wait_for(self.is_done)
            worker.stop()
            worker.join()
        self.assertEqual([(attempt, data) for attempt, data, _ in seen], [(1, "text"), (2, "text")])
        self.assertGreaterEqual(seen[1][2] - seen[0][2], 0.199)

    @on_both_kinds
    def test_handler_says_dead(self, kind: str) -> None:
        self.schedule.add("job", after=0, data="text")
        attempts: list[int] = []

        def handle(job: Job) -> None:
            attempts.append(job.attempt)
            raise Dead("no such address")

        with self.assertLogs(LOG, "WARNING") as logs:
            worker = self.start(kind, handle, attempts=5, keys={"data": "due:data", "dead": "due:dead"})
            wait_for(self.is_done)
            worker.stop()
            worker.join()
        self.assertIn("no such address", logs.output[0])
        self.assertEqual((attempts, self.redis.zrange("due:dead", 0, -1)), ([1], [b"job"]))
        self.assertEqual(self.redis.hgetall("due:data"), {b"job": b'"text"'})

    @on_both_kinds
    def test_dead_without_a_dead_schedule(self, kind: str) -> None:
        self.schedule.add("job", after=0)

        def handle(job: Job) -> None:
            raise Dead("no such address")

        with self.assertRaisesRegex(RuntimeError, "dead="):
            self.start(kind, handle).join()
        self.assertEqual(self.schedule.info().items, 1)

    @on_both_kinds
    def test_time_limit(self, kind: str) -> None:
        self.schedule.add("job", after=0)
        end = threading.Event()
        jobs: list[Job] = []

        def handle(job: Job) -> threading.Event | None:
            jobs.append(job)
            return end if job.attempt == 1 else None

        with self.assertLogs(LOG, "ERROR"):
            worker = self.start(kind, handle, concurrency=2, time_limit=0.2, backoff=lambda attempt: 0.01)
            wait_for(self.is_done)
        self.schedule.add("job", after=1000)
        end.set()
        worker.stop()
        worker.join()
        self.assertEqual(([job.attempt for job in jobs], jobs[0].lost), ([1, 2], kind == "sync" or jobs[0].lost))
        self.assertEqual(worker.cancelled, [jobs[0]] if kind == "asyncio" else [])
        # What the first call returned has acknowledged nothing.
        self.assertEqual(self.schedule.info().items, 1)

    @unittest.skipUnless(supports("DUE.ACK", "AT"), "the server has no ACK … AT")
    @on_both_kinds
    def test_every(self, kind: str) -> None:
        self.schedule.add("job", after=0, data="text")
        seen: list[tuple[int, Any]] = []
        worker = self.start(kind, lambda job: seen.append((job.attempt, job.data)), every=1)
        wait_for(lambda: len(seen) >= 2)
        worker.stop()
        worker.join()
        self.assertEqual(set(seen), {(1, "text")})
        [(item, due)] = self.redis.zrange("due:jobs", 0, -1, withscores=True)
        self.assertEqual((item, due % 1000), (b"job", 0))

    @unittest.skipUnless(supports("DUE.CLAIM", "RATE"), "the server has no CLAIM … RATE")
    @on_both_kinds
    def test_rate(self, kind: str) -> None:
        self.schedule.add(*"abcde", after=0)
        seen: list[str] = []
        worker = self.start(kind, lambda job: seen.append(job.item), keys={}, rate=("due:limit", "2/1h"))
        wait_for(lambda: self.schedule.info().items == 3)
        worker.stop()
        worker.join()
        self.assertEqual((len(seen), self.schedule.info().claimed), (2, 0))
        self.assertEqual(redis_rank.RateLimiter(self.redis, "2/1h").peek("due:limit").remaining, 0)

    @on_both_kinds
    def test_observed(self, kind: str) -> None:
        for at, item in enumerate(("done", "retry", "dead", "failed", "lost")):
            self.schedule.add(item, at=at + 1)
        events: list[Event] = []
        is_lost = threading.Event()
        lost: list[Job] = []

        def handle(job: Job) -> Any:
            if job.item == "retry" and job.attempt == 1:
                raise Retry(after=60)
            if job.item == "dead":
                raise Dead("it is")
            if job.item == "failed":
                raise ValueError("it did")
            if job.item == "lost":
                lost.append(job)
                self.redis.zrem("due:jobs", "lost")
                return is_lost
            return None

        def observe(event: Event) -> None:
            events.append(event)
            raise ValueError("an observer that raises")

        with self.assertLogs(LOG, "ERROR"):
            options: dict[str, Any] = {"attempts": 5, "dead": "due:dead", "lease": 1.5, "backoff": lambda attempt: 60}
            worker = self.start(kind, handle, observe=observe, **options)
            wait_for(lambda: len(events) >= 4 and lost and lost[0].lost)
            is_lost.set()
            wait_for(lambda: len(events) == 5)
            worker.stop()
            worker.join()
        self.assertEqual([(event.item, event.kind, event.attempt) for event in events], [(kind, kind, 1) for kind in ("done", "retry", "dead", "failed", "lost")])
        self.assertTrue(all(0 <= event.seconds < 60 for event in events))

    @on_both_kinds
    def test_payloads_are_JSON(self, kind: str) -> None:
        self.schedule.add("job", after=0, data={"to": "ann", "n": [1, None]})
        self.assertEqual(self.redis.hget("due:data", "job"), b'{"to":"ann","n":[1,null]}')
        self.schedule.add("bad", after=0)
        self.redis.hset("due:data", "bad", "no JSON")
        seen: list[Any] = []
        with self.assertLogs(LOG, "ERROR") as logs:
            worker = self.start(kind, lambda job: seen.append(job.data), attempts=2, dead="due:dead", backoff=lambda attempt: 0)
            wait_for(self.is_done)
            worker.stop()
            worker.join()
        self.assertEqual(seen, [{"to": "ann", "n": [1, None]}])
        self.assertEqual((self.redis.zrange("due:dead", 0, -1), self.redis.hget("due:data", "bad")), ([b"bad"], b"no JSON"))
        self.assertIn("the payload of 'bad' is no JSON text", "".join(logs.output))

    @on_both_kinds
    def test_payloads_as_text(self, kind: str) -> None:
        jobs = Schedule(self.redis, "due:jobs", "due:data", payload=str)
        jobs.add("job", after=0, data='{"to": é')
        self.assertEqual(self.redis.hget("due:data", "job"), '{"to": é'.encode())
        seen: list[Any] = []
        worker = self.start(kind, lambda job: seen.append(job.data), keys={"data": "due:data", "payload": str})
        wait_for(self.is_done)
        worker.stop()
        worker.join()
        self.assertEqual(seen, ['{"to": é'])
        with self.assertRaises(TypeError):
            jobs.add("job", after=0, data={"to": "ann"})

    @on_both_kinds
    def test_logs_show_no_payload(self, kind: str) -> None:
        for item in ("fails", "retried", "dies", "lost", "broken"):
            self.schedule.add(item, after=0, data={"key": "SECRET"})
        self.redis.hset("due:data", "broken", "{SECRET")
        is_lost = threading.Event()
        lost: list[Job] = []

        def handle(job: Job) -> Any:
            if job.item == "retried" and job.attempt == 1:
                raise Retry(after=0)
            if job.item == "dies":
                raise Dead("it does")
            if job.item == "lost":
                lost.append(job)
                self.redis.zrem("due:jobs", "lost")
                return is_lost
            if job.item == "fails":
                log.error("%r %r", job, job.claim)
                raise ValueError("it did")
            return None

        log = logging.getLogger(LOG)
        with self.assertLogs(level="DEBUG") as logs:
            worker = self.start(kind, handle, lease=1.5, attempts=2, dead="due:dead", concurrency=5, backoff=lambda attempt: 0)
            wait_for(lambda: self.is_done() and self.redis.zcard("due:dead") == 3)
            wait_for(lambda: lost and lost[0].lost)
            is_lost.set()
            wait_for(lambda: any("'lost'" in line for line in logs.output))
            worker.stop()
            worker.join()
        shown = "\n".join(logs.output)
        for item in ("fails", "dies", "lost", "broken"):
            self.assertIn(repr(item), shown)
        self.assertNotIn("SECRET", shown)

    # --- handlers of the wrong kind -----------------------------------------------------------------------

    def test_wrong_kind_of_handler(self) -> None:
        async def coroutine(job: Job) -> None:
            pass

        async def async_generator(job: Job) -> Any:
            yield 1

        def generator(job: Job) -> Any:
            yield 1

        def plain(job: Job) -> None:
            pass

        class AsyncObject:
            async def __call__(self, job: Job) -> None:
                pass

            async def method(self, job: Job) -> None:
                pass

        class PlainObject:
            def __call__(self, job: Job) -> None:
                pass

        @functools.wraps(coroutine)
        def decorated(job: Job) -> Any:
            return coroutine(job)

        asynchronous: list[Any] = [coroutine, functools.partial(coroutine), AsyncObject(), AsyncObject().method, decorated]
        self.schedule.add("job", after=0)
        client = redis.asyncio.Redis.from_url(URL)
        schedule = redis_rank.asyncio.Schedule(client, "due:jobs")
        for handler in [*asynchronous, generator, async_generator, None, "text"]:
            with self.subTest(handler=handler), self.assertRaises(TypeError):
                Worker(self.schedule, handler)
        for handler in [plain, functools.partial(plain), PlainObject(), print, generator, async_generator, None]:
            with self.subTest(handler=handler), self.assertRaises(TypeError):
                redis_rank.asyncio.Worker(schedule, handler)
        for handler in [plain, functools.partial(plain), PlainObject(), print, self.schedule.ack]:
            Worker(self.schedule, handler)
        for handler in [*asynchronous, lambda job: coroutine(job)]:
            redis_rank.asyncio.Worker(schedule, handler)
        for worker, wrong in ((Worker, schedule), (redis_rank.asyncio.Worker, self.schedule), (Worker, self.redis)):
            with self.assertRaisesRegex(TypeError, "expected a Schedule"):
                worker(wrong, plain)  # type: ignore[operator]
        self.assertEqual(self.schedule.claim(1)[0].attempt, 1)

    def test_handler_of_the_wrong_kind_in_disguise(self) -> None:
        async def coroutine(job: Job) -> None:
            pass

        async def work() -> None:
            async with redis.asyncio.Redis.from_url(URL) as client:
                await redis_rank.asyncio.Worker(redis_rank.asyncio.Schedule(client, "due:jobs"), lambda job: None).run()  # type: ignore[arg-type,return-value]

        for run in (lambda: Worker(self.schedule, lambda job: coroutine(job)).run(), lambda: asyncio.run(work())):
            self.redis.flushall()
            self.schedule.add("job", after=0)
            with self.assertRaises(TypeError):
                run()
            self.assertEqual(self.schedule.info().items, 1)

    # --- leases -------------------------------------------------------------------------------------------

    @on_both_kinds
    def test_renewed_while_the_handler_runs(self, kind: str) -> None:
        self.schedule.add("job", after=0)
        jobs: list[Job] = []

        def handle(job: Job) -> float:
            jobs.append(job)
            return 3.2

        # Long enough for a machine that has much else to do.
        worker = self.start(kind, handle, lease=0.8)
        wait_for(lambda: jobs)
        claims: list[Any] = []
        while not self.is_done():
            claims += self.schedule.claim(block=0.1)
        worker.stop()
        worker.join()
        self.assertEqual(([job.attempt for job in jobs], claims), ([1], []))

    def lost_while(self, kind: str, begin: Callable[[Proxy], None]) -> None:
        self.shorten("TIMEOUT", 1.5)
        proxy, url = self.proxy()
        self.schedule.add("job", after=0)
        jobs: list[Job] = []
        end = threading.Event()

        def handle(job: Job) -> threading.Event:
            jobs.append(job)
            return end

        with self.assertLogs(LOG):
            worker = self.start(kind, handle, url, lease=1.0)
            wait_for(lambda: jobs)
            worker.stop()
            begin(proxy)
            # Known by the worker's own clock, while nothing comes through.
            wait_for(lambda: jobs[0].lost)
            if kind == "asyncio":
                wait_for(lambda: worker.cancelled)
            proxy.mend()
            time.sleep(0.2)
            self.assertTrue(jobs[0].lost)
            end.set()
            worker.join()
        claim = self.claim()
        self.assertEqual((claim.item, claim.attempt, self.schedule.ack(claim)), ("job", jobs[0].attempt + 1, 1))

    @on_both_kinds
    def test_lost_in_a_black_hole(self, kind: str) -> None:
        self.lost_while(kind, lambda proxy: setattr(proxy, "is_hole", True))

    @on_both_kinds
    def test_lost_in_a_cut(self, kind: str) -> None:
        self.lost_while(kind, lambda proxy: proxy.cut())

    @on_both_kinds
    def test_late_renewal(self, kind: str) -> None:
        self.lost_while(kind, lambda proxy: proxy.is_released.clear())

    @on_both_kinds
    def test_taken_by_somebody_else(self, kind: str) -> None:
        self.schedule.add("job", after=0)
        jobs: list[Job] = []
        end = threading.Event()

        def handle(job: Job) -> threading.Event | None:
            jobs.append(job)
            if job.item == "other":
                return None
            self.redis.zrem("due:jobs", job.item)
            return end

        with self.assertLogs(LOG):
            worker = self.start(kind, handle, lease=1.5)
            wait_for(lambda: jobs and jobs[0].lost)
            self.redis.zadd("due:jobs", {"job": 4e12})
            end.set()
            self.schedule.add("other", after=0)
            wait_for(lambda: self.schedule.info().items == 1 and len(jobs) == 2)
            worker.stop()
            worker.join()
        self.assertEqual(self.redis.zscore("due:jobs", "job"), 4e12)

    # --- mistakes -----------------------------------------------------------------------------------------

    def user(self, *rules: str) -> str:
        self.redis.execute_command("ACL", "SETUSER", "nobody", "reset", "on", "nopass", "~*", "+ping", "+client", "+hello", *rules)
        self.addCleanup(self.redis.execute_command, "ACL", "DELUSER", "nobody")
        return URL.replace("redis://", "redis://nobody:x@")

    @on_both_kinds
    def test_may_claim_but_not_acknowledge(self, kind: str) -> None:
        self.schedule.add("a", "b", after=0)
        seen: list[Any] = []
        with self.assertRaises(NotPermitted):
            self.start(kind, lambda job: seen.append(job), self.user("+due.claim", "+due.move")).join()
        self.assertEqual(len(seen), 1)

    @on_both_kinds
    def test_may_not_claim(self, kind: str) -> None:
        with self.assertRaises(NotPermitted):
            self.start(kind, print, self.user()).join()
        self.redis.set("due:jobs", "text")
        with self.assertRaises(WrongType):
            self.start(kind, print).join()

    def test_options(self) -> None:
        wrong: list[Any] = [
            {"attempts": 3}, {"dead": "x"}, {"concurrency": 0}, {"lease": 0.01}, {"every": 0}, {"time_limit": -1},
            {"rate": "5/1s"}, {"grace": -1},
        ]  # fmt: skip
        for options in wrong:
            with self.subTest(options), self.assertRaises(ValueError):
                Worker(self.schedule, print, **options)
        with self.assertRaises(TypeError):
            Worker(self.schedule, print, atempts=3)  # type: ignore[call-arg]
        with self.assertRaises(TypeError):
            Worker(Schedule(self.redis.pipeline(), "due:jobs"), print)

    # --- the end --------------------------------------------------------------------------------------------

    @on_both_kinds
    def test_stop_waits_for_handlers(self, kind: str) -> None:
        self.schedule.add(*"abcd", after=0)
        jobs: list[Job] = []
        end = threading.Event()

        def handle(job: Job) -> threading.Event:
            jobs.append(job)
            return end

        worker = self.start(kind, handle, concurrency=2)
        wait_for(lambda: len(jobs) == 2)
        worker.stop()
        end.set()
        worker.join()
        info = self.schedule.info()
        self.assertEqual((len(jobs), info.items, info.claimed), (2, 2, 0))

    @on_both_kinds
    def test_stop_has_a_grace_time(self, kind: str) -> None:
        self.schedule.add("job", after=0)
        jobs: list[Job] = []
        end = threading.Event()
        self.addCleanup(end.set)

        def handle(job: Job) -> threading.Event:
            jobs.append(job)
            return end

        with self.assertLogs(LOG):
            worker = self.start(kind, handle, grace=0.3, lease=0.6)
            wait_for(lambda: jobs)
            worker.stop()
            worker.join()
        self.assertTrue(jobs[0].lost)
        end.set()
        self.assertEqual(self.claim().attempt, 2)

    @on_both_kinds
    def test_stop_with_a_vanished_host(self, kind: str) -> None:
        self.shorten("TIMEOUT", 1.5)
        proxy, url = self.proxy()
        worker = self.start(kind, print, url)
        wait_for(lambda: any("b" in client["flags"] for client in self.redis.client_list()))
        proxy.is_hole = True
        worker.stop()
        worker.join()
        self.assertTrue(proxy.is_hole)

    @on_both_kinds
    def test_stop_with_a_vanished_host_and_a_running_handler(self, kind: str) -> None:
        self.shorten("TIMEOUT", 1.5)
        proxy, url = self.proxy()
        self.schedule.add("job", after=0)
        jobs: list[Job] = []
        end = threading.Event()

        def handle(job: Job) -> threading.Event:
            jobs.append(job)
            return end

        with self.assertLogs(LOG):
            worker = self.start(kind, handle, url, lease=1.0, grace=1.0)
            wait_for(lambda: jobs)
            proxy.is_hole = True
            worker.stop()
            end.set()
            worker.join()
        self.assertTrue(proxy.is_hole)

    def test_runs_again_after_stop(self) -> None:
        seen: list[str] = []

        def handle(job: Job) -> None:
            seen.append(job.item)
            worker.stop()

        worker: Any = Worker(self.schedule, handle)
        for item in "ab":
            self.schedule.add(item, after=0)
            worker.run()

        async def handle_async(job: Job) -> None:
            handle(job)

        async def work() -> None:
            nonlocal worker
            async with redis.asyncio.Redis.from_url(URL) as client:
                worker = redis_rank.asyncio.Worker(redis_rank.asyncio.Schedule(client, "due:jobs"), handle_async)
                for item in "cd":
                    self.schedule.add(item, after=0)
                    await worker.run()

        asyncio.run(work())
        self.assertEqual(seen, [*"abcd"])

    @on_both_kinds
    def test_runs_once_at_a_time(self, kind: str) -> None:
        worker = self.start(kind, print)
        wait_for(lambda: any("b" in client["flags"] for client in self.redis.client_list()))
        with self.assertRaisesRegex(RuntimeError, "running already"):
            again = worker.worker.run()
            asyncio.run(again) if inspect.iscoroutine(again) else None
        worker.stop()
        worker.join()

    def test_stop_before_run(self) -> None:
        self.schedule.add("job", after=0)

        def handle(job: Job) -> None:
            worker.stop()

        worker: Any = Worker(self.schedule, handle)
        worker.stop()
        worker.run()

        async def handle_async(job: Job) -> None:
            worker.stop()

        async def work() -> None:
            nonlocal worker
            async with redis.asyncio.Redis.from_url(URL) as client:
                worker = redis_rank.asyncio.Worker(redis_rank.asyncio.Schedule(client, "due:jobs"), handle_async)
                worker.stop()
                await worker.run()

        self.assertEqual(self.schedule.info().items, 0)
        self.schedule.add("job", after=0)
        asyncio.run(work())
        self.assertEqual(self.schedule.info().items, 0)

    def test_server_goes_away_and_comes_back(self) -> None:
        server = Server("--appendonly", "yes", "--appendfsync", "always")
        self.addCleanup(server.close)
        for kind in KINDS:
            with self.subTest(kind):
                with server.client() as client:
                    client.flushall()
                    Schedule(client, "due:jobs").add(*[f"job{at}" for at in range(40)], after=0)
                done: set[str] = set()
                killed = threading.Event()

                def handle(job: Job) -> float:
                    if len(done) == 10 and not killed.is_set():
                        killed.set()
                        server.kill()
                        threading.Timer(0.5, server.start).start()
                    done.add(job.item)
                    return 0.01

                def is_done() -> bool:
                    with server.client() as client:
                        return len(done) == 40 and Schedule(client, "due:jobs").info().items == 0

                with self.assertLogs(LOG):
                    worker = self.start(kind, handle, server.url, concurrency=3, lease=2.0)
                    wait_for(is_done)
                    worker.stop()
                    worker.join()

    def test_revived(self) -> None:
        jobs = Schedule(self.redis, "due:jobs", "due:data", dead="due:dead")
        jobs.add("job", after=0, data={"to": "ann"})
        [claim] = jobs.claim()
        self.assertTrue(jobs.bury(claim))
        self.assertFalse(jobs.bury(claim) and not jobs.dead.get("job"))
        self.assertEqual([(item.item, item.data) for item in jobs.dead.list()], [("job", {"to": "ann"})])
        self.assertEqual((jobs.info().items, jobs.revive("job"), jobs.revive("job"), jobs.revive("other")), (0, True, False, False))
        self.assertEqual((jobs.dead.list(), jobs.dead.get("job")), ([], None))
        [claim] = jobs.claim()
        self.assertEqual((claim.item, claim.attempt, claim.data), ("job", 1, {"to": "ann"}))
        # One that is alive again keeps its payload, whatever becomes of the dead one.
        self.redis.zadd("due:dead", {"job": 1})
        self.assertEqual((jobs.dead.discard("job"), jobs.dead.discard("job")), (True, False))
        listed = jobs.get("job")
        assert listed is not None
        self.assertEqual((listed.data, listed.claimed, listed.attempt), ({"to": "ann"}, True, 1))
        self.assertAlmostEqual(listed.due, time.time() + 30, delta=20)
        self.assertEqual(jobs.bury(claim), True)
        self.assertEqual((jobs.dead.discard("job"), self.redis.exists("due:jobs", "due:data", "due:dead")), (True, 0))
        jobs.add("x", at=5, data=7)
        self.assertEqual([(item.item, item.due, item.data, item.claimed) for item in jobs.list()], [("x", 5, 7, False)])
        for wrong in (lambda: self.schedule.dead, lambda: self.schedule.revive("job"), lambda: jobs.list(-1)):
            with self.assertRaises(ValueError):
                wrong()

    # --- signals ------------------------------------------------------------------------------------------

    def test_embedded_it_leaves_signals_alone(self) -> None:
        program = Path(__file__).with_name("worker_embedded.py")
        command = [sys.executable, str(program), URL]
        paths = [str(Path(__file__).parent.parent / "src"), *sys.path]
        host = subprocess.Popen(command, env={"PYTHONPATH": ":".join(paths)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        wait_for(lambda: self.redis.get("ready") or host.poll() is not None)
        self.schedule.add("job", after=0)
        wait_for(lambda: self.redis.get("handled") or host.poll() is not None)
        host.send_signal(signal.SIGTERM)
        shown = host.communicate(timeout=60)[0]
        self.assertIn("the worker has ended", shown)

    def test_signal_handlers_are_chained_and_restored(self) -> None:
        called: list[int] = []

        def before(number: int, frame: Any) -> None:
            called.append(number)

        async def handle_async(job: Job) -> None:
            signal.raise_signal(signal.SIGTERM)

        async def work() -> None:
            async with redis.asyncio.Redis.from_url(URL) as client:
                schedule = redis_rank.asyncio.Schedule(client, "due:jobs")
                await redis_rank.asyncio.Worker(schedule, handle_async, signals=True).run()

        for run in (lambda: Worker(self.schedule, lambda job: signal.raise_signal(signal.SIGTERM)).run(), lambda: asyncio.run(work())):
            old = signal.signal(signal.SIGTERM, before)
            try:
                self.schedule.add("job", after=0)
                run()
                self.assertIs(signal.getsignal(signal.SIGTERM), before)
            finally:
                signal.signal(signal.SIGTERM, old)
        self.assertEqual(called, [signal.SIGTERM] * 2)

    # --- elsewhere ------------------------------------------------------------------------------------------

    def test_every_scenario_has_a_test(self) -> None:
        import test_worker_processes

        elsewhere = {"signal ends it": "test_a_signal_ends_it_and_nothing_is_lost", "killed": "test_kill_9"}
        for scenario in SCENARIOS:
            name = scenario["name"]
            if "python" in scenario.get("in", ["python"]):
                place = test_worker_processes.Processes if name in elsewhere else Workers
                self.assertTrue(hasattr(place, elsewhere.get(name, "test_" + name.replace(" ", "_"))), name)
