"""Resident memory of a huge page through a model, and tiled against whole on a smaller one.

python benchmarks/memory.py [--model NAME] [--side 10000]
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from sauvolanet import Binarizer
from sauvolanet.net import load
from sauvolanet.page.numbers import PageNumbers
from sauvolanet.pipeline import DEFAULT_MODEL
from sauvolanet.synth import page


def sheet(height: int, width: int) -> np.ndarray:
    """A large page: one synthetic page repeated."""
    part, _ = page(2, kind="print", height=1000, width=1000)
    return np.ascontiguousarray(np.tile(part, (-(-height // 1000), -(-width // 1000)))[:height, :width])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--side", type=int, default=10_000)
    args = parser.parse_args()
    gray = sheet(args.side, args.side)
    begun = time.perf_counter()
    ink = Binarizer(model=args.model, invert="no")(gray)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{args.model}, {args.side}×{args.side}: {peak:.2f} GB resident at most, {time.perf_counter() - begun:.0f} s, {ink.mean():.3f} ink"
    )
    del ink
    gray = sheet(4000, 5000)
    numbers, model = PageNumbers.of(gray), load(args.model)
    whole = model.surface(gray, numbers, largest=gray.size)
    print("20 megapixels, tiled equals whole:", np.array_equal(model.surface(gray, numbers, largest=2_000_000), whole))


if __name__ == "__main__":
    main()
