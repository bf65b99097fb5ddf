"""A batch on one machine: items in, one status row per page out; finished pages are skipped, bad ones reported.

A row: input, page, pages, output (below the output folder), status (done, skipped, failed, or planned in a dry run),
error, code (exit code of the error), seconds, options (hash), model, and what tells later that the page is finished:
input_size, input_time, output_size.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any, NamedTuple

from ..binarize import Binarizer, normalize
from ..errors import ForeignOutput, OutputError, PageTooLarge, SauvolanetError, UsageError
from ..options import MAX_PIXELS, Option
from ..windows import cores
from . import stores
from .folders import Folder, Row, open_folder, stops_batch
from .inputs import Item
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

    @property
    def many_pages(self) -> bool:
        """Whether one file holds all pages of a document."""
        return FORMATS[self.format][1]

    def hash(self, binarizer: Binarizer) -> str:
        """Same hash, same input: same bytes."""
        b = binarizer
        shape = [b.name, b.model.about["sha256"] if b.model else b.params, b.strength, b.invert, b.despeckle, b.quality,
                 self.format, self.keep_gray, self.dpi]  # fmt: skip
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


class Worker:
    """Works items off, one page in memory at a time; made once per process."""

    def __init__(self, settings: Settings, folder: Folder, threads: int | None) -> None:
        self.settings, self.folder = settings, folder
        self.options = {**settings.options, "threads": threads}
        self.binarizer = Binarizer(**self.options)
        self.hash = settings.hash(self.binarizer)

    def run(self, task: Task) -> Iterator[Row]:
        """The rows of an item's pages. Raises only what would stop every further page, too."""
        item = task.item
        row: Row = {"input": item.input, "page": task.first, "pages": None, "output": None, "status": "failed",
                    "error": None, "code": None, "seconds": 0.0, "options": self.hash, "model": self.binarizer.name,
                    "input_size": None, "input_time": None, "output_size": None}  # fmt: skip
        try:
            found = stores.stat(item.input)
            row.update(input_size=found.size, input_time=found.time)
            skipped = self._all_finished(task, row)
            if skipped:
                yield from skipped
                return
            with (
                stores.open_input(item.input) as file,
                open_document(
                    file, shown(item.input), dpi=self.settings.dpi, max_pixels=self.settings.max_pixels
                ) as document,
            ):
                row["pages"] = len(document)
                if len(document) > 1 and item.output == "-" and not self.settings.many_pages:
                    raise UsageError(
                        f"{shown(item.input)} has {len(document)} pages and PNG holds one; use --format tiff or pdf"
                    )
                if self.settings.many_pages:
                    yield from self._together(item, document, row)
                else:
                    for page in range(task.first, len(document) + 1):
                        yield {"begin": page, "pages": len(document)}
                        yield self._apart(task, document, {**row, "page": page})
        except Exception as problem:
            yield self._failed(row, problem)

    def _name(self, item: Item, page: int, pages: int) -> str:
        apart = pages > 1 and not self.settings.many_pages
        return f"{item.output}-{page:04d}{self.settings.suffix}" if apart else item.output + self.settings.suffix

    def _finished(self, task: Task, row: Row, page: int, name: str) -> Row | None:
        """The old row, if it says done and everything is still as it was."""
        old = task.finished.get(page)
        if old is None or old.circumstances != _circumstances(row) or self.folder.size(name) != old.output_size:
            return None
        return {**row, "page": page, "pages": old.pages, "output": name, "status": "skipped",
                "output_size": old.output_size}  # fmt: skip

    def _all_finished(self, task: Task, row: Row) -> list[Row]:
        """Rows of an item that is finished, found without opening it; else nothing."""
        pages = next((old.pages for old in task.finished.values()), 0)
        rows = []
        for page in range(task.first, pages + 1):
            old = self._finished(task, row, page, self._name(task.item, page, pages))
            if old is None:
                return []
            rows.append(old)
        return rows

    def _apart(self, task: Task, document: Document, row: Row) -> Row:
        """One page, one file."""
        name = self._name(task.item, row["page"], row["pages"])
        row["output"] = name
        try:
            old = self._finished(task, row, row["page"], name)
            if old is not None:
                return old
            self._may_write(task.item, name)
            if self.settings.dry_run:
                document.check(row["page"] - 1)
                return {**row, "status": "planned"}
            return self._write(document, row, name, [row["page"]])[0]
        except Exception as problem:
            return self._failed(row, problem)

    def _together(self, item: Item, document: Document, row: Row) -> list[Row]:
        """All pages, one file: it is written when every page is good."""
        row["output"] = name = self._name(item, 1, row["pages"])
        self._may_write(item, name)
        pages = range(1, row["pages"] + 1)
        if self.settings.dry_run:
            for page in pages:
                row["page"] = page
                document.check(page - 1)
            return [{**row, "page": page, "status": "planned"} for page in pages]
        return self._write(document, row, name, pages)

    def _write(self, document: Document, row: Row, name: str, pages: Iterable[int]) -> list[Row]:
        def fill(file: IO[bytes]) -> list[Row]:
            rows = []
            writer = FORMATS[self.settings.format][2](file, self.settings.dpi)
            for number in pages:
                row["page"] = number  # the one to blame if this fails
                begin = time.perf_counter()
                page = document.page(number - 1)
                gray = self.settings.keep_gray
                pixels: Pixels = normalize(page.gray, **self.options) if gray else self.binarizer(page.gray)
                writer.add(pixels, page.dpi, page.description)
                seconds = round(time.perf_counter() - begin, 4)
                rows.append({**row, "page": number, "status": "done", "seconds": seconds})
                del page, pixels  # before the next one is read
            writer.close()
            return rows

        return self.folder.write(name, fill)

    def _may_write(self, item: Item, name: str) -> None:
        place = self.folder.where(name)
        if place != "-" and stores.same_file(place, item.input):
            raise ForeignOutput(f"{place} would replace its own input; give another folder with -o")
        if not self.settings.force and self.folder.size(name) is not None:
            raise ForeignOutput(f"{place} exists and was not made by this command from this input; --force replaces it")

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
        where = f" (page {row['page']} of {row['pages']})" if (row["pages"] or 1) > 1 and "page " not in text else ""
        return {**row, "status": "failed", "error": text + where, "code": code}


def shown(location: str) -> str:
    """The location as people are told."""
    return "standard input" if location == "-" else location


def run_batch(items: Iterable[Item], root: str, settings: Settings, *, jobs: int = 1, threads: int | None = None,
              journal: str | None = "journal", earlier: Iterable[str] | None = None,
              group: int = 1) -> Iterator[Row]:  # fmt: skip
    """Work the items off and give a row per page, in no fixed order.

    root : the output folder, a URL or "-". journal : the name finished pages are recorded under, None for nowhere.
    earlier : the journals that tell what is finished; without it all that the folder has.
    group : how many results a store may hold back to record them together; they are there when the rows end.
    """
    folder = open_folder(root, journal, group)
    known: dict[str, Finished | dict[int, Finished]] = {}
    if journal is not None and not settings.force:
        known = _finished(folder.rows(*(folder.journals() if earlier is None else earlier)), settings)
    tasks: Iterator[Task] = (Task(item, _by_page(known.get(item.output))) for item in items)
    first = list(itertools.islice(tasks, jobs))
    tasks = itertools.chain(first, tasks)
    if len(first) <= 1 or any(map(_bound_to_process, (root, *(t.item.input for t in first)))):
        worker = Worker(settings, folder, threads)
        for task in tasks:
            yield from (row for row in worker.run(task) if "begin" not in row)
        folder.flush()
    else:
        from .pool import run_tasks

        Worker(settings, folder, 1)  # a wrong option or a missing model is an error here, once, and not in each worker
        share = threads or max(1, cores() // len(first))
        yield from run_tasks(tasks, len(first), (settings, root, journal, group, share))


def _bound_to_process(location: str) -> bool:
    """Standard streams and memory:// belong to one process."""
    return location == "-" or location.startswith("memory://")


def _by_page(entry: Finished | dict[int, Finished] | None) -> dict[int, Finished]:
    return {} if entry is None else entry if isinstance(entry, dict) else {1: entry}


def _circumstances(row: Row) -> int:
    text = "\0".join(str(row.get(key)) for key in ("input", "input_size", "input_time", "options"))
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def _finished(rows: Iterable[Row], settings: Settings) -> dict[str, Finished | dict[int, Finished]]:
    """The latest that is known of each item's pages; an item of one page takes no dict of its own."""
    known: dict[str, Finished | dict[int, Finished]] = {}
    for row in rows:
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
    return known
