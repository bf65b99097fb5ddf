"""``python -m sauvolanet.demo FOLDER``: binarize the bundled example page and explain the result."""

from __future__ import annotations

import sys
from pathlib import Path


def main(folder: str) -> int:
    """Write the page, its ink (1-bit PNG) and the explanation, and say where."""
    import numpy as np
    from PIL import Image

    from .atomic import atomic
    from .explain import explain, picture
    from .synth import example

    page = example()
    result = explain(page)
    pictures = {
        "page.png": Image.fromarray(page),
        "ink.png": Image.fromarray(~result.ink),
        "explained.png": picture(result),
    }
    for name, shown in pictures.items():
        with atomic(Path(folder) / name) as file:
            shown.save(file, format="PNG", optimize=True)
    share = 100 * float(np.mean(result.ink))
    print(f"model {result.model}: {page.shape[1]}×{page.shape[0]} pixels, {share:.1f} % ink")
    for name, what in zip(
        pictures, ("the scan", "black ink on white paper, 1 bit", "how the model decided"), strict=True
    ):
        print(f"  {Path(folder) / name}  {what}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:] or ["demo-output"]))
