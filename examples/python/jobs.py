"""Delayed jobs: mails with a payload, sent when they are due, retried if that fails, and put aside if it keeps failing."""

import os
import sys

from redis import Redis
from redis_rank import Job, Schedule, Worker

url = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")
client = Redis.from_url(url)
mails = Schedule(client, "{example:mails}", data="{example:mails}:data")
mails.add("mail:ann", after=0.1, data="Hello Ann")
mails.add("mail:bob", after=0.2, data="Hello Bob")
mails.add("mail:eve", after=0.3, data="Hello Eve")
sent = []


def send(job: Job) -> None:
    if job.item == "mail:bob" and job.attempt == 1:
        print(f"{job.item}, attempt {job.attempt}: the mail server is busy")
        raise ConnectionError("the mail server is busy")
    print(f"{job.item}, attempt {job.attempt}: {job.data}")
    sent.append(job.item)
    if len(sent) == 3:
        worker.stop()


worker = Worker(mails, send, attempts=5, dead="{example:mails}:dead", backoff=lambda attempt: 0.2 * attempt)
worker.run()
