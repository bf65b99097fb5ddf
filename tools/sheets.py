"""Ten pages before and after: a part of each scan, of Otsu's ink and of a model's, enlarged three times, to look at.

    python tools/sheets.py --data DIR                        # one PNG per kind in build/sheets; about a minute
    python tools/sheets.py --data DIR --nth 3                # other pages of the same kinds
    python tools/sheets.py --data DIR --model runs/new/model.npz --out FOLDER

The part that is shown has the most edges of writing: of the truth where there is one, else of the model's ink; in the
shadow, in colour, in the bar. Many of the scans are for research only, so the sheets stay out of the repository.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from sauvolanet import Binarizer, panel, synth
from sauvolanet.core.arrays import Gray, Ink
from sauvolanet.page.reading import Reading
from sauvolanet.pipeline import DEFAULT_MODEL
from sauvolanet.score.metrics import fm

ROOT = Path(__file__).parents[1]
OF_PANEL = ("thin pen", "Office", "Bleedthrough", "Nabuco", "squared", "shadow", "mounted")
COLOURS, TYPED = "phone-svt-colours", "typewriting"
BAR = slice(250, 320), slice(40, 560)  # the reversed bar on a page of 600 × 600
SIDE = 256  # of the part that is shown, in pixels of the page
TIMES = 3
GAP, LINE = 10, 24

Part = tuple[slice, slice]  # rows, columns


class Case(NamedTuple):
    """A page: image (H, W) or (H, W, 3) uint8; truth bool, True = ink. where : bool, what is to be looked at."""

    kind: str
    id: str
    image: npt.NDArray[np.uint8]
    truth: Ink | None = None
    where: Ink | None = None
    invert: str = "auto"


def cases(data: Path, nth: int = 0) -> Iterator[Case]:
    """The ten pages, of each kind the nth; past the last page of a kind its first one comes again."""
    for kind in OF_PANEL:
        of_kind = panel.sources(data, [kind])
        source = of_kind[nth % len(of_kind)]
        page = source.load()
        where = in_shadow(page.gray) if kind == "shadow" else None
        yield Case(kind, page.id, page.image, page.truth, where, source.invert)
    scans = panel.scans(data)
    typed = [scan for scan in scans if scan.kind == TYPED]
    for scan in (next(s for s in scans if s.id == COLOURS), typed[nth % len(typed)]):
        image = np.asarray(scan.load())
        yield Case(scan.kind, scan.id, image, where=coloured(image) if scan.id == COLOURS else None)
    yield reversed_bar(nth)


def reversed_bar(seed: int) -> Case:
    """A synthetic page of print, and on it a dark bar with light letters."""
    gray, truth = synth.page(seed, kind="print", height=600, width=600)
    dark, paper = np.percentile(gray, (1, 90))
    around = tuple(slice(span.start - GAP, span.stop + GAP) for span in BAR)
    gray[around], truth[around] = paper, False
    high, wide = (span.stop - span.start for span in BAR)
    bar = Image.new("L", (wide, high), 0)
    ImageDraw.Draw(bar).text((20, 10), "Light on dark: any page", 255, ImageFont.load_default(40))
    cover = np.asarray(bar) / 255
    gray[BAR] = np.rint(dark + (paper - dark) * cover)
    truth[BAR] = cover >= 0.5
    where = np.zeros(gray.shape, bool)
    where[BAR] = True
    return Case("reversed bar", f"synthetic {seed}", gray, truth, where)


def busiest(writing: Ink, side: int) -> Part:
    """The square of a page with the most edges of writing (bool, True = ink).

    >>> page = np.zeros((60, 60), bool)
    >>> page[40:44, 9:13] = True
    >>> busiest(page, 20)
    (slice(28, 48, None), slice(0, 20, None))
    """
    edges = np.zeros(writing.shape, np.int64)
    edges[:, 1:] += writing[:, 1:] != writing[:, :-1]
    edges[1:] += writing[1:] != writing[:-1]
    high, wide = (min(side, n) for n in writing.shape)
    total = np.pad(edges, ((1, 0), (1, 0))).cumsum(0).cumsum(1)
    sums = total[high:, wide:] - total[:-high, wide:] - total[high:, :-wide] + total[:-high, :-wide]
    step = max(side // 5, 1)
    top, left = (step * int(i) for i in np.unravel_index(sums[::step, ::step].argmax(), sums[::step, ::step].shape))
    return slice(top, top + high), slice(left, left + wide)


def in_shadow(gray: Gray) -> Ink:
    """Where the paper has less than 0.6 of the light of the page's lit part."""
    shaded: Ink = Reading().paper_level(gray).ratio((slice(0, gray.shape[0]), slice(0, gray.shape[1]))) < 0.6
    return shaded


def coloured(image: npt.NDArray[np.uint8]) -> Ink:
    """Where the channels of (H, W, 3) differ by more than a quarter of their range."""
    strong: Ink = image.max(2) - image.min(2) > 64
    return strong


def row(panels: list[tuple[str, npt.NDArray[np.uint8]]]) -> Image.Image:
    """Pictures of one size side by side, `TIMES` as large, each below its label."""
    high, wide = (TIMES * n for n in panels[0][1].shape[:2])
    picture = Image.new("RGB", (len(panels) * (wide + GAP) + GAP, high + LINE + 2 * GAP), "white")
    draw = ImageDraw.Draw(picture)
    for i, (label, pixels) in enumerate(panels):
        x = GAP + i * (wide + GAP)
        draw.text((x, GAP), label, "black", ImageFont.load_default(18))
        large = Image.fromarray(pixels).convert("RGB").resize((wide, high), Image.Resampling.NEAREST)
        picture.paste(large, (x, GAP + LINE))
        draw.rectangle((x - 1, GAP + LINE - 1, x + wide, GAP + LINE + high), outline=(170, 170, 170))
    return picture


def sheet(case: Case, model: str) -> Image.Image:
    """The scan, Otsu's ink and the model's, with the F-measure of the whole page where there is a truth."""
    inks = {
        "otsu": Binarizer(method="otsu", threads=1, invert=case.invert)(case.image),
        Path(model).stem: Binarizer(model=model, threads=1, invert=case.invert)(case.image),
    }
    writing = list(inks.values())[-1] if case.truth is None else case.truth
    if case.where is not None and (writing & case.where).any():
        writing = writing & case.where
    part = busiest(writing, SIDE)
    panels = [(f"{case.kind}, {case.id}", case.image[part])]
    for name, ink in inks.items():
        score = "" if case.truth is None else f", F-measure of the page {fm(ink, case.truth):.1f}"
        panels.append((name + score, np.where(ink, 0, 255).astype(np.uint8)[part]))
    return row(panels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "sheets")
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--nth", type=int, default=0, help="which page of each kind, from 0")
    args = parser.parse_args()
    if args.nth < 0:
        parser.error(f"--nth must be at least 0, not {args.nth}")
    args.out.mkdir(parents=True, exist_ok=True)
    for number, case in enumerate(cases(args.data, args.nth), 1):
        target = args.out / f"{number:02d}-{case.kind.replace(' ', '-')}-{args.nth}.png"
        sheet(case, args.model).save(target)
        print(target)


if __name__ == "__main__":
    main()
