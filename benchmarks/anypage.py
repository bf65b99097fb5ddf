"""What a model does with pages that the sets do not show: text in a shadow, rules, strength, and what the reading costs.

    python benchmarks/anypage.py --data DIR                            # the default model; about three minutes
    python benchmarks/anypage.py --data DIR --model runs/new/model.npz
    python benchmarks/anypage.py --data DIR --document docs/panel.md   # the table goes between its marks there

Pages: the folder ``ocr`` of the data. For the shadow each printed or typed page lies with its right half in a shadow
that leaves its paper at gray 40; found is the ink that it has without the shadow, added is ink that it has not. Times
are processor times of one thread, interleaved, the median of the rounds, as ratios.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from sauvolanet import Binarizer, net
from sauvolanet.core.arrays import Gray, Ink
from sauvolanet.net import Model
from sauvolanet.page.gray import resized, to_gray
from sauvolanet.page.reading import Reading
from sauvolanet.panel import Scan, scans
from sauvolanet.pipeline import DEFAULT_MODEL

sys.path.append(str(Path(__file__).parents[1] / "tools"))
from marks import put_between

DARKEST = 40  # gray of the paper in the shadow
EDGES = {"hard": 0.001, "soft": 0.03}  # how fast the light falls, as a share of the page's longer side
FLAT = ("book-fraktur", "book-antiqua", "newspaper", "typewriting")  # kinds of scans in light that is even by itself
STRENGTHS = (-1.0, -0.5, 0.0, 0.5, 1.0)
COSTED = 5  # pages, from the smallest to the largest
THICK = 3  # pages, those that need least to have thick strokes
WIDER = 1.1  # times the stroke width from which a page is read at half its size

Line = tuple[str, str, str]  # what, found, wanted


def light(shape: tuple[int, int], darkest: float, edge: float) -> np.ndarray:
    """(H, W) float32 from 1 at the left to ``darkest`` at the right. edge : in pixels."""
    across = (np.arange(shape[1]) + 0.5 - shape[1] / 2) / edge
    fallen = 1 / (1 + np.exp(-np.clip(across, -30, 30)))
    return np.broadcast_to(1 - (1 - darkest) * fallen, shape).astype(np.float32)


def shadowed(gray: Gray, edge: float) -> Gray:
    """The page with its right half in a shadow in which paper has the gray `DARKEST`."""
    shaded: Gray = np.rint(gray * light(gray.shape, min(DARKEST / float(np.median(gray)), 1.0), edge)).astype(np.uint8)
    return shaded


def found_and_added(own: Ink, shaded: Ink) -> tuple[float, float]:
    """Of the ink of a page (True = ink): what is found in the shadow, and what the whole page has more, as shares.

    >>> found_and_added(np.array([[1, 1, 1, 0]], bool), np.array([[1, 0, 1, 1]], bool))
    (1.0, 0.3333333333333333)
    """
    dark = np.s_[:, own.shape[1] // 2 :]
    return float((own & shaded)[dark].sum() / own[dark].sum()), float((shaded & ~own).sum() / own.sum())


def shadow(pages: Mapping[str, Gray], binarize: Callable[[Gray], Ink]) -> list[Line]:
    own = {name: binarize(gray) for name, gray in pages.items()}
    lines = []
    for title, share in EDGES.items():
        each = {n: found_and_added(own[n], binarize(shadowed(g, share * max(g.shape)))) for n, g in pages.items()}
        mean, added = (100 * statistics.fmean(values) for values in zip(*each.values(), strict=True))
        least = min(each, key=lambda name: each[name][0])
        lines += [
            (f"text found in a shadow, paper at gray {DARKEST}, {title} edge, mean of {len(pages)} pages",
             f"{mean:.1f} %; least {100 * each[least][0]:.1f} %, {least}", "at least 97 %"),
            (f"ink added, {title} edge", f"{added:.1f} %", ""),
        ]  # fmt: skip
    return lines


def strength(pages: Sequence[Scan], binarize: Callable[[object, float], Ink]) -> list[Line]:
    """Ink of each strength over ink at 0, and whether a pixel is ever lost by more strength."""
    ratios, broken = [], []
    for page in pages:
        image = page.load()
        inks = [binarize(image, s) for s in STRENGTHS]
        plain = inks[STRENGTHS.index(0)].sum()
        ratios.append([ink.sum() / plain for ink in inks])
        if any((lighter & ~heavier).any() for lighter, heavier in pairwise(inks)):
            broken.append(page.id)
    told = " · ".join(f"{statistics.median(values):.2f}" for values in zip(*ratios, strict=True))
    return [
        (f"ink at strength −1 · −0.5 · 0 · 0.5 · 1 over ink at 0, median of {len(pages)} pages", told,
         "at most 0.75 at −1, at least 1.25 at 1"),
        ("pages with a pixel that more strength takes away", ", ".join(broken) or "none", "none"),
    ]  # fmt: skip


def ruled(gray: Gray, ink: Ink) -> tuple[Gray, Ink]:
    """The page with rules of two to four pixels, as dark as its usual ink, and where they lie on paper."""
    height, width = gray.shape
    rule = np.zeros(gray.shape, bool)
    for i, top in enumerate(range(60, height - 60, 170)):
        rule[top : top + 2 + i % 3, 50 : width - 50] = True
    for left in (120, width // 2):
        rule[60 : height - 60, left : left + 2] = True
    made = np.where(rule, np.minimum(gray, np.uint8(np.median(gray[ink]))), gray)
    return made, rule & ~ink


def rules(pages: Mapping[str, Gray], binarize: Callable[[Gray], Ink]) -> list[Line]:
    kept = {}
    for name, gray in pages.items():
        drawn, alone = ruled(gray, Binarizer(method="sauvola", threads=1)(gray))
        kept[name] = float(binarize(drawn)[alone].mean())
    least = min(kept, key=lambda name: kept[name])
    return [(f"rules of forms, drawn as dark as the ink, that are ink, mean of {len(kept)} pages",
             f"{100 * statistics.mean(kept.values()):.0f} %; least {100 * kept[least]:.0f} %, {least}", "")]  # fmt: skip


def seconds(run: Sequence[Callable[[Gray], Ink]], gray: Gray, rounds: int) -> list[float]:
    """Median processor time of each, interleaved, after one round that does not count."""
    times: list[list[float]] = [[] for _ in run]
    for _ in range(rounds + 1):
        for one, its in zip(run, times, strict=True):
            begun = time.process_time()
            one(gray)
            its.append(time.process_time() - begun)
    return [statistics.median(its[1:]) for its in times]


def read_by(model: Model, reading: Reading | None) -> Binarizer:
    """The model with another reading, on one thread."""
    about = {**model.about, "reading": None if reading is None else reading.to_json()}
    return Binarizer(model=Model(about, model.weights), threads=1)


def thickened(gray: Gray, reading: Reading) -> Gray:
    """The page enlarged until its strokes are so wide that it is read at half its size."""
    times = WIDER * reading.thick / reading.read(gray).stroke
    return resized(gray, (round(gray.shape[0] * times), round(gray.shape[1] * times)))


def cost(pages: Mapping[str, Gray], model: Model, rounds: int) -> list[Line]:
    if model.reading is None:
        return []
    with_it, without = read_by(model, model.reading), read_by(model, None)
    whole = read_by(model, replace(model.reading, thick=1e6))
    reads = {name: model.reading.read(gray) for name, gray in pages.items()}
    own_size = sorted((n for n in pages if reads[n].times == 1), key=lambda n: pages[n].size)
    some = [own_size[i] for i in np.linspace(0, len(own_size) - 1, min(COSTED, len(own_size))).round().astype(int)]
    more = [a / b for a, b in (seconds((with_it, without), pages[name], rounds) for name in some)]
    thick = []
    for name in sorted((n for n in own_size if reads[n].stroke), key=lambda n: -reads[n].stroke)[:THICK]:
        large = thickened(pages[name], model.reading)
        if model.reading.read(large).times == 1:  # its places tell other strokes than the small page's
            print(f"anypage.py: {name} is read at full size, though enlarged", file=sys.stderr)
            continue
        half, full = seconds((with_it, whole), large, max(rounds // 2, 1))
        thick.append(full / half)
    return [
        (f"time of a page at its own size over that without the reading, median of {len(more)} pages",
         f"{statistics.median(more):.2f} ({min(more):.2f} to {max(more):.2f})", "at most 1.10"),
        (f"pages with strokes of {WIDER * model.reading.thick:.0f} pixels: time at full size over that as read, "
         f"median of {len(thick)} pages",
         f"{statistics.median(thick):.2f} ({min(thick):.2f} to {max(thick):.2f})" if thick else "", "at least 2.5"),
    ]  # fmt: skip


def table(model: str, lines: Iterable[Line]) -> str:
    """
    >>> print(table("swift", [("time", "1.02", "at most 1.10")]))
    | | `swift` | wanted |
    |---|---|---|
    | time | 1.02 | at most 1.10 |
    """
    return "\n".join([f"| | `{model}` | wanted |", "|---|---|---|", *(f"| {' | '.join(line)} |" for line in lines)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--document", help="put the table between the marks in this file")
    args = parser.parse_args()
    model = net.load(args.model)
    listed = scans(args.data)
    grays = {page.id: to_gray(page.load()) for page in listed}
    flat = {page.id: grays[page.id] for page in listed if page.kind in FLAT}
    by_strength = {s: Binarizer(model=model, strength=s, threads=1) for s in STRENGTHS}
    lines = [
        *shadow(flat, by_strength[0.0]),
        *rules(flat, by_strength[0.0]),
        *strength(listed, lambda image, s: by_strength[s](image)),
        *cost(flat, model, args.rounds),
    ]
    text = table(model.name, lines)
    print(text)
    if args.document:
        put_between(args.document, "anypage", text)


if __name__ == "__main__":
    main()
