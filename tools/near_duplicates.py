"""Pages that two data sets share: the pairs whose ink is laid out most alike.

python tools/near_duplicates.py --data DIR

The likeness of two pages is the correlation of their truth, reduced to 48 × 48: near 1 for two scans of one page, about
0.4 at most for pages that merely have their lines in the same places. Parts cut from a page are not found.
"""

from __future__ import annotations

import argparse

import numpy as np
from PIL import Image

from sauvolanet.score import datasets

SIDE, SHOWN = 48, 5


def layout(truth: np.ndarray) -> np.ndarray:
    """The page's ink, reduced, with mean 0 and length 1."""
    small = np.asarray(Image.fromarray(truth.astype(np.uint8) * 255).resize((SIDE, SIDE), Image.Resampling.BOX), float)
    small = small.ravel() - small.mean()
    return small / max(float(np.linalg.norm(small)), 1e-9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    pages = datasets.find(parser.parse_args().data)
    layouts = np.stack([layout(datasets.read_truth(page)) for page in pages])
    likeness = layouts @ layouts.T
    pairs = [(likeness[i, j], a, b) for i, a in enumerate(pages) for j, b in enumerate(pages[:i]) if a.set != b.set]
    for found, a, b in sorted(pairs, key=lambda pair: -pair[0])[:SHOWN]:
        print(f"{found:.2f}  {b.set} {b.id}  {a.set} {a.id}")


if __name__ == "__main__":
    main()
