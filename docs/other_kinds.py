"""How the models do on kinds of pages that no public set shows: specks, broken strokes, blank paper, and a picture.

python docs/other_kinds.py [--ocr DIR]

DIR holds page images and their text (`index.json` names them); they are measured, not shown. The picture is of
synthetic pages. Tables go to docs/design-notes.md.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
from PIL import Image
from readme_figures import ROOT
from scipy import ndimage

from sauvolanet import Binarizer
from sauvolanet.atomic import put_between
from sauvolanet.classic import METHODS
from sauvolanet.net import shipped
from sauvolanet.page import to_gray
from sauvolanet.sheet import sheet
from sauvolanet.synth import measure, page

SPECK = 6  # a component of so few pixels is dirt, or a piece of a broken stroke
SHOWN = ("print", "newsprint", "typescript", "office", "faint", "photo", "blank", "picture")


def components(ink: np.ndarray) -> tuple[int, int]:
    """Numbers of specks and of larger components (8-connected)."""
    labels, _ = ndimage.label(ink, np.ones((3, 3)))
    sizes = np.bincount(labels.ravel())[1:]
    return int((sizes <= SPECK).sum()), int((sizes > SPECK).sum())


def of_ocr_pages(folder: Path, models: dict[str, Binarizer]) -> str:
    """Specks per megapixel and components per character, by kind."""
    records = json.loads((folder / "index.json").read_text())
    found: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        with Image.open(folder / record["image"]) as image:
            gray = to_gray(image)
        letters = sum(not c.isspace() for c in (folder / record["text"]).read_text())
        for name, binarizer in models.items():
            specks, parts = components(binarizer(gray))
            found[record["kind"]][name].append((1e6 * specks / gray.size, parts / letters))
    head = [f"{name}: {what}" for what in ("specks per megapixel", "components per character") for name in models]
    lines = ["| kind | pages | " + " | ".join(head) + " |", "|---|---|" + "---|" * len(head)]
    for kind, by_model in found.items():
        cells = [f"{np.median([v[i] for v in by_model[name]]):.{2 * i}f}" for i in (0, 1) for name in models]
        lines.append(f"| {kind} | {len(by_model[next(iter(models))])} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def of_synthetic_pages(models: dict[str, Binarizer]) -> str:
    """FM on the off-domain pages, and ink on blank ones."""
    rivals = {n: Binarizer(method=n) for n in METHODS if n != "howe"}  # which takes minutes a page
    rows = {name: measure(binarizer) for name, binarizer in (models | rivals).items()}
    names = list(next(iter(rows.values())))
    lines = ["| | " + " | ".join(names[:-1]) + " | ink on blank pages, per million |", "|---" * (len(names) + 1) + "|"]
    for name, row in rows.items():
        lines.append(f"| {name} | " + " | ".join(f"{row[n]:.1f}" for n in names[:-1]) + f" | {row[names[-1]]:.0f} |")
    return "\n".join(lines)


def large_letters(stroke: int) -> tuple[np.ndarray, np.ndarray]:
    """A printed page with three letters H above it, their strokes so many pixels wide; gray, and the ink of the letters."""
    gray, _ = page(3, kind="print", height=600, width=900)
    ink = np.zeros(gray.shape, bool)
    top, bottom = 40, 40 + 4 * stroke
    for left in (40, 40 + 5 * stroke, 40 + 10 * stroke):
        ink[top:bottom, left : left + stroke] = ink[top:bottom, left + 2 * stroke : left + 3 * stroke] = True
        ink[top + 3 * stroke // 2 : top + 5 * stroke // 2, left : left + 3 * stroke] = True
    around = np.zeros(gray.shape, bool)
    around[top - 20 : bottom + 20, 20 : 60 + 15 * stroke] = True
    grain = np.random.default_rng(0).normal(0, 3, gray.shape)
    level = np.where(ink, np.percentile(gray, 3), np.percentile(gray, 90)) + grain
    return np.where(around, np.clip(level, 0, 255), gray).astype(np.uint8), ink


def of_large_letters(models: dict[str, Binarizer]) -> str:
    """Share of the ink of large letters that is found."""
    widths = (12, 16, 20, 24, 28, 32, 36, 40)
    lines = [
        "| width of the strokes in pixels | " + " | ".join(map(str, widths)) + " |",
        "|---" * (len(widths) + 1) + "|",
    ]
    for name, binarizer in models.items():
        pages = map(large_letters, widths)
        lines.append(
            f"| {name} | " + " | ".join(f"{100 * binarizer(gray)[ink].mean():.0f} %" for gray, ink in pages) + " |"
        )
    return "\n".join(lines)


def picture(models: dict[str, Binarizer]) -> None:
    """One row per kind: the page and what each model makes of it, errors coloured."""
    rows = []
    for kind in SHOWN:
        gray, truth = page(41, kind=kind, height=260, width=420)
        results = {name: binarizer(gray) for name, binarizer in models.items()}
        rows.append(sheet(gray, results, truth, title=kind, width=420, columns=len(models) + 2))
    width, height = max(r.width for r in rows), sum(r.height for r in rows)
    whole = Image.new("RGB", (width, height), "white")
    y = 0
    for row in rows:
        whole.paste(row, (0, y))
        y += row.height
    whole.quantize(64).save(ROOT / "docs" / "images" / "other-kinds.png", optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ocr", type=Path, help="folder of scanned pages with their text")
    args = parser.parse_args()
    models = {name: Binarizer(model=name) for name in shipped()}
    notes = ROOT / "docs" / "design-notes.md"
    picture(models)
    put_between(notes, "other kinds", of_synthetic_pages(models))
    put_between(notes, "large letters", of_large_letters(models))
    if args.ocr:
        put_between(notes, "scans", of_ocr_pages(args.ocr, models))


if __name__ == "__main__":
    main()
