"""A batch on one machine: items in, one status row per page out; finished pages are skipped, bad ones reported.

A row: input, page, pages, output (below the output folder), status (done, skipped, failed, or planned in a dry run),
error, code (exit code of the error), seconds, options (hash), model, and what tells later that the page is finished:
input_size, input_time, output_size.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, NamedTuple

from ..binarize import Binarizer, normalize
from ..errors import ForeignOutput, OutputError, PageTooLarge, SauvolanetError, UnreadablePage, UsageError
from ..options import MAX_PIXELS, Option
from ..windows import Gray, cores
from . import stores
from .folders import Folder, Row, open_folder, stops_batch
from .inputs import Item, Named
from .read import Document, open_document
from .write import FORMATS, Pixels

FORMAT = Option("format", str, None, choices=tuple(FORMATS),
                help="Format of the results; without it the output's suffix decides, and png in a folder.")  # fmt: skip
DPI = Option("dpi", float, 300.0, 10, 20_000,
             help="Resolution at which PDF pages that are not a plain scan are rendered, and which a PDF gets where "
                  "the input does not say.")  # fmt: skip
KEEP_GRAY = Option("keep_gray", bool, False,
                   help="Write the gray page, its paper made even and white, instead of black and white.")  # fmt: skip
JOBS = Option("jobs", int, 1, 1, 1024,
              help="Worker processes; each uses its share of the cores. The results never depend on it.")  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """What shapes the results (and is in their hash), and how to go about it (and is not)."""

    options: dict[str, Any] = field(default_factory=dict)  # of Binarizer, without threads
    format: str = "png"
    suffix: str = ".png"
    keep_gray: bool = KEEP_GRAY.default
    dpi: float = DPI.default
    max_pixels: int = MAX_PIXELS.default
    force: bool = False
    dry_run: bool = False
    kept: list[str] = field(default_factory=list)  # inputs inside the output folder: they are never replaced

    @property
    def many_pages(self) -> bool:
        """Whether one file holds all pages of a document."""
        return FORMATS[self.format][1]

    def hash(self, binarizer: Binarizer) -> str:
        """Same hash, same input: same bytes."""
        b = binarizer
        shape = [b.name, b.model.digest if b.model else b.params, b.strength, b.invert, b.despeckle, b.quality,
                 b.enlarge, self.format, self.keep_gray, self.dpi]  # fmt: skip
        return hashlib.sha256(json.dumps(shape, sort_keys=True, default=str).encode()).hexdigest()[:16]


class Finished(NamedTuple):
    """What the journal says of a finished page: enough to see whether all is still as it was, small for a million."""

    pages: int
    output_size: int
    circumstances: int  # hash of input, its size and time, and options


class Task(NamedTuple):
    """One item, its finished pages, and the page to begin with."""

    item: Item
    finished: dict[int, Finished]
    first: int = 1


Known = dict[str, Finished | dict[int, Finished]]  # by item; one of a single page takes no dict of its own
Tell = Callable[[str, int, int], Any]  # input, page, pages: the page is begun


class Worker:
    """Works items off, one page in memory at a time; made once per process.

    earlier : the journals that tell what is finished; None means all that the folder has. tell : see `Tell`.
    """

    def __init__(self, settings: Settings, folder: Folder, threads: int | None, earlier: Sequence[str] | None,
                 tell: Tell) -> None:  # fmt: skip
        self.settings, self.folder, self.earlier, self.tell = settings, folder, earlier, tell
        self.options = {**settings.options, "threads": threads}
        self.binarizer = Binarizer(**self.options)
        self.hash = settings.hash(self.binarizer)
        self.kept = Named(settings.kept if settings.force else [], folder.root)
        self.recorded_since: Known = {}

    def run(self, task: Task) -> Iterator[Row]:
        """The rows of an item's pages. Raises only what would stop every further page, too."""
        item = task.item
        row: Row = {"input": item.input, "page": task.first, "pages": None, "output": None, "status": "failed",
                    "error": None, "code": None, "seconds": 0.0, "options": self.hash, "model": self.binarizer.name,
                    "input_size": None, "input_time": None, "output_size": None}  # fmt: skip
        try:
            if item.problem:
                raise UnreadablePage(item.problem)
            found = stores.stat(item.input)
            row.update(input_size=found.size, input_time=found.time)
            pages = next((old.pages for old in task.finished.values()), 0)
            skipped = self._skipped(task, row, pages, range(task.first, pages + 1))
            if skipped:  # without opening it
                yield from skipped
                return
            with (
                stores.open_input(item.input) as file,
                open_document(
                    file,
                    shown(item.input),
                    dpi=self.settings.dpi,
                    max_pixels=self.settings.max_pixels,
                    times=1 if self.binarizer.enlarge == "auto" else self.binarizer.most,
                ) as document,
            ):
                row["pages"] = len(document)
                if len(document) > 1 and item.output == "-" and not self.settings.many_pages:
                    raise UsageError(
                        f"{shown(item.input)} has {len(document)} pages and PNG holds one; use --format tiff or pdf"
                    )
                if self.settings.many_pages:
                    yield from self._together(task, document, row)
                else:
                    for page in self._begun(row, task.first):
                        yield from self._apart(task, document, {**row, "page": page})
        except Exception as problem:
            failed = self._failed(row, problem)
            if self.settings.many_pages:
                yield from failed_together(failed, failed["error"] if isinstance(problem, OutputError) else None)
            else:
                yield failed

    def _name(self, item: Item, page: int, pages: int) -> str:
        apart = pages > 1 and not self.settings.many_pages
        return f"{item.output}-{page:04d}{self.settings.suffix}" if apart else item.output + self.settings.suffix

    def _begun(self, row: Row, first: int = 1) -> Iterator[int]:
        """The numbers of a document's pages, each told when it is begun."""
        for page in range(first, row["pages"] + 1):
            self.tell(row["input"], page, row["pages"])
            yield page

    def _skipped(self, task: Task, row: Row, pages: int, numbers: Iterable[int]) -> list[Row]:
        """Rows of these pages, if each is known as done and everything is still as it was; else nothing."""
        rows = []
        for page in numbers:
            name, old = self._name(task.item, page, pages), task.finished.get(page)
            if old is None or old.circumstances != _circumstances(row) or self.folder.size(name) != old.output_size:
                return []
            rows.append({**row, "page": page, "pages": old.pages, "output": name, "status": "skipped",
                         "output_size": old.output_size})  # fmt: skip
        return rows

    def _apart(self, task: Task, document: Document, row: Row) -> list[Row]:
        """One page, one file. In a store its row may come later, with others."""
        page = row["page"]
        row["output"] = self._name(task.item, page, row["pages"])
        try:
            skipped = self._skipped(task, row, row["pages"], [page]) or self._in_its_place(task, row, [page])
            if skipped:
                return skipped
            if self.settings.dry_run:
                document.check(page - 1)
                return [{**row, "status": "planned"}]
            return self._write(document, row, [page])
        except Exception as problem:
            return [self._failed(row, problem)]

    def _together(self, task: Task, document: Document, row: Row) -> list[Row]:
        """All pages, one file: it is written when every page is good."""
        row["output"] = self._name(task.item, 1, row["pages"])
        skipped = self._in_its_place(task, row, range(1, row["pages"] + 1))
        if skipped:
            return skipped
        if self.settings.dry_run:
            rows = []
            for page in self._begun(row):
                row["page"] = page
                document.check(page - 1)
                rows.append({**row, "status": "planned"})
            return rows
        return self._write(document, row, self._begun(row))

    def _write(self, document: Document, row: Row, pages: Iterable[int]) -> list[Row]:
        def fill(file: IO[bytes]) -> list[Row]:
            rows = []
            writer = FORMATS[self.settings.format][2](file, self.settings.dpi)
            for number in pages:
                row["page"] = number  # the one to blame if this fails
                begin = time.perf_counter()
                page = document.page(number - 1)
                pixels = self._pixels(page.gray)
                times = len(pixels) // len(page.gray)
                dpi = page.dpi or writer.default_dpi
                writer.add(pixels, dpi and (dpi[0] * times, dpi[1] * times), page.description)
                seconds = round(time.perf_counter() - begin, 4)
                rows.append({**row, "page": number, "status": "done", "seconds": seconds})
                del page, pixels  # before the next one is read
            writer.close()
            return rows

        return self.folder.write(row["output"], fill)

    def _pixels(self, gray: Gray) -> Pixels:
        """What is written of a page. With enlarge="auto" one that would be too large when enlarged keeps its size."""
        fits = gray.size * self.binarizer.most**2 <= self.settings.max_pixels
        options = self.options if fits else {**self.options, "enlarge": 1}
        if self.settings.keep_gray:
            return normalize(gray, **options)
        return (self.binarizer if fits else Binarizer(**options))(gray)

    def _in_its_place(self, task: Task, row: Row, pages: Iterable[int]) -> list[Row]:
        """Rows of pages that another run has finished meanwhile, nothing if the place is free; else ForeignOutput."""
        place = self.folder.where(row["output"])
        if place != "-" and stores.same_file(place, row["input"]):
            raise ForeignOutput(f"{place} would replace its own input; give another folder with -o")
        if place in self.kept and self.folder.size(row["output"]) is not None:
            raise ForeignOutput(f"{place} is another input and is not replaced; give another folder with -o")
        if self.settings.force or self.folder.size(row["output"]) is None:
            return []
        skipped = self._skipped(self._informed(task), row, row["pages"], pages)
        if not skipped:
            made = "" if self.folder.journal is None else " and was not made from this input with these options"
            raise ForeignOutput(f"{place} exists{made}; --force replaces it")
        return skipped

    def _informed(self, task: Task) -> Task:
        """The task with what other runs have recorded since this one began."""
        _note_finished(self.recorded_since, self.folder, self.earlier, self.settings)
        return task._replace(finished=_by_page(self.recorded_since.get(task.item.output)))

    def _failed(self, row: Row, problem: Exception) -> Row:
        name = shown(row["input"])
        if isinstance(problem, OutputError) and stops_batch(problem):
            raise problem
        if isinstance(problem, MemoryError):
            problem = PageTooLarge(f"not enough memory for {name}; fewer --jobs may help")
        if isinstance(problem, SauvolanetError):
            text = str(problem)
            code = problem.exit_code
        else:
            text, code = f"internal error, please report: {type(problem).__name__}: {problem}", 1
        if name not in text and (row["output"] or name) not in text:
            text = f"{name}: {text}"
        of_file = isinstance(problem, (OutputError, UsageError))
        of_page = (row["pages"] or 1) > 1 and "page " not in text and not of_file
        where = f" (page {row['page']} of {row['pages']})" if of_page else ""
        return {**row, "status": "failed", "error": text + where, "code": code}


def shown(location: str) -> str:
    """The location as people are told."""
    return "standard input" if location == "-" else location


def failed_together(failed: Row, why: str | None = None) -> list[Row]:
    """A failed page and the others of its document, whose one file is not written without it."""
    why = why or f"{shown(failed['input'])}: not written: page {failed['page']} failed"
    pages = range(1, (failed["pages"] or 1) + 1)
    return [failed if page == failed["page"] else {**failed, "page": page, "error": why} for page in pages]


def run_batch(items: Sequence[Item], root: str, settings: Settings, *, jobs: int = 1, threads: int | None = None,
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
        _note_finished(known, folder, earlier, settings)
    tell = on_page or (lambda *begun: None)
    # a wrong option or a missing model is an error here, once, and not in each worker process
    worker = Worker(settings, folder, threads, earlier, tell)
    jobs = 1 if bound_to_process(root) else min(jobs, len(items))
    here: list[Item] = []
    elsewhere: list[Item] = []
    for item in items:
        (here if jobs == 1 or bound_to_process(item.input) else elsewhere).append(item)
    for item in here:
        yield from worker.run(Task(item, _by_page(known.get(item.output))))
    yield from folder.flush()
    if elsewhere:
        from .pool import run_tasks

        tasks = (Task(item, _by_page(known.get(item.output))) for item in elsewhere)
        setup = settings, root, journal, earlier, threads or max(1, cores() // jobs)
        yield from run_tasks(tasks, jobs, setup, tell)


def bound_to_process(location: str) -> bool:
    """Standard streams and memory:// belong to one process."""
    return location == "-" or "memory://" in location


def _by_page(entry: Finished | dict[int, Finished] | None) -> dict[int, Finished]:
    return {} if entry is None else entry if isinstance(entry, dict) else {1: entry}


def _circumstances(row: Row) -> int:
    text = "\0".join(str(row.get(key)) for key in ("input", "input_size", "input_time", "options"))
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def _note_finished(known: Known, folder: Folder, earlier: Sequence[str] | None, settings: Settings) -> None:
    """Add what the folder's journals say of each item's pages and was not read before; the latest counts."""
    if folder.journal is None:
        return
    for row in folder.rows(*(folder.journals() if earlier is None else earlier)):
        if row.get("status") not in ("done", "skipped") or not row["output"].endswith(settings.suffix):
            continue
        item, page, pages = row["output"].removesuffix(settings.suffix), row["page"], row["pages"]
        finished = Finished(pages, row["output_size"], _circumstances(row))
        if pages == 1:
            known[item] = finished
            continue
        if not settings.many_pages:
            item = item.removesuffix(f"-{page:04d}")
        entry = known.get(item)
        if not isinstance(entry, dict):
            entry = known[item] = {}
        entry[page] = finished
