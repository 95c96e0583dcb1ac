"""The worker whose handlers run in threads."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .call import Pause
from .errors import is_outage
from .send import Sync
from .worker import BaseWorker, Job, WrongHandler, check_plain_handler, check_result, log, pause_after

if TYPE_CHECKING:
    from .shared import BaseLease

# One that returns something is taken for a mistake: nobody would see it.
Handler = Callable[[Job], None]


class ThreadWorker(BaseWorker):
    __doc__ = BaseWorker.__doc__
    _links = Sync
    _check_handler = staticmethod(check_plain_handler)

    _run: _Run | None = None

    def stop(self) -> None:
        """Lets `run` return when the handlers have. May be called from any thread, and by a signal's handler."""
        if (run := self._run) is not None:
            run.stop()

    def run(self) -> None:
        """Works until `stop` is called, or, in the main thread, a signal arrives. Raises what is a mistake.

        May be called again after it has returned.
        """
        if self._run is not None:
            raise RuntimeError("this worker is running already: make another one, or raise concurrency=")
        run = self._run = _Run(self)
        is_main = threading.current_thread() is threading.main_thread()
        try:
            with self._stopped_by_signals(is_main and self.signals is not False, run.stop):
                run.work()
        finally:
            self._run = None


class _Run:
    """One run of a worker. What outlives its grace time does not meet the next run."""

    def __init__(self, worker: ThreadWorker):
        self.worker = worker
        self.link: Sync = worker.link
        self.jobs: set[Job] = set()
        self.free = worker.concurrency
        self.threads = 0
        self.stopped_at: float | None = None
        self.error: BaseException | None = None
        self.ended = threading.Event()
        self.changed = threading.Event()
        self.todo: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        # Jobs that have ended, and None after a stop. Its put() may be called by signal handlers.
        self.news: queue.SimpleQueue[Job | None] = queue.SimpleQueue()

    def stop(self) -> None:
        if self.stopped_at is None:
            self.stopped_at = time.monotonic()
        self.news.put(None)

    def fail(self, error: BaseException) -> None:
        self.error = self.error or error
        self.stop()

    def work(self) -> None:
        keeper = threading.Thread(target=self.keep, name="redis-rank-renew", daemon=True)
        keeper.start()
        try:
            self.claim_all()
            assert self.stopped_at is not None
            end = self.stopped_at + self.worker.grace
            while self.free < self.worker.concurrency and (left := end - time.monotonic()) > 0:
                self.wait(left)
        finally:
            for job in tuple(self.jobs):
                job.lose()
                log.warning("%r still runs at the end of the grace time, and will be claimed again", job.item)
            self.ended.set()
            self.changed.set()
            for _ in range(self.threads):
                self.todo.put(None)
        if self.error is not None:
            raise self.error

    def wait(self, most: float | None) -> None:
        """Until a job has ended, or somebody stops the run."""
        try:
            while True:
                if self.news.get(timeout=most) is not None:
                    self.free += 1
                if self.news.empty():
                    return
        except queue.Empty:
            pass

    def claim_all(self) -> None:
        failures = 0
        while self.stopped_at is None:
            if not self.free:
                self.wait(None)
                continue
            sent = time.monotonic()
            [claims] = self.link.send([self.worker._claim(self.free)])
            if isinstance(claims, Exception):
                self.wait(pause_after(failures, claims))
                failures += 1
                continue
            failures = 0
            for job in self.worker._jobs(claims, sent, threading.Lock):
                self.begin(job)
            while not self.news.empty():
                self.wait(0)

    def begin(self, job: Job) -> None:
        self.free -= 1
        self.jobs.add(job)
        self.todo.put(job)
        self.changed.set()
        if self.threads < self.worker.concurrency - self.free:
            self.threads += 1
            # Daemons, since a handler that never returns must not keep the program from ending.
            threading.Thread(target=self.handle_all, name=f"redis-rank-worker-{self.threads}", daemon=True).start()

    # --- in the threads of handlers -----------------------------------------------------------------------

    def handle_all(self) -> None:
        while (job := self.todo.get()) is not None:
            try:
                self.handle(job)
            except BaseException as error:
                self.fail(error)
            finally:
                self.jobs.discard(job)
                self.news.put(job)

    def handle(self, job: Job) -> None:
        worker, error = self.worker, None
        job.begun = time.monotonic()
        self.changed.set()
        try:
            if unreadable := worker._unreadable(job):
                raise unreadable
            check_result(worker.handle(job), is_async=False)
        except WrongHandler:
            raise
        except BaseException as raised:
            error = raised
        with job.lock:
            if not job.settled:
                self.settle(job, error)

    def settle(self, job: Job, error: BaseException | None) -> None:
        job.settled = True
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
                time.sleep(step.seconds)
            else:
                [answer] = self.link.send([step])

    # --- in a thread of its own ---------------------------------------------------------------------------

    def keep(self) -> None:
        """Renews leases, and ends what takes too long."""
        renewed: dict[Job, float] = {}
        third, limit = self.worker.lease / 3, self.worker.time_limit
        while not self.ended.is_set():
            now, jobs = time.monotonic(), tuple(self.jobs)
            renewed = {job: renewed.get(job, now) for job in jobs if not job.lost}
            try:
                if due := [job for job, before in renewed.items() if now >= before + third]:
                    self.renew(due)
                    renewed.update(dict.fromkeys(due, time.monotonic()))
                if limit is not None:
                    for job in jobs:
                        if job.begun and now >= job.begun + limit and not job.settled:
                            # Not here, where others' leases are renewed.
                            threading.Thread(target=self.time_out, args=(job,), daemon=True).start()
            except Exception as error:
                self.fail(error)
            ends = [before + third for before in renewed.values()]
            ends += [job.begun + limit for job in jobs if limit is not None and job.begun and not job.settled]
            self.changed.wait(max(0.0, min(ends) - time.monotonic()) if ends else None)
            self.changed.clear()

    def renew(self, jobs: list[Job]) -> None:
        # What is just being acknowledged needs no renewal.
        held = [job for job in jobs if job.lock.acquire(blocking=False)]
        try:
            open_jobs = [job for job in held if not job.settled and not job.lost]
            sent = time.monotonic()
            results = self.link.send([self.worker._renewal(job) for job in open_jobs]) if open_jobs else []
            for job, result in zip(open_jobs, results):
                if not isinstance(result, Exception):
                    job.renewed(result, sent + self.worker.lease)
                else:
                    pause_after(0, result)
        finally:
            for job in held:
                job.lock.release()

    def time_out(self, job: Job) -> None:
        if not job.lock.acquire(blocking=False):
            return
        try:
            if not job.settled:
                # It is tried again while the call still runs; what that does later counts no more.
                self.settle(job, TimeoutError(f"{job.item!r} took longer than {self.worker.time_limit} s"))
                job.lose()
        except Exception as error:
            self.fail(error)
        finally:
            job.lock.release()


class ThreadKeeper:
    """Renews a lease while a block runs. A block of a thread cannot be cancelled: it looks at `lost`."""

    def __init__(self, lease: BaseLease[Sync, Any], link: Sync):
        self._lease, self._link, self._token = lease, link, lease.token
        self._stopped = threading.Event()
        threading.Thread(target=self._keep, name="redis-rank-lease", daemon=True).start()

    def _keep(self) -> None:
        lease = self._lease
        while not self._stopped.wait(lease.seconds / 3) and not lease.lost:
            sent = time.monotonic()
            [result] = self._link.send([lease.calls.renew_token(self._token)])
            if self._stopped.is_set():
                return
            if not isinstance(result, Exception):
                lease.renewed(result, sent)
            elif not is_outage(result):
                log.error("a lease cannot be renewed: %r", result)

    def has_ended(self, kind: type[BaseException]) -> bool:
        return False

    def stop(self) -> None:
        self._stopped.set()
