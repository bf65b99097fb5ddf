"""A batch on one machine: items in, one status row per page out, by this process or by several."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from ..core.bands import cores
from ..options import Option
from .folders import Row, open_folder
from .inputs import Item
from .worker import BatchSettings, Known, Task, Tell, Worker, by_page, note_finished

JOBS = Option("jobs", int, 1, 1, 1024,
              help="Worker processes; each uses its share of the cores. The results never depend on it.")  # fmt: skip


def run_batch(items: Sequence[Item], root: str, settings: BatchSettings, *, jobs: int = 1, threads: int | None = None,
              journal: str | None = "journal", earlier: Sequence[str] | None = None, group: int = 1,
              on_page: Tell | None = None) -> Generator[Row]:  # fmt: skip
    """Work the items off and give a row per page, in no fixed order.

    root : the output folder, a URL or "-". journal : the name finished pages are recorded under, None for nowhere.
    earlier : the journals that tell what is finished; without it all that the folder has.
    group : how many results of one process a store may hold back to record them together; their rows wait with them.
    on_page : told input, page and pages when a page is begun.
    """
    folder = open_folder(root, journal, group)
    known: Known = {}
    if not settings.force:
        note_finished(known, folder, earlier, settings)
    tell = on_page or (lambda *begun: None)
    # a wrong option or a missing model is an error here, once, and not in each worker process
    worker = Worker(settings, folder, threads, earlier, tell)
    jobs = 1 if bound_to_process(root) else min(jobs, len(items))
    here: list[Item] = []
    elsewhere: list[Item] = []
    for item in items:
        (here if jobs == 1 or bound_to_process(item.input) else elsewhere).append(item)
    for item in here:
        yield from worker.run(Task(item, by_page(known.get(item.output))))
    yield from folder.flush()
    if elsewhere:
        from .pool import run_tasks

        tasks = (Task(item, by_page(known.get(item.output))) for item in elsewhere)
        setup = settings, root, journal, earlier, threads or max(1, cores() // jobs), worker.hash
        yield from run_tasks(tasks, jobs, setup, tell)


def bound_to_process(location: str) -> bool:
    """Standard streams and memory:// belong to one process."""
    return location == "-" or "memory://" in location
