"""Does binarizing help OCR? Tesseract's character error rate on pages with text truth, as they are and binarized.

    python benchmarks/ocr.py                        # everything; runs for hours, goes on where it stopped
    python benchmarks/ocr.py --paddings 0           # a third of the work
    python benchmarks/ocr.py --report               # only table and picture, of what the newest run has read
    python benchmarks/ocr.py --models swift paper   # more models as rows

Pages: the folder ``ocr`` of the data (SAUVOLANET_DATA), whose README defines the error rate. Tesseract's layout
analysis is noisy: every image is read with 0, 7 and 15 replicated pixels around it, the page's rate is the median
of the three, and rows are compared page by page, with a bootstrap over the pages. Texts are kept in ``--cache``, by
image and settings, so that a new model costs only its own rows. Table and picture go to docs/ocr.md and docs/images.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from sauvolanet.api import Binarizer, normalize
from sauvolanet.errors import SauvolanetError
from sauvolanet.panel.ocr import PADDINGS, Scan, check, padded, read, scans, version
from sauvolanet.pipeline import DEFAULT_MODEL

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tools"))
from marks import put_between  # noqa: E402

FEW = 4  # pages; a bootstrap over fewer knows nothing
SAME = 0.01  # differences of one page below this are noise


@dataclass(frozen=True)
class Row:
    """One way to prepare a page: its label, what it does to the image, and Tesseract's settings."""

    label: str
    prepare: Callable[[Image.Image], Image.Image]
    settings: tuple[str, ...] = ()
    own: bool = False  # one of Tesseract's own methods


def rows(models: Sequence[str]) -> list[Row]:
    def binarized(**choice: Any) -> Callable[[Image.Image], Image.Image]:
        binarizer = Binarizer(threads=1, **choice)
        return lambda page: Image.fromarray(~binarizer(page))

    default = f"default model ({DEFAULT_MODEL})"
    return [
        Row("page as it is (Tesseract's Otsu, 0)", lambda page: page, (), True),
        Row("Tesseract's adaptive Otsu (1)", lambda page: page, ("thresholding_method=1",), True),
        Row("Tesseract's Sauvola (2)", lambda page: page, ("thresholding_method=2",), True),
        Row("otsu", binarized(method="otsu")),
        Row("sauvola", binarized(method="sauvola")),
        *(Row(name, binarized(model=name)) for name in models if name != DEFAULT_MODEL),
        Row(default, binarized()),
        Row("default model, --enlarge 2", binarized(enlarge=2)),
        Row("default model, --enlarge auto", binarized(enlarge="auto")),
        Row("default model, --keep-gray", lambda page: Image.fromarray(normalize(page, threads=1))),
    ]


@dataclass
class Scores:
    """Distances per row, page and padding (NaN: not read yet) and the length of each page's truth."""

    labels: list[str]
    own: list[int]
    pages: list[Scan]
    distances: np.ndarray
    lengths: np.ndarray

    def finished(self) -> Scores:
        """The pages that every row has read at least once, each with the paddings that every row has read."""
        complete = ~np.isnan(self.distances).any(axis=0)
        pages = complete.any(axis=1)
        if not pages.any():
            sys.exit("ocr.py: no page has been read in every row yet")
        distances = np.where(complete, self.distances, np.nan)[:, pages]
        there = [self.pages[j] for j in np.flatnonzero(pages)]
        return Scores(self.labels, self.own, there, distances, self.lengths[pages])

    def rates(self) -> np.ndarray:
        """Error rate (row, page): the median over the paddings."""
        return np.nanmedian(self.distances, axis=2) / self.lengths


def in_turn(pages: Sequence[Scan]) -> list[Scan]:
    """The pages, one of each kind in turn, small ones first: a run that is stopped has seen every kind."""
    ranked: list[tuple[int, Scan]] = []
    for kind in dict.fromkeys(p.kind for p in pages):
        ranked += enumerate(sorted((p for p in pages if p.kind == kind), key=lambda p: p.pixels))
    return [page for _, page in sorted(ranked, key=lambda item: item[0])]


def measure(pages: Sequence[Scan], wanted: Sequence[Row], paddings: Sequence[int], cache: Path, journal: Path) -> None:
    """Read every page in every row and padding; the journal holds the distances of this run, newest last.

    An earlier run's journal stays until this one has read a page.
    """
    prepared: dict[tuple[str, str], Image.Image] = {}
    part = journal.with_suffix(".part")
    with part.open("w", encoding="utf-8") as lines:
        for by in paddings:  # one padding makes a table; the others make it steadier
            for page in in_turn(pages):
                scan = page.load()
                for row in wanted:
                    if (row.label, page.id) not in prepared:
                        prepared[row.label, page.id] = row.prepare(scan)
                    image = prepared[row.label, page.id]
                    times = image.width // scan.width
                    text = read(
                        padded(image, by * times), page.language, page.dpi and page.dpi * times, row.settings, cache
                    )
                    lines.write(json.dumps([row.label, row.own, page.id, by, page.errors(text)[0]]) + "\n")
                lines.flush()
                if part.exists():
                    part.replace(journal)  # what is written further goes there
                print(f"padding {by}: {page.id}", file=sys.stderr, flush=True)


def collect(pages: Sequence[Scan], journal: Path) -> Scores:
    """What the journal holds, of the pages that every row has read."""
    told = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()] if journal.exists() else []
    own = {label: is_own for label, is_own, *_ in told}
    pages = in_turn(pages)
    at = {page.id: j for j, page in enumerate(pages)}
    labels, paddings = list(own), sorted({by for *_, by, _ in told})
    distances = np.full((len(labels), len(pages), len(paddings)), np.nan)
    for label, _, page, by, wrong in told:
        distances[labels.index(label), at[page], paddings.index(by)] = wrong
    lengths = np.array([page.errors("")[1] for page in pages])
    return Scores(labels, [i for i, label in enumerate(labels) if own[label]], pages, distances, lengths).finished()


def interval(values: np.ndarray, draws: int = 10_000) -> tuple[float, float]:
    """95 % bootstrap interval of the mean over pages; the same draws for every row, so pairs stay pairs."""
    picks = np.random.default_rng(0).integers(0, len(values), (draws, len(values)))
    low, high = np.percentile(values[picks].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def verdict(difference: np.ndarray) -> str:
    """What the interval of the pages' differences of error rates allows to say.

    >>> verdict(np.full(5, -0.1)), verdict(np.array([-0.1, 0.1, -0.1, 0.1])), verdict(np.array([-0.3, -0.2]))
    ('better', 'no significant difference', 'too few pages')
    """
    if len(difference) < FEW:
        return "too few pages"
    low, high = interval(difference)
    return "better" if high < 0 else "worse" if low > 0 else "no significant difference"


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def points(difference: np.ndarray) -> str:
    low, high = interval(difference)
    return f"{100 * difference.mean():+.1f} ({100 * low:+.1f} … {100 * high:+.1f})"


def report(scores: Scores, total: int) -> str:
    """The tables, and in words what the intervals allow to say, as Markdown."""
    rates = scores.rates()
    kinds = list(dict.fromkeys(p.kind for p in scores.pages))
    of = {kind: np.array([p.kind == kind for p in scores.pages]) for kind in kinds}
    of["all"] = np.ones(len(scores.pages), bool)
    pooled = (rates * scores.lengths).sum(axis=1) / scores.lengths.sum()
    read_once = int(((~np.isnan(scores.distances[0])).sum(axis=1) == 1).sum())
    lines = [
        f"Tesseract {version()}, {len(scores.pages)} of {total} pages, {read_once} with one padding only and "
        f"{len(scores.pages) - read_once} with the median of several. "
        "Character error rates in percent, means over pages.",
        "",
        "| | "
        + " | ".join(f"{k} ({of[k].sum()})" for k in of)
        + " | 95 % of all | pooled | all, against the page as it is |",
        "|---|" + "---:|" * (len(of) + 3),
    ]
    for i, label in enumerate(scores.labels):
        low, high = interval(rates[i])
        lines.append(f"| {label} | " + " | ".join(percent(rates[i, of[k]].mean()) for k in of)
                     + f" | {percent(low)} … {percent(high)} | {percent(pooled[i])} | "
                     + ("" if i == 0 else points(rates[i] - rates[0])) + " |")  # fmt: skip
    lines += [
        "",
        "Against the best of Tesseract's own three methods, chosen afterwards for each line on these very pages (which "
        "favours Tesseract), in points of error rate with the 95 % interval of the paired difference:",
        "",
    ]
    ours = [i for i, label in enumerate(scores.labels) if label.startswith("default model")]
    lines += ["| | best own method | " + " | ".join(f"{scores.labels[i]} | verdict" for i in ours) + " |",
              "|---|---|" + "---:|---|" * len(ours)]  # fmt: skip
    for kind, pages in of.items():
        best = min(scores.own, key=lambda i: rates[i, pages].mean())
        cells = [c for i in ours for d in [rates[i, pages] - rates[best, pages]] for c in (points(d), verdict(d))]
        lines.append(
            f"| {kind} | {scores.labels[best]} {percent(rates[best, pages].mean())} | " + " | ".join(cells) + " |"
        )
    lines += [
        "",
        "Intervals of kinds with few pages are rough: a bootstrap over five pages knows only those five.",
        "",
    ]
    for i in ours:
        change = rates[i] - rates[0]
        for word, chosen in (("Helps", change < -SAME), ("Hurts", change > SAME)):
            names = [f"{scores.pages[j].id} ({100 * change[j]:+.1f})" for j in np.argsort(-abs(change)) if chosen[j]]
            lines.append(f"- {word} against the page as it is by more than {100 * SAME:.0f} point, {scores.labels[i]}: "
                         f"{len(names)} of {len(change)} pages{': ' + ', '.join(names) if names else ''}.")  # fmt: skip
    lines += ["", "<details><summary>Every page</summary>", "", "| page | " + " | ".join(scores.labels) + " |",
              "|---|" + "---:|" * len(scores.labels)]  # fmt: skip
    for j, page in enumerate(scores.pages):
        lines.append(f"| {page.id} | " + " | ".join(percent(r) for r in rates[:, j]) + " |")
    return "\n".join([*lines, "", "</details>"])


def picture(scores: Scores, path: Path) -> None:
    """Every row's difference from the page as it is: one dot a page, and the mean with its interval."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "ocr"  # the same picture from the same numbers
    import matplotlib.pyplot as plt

    rates = scores.rates()
    kinds = list(dict.fromkeys(p.kind for p in scores.pages))
    figure, axes = plt.subplots(figsize=(9, 0.62 * len(scores.labels) + 1))
    for at, rate in enumerate(rates[1:]):
        change = 100 * (rate - rates[0])
        for n, kind in enumerate(kinds):
            mine = [j for j, p in enumerate(scores.pages) if p.kind == kind]
            height = at - 0.12 + 0.4 * (n - len(kinds) / 2) / len(kinds)
            axes.scatter(change[mine], [height] * len(mine), s=12, alpha=0.7, color=f"C{n}",
                         label=kind if at == 0 else None)  # fmt: skip
        low, high = interval(change)
        axes.plot([low, high], [at + 0.25] * 2, color="black", lw=2)
        axes.plot(change.mean(), at + 0.25, "o", color="black", ms=6, label="mean, 95 %" if at == 0 else None)
    axes.axvline(0, color="gray", lw=0.8)
    axes.set_xscale("symlog", linthresh=2)
    axes.set_xticks([-30, -10, -5, -2, -1, 0, 1, 2, 5, 10, 30], [-30, -10, -5, -2, -1, 0, 1, 2, 5, 10, 30])
    axes.set_yticks(range(len(scores.labels) - 1), scores.labels[1:])
    axes.invert_yaxis()
    axes.set_xlabel("error rate minus that of the page as it is, in points (left is better)")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize=8)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="*", default=["original"], help="Rows besides the default model.")
    parser.add_argument("--paddings", nargs="*", type=int, default=PADDINGS)
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "ocr-texts")
    parser.add_argument("--report", action="store_true", help="Read no page; report those of the newest run.")
    args = parser.parse_args()
    pages = scans(os.environ.get("SAUVOLANET_DATA", ROOT.parent / "shared" / "data"))
    check(pages)
    args.cache.mkdir(parents=True, exist_ok=True)
    journal = args.cache / "newest-run.jsonl"
    if not args.report:
        measure(pages, rows(args.models), args.paddings, args.cache, journal)
    scores = collect(pages, journal)
    text = report(scores, len(pages))
    picture(scores, ROOT / "docs" / "images" / "ocr-error-rates.svg")
    put_between(ROOT / "docs" / "ocr.md", "results", text)
    print(text)


if __name__ == "__main__":
    try:
        main()
    except SauvolanetError as problem:
        sys.exit(f"ocr.py: {problem}")
