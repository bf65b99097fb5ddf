"""The README's picture and its table of accuracy, made from the code as it is.

python tools/readme_figures.py --data DIR        DIR holds `documents` and `paper-gray`
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from PIL import Image

from marks import put_between
from sauvolanet import binarize, evaluate
from sauvolanet.net import load, shipped
from sauvolanet.synth import example

ROOT = Path(__file__).parents[1]
SETS = ("DIBCO2011", "DIBCO2014", "DIBCO2016")
CLASSIC = ("otsu", "sauvola")


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    args = parser.parse_args()
    picture()
    text = table(args.data)
    put_between(ROOT / "README.md", "accuracy", text)


if __name__ == "__main__":
    main()
