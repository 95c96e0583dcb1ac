"""Workers: they claim the items of a schedule, hand them to a function, and acknowledge them.

    Worker(Schedule(redis.Redis(), "due:mails", data="due:{mails}:data"), send_mail).run()

An item is done when the function returns. If it raises, the item is tried again later; after `attempts` claims it moves
to the schedule `dead`. A worker that dies holds its items until their leases end; then they are claimed again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from .call import Duration, Name, milliseconds
from .errors import is_outage
from .values import Claim

log = logging.getLogger("redis_rank.worker")

# A claim waits for this long at most, and so does stop().
_BLOCK = 1.0
_LONGEST_PAUSE = 5.0


@dataclass(slots=True, eq=False)
class Job:
    """What a handler gets. `lost` is true once the lease is lost: somebody else may work on the item."""

    item: Any
    data: str | None
    attempt: int
    due: float
    claim: Claim = field(repr=False)
    lost: bool = False
    # A job is renewed, or ended, never both at once.
    lock: Any = field(default=None, repr=False)
    ended: bool = field(default=False, repr=False)

    @property
    def token(self) -> int:
        return self.claim.token


def exponential(attempt: int) -> float:
    """1 s, 2 s, 4 s … at most an hour, and up to a quarter less, so that retries spread."""
    return min(2.0 ** min(attempt - 1, 12), 3600.0) * random.uniform(0.75, 1.0)


class BaseWorker:
    """Claims items of a schedule and handles up to `concurrency` of them at a time.

    The lease is renewed while the handler runs. A handler that raises is tried again after `backoff(attempt)`;
    after `attempts` claims the item moves to the schedule `dead`, a key of the same slot. `run` returns after `stop`, or
    after SIGINT or SIGTERM unless signals=False: what runs is finished, and nothing more is claimed.
    """

    def __init__(
        self,
        schedule: Any,
        handle: Callable[[Job], Any],
        *,
        concurrency: int = 1,
        lease: Duration = 30.0,
        attempts: int | None = None,
        dead: Name | None = None,
        backoff: Callable[[int], Duration] = exponential,
        signals: bool = True,
    ):
        if concurrency < 1:
            raise ValueError(f"concurrency is 1 or more, got {concurrency}")
        if (attempts is None) != (dead is None):
            raise ValueError("attempts= and dead= go together: where shall the items go that failed too often?")
        if milliseconds(lease) < 100:
            raise ValueError(f"lease takes 100 ms or more, got {lease!r}")
        self.schedule = schedule
        self.handle = handle
        self.concurrency = concurrency
        self.lease = milliseconds(lease) / 1000
        self.attempts = attempts
        self.dead = dead
        self.backoff = backoff
        self.signals = signals

    def _claim_options(self) -> dict[str, Any]:
        return {"lease": self.lease, "block": _BLOCK, "attempts": self.attempts, "dead": self.dead}

    def _retry_after(self, job: Job, error: BaseException) -> Duration:
        is_last = self.attempts is not None and job.attempt >= self.attempts
        log.error(
            "%r failed at attempt %d%s", job.item, job.attempt, ", the last" if is_last else "", exc_info=error
        )
        if is_last:
            # The next claim moves it to the dead ones.
            return 0.0
        try:
            return self.backoff(job.attempt)
        except Exception:
            log.exception("backoff failed")
            return exponential(job.attempt)

    @staticmethod
    def _pause(failures: int, error: Exception) -> float:
        """How long to wait before the next attempt to reach the server; raises what is no outage."""
        if not is_outage(error):
            raise error
        pause: float = min(0.05 * 2 ** min(failures, 10), _LONGEST_PAUSE) * random.uniform(0.5, 1.0)
        log.warning("the server does not answer, next attempt in %.1f s: %r", pause, error)
        return pause


class Worker(BaseWorker):
    __doc__ = BaseWorker.__doc__

    def __init__(self, schedule: Any, handle: Callable[[Job], Any], **options: Any):
        super().__init__(schedule, handle, **options)
        self._stopping, self._ended = threading.Event(), threading.Event()
        self._slots = threading.Semaphore(self.concurrency)
        self._jobs: set[Job] = set()

    def stop(self) -> None:
        """Lets `run` return when the handlers have. May be called from any thread."""
        self._stopping.set()

    def run(self) -> None:
        """Works until `stop` is called, or a signal arrives. Raises what is a mistake, such as a missing permission."""
        renewing = threading.Thread(target=self._renew_all, name="redis-rank-renew", daemon=True)
        renewing.start()
        pool = ThreadPoolExecutor(self.concurrency, thread_name_prefix="redis-rank-worker")
        try:
            with self._signals():
                self._claim_all(pool)
        finally:
            self._stopping.set()
            pool.shutdown()
            self._ended.set()
            renewing.join()

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        before: dict[int, Any] = {}

        def end(number: int, frame: Any) -> None:
            self.stop()
            # The second signal ends the program as if there were no worker.
            signal.signal(number, before[number])

        if self.signals and threading.current_thread() is threading.main_thread():
            before.update({number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)})
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _claim_all(self, pool: ThreadPoolExecutor) -> None:
        failures = 0
        while slots := self._free_slots():
            try:
                claims = self.schedule.claim(slots, **self._claim_options())
                failures = 0
            except Exception as error:
                claims = []
                self._stopping.wait(self._pause(failures, error))
                failures += 1
            for _ in range(slots - len(claims)):
                self._slots.release()
            for claim in claims:
                job = Job(claim.item, claim.data, claim.attempt, claim.due, claim, lock=threading.Lock())
                self._jobs.add(job)
                pool.submit(self._work, job)

    def _free_slots(self) -> int:
        """Waits for a free slot and takes all there are; 0 when the worker stops."""
        while not self._slots.acquire(timeout=0.1):
            if self._stopping.is_set():
                return 0
        slots = 1
        while self._slots.acquire(blocking=False):
            slots += 1
        return 0 if self._stopping.is_set() else slots

    def _work(self, job: Job) -> None:
        try:
            self.handle(job)
        except BaseException as error:
            after = self._retry_after(job, error)
            self._settle(job, lambda: self.schedule.move(job.claim, after=after))
        else:
            self._settle(job, lambda: self.schedule.ack(job.claim))
        finally:
            self._jobs.discard(job)
            self._slots.release()

    def _settle(self, job: Job, send: Callable[[], Any]) -> None:
        """Acknowledges or moves, again and again while the server is away: the second time does no harm."""
        end, failures = time.monotonic() + self.lease, 0
        with job.lock:
            job.ended = True
            while not job.lost:
                try:
                    job.lost = not send() and failures == 0
                    break
                except Exception as error:
                    if not is_outage(error) or time.monotonic() > end:
                        log.exception("%r was handled, but the server does not know; it will be claimed again", job.item)
                        return
                    time.sleep(self._pause(failures, error))
                    failures += 1
        if job.lost:
            log.warning("the lease of %r ended before its handler did", job.item)

    def _renew_all(self) -> None:
        while not self._ended.wait(self.lease / 3):
            for job in tuple(self._jobs):
                # What is just being acknowledged needs no renewal.
                if not job.lock.acquire(blocking=False):
                    continue
                try:
                    if not job.ended and not job.lost:
                        claim = self.schedule.move(job.claim, after=self.lease)
                        job.claim, job.lost = claim or job.claim, claim is None
                except Exception as error:
                    log.warning("could not renew the lease of %r: %r", job.item, error)
                finally:
                    job.lock.release()


class AsyncWorker(BaseWorker):
    __doc__ = BaseWorker.__doc__

    def __init__(self, schedule: Any, handle: Callable[[Job], Awaitable[Any]], **options: Any):
        super().__init__(schedule, handle, **options)
        self._stopping = asyncio.Event()
        self._running: dict[Job, asyncio.Future[Any]] = {}

    def stop(self) -> None:
        """Lets `run` return when the handlers have. A handler whose lease is lost is cancelled."""
        self._stopping.set()

    async def run(self) -> None:
        """Works until `stop` is called, or a signal arrives. Raises what is a mistake, such as a missing permission."""
        tasks: set[asyncio.Task[None]] = set()
        renewing = asyncio.create_task(self._renew_all())
        try:
            with self._signals():
                await self._claim_all(tasks)
            await asyncio.gather(*tasks)
        except BaseException:
            # Somebody cancelled `run`, or there is a mistake: what the handlers leave is claimed again.
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise
        finally:
            renewing.cancel()

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        loop, added = asyncio.get_running_loop(), []

        def end(number: int) -> None:
            self.stop()
            # The second signal ends the program as if there were no worker.
            loop.remove_signal_handler(number)

        # Not every loop and thread can.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            for number in (signal.SIGINT, signal.SIGTERM) if self.signals else ():
                loop.add_signal_handler(number, end, number)
                added.append(number)
        try:
            yield
        finally:
            for number in added:
                loop.remove_signal_handler(number)

    async def _claim_all(self, tasks: set[asyncio.Task[None]]) -> None:
        failures = 0
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            while not stopping.done():
                if len(tasks) >= self.concurrency:
                    await asyncio.wait({*tasks, stopping}, return_when=asyncio.FIRST_COMPLETED)
                    continue
                try:
                    claims = await self.schedule.claim(self.concurrency - len(tasks), **self._claim_options())
                    failures = 0
                except Exception as error:
                    claims = []
                    await asyncio.wait({stopping}, timeout=self._pause(failures, error))
                    failures += 1
                for claim in claims:
                    job = Job(claim.item, claim.data, claim.attempt, claim.due, claim, lock=asyncio.Lock())
                    task = asyncio.create_task(self._work(job))
                    tasks.add(task)
                    task.add_done_callback(tasks.discard)
        finally:
            stopping.cancel()

    async def _work(self, job: Job) -> None:
        self._running[job] = handling = asyncio.ensure_future(self.handle(job))
        try:
            await handling
        except asyncio.CancelledError:
            if not job.lost:
                handling.cancel()
                raise
            log.warning("the lease of %r ended before its handler did", job.item)
        except Exception as error:
            after = self._retry_after(job, error)
            await self._settle(job, lambda: self.schedule.move(job.claim, after=after))
        else:
            await self._settle(job, lambda: self.schedule.ack(job.claim))
        finally:
            del self._running[job]

    async def _settle(self, job: Job, send: Callable[[], Awaitable[Any]]) -> None:
        """Acknowledges or moves, again and again while the server is away: the second time does no harm."""
        end, failures = time.monotonic() + self.lease, 0
        async with job.lock:
            job.ended = True
            while not job.lost:
                try:
                    job.lost = not await send() and failures == 0
                    break
                except Exception as error:
                    if not is_outage(error) or time.monotonic() > end:
                        log.exception("%r was handled, but the server does not know; it will be claimed again", job.item)
                        return
                    await asyncio.sleep(self._pause(failures, error))
                    failures += 1
        if job.lost:
            log.warning("the lease of %r ended before its handler did", job.item)

    async def _renew_all(self) -> None:
        while True:
            await asyncio.sleep(self.lease / 3)
            for job, handling in tuple(self._running.items()):
                async with job.lock:
                    if job.ended:
                        continue
                    try:
                        claim = await self.schedule.move(job.claim, after=self.lease)
                        job.claim, job.lost = claim or job.claim, claim is None
                    except Exception as error:
                        log.warning("could not renew the lease of %r: %r", job.item, error)
                if job.lost:
                    handling.cancel()
