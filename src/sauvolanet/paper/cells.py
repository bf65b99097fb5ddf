"""Results on disk, one small JSON file per cell, named by what the cell depends on: stopped runs go on, machines share.

A cell is found again wherever the data lies, because pages count by their content, not by their path. To put the work
of several machines together, copy their ``cells`` folders into one.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__, classic
from ..core.atomic import atomic
from ..errors import BadData, UsageError
from ..pipeline import Selection, fingerprint, probes
from ..score import datasets
from ..score.evaluation import _prediction_files, evaluate, summarize
from ..score.metrics import score

METRICS = ("fm", "pfm", "psnr", "drd")  # the paper's four, in its order
Rows = list[dict[str, Any]]  # one per page: dataset, page, status, error and the scores


@dataclass
class Work:
    """A command's folders, its share of the work, and when it has to stop.

    data : the folder that holds ``documents`` and ``paper-gray``, or a folder of sets. shard : (i, n), 1 ≤ i ≤ n.
    deadline : on the clock of time.monotonic. predictions : rows that the user adds to Tables 4 to 6.
    networks, preset, steps : the networks of Table 3; ``may_train`` False only looks up which of them are there.
    """

    data: Path
    out: Path
    shard: tuple[int, int] = (1, 1)
    deadline: float | None = None
    jobs: int = 1
    predictions: dict[str, Path] = field(default_factory=dict)
    models: list[str] = field(default_factory=list)
    networks: str = "none"
    preset: str = "paper"
    steps: int = 8000
    page: Path | None = None
    truth: Path | None = None
    say: Callable[[str], None] = lambda text: None
    may_train: bool = True

    @property
    def documents(self) -> Path:
        """The folder with the sets as distributed."""
        return self.data / "documents" if (self.data / "documents").is_dir() else self.data

    @property
    def paper_gray(self) -> Path | None:
        """The test sets as the authors' loader saw them, where they are there."""
        return self.data / "paper-gray" if (self.data / "paper-gray").is_dir() else None

    @cached_property
    def sets(self) -> dict[str, list[datasets.Page]]:
        """Pages of ``documents`` by set, in the catalogue's order."""
        return self._by_set(self.documents)

    @cached_property
    def _gray_sets(self) -> dict[str, list[datasets.Page]]:
        return self._by_set(self.paper_gray) if self.paper_gray else {}

    @staticmethod
    def _by_set(folder: Path) -> dict[str, list[datasets.Page]]:
        found: dict[str, list[datasets.Page]] = {}
        for page in datasets.find(folder):
            if page.set in datasets.CATALOGUE:
                found.setdefault(page.set, []).append(page)
        if not found:
            raise BadData(f"{folder}: none of the paper's 13 sets is there")
        return found

    def pages(self, name: str, gray: bool = False) -> list[datasets.Page]:
        """The pages of a set, as distributed or (``gray``) as the authors' loader saw them; none if it is not there."""
        return (self._gray_sets if gray else self.sets).get(name, [])

    @property
    def late(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    def cell(
        self, name: str, depends: dict[str, Any], compute: Callable[[], Any] | None, turn: int | None = None
    ) -> Any:
        """What is on disk for this cell; else computed and kept, if it is this shard's and there is time; else None.

        Without ``compute`` it is only looked up; a computation may return None to say that it was not finished.
        Shards take turns by ``turn``, else by the cell's key.
        """
        kept = self._kept(name, depends)
        if kept:
            return kept["value"]
        key, path = self._key(name, depends)
        part, parts = self.shard
        if compute is None or self.late or (int(key, 16) if turn is None else turn) % parts != part - 1:
            return None
        self.say(name)
        begun = time.perf_counter()
        value = compute()
        if value is not None:
            seconds = round(time.perf_counter() - begun, 3)
            cell = {"cell": name, "depends": {"version": __version__, **depends}, "value": value, "seconds": seconds}
            with atomic(path) as file:
                file.write((json.dumps(cell) + "\n").encode())
        return value

    def seconds(self, name: str, depends: dict[str, Any]) -> float | None:
        """How long a cell took; None where it is not there or older than this record."""
        return (self._kept(name, depends) or {}).get("seconds")

    def _key(self, name: str, depends: dict[str, Any]) -> tuple[str, Path]:
        text = json.dumps([name, {"version": __version__, **depends}], sort_keys=True)
        key = hashlib.sha256(text.encode()).hexdigest()[:16]
        file = re.sub(r"[^\w.-]", "_", name)  # users name their results as they like
        return key, self.out / "cells" / f"{file}-{key}.json"

    def _kept(self, name: str, depends: dict[str, Any]) -> dict[str, Any] | None:
        path = self._key(name, depends)[1]
        if not path.is_file():
            return None
        try:
            cell = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            cell = None
        if not isinstance(cell, dict) or "value" not in cell:
            raise BadData(f"{path}: damaged; remove it, and the same command computes it again")
        return cell

    def scores(self, name: str, set_: str, *, gray: bool = False, model: str | None = None, method: str | None = None,
               predictions: Path | None = None) -> Rows | None:  # fmt: skip
        """Page scores of a model, method or folder of results on a set, None where they are not there yet."""
        pages = self.pages(set_, gray)
        if not pages or (method and not classic.available(classic.METHODS[method])):
            return None
        depends: dict[str, Any] = {"pages": pages_digest(pages), "metrics": metrics_key()}
        if predictions is None:
            depends["engine"] = engine_key(model, method)
        else:
            depends["predictions"] = [digest(p) for p in sorted(predictions.rglob("*")) if p.is_file()]
        folder = self.paper_gray if gray else self.documents
        assert folder is not None
        return self.cell(  # type: ignore[no-any-return]
            f"{name}-{set_}{'-paper-gray' if gray else ''}", depends,
            lambda: page_rows(evaluate(folder, [set_], model, method, predictions, self.jobs, metrics=METRICS)),
        )  # fmt: skip


def page_rows(result: dict[str, Any]) -> Rows:
    """What is kept of an evaluation; a page that failed is an error here: a table must not hide it."""
    for row in result["pages"]:
        if row["status"] != "done":
            raise BadData(row["error"])
    return [{n: v for n, v in row.items() if n != "input"} for row in result["pages"]]


def has_results(folder: Path, pages: list[datasets.Page]) -> bool:
    """Whether a folder of results has any for these pages, under the names that `evaluate` takes."""
    if not folder.is_dir():
        return True  # evaluate says what is wrong with it
    try:
        return bool(pages and _prediction_files(folder, pages))
    except BadData:
        return False


def means(rows: Rows) -> list[float | None]:
    """A set's mean scores, in the order of METRICS; None where one was not asked for, infinite psnr as such."""
    (only,) = summarize(rows).values()
    return [None if metric not in only else math.inf if only[metric] is None else only[metric] for metric in METRICS]


_digests: dict[tuple[Path, int, int], str] = {}


def digest(path: Path) -> str:
    """Checksum of a file's content."""
    stat = path.stat()
    key = (path, stat.st_mtime_ns, stat.st_size)
    if key not in _digests:
        _digests[key] = hashlib.sha256(path.read_bytes()).hexdigest()
    return _digests[key]


known_engines: dict[str, str] = {}  # fingerprint by what the engine's results depend on, in this process


def engine_key(model: str | None = None, method: str | None = None) -> str:
    """What a model or method would give here, whatever code makes it: see `sauvolanet.pipeline.fingerprint`."""
    selection = Selection.of(model=model, method=method, invert="no")
    engine = selection.engine()
    known = json.dumps(engine.values)
    if known not in known_engines:
        known_engines[known] = fingerprint(engine, selection.options)
    return known_engines[known]


@lru_cache
def metrics_key(metrics: Sequence[str] = METRICS) -> dict[str, Any]:
    """The scores of a page whose ink lies one pixel beside its truth: they tell a change in how scores are computed."""
    truth = probes()[3] > 127  # white on black
    return score(np.roll(truth, 1, axis=1), truth, metrics=metrics)


def pages_digest(pages: list[datasets.Page]) -> str:
    """Checksum over the names and contents of pages and truths."""
    text = "".join(f"{p.set}/{p.id}:{digest(p.image)}:{digest(p.truth)};" for p in pages)
    return hashlib.sha256(text.encode()).hexdigest()


def parse_shard(text: str) -> tuple[int, int]:
    """``I/N`` as numbers with 1 ≤ I ≤ N."""
    part, _, whole = text.partition("/")
    if not (part.isdecimal() and whole.isdecimal() and 1 <= int(part) <= int(whole)):
        raise UsageError(f"--shard takes I/N with I from 1 to N, such as 2/4, not '{text}'")
    return int(part), int(whole)
