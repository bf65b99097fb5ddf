"""A bounded queue in front of worker threads, and what is known of each job while it runs."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from ..core.bands import cores
from .limits import Limits
from .refusal import ClientGone, Refusal

_CLOSE_SECONDS = 1.0


class Cancelled(Exception):
    """Raised in the worker thread: nobody waits for the result."""


@dataclass(eq=False)
class Job:
    """One request on its way; the worker writes, the event loop reads."""

    rates: dict[str, float]  # seconds per pixel that each method or model took, shared by all jobs
    threads: int = 1
    state: str = "receiving"  # ▸ waiting ▸ working
    page: int = 0
    pages: int = 0
    key: str = ""
    pixels: int = 0
    begun: float = 0.0  # when the current page began
    cancelled: threading.Event = field(default_factory=threading.Event)

    @contextlib.contextmanager
    def working_on(self, page: int, pages: int, key: str, pixels: int) -> Iterator[None]:
        """Around the work on one page; `key` names what works on it, to foretell how long it takes."""
        if self.cancelled.is_set():
            raise Cancelled
        self.page, self.pages, self.key, self.pixels, self.begun = page, pages, key, pixels, time.monotonic()
        yield
        rate = (time.monotonic() - self.begun) / pixels
        self.rates[key] = (self.rates[key] + rate) / 2 if key in self.rates else rate

    def progress(self) -> dict[str, Any]:
        """State, page of pages, and the share done: pages are counted, within a page time tells (None: not known)."""
        fraction = None
        if self.pages:
            expected = self.rates.get(self.key, 0) * self.pixels
            within = min((time.monotonic() - self.begun) / expected, 0.97) if expected else 0.0
            fraction = (self.page - 1 + within) / self.pages if expected or self.pages > 1 else None
        return {"state": self.state, "page": self.page, "pages": self.pages, "fraction": fraction}


class Jobs:
    """Takes at most ``at_once + queue`` requests; the rest is refused at once, before their bodies are read."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.pool = ThreadPoolExecutor(limits.at_once, thread_name_prefix="sauvolanet-serve")
        self.abandoned = 0  # threads whose client has given up and which are still at work
        self.running: set[Job] = set()
        self.taken = 0  # requests from arrival to the last byte of the answer, and threads whose client has given up
        self.seconds = 1.0  # what a job took lately
        self.rates: dict[str, float] = {}
        self.known: dict[str, Job] = {}  # by the name the client chose, to ask for progress

    @contextlib.contextmanager
    def admit(self, name: str | None) -> Iterator[Job]:
        """A place in the queue for one request."""
        if self.taken >= self.limits.at_once + self.limits.queue:
            wait = max(1, round(self.seconds * self.taken / self.limits.at_once))
            raise Refusal(503, "too many requests are waiting; try again later", Retry_After=str(min(wait, 120)))
        if name is not None and name in self.known:
            raise Refusal(400, "a job of this name is already under way")
        job = Job(self.rates)
        self.taken += 1
        if name is not None:
            self.known[name] = job
        try:
            yield job
        finally:
            job.cancelled.set()
            self.taken -= 1
            self.known.pop(name or "", None)

    async def run(self, job: Job, work: Callable[[Job], Any], gone: Awaitable[None]) -> Any:
        """The result of ``work(job)`` from a worker thread. ``gone`` ends when the client has hung up."""
        loop = asyncio.get_running_loop()
        job.state = "waiting"
        future = self.pool.submit(self._work, job, work)
        wrapped = asyncio.wrap_future(future)
        wrapped.add_done_callback(lambda f: f.cancelled() or f.exception())  # a late failure is nobody's any more
        hung_up = asyncio.ensure_future(gone)
        try:
            await asyncio.wait(
                {wrapped, hung_up}, timeout=self.limits.work_seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if wrapped.done():
                return wrapped.result()
            if hung_up.done():
                raise ClientGone
            raise Refusal(504, f"the work took longer than {self.limits.work_seconds:g} seconds")
        finally:
            hung_up.cancel()
            job.cancelled.set()
            if not wrapped.done() and not future.cancel():  # a running thread keeps its place until it stops
                self.taken += 1
                self.abandoned += 1
                future.add_done_callback(lambda f: self._abandoned(loop, f))

    def _abandoned(self, loop: asyncio.AbstractEventLoop, future: Any) -> None:
        if future.exception() is None:
            future.result().close()

        def leave() -> None:
            self.taken -= 1
            self.abandoned -= 1

        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(leave)

    def _work(self, job: Job, work: Callable[[Job], Any]) -> Any:
        begin = time.monotonic()
        job.state = "working"
        self.running.add(job)
        job.threads = max(1, cores() // min(self.limits.at_once, max(self.taken, 1)))  # results never depend on it
        try:
            return work(job)
        finally:
            self.running.discard(job)
            self.seconds += (time.monotonic() - begin - self.seconds) / 4

    def prepare(self, work: Callable[[], Any]) -> None:
        """Have a worker do something for which nobody waits."""
        job = Job(self.rates)

        def run() -> None:
            self.running.add(job)
            try:
                work()
            finally:
                self.running.discard(job)

        self.pool.submit(run)

    @property
    def stuck(self) -> bool:
        """Whether every worker is busy with what nobody waits for any more."""
        return self.abandoned >= self.limits.at_once

    def close(self) -> None:
        """Take no more, end what decodes, and wait a moment for those in the middle of a page."""
        self.pool.shutdown(wait=False, cancel_futures=True)
        for job in list(self.running):
            job.cancelled.set()
        end = time.monotonic() + _CLOSE_SECONDS
        while self.running and time.monotonic() < end:
            time.sleep(0.02)
