"""The work on one document of a batch: its pages are converted, skipped where they are finished, or reported as bad.

A row: input, page, pages, output (below the output folder), status (done, skipped, failed, or planned in a dry run),
error, code (exit code of the error), seconds, options (hash; None for an output file that was named itself, of which
nothing is recorded), model, found (what the page tells, see `sauvolanet.page.found`), and what tells later that the
page is finished: input_size, input_time, output_size.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, NamedTuple

from ..api import Binarizer
from ..errors import ForeignOutput, OutputError, PageTooLarge, SauvolanetError, UnreadablePage, UsageError
from ..options import MAX_PIXELS
from ..pipeline import Selection
from . import stores
from .convert import DPI, KEEP_GRAY, Conversion
from .folders import Folder, Row, stops_batch
from .inputs import Item, Named
from .read import Document, Patience
from .write import FORMATS


@dataclass(frozen=True)
class BatchSettings:
    """What shapes the results (and is in their hash), and how to go about it (and is not)."""

    selection: Selection = field(default_factory=Selection)  # without threads
    format: str = "png"
    suffix: str = ".png"
    keep_gray: bool = KEEP_GRAY.default
    dpi: float = DPI.default
    max_pixels: int = MAX_PIXELS.default
    force: bool = False
    dry_run: bool = False
    page_seconds: float | None = None  # for decoding one page
    kept: list[str] = field(default_factory=list)  # inputs inside the output folder: they are never replaced

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> BatchSettings:
        """The settings whose ``dataclasses.asdict`` this is; what is left out has its default."""
        return cls(**{**data, "selection": Selection.from_json(data["selection"])})

    @property
    def many_pages(self) -> bool:
        """Whether one file holds all pages of a document."""
        return FORMATS[self.format][1]


class Finished(NamedTuple):
    """What the journal says of a finished page: enough to see whether all is still as it was, small for a million."""

    pages: int
    output_size: int
    circumstances: int  # hash of input, its size and time, and options
    found: str  # what the page tells, as JSON


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
    hash : of the options, where another worker of the batch knows it already.
    """

    def __init__(self, settings: BatchSettings, folder: Folder, threads: int | None, earlier: Sequence[str] | None,
                 tell: Tell, hash: str | None = None) -> None:  # fmt: skip
        self.settings, self.folder, self.earlier, self.tell = settings, folder, earlier, tell
        self.binarizer = Binarizer(settings.selection.with_options(threads=threads))
        patience = None if settings.page_seconds is None else Patience(settings.page_seconds)
        self.conversion = Conversion(self.binarizer, settings.keep_gray, settings.dpi, settings.max_pixels, patience)
        recorded = folder.journal is not None  # by the hash a later run knows what is finished
        self.hash = hash or (self.conversion.digest(settings.format)[:16] if recorded else None)
        self.kept = Named(settings.kept if settings.force else [], folder.root)
        self.recorded_since: Known = {}

    def run(self, task: Task) -> Iterator[Row]:
        """The rows of an item's pages. Raises only what would stop every further page, too."""
        item = task.item
        row = failed_row(item.input, page=task.first, options=self.hash, model=self.binarizer.name)
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
                self.conversion.open(file, spoken_name(item.input)) as document,
            ):
                row["pages"] = len(document)
                if len(document) > 1 and item.output == "-" and not self.settings.many_pages:
                    raise UsageError(
                        f"{spoken_name(item.input)} has {len(document)} pages and PNG holds one; use --format tiff or pdf"
                    )
                if self.settings.many_pages:
                    yield from self._in_one_file(task, document, row)
                else:
                    for page in self.begun_pages(row, task.first):
                        yield from self.in_own_file(task, document, {**row, "page": page})
        except Exception as problem:
            failed = self._failed(row, problem)
            if self.settings.many_pages:
                yield from failed_together(failed, failed["error"] if isinstance(problem, OutputError) else None)
            else:
                yield failed

    def _name(self, item: Item, page: int, pages: int) -> str:
        own_file = pages > 1 and not self.settings.many_pages
        return f"{item.output}-{page:04d}{self.settings.suffix}" if own_file else item.output + self.settings.suffix

    def begun_pages(self, row: Row, first: int = 1) -> Iterator[int]:
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
                         "found": json.loads(old.found), "output_size": old.output_size})  # fmt: skip
        return rows

    def in_own_file(self, task: Task, document: Document, row: Row) -> list[Row]:
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

    def _in_one_file(self, task: Task, document: Document, row: Row) -> list[Row]:
        """All pages, one file: it is written when every page is good."""
        row["output"] = self._name(task.item, 1, row["pages"])
        skipped = self._in_its_place(task, row, range(1, row["pages"] + 1))
        if skipped:
            return skipped
        if self.settings.dry_run:
            rows = []
            for page in self.begun_pages(row):
                row["page"] = page
                document.check(page - 1)
                rows.append({**row, "status": "planned"})
            return rows
        return self._write(document, row, self.begun_pages(row))

    def _write(self, document: Document, row: Row, pages: Iterable[int]) -> list[Row]:
        def fill(file: IO[bytes]) -> list[Row]:
            rows = []
            begin = 0.0

            def indices() -> Iterator[int]:
                nonlocal begin
                for number in pages:
                    row["page"] = number  # the one to blame if this fails
                    begin = time.perf_counter()
                    yield number - 1

            for index, found in self.conversion.write(document, indices(), file, self.settings.format):
                seconds = round(time.perf_counter() - begin, 4)
                rows.append({**row, "page": index + 1, "status": "done", "seconds": seconds, "found": found.to_json()})
            return rows

        return self.folder.write(row["output"], fill)

    def _in_its_place(self, task: Task, row: Row, pages: Iterable[int]) -> list[Row]:
        """Rows of pages that another run has finished meanwhile, nothing if the place is free; else ForeignOutput."""
        place = self.folder.where(row["output"])
        if place != "-" and stores.same_file(place, row["input"]):
            raise ForeignOutput(f"{place} would replace its own input; give another folder with -o")
        if place in self.kept and self.folder.size(row["output"]) is not None:
            raise ForeignOutput(f"{place} is another input and is not replaced; give another folder with -o")
        if self.settings.force or (size := self.folder.size(row["output"])) is None:
            return []
        skipped = self._skipped(self._informed(task), row, row["pages"], pages)
        if not skipped:
            made = "" if self.folder.journal is None else " and was not made from this input with these options"
            ours = any(old.output_size == size for old in task.finished.values())
            alone = "; delete it to have it alone made again" if ours else ""
            raise ForeignOutput(f"{place} exists{made}; --force replaces it{alone}")
        return skipped

    def _informed(self, task: Task) -> Task:
        """The task with what other runs have recorded since this one began."""
        note_finished(self.recorded_since, self.folder, self.earlier, self.settings)
        return task._replace(finished=by_page(self.recorded_since.get(task.item.output)))

    def _failed(self, row: Row, problem: Exception) -> Row:
        name = spoken_name(row["input"])
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


def spoken_name(location: str) -> str:
    """The location as people are told."""
    return "standard input" if location == "-" else location


def failed_row(input: str, **known: Any) -> Row:
    """A row with all its keys, of a page that has failed unless more is known."""
    return {"input": input, "page": 1, "pages": None, "output": None, "status": "failed", "error": None, "code": None,
            "seconds": 0.0, "options": None, "model": None, "found": None, "input_size": None, "input_time": None,
            "output_size": None, **known}  # fmt: skip


def failed_together(failed: Row, why: str | None = None) -> list[Row]:
    """A failed page and the others of its document, whose one file is not written without it."""
    why = why or f"{spoken_name(failed['input'])}: not written: page {failed['page']} failed"
    pages = range(1, (failed["pages"] or 1) + 1)
    return [failed if page == failed["page"] else {**failed, "page": page, "error": why} for page in pages]


def by_page(entry: Finished | dict[int, Finished] | None) -> dict[int, Finished]:
    """What is known of an item, by page."""
    return {} if entry is None else entry if isinstance(entry, dict) else {1: entry}


def _circumstances(row: Row) -> int:
    text = "\0".join(str(row.get(key)) for key in ("input", "input_size", "input_time", "options"))
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def note_finished(known: Known, folder: Folder, earlier: Sequence[str] | None, settings: BatchSettings) -> None:
    """Add what the folder's journals say of each item's pages and was not read before; the latest counts."""
    if folder.journal is None:
        return
    for row in folder.rows(*(folder.journals() if earlier is None else earlier)):
        if row.get("status") not in ("done", "skipped") or not row["output"].endswith(settings.suffix):
            continue
        item, page, pages = row["output"].removesuffix(settings.suffix), row["page"], row["pages"]
        found = row.get("found")
        told = json.dumps(found if isinstance(found, dict) else None)  # journals of old know nothing of it
        finished = Finished(pages, row["output_size"], _circumstances(row), told)
        if pages == 1:
            known[item] = finished
            continue
        if not settings.many_pages:
            item = item.removesuffix(f"-{page:04d}")
        entry = known.get(item)
        if not isinstance(entry, dict):
            entry = known[item] = {}
        entry[page] = finished
