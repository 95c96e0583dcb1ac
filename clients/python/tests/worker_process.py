"""A worker in a process of its own, for test_worker.py: python worker_process.py sync|asyncio URL LEASE."""

import asyncio
import random
import sys
import time

import redis
import redis.asyncio

import redis_rank.asyncio
from redis_rank import Job, Schedule, Worker

KIND, URL, LEASE = sys.argv[1], sys.argv[2], float(sys.argv[3])
OPTIONS = {"concurrency": 4, "lease": LEASE, "attempts": 20, "dead": "due:dead", "backoff": lambda attempt: 0.01}


def run_threads() -> None:
    client = redis.Redis.from_url(URL)

    def handle(job: Job) -> None:
        client.rpush("log", f"begin {job.item} {job.attempt} {time.time()}")
        time.sleep(random.uniform(0, 0.15))
        if job.data == "fails" and job.attempt == 1:
            raise ValueError("the first time")
        client.rpush("log", f"end {job.item} {job.attempt} {time.time()}")

    Worker(Schedule(client, "due:jobs", data="due:data"), handle, **OPTIONS).run()


async def run_tasks() -> None:
    client = redis.asyncio.Redis.from_url(URL)

    async def handle(job: Job) -> None:
        await client.rpush("log", f"begin {job.item} {job.attempt} {time.time()}")
        await asyncio.sleep(random.uniform(0, 0.15))
        if job.data == "fails" and job.attempt == 1:
            raise ValueError("the first time")
        await client.rpush("log", f"end {job.item} {job.attempt} {time.time()}")

    schedule = redis_rank.asyncio.Schedule(client, "due:jobs", data="due:data")
    await redis_rank.asyncio.Worker(schedule, handle, **OPTIONS).run()
    await client.aclose()


if KIND == "sync":
    run_threads()
else:
    asyncio.run(run_tasks())
print("ended well")
