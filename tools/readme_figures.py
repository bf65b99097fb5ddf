"""The README's picture and its tables of accuracy and of kinds of pages, and the panel's table, made from the code as it is.

python tools/readme_figures.py --data DIR [--cache FILE]        DIR: see docs/panel.md; FILE keeps the panel's scores
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from PIL import Image

from marks import put_between
from sauvolanet import binarize, evaluate
from sauvolanet.net import load, shipped
from sauvolanet.panel import score, sources
from sauvolanet.panel import table as panel_table
from sauvolanet.synth import example

ROOT = Path(__file__).parents[1]
SETS = ("DIBCO2011", "DIBCO2014", "DIBCO2016")
CLASSIC = ("otsu", "sauvola")
KINDS = ("swift", "swift-heldout", "original", "otsu", "sauvola", "wolf", "nick", "gatos")  # the README's columns
PANEL = (*KINDS[:3], "otsu", "wolf", "nick", "gatos", "sauvola", "isauvola", "bataineh", "feng", "trsingh", "bradley")


def picture() -> None:
    """The bundled example and its ink, the upper part of the page."""
    page = example()
    both = np.hstack([page, np.where(binarize(page), 0, 255).astype(np.uint8)])[40:720]
    target = ROOT / "docs" / "images" / "before-after.png"
    target.parent.mkdir(exist_ok=True)
    Image.fromarray(both).resize((1200, round(both.shape[0] * 1200 / both.shape[1])), Image.Resampling.LANCZOS).save(
        target, optimize=True
    )


def table(data: Path) -> str:
    """FM of the shipped models that have not seen the test sets, and of two classic methods."""
    rows = [("| | parameters | trained on | " + " | ".join(SETS) + " |"), "|---|---|---|" + "---|" * len(SETS)]
    models = [load(n) for n in shipped() if load(n).about["training"]["partition"] != "all"]
    for model, quality in [*((m, "fast") for m in models), (load("swift-heldout"), "best")]:
        found = evaluate(data / "documents", SETS, model=model.name, quality=quality, metrics=("fm",))["datasets"]
        cells = " | ".join(f"{found[s]['fm']:.2f}" for s in SETS)
        label = f"`{model.name}`" + (", `--quality best`" if quality == "best" else "")
        rows.append(f"| {label} | {model.about['parameters']:,} | {model.about['training']['partition']} | {cells} |")
    for name in CLASSIC:
        found = evaluate(data / "documents", SETS, method=name, metrics=("fm",))["datasets"]
        rows.append(f"| {name} | | | " + " | ".join(f"{found[s]['fm']:.2f}" for s in SETS) + " |")
    return "\n".join(rows)


def kinds(data: Path, cache: Path | None) -> None:
    """The panel's tables: all its columns in docs/panel.md, some of them in the README."""
    rows = score(sources(data), PANEL, 2, cache)
    put_between(ROOT / "docs" / "panel.md", "panel", panel_table(rows, markdown=True))
    some = sorted((row for row in rows if row["method"] in KINDS), key=lambda row: KINDS.index(row["method"]))
    text = panel_table(some, markdown=True).replace("*", "")
    for name in shipped():
        text = text.replace(f"| {name} |", f"| `{name}` |")
    put_between(ROOT / "README.md", "kinds", text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    args = parser.parse_args()
    picture()
    text = table(args.data)
    put_between(ROOT / "README.md", "accuracy", text)
    kinds(args.data, args.cache)


if __name__ == "__main__":
    main()
