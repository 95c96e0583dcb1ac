"""The worker whose handlers run as tasks of asyncio."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from .call import Pause
from .errors import is_outage
from .send import Async
from .worker import BaseWorker, Job, check_async_handler, check_result, log, pause_after

if TYPE_CHECKING:
    from .shared import BaseLease

Handler = Callable[[Job], Awaitable[object]]


class TaskWorker(BaseWorker):
    __doc__ = BaseWorker.__doc__
    _links = Async
    _check_handler = staticmethod(check_async_handler)

    _run: _Run | None = None

    def stop(self) -> None:
        """Lets `run` return when the handlers have. A handler whose lease is lost is cancelled."""
        if self._run is not None:
            self._run.stop()

    async def run(self) -> None:
        """Works until `stop` is called, or a signal arrives that nobody else handles. Raises what is a mistake.

        May be called again after it has returned.
        """
        if self._run is not None:
            raise RuntimeError("this worker is running already: make another one, or raise concurrency=")
        run = self._run = _Run(self)
        wanted = self.signals
        if wanted is None:
            # A server such as uvicorn handles them itself, and stops its workers when it shuts down.
            wanted = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        is_main = threading.current_thread() is threading.main_thread()
        loop = asyncio.get_running_loop()

        def on_signal() -> None:
            loop.call_soon_threadsafe(run.stop)

        try:
            with self._stopped_by_signals(is_main and wanted, on_signal):
                await run.work()
        finally:
            self._run = None


class _Run:
    """One run of a worker."""

    def __init__(self, worker: TaskWorker):
        self.worker = worker
        self.link: Async = worker.link
        self.tasks: dict[asyncio.Task[None], Job] = {}
        self.stopped_at: float | None = None
        self.stopping = asyncio.Event()

    def stop(self) -> None:
        if self.stopped_at is None:
            self.stopped_at = time.monotonic()
            self.stopping.set()

    async def work(self) -> None:
        stopping = asyncio.create_task(self.stopping.wait())
        try:
            await self.claim_all(stopping)
            assert self.stopped_at is not None
            end = self.stopped_at + self.worker.grace
            while self.tasks and (left := end - time.monotonic()) > 0:
                await self.some_ended(left)
        finally:
            # The grace time is over, somebody cancelled `run`, or there is a mistake.
            stopping.cancel()
            for task, job in self.tasks.items():
                job.lose()
                task.cancel()
                log.warning("%r still runs at the end of the grace time, and will be claimed again", job.item)
            # A handler may refuse to be cancelled.
            if self.tasks:
                await asyncio.wait(self.tasks, timeout=0.1)

    async def some_ended(self, most: float | None, *others: asyncio.Task[Any]) -> None:
        done, _ = await asyncio.wait({*self.tasks, *others}, timeout=most, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            if self.tasks.pop(task, None) and not task.cancelled() and (error := task.exception()):
                self.stop()
                raise error

    async def claim_all(self, stopping: asyncio.Task[Any]) -> None:
        failures = 0
        while self.stopped_at is None:
            if len(self.tasks) >= self.worker.concurrency:
                await self.some_ended(None, stopping)
                continue
            sent = time.monotonic()
            [claims] = await self.link.send([self.worker._claim(self.worker.concurrency - len(self.tasks))])
            if isinstance(claims, Exception):
                await asyncio.wait({stopping}, timeout=pause_after(failures, claims))
                failures += 1
                continue
            failures = 0
            for job in self.worker._jobs(claims, sent, lambda: None):
                self.tasks[asyncio.create_task(self.handle(job))] = job
            if self.tasks:
                await self.some_ended(0)

    async def handle(self, job: Job) -> None:
        job.begun = time.monotonic()
        error: BaseException | None = self.worker._unreadable(job)
        if error is None:
            try:
                result = self.worker.handle(job)
            except Exception as raised:
                error = raised
            else:
                check_result(result, is_async=True)
                error = await self.handled(job, asyncio.ensure_future(result))
        await self.settle(job, error)

    async def handled(self, job: Job, handling: asyncio.Future[Any]) -> BaseException | None:
        """Renews the lease until the handler has ended. Returns what it raised."""
        renewing: asyncio.Task[None] | None = None
        third, limit = self.worker.lease / 3, job.begun + (self.worker.time_limit or float("inf"))
        renew_at = time.monotonic() + third
        try:
            while not job.lost and (now := time.monotonic()) < limit and not handling.done():
                if renewing is None and now >= renew_at:
                    renewing = asyncio.create_task(self.renew(job))
                most = min(job.time_left, limit - now, float("inf") if renewing else renew_at - now)
                waited: set[asyncio.Future[Any]] = {handling, renewing} if renewing else {handling}
                await asyncio.wait(waited, timeout=max(most, 0), return_when=asyncio.FIRST_COMPLETED)
                if renewing is not None and renewing.done():
                    renewing.result()
                    renewing, renew_at = None, time.monotonic() + third
            if renewing is not None and not job.lost:
                # Its reply has the token that acknowledges.
                await asyncio.wait({renewing}, timeout=max(job.time_left, 0))
                if renewing.done():
                    renewing.result()
        finally:
            for future in (handling, renewing):
                if future is not None and not future.done():
                    future.cancel()
        if not handling.done():
            return TimeoutError(f"{job.item!r} took longer than {self.worker.time_limit} s")
        return asyncio.CancelledError("the handler was cancelled") if handling.cancelled() else handling.exception()

    async def renew(self, job: Job) -> None:
        sent = time.monotonic()
        [result] = await self.link.send([self.worker._renewal(job)])
        if isinstance(result, Exception):
            pause_after(0, result)
        else:
            job.renewed(result, sent + self.worker.lease)

    async def settle(self, job: Job, error: BaseException | None) -> None:
        if job.lost:
            log.warning("the lease of %r ended before its handler did", job.item)
            return self.worker._observed(job, "lost")
        settling, answer = self.worker._settled(job, *self.worker._settling(job, error)), None
        while True:
            try:
                step = settling.send(answer)
            except StopIteration as end:
                return self.worker._observed(job, end.value)
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
            else:
                [answer] = await self.link.send([step])


class TaskKeeper:
    """Renews a lease while a block runs, and cancels the block when the lease is lost."""

    def __init__(self, lease: BaseLease[Async, Any], link: Async):
        self._lease, self._link = lease, link
        self._block = asyncio.current_task()
        self._has_cancelled = False
        self._keeping = asyncio.create_task(self._keep())

    async def _keep(self) -> None:
        lease = self._lease
        while not lease.lost:
            await asyncio.sleep(min(lease.seconds / 3, max(lease.time_left, 0)))
            sent = time.monotonic()
            # A renewal that does not answer must not hide that the lease has ended.
            renewing = asyncio.create_task(self._link.send([lease.calls.renew_token(lease.token)]))
            await asyncio.wait({renewing}, timeout=max(lease.time_left, 0))
            if not renewing.done():
                renewing.cancel()
                continue
            [result] = renewing.result()
            if not isinstance(result, Exception):
                lease.renewed(result, sent)
            elif not is_outage(result):
                log.error("a lease cannot be renewed: %r", result)
        if self._block is not None:
            self._has_cancelled = True
            self._block.cancel()

    def has_ended(self, kind: type[BaseException]) -> bool:
        """Whether the block ended with this error because the lease was lost."""
        if not self._has_cancelled or not issubclass(kind, asyncio.CancelledError):
            return False
        if sys.version_info >= (3, 11) and self._block is not None:
            self._block.uncancel()
        return True

    def stop(self) -> None:
        self._keeping.cancel()
