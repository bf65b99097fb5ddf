"""Worker processes for a batch: each has one task at a time, and a worker that dies costs the page it was on.

Python's own pools give up when a worker is killed (out of memory, a crash in a decoder); this one reports the page
as failed, starts another worker and goes on with the document's next page.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from ..errors import OutputError, SauvolanetError
from .folders import Row, open_folder
from .worker import BatchSettings, Task, Tell, Worker, failed_row, failed_together

# settings, root, journal, earlier, threads, hash of the options
_Setup = tuple[BatchSettings, str, "str | None", "Sequence[str] | None", int, "str | None"]


def run_tasks(tasks: Iterator[Task], jobs: int, setup: _Setup, tell: Tell) -> Iterator[Row]:
    """Rows of all tasks, worked off by ``jobs`` processes; tasks are taken only when a process is free."""
    again: deque[Task] = deque()
    workers: list[_Process] = []
    try:
        while True:
            for worker in [w for w in workers if w.task is None and not w.process.is_alive()]:
                workers.remove(worker)  # killed while it had nothing to do: no page is to blame
                worker.stop()
            idle = [w for w in workers if w.task is None]
            task = None
            while (len(workers) < jobs or idle) and (task := again.popleft() if again else next(tasks, None)):
                if not idle:
                    idle.append(_Process(setup))
                    workers.append(idle[0])
                idle.pop().give(task)
            busy = {w.connection: w for w in workers if w.task is not None}
            if not busy:
                break
            for connection in wait(list(busy)):
                worker = busy[connection]  # type: ignore[index]
                try:
                    message = worker.connection.recv()
                except (EOFError, ConnectionError):
                    workers.remove(worker)
                    yield from worker.lost_rows(again, setup[0])
                    continue
                if isinstance(message, SauvolanetError):
                    raise message
                if message is None:
                    worker.task = None
                elif isinstance(message, tuple):
                    _, worker.page, worker.pages = message
                    tell(*message)
                else:
                    yield message
        for worker in workers:
            with contextlib.suppress(OSError):  # it may have been killed while it had nothing to do
                worker.connection.send(None)
        for worker in workers:
            worker.process.join()
    finally:
        for worker in workers:
            worker.stop()


class _Process:
    """A worker process as its parent sees it."""

    def __init__(self, setup: _Setup) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=work_off, args=(theirs, setup), daemon=True)
        self.process.start()
        theirs.close()
        self.task: Task | None = None
        self.page, self.pages = 1, None

    def give(self, task: Task) -> None:
        self.task, self.page, self.pages = task, task.first, None
        with contextlib.suppress(OSError):  # a dead worker is noticed when its answer is read
            self.connection.send(task)

    def lost_rows(self, again: deque[Task], settings: BatchSettings) -> list[Row]:
        """The failed row of the page the worker died on, and of all that share its file; other pages are put back."""
        self.process.join()
        assert self.task is not None
        code = self.process.exitcode or 0
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        if self.pages is not None and self.page < self.pages and not settings.many_pages:
            again.append(self.task._replace(first=self.page + 1))
        item = self.task.item
        why = f"the worker process died ({name}); out of memory? fewer --jobs may help"
        page = f"page {self.page} of " if (self.pages or 1) > 1 else ""
        row = failed_row(item.input, page=self.page, pages=self.pages, error=f"{page}{item.input}: {why}", code=1)
        return failed_together(row) if settings.many_pages else [row]

    def stop(self) -> None:
        """End the process; it removes its unfinished file first."""
        if self.process.is_alive():
            self.process.terminate()
            self.process.join(20)
            self.process.kill()
            self.process.join()
        self.connection.close()


def work_off(connection: Connection, setup: _Setup) -> None:
    """The worker's side: tasks in; out come rows, a tuple when a page is begun, and None after each task."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal interrupts everybody; the parent ends us
    signal.signal(signal.SIGTERM, _leave)
    settings, root, journal, earlier, threads, hash = setup
    folder = open_folder(root, journal)  # nothing is held back: a worker that dies would take it along
    with contextlib.suppress(EOFError, BrokenPipeError):  # the parent is gone
        try:
            worker = Worker(settings, folder, threads, earlier, lambda *begun: connection.send(begun), hash)
            while (task := connection.recv()) is not None:
                for row in worker.run(task):
                    connection.send(row)
                connection.send(None)
            folder.flush()
        except OutputError as problem:
            connection.send(OutputError(str(problem)))


def _leave(*_: Any) -> None:
    sys.exit(143)
