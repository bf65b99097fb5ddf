"""Scores of methods on the panel: run, keep, and print."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from .. import classic, net
from ..api import Binarizer
from ..core.arrays import Gray, Ink
from ..core.atomic import atomic
from ..core.bands import cores
from ..errors import BadData
from ..score.metrics import fm
from .ocr import AS_IT_IS, Scan
from .pages import Page, Source

Row = dict[str, Any]  # kind, page, method, and fm or, of a scan, error
Progress = Callable[[int, int], None]
MODELS = ("swift", "swift-heldout", "original", "paper")
SLOW = ("howe",)  # many seconds a page: only when asked for
_PACKAGE = Path(__file__).parents[1]


def names(everything: bool = False) -> list[str]:
    """The methods that the panel compares: models, then the classic methods that are installed."""
    there = [name for name, m in classic.METHODS.items() if classic.available(m) and (everything or name not in SLOW)]
    return [*MODELS, *there]


def run(
    pages: Iterable[Page], methods: Mapping[str, Callable[[Gray], Ink]], progress: Progress | None = None
) -> list[Row]:
    """F-measure (percent) of functions from gray (H, W, uint8, 0 black) to ink (bool, True = ink) on pages."""
    rows: list[Row] = []
    for done, page in enumerate(pages, 1):
        gray = page.gray
        rows += [{"kind": page.kind, "page": page.id, "method": name, "fm": fm(binarize(gray), page.truth)}
                 for name, binarize in methods.items()]  # fmt: skip
        if progress is not None:
            progress(done, 0)
    return rows


def score(
    sources: Sequence[Source | Scan],
    methods: Sequence[str],
    jobs: int = 1,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> list[Row]:
    """F-measure on pages, or error rates on scans (percent), of models and methods by name or path, and of AS_IT_IS.

    jobs : worker processes, each with its share of the cores; results do not depend on it.
    cache : a file that keeps scores by page, model and code, so that a second run computes what is new only.
    """
    prints = {method: fingerprint(method) for method in methods}  # an unknown name shows here, before any work
    kept = _read(cache)
    keys = {(source, method): f"{source.kind}/{source.id} {source.state} {prints[method]}"
            for source in sources for method in methods}  # fmt: skip
    work = [(s, missing) for s in sources if (missing := [m for m in methods if keys[s, m] not in kept])]
    threads = max(cores() // jobs, 1)
    for done, (source, scores) in enumerate(_scores(work, threads, jobs), 1):
        kept.update({keys[source, method]: value for method, value in scores.items()})
        if cache is not None and (done % 10 == 0 or done == len(work)):
            with atomic(cache) as file:
                file.write(json.dumps(kept, indent=0).encode())
        if progress is not None:
            progress(done, len(work))
    return [{"kind": s.kind, "page": s.id, "method": m, s.measure: kept[keys[s, m]]} for s in sources for m in methods]


def _read(cache: str | Path | None) -> dict[str, float]:
    if cache is None or not Path(cache).exists():
        return {}
    try:
        kept = json.loads(Path(cache).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        kept = None
    if not isinstance(kept, dict):
        raise BadData(f"{cache}: not a file of kept scores; remove it or give another")
    return kept


def _scores(
    work: Sequence[tuple[Source | Scan, list[str]]], threads: int, jobs: int
) -> Iterator[tuple[Source | Scan, dict[str, float]]]:
    if jobs == 1:
        yield from map(partial(score_page, threads=threads), work)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        yield from pool.map(partial(score_page, threads=threads), work)


def score_page(task: tuple[Source | Scan, list[str]], threads: int) -> tuple[Source | Scan, dict[str, float]]:
    source, methods = task
    functions: dict[str, Any] = {method: _binarizer(method, threads, source.invert) for method in methods}
    return source, source.scores(functions)


@lru_cache(maxsize=64)
def _binarizer(method: str, threads: int, invert: str) -> Binarizer | None:
    if method == AS_IT_IS:
        return None
    which = "method" if method in classic.METHODS else "model"
    return Binarizer(**{which: method}, invert=invert, threads=threads)


def fingerprint(method: str) -> str:
    """A text that changes when the method's results may: the digest of its code, and of the model's weights."""
    if method == AS_IT_IS:
        return method
    if method in classic.METHODS:
        return f"{method} {_code('core', 'classic', 'page/gray.py')}"
    return f"{net.load(method).digest} {_code('core', 'page', 'net', 'api.py', 'pipeline.py')}"


@lru_cache(maxsize=4)
def _code(*rooms: str) -> str:
    digest = hashlib.sha256()
    for room in rooms:
        path = _PACKAGE / room
        files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix in {".py", ".cpp", ".h"})
        for file in files:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def mean(rows: Iterable[Row]) -> dict[str, dict[str, float]]:
    """Mean score over the pages of each kind: {kind: {method: score}}."""
    cells: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        value = row["fm"] if "fm" in row else row["error"]
        cells.setdefault(row["kind"], {}).setdefault(row["method"], []).append(value)
    return {kind: {m: math.fsum(v) / len(v) for m, v in cell.items()} for kind, cell in cells.items()}


def table(rows: Sequence[Row], markdown: bool = False) -> str:
    """Kinds down, methods across, F-measure in each cell; then the mean over the kinds, and the worst kind."""
    means = mean(rows)
    ends = [_ending("mean of kinds", means, lambda v: math.fsum(v) / len(v)), _ending("worst kind", means, min)]
    return _table(rows, means, max, ends, markdown)


def error_table(rows: Sequence[Row], markdown: bool = False) -> str:
    """Kinds of scans down, methods across, character error rate in each cell; then the mean over all scans."""
    every = mean({**row, "kind": "all scans"} for row in rows)
    return _table(rows, mean(rows), min, [_ending("all scans", every, lambda v: v[0])], markdown)


def _ending(title: str, means: dict[str, dict[str, float]], value: Callable[[list[float]], float]) -> list[str]:
    methods = next(iter(means.values()))
    return [title, "", *(f"{value([cell[m] for cell in means.values()]):.1f}" for m in methods)]


def _table(rows: Sequence[Row], means: dict[str, dict[str, float]], pick: Callable[..., float], ends: list[list[str]],
           markdown: bool) -> str:  # fmt: skip
    """The best classic method of a kind, by ``pick``, has a star."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    counts = {kind: len({row["page"] for row in rows if row["kind"] == kind}) for kind in means}
    lines = [["kind", "pages", *methods]]
    for kind, cell in means.items():
        best = pick((cell[m] for m in methods if m in classic.METHODS), default=None)
        stars = {m: "*" if m in classic.METHODS and cell[m] == best else "" for m in methods}
        lines.append([kind, str(counts[kind]), *(f"{cell[m]:.1f}{stars[m]}" for m in methods)])
    lines += ends
    if markdown:
        lines.insert(1, ["---"] * len(lines[0]))
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    template = f"{{:<{widths[0]}}}" + "".join(f"  {{:>{width}}}" for width in widths[1:])
    return "\n".join(template.format(*line).rstrip() for line in lines)
