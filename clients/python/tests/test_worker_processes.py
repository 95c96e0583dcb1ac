"""Workers in processes of their own, in threads and in asyncio: nothing is lost, whatever ends them."""

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

class Processes(Case):
    """Workers that are ended from outside, under load."""

    JOBS = 300
    LEASE = 1.0

    def start(self, kind: str, lease: float = LEASE) -> subprocess.Popen[str]:
        program = Path(__file__).with_name("worker_process.py")
        paths = os.pathsep.join([str(program.parent.parent / "src"), *sys.path])
        return subprocess.Popen(
            [sys.executable, str(program), kind, URL, str(lease)],
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
                    # No lease ends meanwhile, however busy the machine is.
                    worker = self.start(kind, 30.0)
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
