"""``python -m sauvolanet.show.demo FOLDER``: binarize the bundled example page and explain the result."""

from __future__ import annotations

import sys
from pathlib import Path


def main(folder: str) -> int:
    """Write the page, its ink (1-bit PNG) and the explanation, and say where."""
    import numpy as np
    from PIL import Image

    from ..api import explain
    from ..core.atomic import atomic
    from ..synth import example
    from .explanation import picture

    page = example()
    result = explain(page)
    pictures = {
        "page.png": Image.fromarray(page),
        "ink.png": Image.fromarray(~result.ink),
        "explained.png": picture(result),
    }
    for name, image in pictures.items():
        with atomic(Path(folder) / name) as file:
            image.save(file, format="PNG", optimize=True)
    share = 100 * float(np.mean(result.ink))
    print(f"model {result.model}: {page.shape[1]}×{page.shape[0]} pixels, {share:.1f} % ink")
    for name, what in zip(
        pictures, ("the scan", "black ink on white paper, 1 bit", "how the model decided"), strict=True
    ):
        print(f"  {Path(folder) / name}  {what}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:] or ["demo-output"]))
