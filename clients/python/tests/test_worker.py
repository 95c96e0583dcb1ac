"""Workers, in threads and in asyncio: nothing is lost, whatever ends them."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import redis
import redis.asyncio
from servers import Server, wait_for
from support import URL, Case

import redis_rank.asyncio
from redis_rank import Job, NotPermitted, Schedule, Worker, WrongType

LOG = "redis_rank.worker"


class Workers(Case):
    """Each scenario with both kinds of workers; the handlers are ordinary functions, which asyncio runs as they are."""

    def setUp(self) -> None:
        super().setUp()
        self.schedule = Schedule(self.redis, "due:jobs", data="due:data")

    def run_each(self, scenario: Any) -> None:
        for kind in ("sync", "asyncio"):
            with self.subTest(kind):
                self.redis.flushall()
                scenario(kind)

    def run_worker(self, kind: str, handle: Any, url: str = URL, **options: Any) -> None:
        """Runs until the handler calls `self.stop`; a handler returns for how many seconds it works on."""
        if kind == "sync":
            def act(job: Job) -> None:
                time.sleep(handle(job) or 0)

            with redis.Redis.from_url(url) as client:
                worker = Worker(Schedule(client, "due:jobs", data="due:data"), act, **options)
                self.stop = worker.stop
                worker.run()
            return

        async def act_async(job: Job) -> None:
            await asyncio.sleep(handle(job) or 0)

        async def work() -> None:
            async with redis.asyncio.Redis.from_url(url) as client:
                schedule = redis_rank.asyncio.Schedule(client, "due:jobs", data="due:data")
                worker = redis_rank.asyncio.Worker(schedule, act_async, **options)
                loop = asyncio.get_running_loop()
                self.stop = lambda: loop.call_soon_threadsafe(worker.stop)
                await worker.run()

        asyncio.run(work())

    def test_payloads_retries_and_dead_letters(self) -> None:
        def scenario(kind: str) -> None:
            for item in ("fine", "twice", "never"):
                self.schedule.add(item, after=0, data=f"data of {item}")
            seen: list[tuple[Any, ...]] = []

            def handle(job: Job) -> None:
                seen.append((job.item, job.data, job.attempt))
                self.assertGreater(job.token, 0)
                if len(seen) == 6:
                    self.stop()
                if job.item == "never" or (job.item == "twice" and job.attempt == 1):
                    raise ValueError(job.item)

            with self.assertLogs(LOG):
                self.run_worker(kind, handle, attempts=3, dead="due:dead", backoff=lambda attempt: 0.02 * attempt)
            expected = [("fine", 1), ("twice", 1), ("twice", 2), ("never", 1), ("never", 2), ("never", 3)]
            self.assertEqual(sorted(seen), sorted((item, f"data of {item}", attempt) for item, attempt in expected))
            # The next claim moves it.
            self.assertEqual(self.schedule.claim(attempts=3, dead="due:dead"), [])
            self.assertEqual((self.redis.zrange("due:dead", 0, -1), self.schedule.info().items), ([b"never"], 0))
            self.assertEqual(self.redis.hgetall("due:data"), {b"never": b"data of never"})

        self.run_each(scenario)

    def test_concurrency_and_renewal(self) -> None:
        def scenario(kind: str) -> None:
            for at in range(6):
                self.schedule.add(f"job{at}", after=0)
            running: list[float] = []
            lock = threading.Lock()

            def handle(job: Job) -> float:
                with lock:
                    running.append(time.monotonic())
                    self.assertEqual(job.attempt, 1)
                    if len(running) == 6:
                        self.stop()
                # Four times as long as the lease.
                return 1.2

            begin = time.monotonic()
            self.run_worker(kind, handle, concurrency=3, lease=0.3)
            self.assertEqual((len(running), self.schedule.info().items), (6, 0))
            self.assertLess(sorted(running)[2] - begin, 1.2)
            self.assertGreaterEqual(sorted(running)[3] - begin, 1.1)

        self.run_each(scenario)

    def test_a_lease_that_is_lost(self) -> None:
        def scenario(kind: str) -> None:
            self.schedule.add("job", after=0)
            jobs: list[Job] = []

            def handle(job: Job) -> float:
                jobs.append(job)
                self.redis.zrem("due:jobs", job.item)
                self.stop()
                return 1.0

            with self.assertLogs(LOG):
                begin = time.monotonic()
                self.run_worker(kind, handle, lease=0.3)
                # asyncio cancels what is of no use any more.
                self.assertEqual(time.monotonic() - begin < 1.0, kind == "asyncio")
            self.assertTrue(jobs[0].lost)

        self.run_each(scenario)

    def test_a_server_that_goes_away_and_comes_back(self) -> None:
        server = Server("--appendonly", "yes", "--appendfsync", "always")
        self.addCleanup(server.close)

        def scenario(kind: str) -> None:
            with server.client() as client:
                client.flushall()
                jobs = Schedule(client, "due:jobs", data="due:data")
                jobs.add(*[f"job{at}" for at in range(40)], after=0)
            done: set[str] = set()
            killed = threading.Event()

            def handle(job: Job) -> float:
                if len(done) == 10 and not killed.is_set():
                    killed.set()
                    server.kill()
                    threading.Timer(0.5, server.start).start()
                done.add(job.item)
                if len(done) == 40:
                    self.stop()
                return 0.01

            with self.assertLogs(LOG):
                self.run_worker(kind, handle, server.url, concurrency=3, lease=2.0)
            with server.client() as client:
                self.assertEqual((len(done), Schedule(client, "due:jobs").info().items), (40, 0))

        self.run_each(scenario)

    def test_mistakes_end_it(self) -> None:
        def scenario(kind: str) -> None:
            self.redis.set("due:jobs", "text")
            with self.assertRaises(WrongType):
                self.run_worker(kind, print)
            self.redis.delete("due:jobs")
            self.redis.execute_command("ACL SETUSER nobody on nopass ~* +ping")
            self.addCleanup(self.redis.execute_command, "ACL", "DELUSER", "nobody")
            with self.assertRaises(NotPermitted):
                self.run_worker(kind, print, URL.replace("redis://", "redis://nobody:x@"))

        self.run_each(scenario)
        for options in ({"attempts": 3}, {"dead": "x"}, {"concurrency": 0}, {"lease": 0.01}):
            with self.assertRaises(ValueError):
                Worker(self.schedule, print, **options)


class Processes(Case):
    """Workers that are ended from outside, under load."""

    JOBS = 300
    LEASE = 1.0

    def start(self, kind: str) -> subprocess.Popen[str]:
        program = Path(__file__).with_name("worker_process.py")
        paths = os.pathsep.join([str(program.parent.parent / "src"), *sys.path])
        return subprocess.Popen(
            [sys.executable, str(program), kind, URL, str(self.LEASE)],
            env={**os.environ, "PYTHONPATH": paths}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip

    def fill(self) -> Schedule:
        self.redis.flushall()
        jobs = Schedule(self.redis, "due:jobs", data="due:data")
        for at in range(self.JOBS):
            jobs.add(f"job{at}", after=0, data="fails" if at % 10 == 0 else "works")
        return jobs

    def log(self) -> list[list[str]]:
        return [line.decode().split() for line in self.redis.lrange("log", 0, -1)]

    def test_a_signal_ends_it_and_nothing_is_lost(self) -> None:
        for kind in ("sync", "asyncio"):
            for number in (signal.SIGTERM, signal.SIGINT):
                with self.subTest(kind, signal=number):
                    jobs = self.fill()
                    worker = self.start(kind)
                    wait_for(lambda: self.redis.llen("log") > 60)
                    worker.send_signal(number)
                    self.assertEqual((worker.communicate(timeout=60)[0], worker.returncode), ("ended well\n", 0))
                    log = self.log()
                    done = {item for what, item, *_ in log if what == "end"}
                    # All that was begun has ended; the rest waits, and nothing is claimed any more.
                    self.assertEqual(jobs.info().items, self.JOBS - len(done))
                    self.assertEqual(jobs.info().claimed, 0)
                    begun = {(item, attempt) for what, item, attempt, _ in log if what == "begin"}
                    failed = {f"job{at}" for at in range(0, self.JOBS, 10)}
                    self.assertEqual({item for item, _ in begun} - done - failed, set())

    def test_kill_9(self) -> None:
        for kind in ("sync", "asyncio"):
            with self.subTest(kind):
                jobs = self.fill()
                workers = [self.start(kind) for _ in range(3)]
                kills = 0
                end = time.monotonic() + 120
                while jobs.info().items and time.monotonic() < end:
                    time.sleep(random.uniform(0.2, 0.5))
                    if kills < 8 and self.redis.llen("log"):
                        victim = random.randrange(3)
                        workers[victim].kill()
                        workers[victim].communicate()
                        workers[victim] = self.start(kind)
                        kills += 1
                # One that was just started has to hear signals first.
                wait_for(lambda: sum("b" in client["flags"] for client in self.redis.client_list()) == 3)
                for worker in workers:
                    worker.terminate()
                self.assertEqual([(worker.communicate(timeout=60)[0], worker.returncode) for worker in workers], [("ended well\n", 0)] * 3)
                self.assertEqual((jobs.info().items, self.redis.exists("due:dead"), self.redis.hlen("due:data")), (0, 0, 0))
                self.assertGreater(kills, 1)
                log = self.log()
                done = Counter(item for what, item, *_ in log if what == "end")
                self.assertEqual(len(done), self.JOBS)
                # What a killed worker held was handed out again when its lease ended, not before.
                begun: dict[str, list[tuple[int, float]]] = {}
                for what, item, attempt, moment in log:
                    if what == "begin":
                        begun.setdefault(item, []).append((int(attempt), float(moment)))
                again = 0
                for item, begins in begun.items():
                    begins.sort()
                    for (first, before), (second, after) in zip(begins, begins[1:]):
                        self.assertEqual(second, first + 1)
                        failed = int(item[3:]) % 10 == 0 and first == 1
                        if not failed:
                            again += 1
                            self.assertGreaterEqual(after - before, self.LEASE * 0.9)
                self.assertGreater(again, 0)
