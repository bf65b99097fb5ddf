"""Scores a model, a method or a folder of results on data sets with truth; a set's score is the mean over its pages.

The result has the shape of ``sauvolanet evaluate --json``::

    {"datasets": {"DIBCO2011": {"n": 16, "fm": 94.3, …, "psnr": 20.6, "psnr_n": 16, …}, …},
     "pages": [{"dataset": "DIBCO2011", "page": "H01", "input": "…", "status": "done", "error": null, "fm": …}, …]}

An infinite psnr (a perfect page) is null and left out of the mean; psnr_n counts the pages in it. A page that cannot be
scored has the status "failed" and an error, counts nowhere, and does not stop the others. One that looks wrong is scored
and has "doubts", a list of texts.
Pages are read as gray, whatever their colours, and never inverted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ..api import Binarizer
from ..core.arrays import Gray, Ink
from ..core.bands import cores
from ..errors import BadData, InputError, RunFailed, UnknownName, UsageError
from ..pipeline import Selection
from .datasets import Page, doubts, find, known_set, read_gray, read_image, read_truth, read_weights
from .metrics import METRICS, score

Progress = Callable[[int, int], None]
DARK = 127  # the lightest gray that counts as ink in a result


def evaluate(
    data: str | Path,
    datasets: Iterable[str] | None = None,
    model: str | None = None,
    method: str | None = None,
    predictions: str | Path | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
    metrics: Sequence[str] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Scores on the named sets or groups in a folder (without names: every set in it); see the module for the shape.

    model, method : as in `sauvolanet.binarize`, with their ``options``; neither means the default model.
    predictions : a folder of results instead, any image format, dark = ink, named SET/ID.*, SET_ID.* or, for a single
        set, ID.*.
    jobs : worker processes, each with its share of the cores; results do not depend on it.
    progress : called with the number of pages done and of all pages.
    metrics : names of the metrics to compute, all without.
    """
    if jobs < 1:
        raise UsageError(f"jobs must be a whole number, at least 1, not {jobs}")
    for name in metrics or ():
        if name not in METRICS:
            raise UnknownName("metric", name, METRICS)
    pages = find(data, datasets)
    if predictions is not None:
        if model is not None or method is not None or options:
            raise UsageError("predictions are scored as they are: give no model, method or option with them")
        files = _prediction_files(Path(predictions), pages)
        make: Callable[[], Callable[[Page, Gray], Ink]] = partial(_Predictions, files)
    else:
        selection = Selection.of(model=model, method=method, **{"invert": "no", "channel": "gray", **options})
        if selection.options.invert != "no":
            raise UsageError("evaluate never inverts pages: leave out invert")
        if selection.options.channel != "gray":
            raise UsageError("evaluate reads pages as gray: leave out channel")
        if selection.options.threads is None:
            selection = selection.with_options(threads=max(cores() // jobs, 1))
        make = partial(_Binarized, selection)
    return _result(_rows(pages, make, metrics, min(jobs, len(pages))), len(pages), progress)


def score_pages(
    pages: Sequence[Page],
    binarize: Callable[[Gray], Ink],
    metrics: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Scores of any function from gray (uint8, 0 black) to ink (bool, True = ink) on pages from `datasets.find`."""
    rows = (_row(page, lambda _, gray: binarize(gray), metrics) for page in pages)
    return _result(rows, len(pages), progress)


def summarize(rows: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Mean scores of each set over its pages that were scored, from page rows."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["status"] == "done":
            groups.setdefault(row["dataset"], []).append(row)
    means: dict[str, dict[str, Any]] = {}
    for name, group in groups.items():
        means[name] = {"n": len(group)}
        for metric in (m for m in METRICS if m in group[0]):
            values = [row[metric] for row in group if row[metric] is not None]
            means[name][metric] = math.fsum(values) / len(values) if values else None
            if metric == "psnr":
                means[name]["psnr_n"] = len(values)
    return means


class _Binarized:
    """Ink of a page by a model or method, loaded once."""

    def __init__(self, selection: Selection) -> None:
        self.binarizer = Binarizer(selection)

    def __call__(self, page: Page, gray: Gray) -> Ink:
        return self.binarizer(gray)


class _Predictions:
    """Ink of a page from somebody's results."""

    def __init__(self, files: dict[tuple[str, str], list[Path]]) -> None:
        self.files = files

    def __call__(self, page: Page, gray: Gray) -> Ink:
        paths = self.files[page.set, page.id]
        if not paths:
            raise BadData(f"{page.set} {page.id}: no prediction for this page")
        if len(paths) > 1:
            raise BadData(f"{page.set} {page.id}: several predictions: {', '.join(map(str, paths))}")
        ink = read_image(paths[0]) <= DARK
        if ink.shape != gray.shape:
            sizes = f"{ink.shape[1]}×{ink.shape[0]} pixels, its page {gray.shape[1]}×{gray.shape[0]}"
            raise BadData(f"{paths[0]}: the prediction is {sizes}")
        return ink


def _prediction_files(folder: Path, pages: Sequence[Page]) -> dict[tuple[str, str], list[Path]]:
    """The files that belong to each page: SET/ID.*, else SET_ID.*, else (of a single set) ID.*."""
    if not folder.is_dir():
        raise BadData(f"{folder}: {'is a file, a folder is expected' if folder.exists() else 'no such folder'}")
    listed: dict[tuple[str, str], list[Path]] = {}
    for path in sorted(p for pattern in ("*", "*/*") for p in folder.glob(pattern) if p.is_file() and p.name[0] != "."):
        above = "" if path.parent == folder else (known_set(path.parent.name) or path.parent.name)
        listed.setdefault((above.lower(), path.stem.lower()), []).append(path)
    single = len({page.set for page in pages}) == 1
    files = {}
    for page in pages:
        name, own = page.set.lower(), page.id.lower()
        keys = [(name, own), ("", f"{name}_{own}"), *([("", own)] if single else [])]
        files[page.set, page.id] = next((listed[key] for key in keys if key in listed), [])
    if not any(files.values()):
        raise BadData(f"{folder}: no prediction found; name them {pages[0].set}/{pages[0].id}.png and so on")
    return files


_ink: Callable[[Page, Gray], Ink] | None = None  # of a worker process


def _start(make: Callable[[], Callable[[Page, Gray], Ink]]) -> None:
    global _ink
    _ink = make()


def _work(page: Page, metrics: Sequence[str] | None) -> dict[str, Any]:
    assert _ink is not None
    return _row(page, _ink, metrics)


def _rows(
    pages: Sequence[Page],
    make: Callable[[], Callable[[Page, Gray], Ink]],
    metrics: Sequence[str] | None,
    jobs: int,
) -> Iterator[dict[str, Any]]:
    ink = make()  # here too: what is wrong with a model or an option shows at once and once
    if jobs == 1:
        yield from (_row(page, ink, metrics) for page in pages)
        return
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _start, (make,))
    try:
        yield from pool.map(partial(_work, metrics=metrics), pages)
    except BrokenProcessPool:
        raise RunFailed("a worker process died, perhaps for want of memory: try fewer jobs") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _row(page: Page, ink: Callable[[Page, Gray], Ink], metrics: Sequence[str] | None) -> dict[str, Any]:
    row: dict[str, Any] = {"dataset": page.set, "page": page.id, "input": str(page.image)}
    try:
        gray = read_gray(page)
        truth = read_truth(page, gray.shape)
        weights = read_weights(page, truth.shape) if metrics is None or "pfm_weighted" in metrics else None
        scores = score(ink(page, gray), truth, weights=weights, metrics=metrics)
    except InputError as problem:
        return row | {"status": "failed", "error": str(problem)}
    doubtful = doubts(page, float(truth.mean()))
    return row | {"status": "done", "error": None} | ({"doubts": doubtful} if doubtful else {}) | scores


def _result(rows: Iterable[dict[str, Any]], total: int, progress: Progress | None) -> dict[str, Any]:
    done = []
    for row in rows:
        done.append(row)
        if progress is not None:
            progress(len(done), total)
    if not any(row["status"] == "done" for row in done):
        more = f" (and {len(done) - 1} more)" if len(done) > 1 else ""
        raise BadData(f"no page could be scored: {done[0]['error']}{more}" if done else "no pages to score")
    return {"datasets": summarize(done), "pages": done}
