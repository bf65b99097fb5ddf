"""Which pages does `look` name? Good pages, bad results and photographs, counted; and what finding out costs.

    python benchmarks/look.py            # all but the three test sets; about ten minutes

Pages: the data (SAUVOLANET_DATA), and photographs of scikit-image, alone and laid on the scans for OCR. The table goes
to docs/decisions.md.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from sauvolanet import Binarizer, panel
from sauvolanet.core.arrays import Gray, Ink
from sauvolanet.page.gray import resized, to_gray
from sauvolanet.score import datasets
from sauvolanet.score.metrics import fm
from sauvolanet.synth import compose

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tools"))
from marks import put_between  # noqa: E402

PHOTOGRAPHS = ("astronaut", "camera", "chelsea", "coffee", "coins", "rocket", "motorcycle_left", "moon", "clock_motion",
               "grass", "gravel", "brick", "retina", "ihc")  # fmt: skip
PARTS = (0.25, 0.4, 0.6, 0.8)  # of a page's width that a photograph has
RESULTS = ((85, "F-measure of 85 or more"), (60, "60 to 85"), (-1, "below 60"))

Case = tuple[str, Gray, Ink | None]  # kind, page, truth


def with_truth(data: Path) -> Iterator[Case]:
    known = set(datasets.GROUPS["all"]) - set(datasets.GROUPS["test"])
    for folder in [
        *(data / "documents" / name for name in sorted(known)),
        *(data / "kinds" / k for k in datasets.KEPT),
    ]:
        for page in datasets.find(folder):
            with Image.open(page.image) as image:
                gray = to_gray(image)
            yield "real", gray, datasets.read_truth(page, gray.shape)
    for source in panel.sources(data, compose.LOOKS):
        yield "composed", source.load().gray, source.load().truth


def photographs(scans: list[Gray]) -> Iterator[Case]:
    import skimage

    rng = np.random.default_rng(0)
    for n, name in enumerate(PHOTOGRAPHS):
        (path,) = (Path(skimage.__file__).parent / "data").glob(f"{name}.*")
        with Image.open(path) as image:
            photograph = to_gray(image.convert("RGB"))
        height, width = photograph.shape
        yield "a photograph alone", resized(photograph, (1400 * height // width, 1400)), None
        page = scans[n % len(scans)].copy()
        wide = int(PARTS[n % len(PARTS)] * page.shape[1])
        part = resized(photograph, (min(wide * height // width, int(0.8 * page.shape[0])), wide))
        top, left = (int((whole - own) * rng.random()) for whole, own in zip(page.shape, part.shape, strict=True))
        low, high = np.percentile(page, (1, 90))
        page[top : top + part.shape[0], left : left + wide] = low + part / 255 * (high - low)
        yield "a photograph on a scan", page, None


def main() -> None:
    data = Path(os.environ.get("SAUVOLANET_DATA", ROOT.parent / "shared" / "data"))
    scans = []
    for path in sorted((data / "ocr").glob("*.jpg")):
        with Image.open(path) as image:
            scans.append(to_gray(image))
    binarizer = Binarizer(threads=1)
    pages, named, reasons = Counter[str](), Counter[str](), Counter[str]()
    shares = []
    for kind, gray, truth in (*with_truth(data), *(("scan for OCR", s, None) for s in scans), *photographs(scans)):
        begun = time.process_time()
        result = binarizer.run(gray)
        middle = time.process_time()
        found = result.found
        shares.append((time.process_time() - middle) / max(middle - begun, 1e-9))
        if truth is not None:
            score = fm(result.ink, truth)
            kind += ", " + next(text for least, text in RESULTS if score >= least)
        pages[kind] += 1
        named[kind] += bool(found.look)
        reasons.update((kind, reason) for reason in found.look)
    lines = ["| pages | | named | for |", "|---|---:|---:|---|"]
    for kind in sorted(pages, key=list(pages).index):
        why = ", ".join(f"{reason} {n}" for (k, reason), n in reasons.most_common() if k == kind)
        lines.append(f"| {kind} | {pages[kind]} | {named[kind]} | {why} |")
    cost = f"It takes {100 * statistics.median(shares):.1f} % of a page's time (median; processor time, one thread)."
    put_between(ROOT / "docs" / "decisions.md", "look", "\n".join([*lines, "", cost]))
    print("\n".join([*lines, "", cost]))


if __name__ == "__main__":
    main()
