"""A worker inside an application that uvicorn runs, for test_worker.py: python worker_embedded.py URL."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator

import redis.asyncio
import uvicorn
from starlette.applications import Starlette

import redis_rank.asyncio
from redis_rank import Job

client = redis.asyncio.Redis.from_url(sys.argv[1])
schedule = redis_rank.asyncio.Schedule(client, "due:jobs")


async def handle(job: Job) -> None:
    await client.set("handled", 1)


@contextlib.asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    worker = redis_rank.asyncio.Worker(schedule, handle)
    running = asyncio.create_task(worker.run())
    await client.set("ready", 1)
    yield
    assert signal.getsignal(signal.SIGTERM) == before
    worker.stop()
    await running
    await client.aclose()
    print("the worker has ended", flush=True)


uvicorn.run(Starlette(lifespan=lifespan), host="127.0.0.1", port=0, log_level="warning")
