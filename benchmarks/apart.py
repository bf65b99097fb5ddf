"""What the child process costs: pages a second with decoding apart over pages a second with decoding here, in one run.

    python benchmarks/apart.py [ROUNDS]

A page is decoded and binarized with the default model, as a batch does it: an A4 page of 300 dpi as PNG, and as a PDF
that is one JPEG. Both ways take turns, one page each; the ratio is that of the medians. The child is started before.
"""

from __future__ import annotations

import io
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image

from sauvolanet import Binarizer, synth
from sauvolanet.core.bands import cores
from sauvolanet.files.apart import Patience, open_apart
from sauvolanet.files.decode import open_here

LIMITS = {"dpi": 300.0, "max_pixels": 500_000_000}


def documents() -> dict[str, bytes]:
    gray = np.tile(synth.example(), (4, 4))[:3508, :2480]
    gray = np.pad(gray, [(0, 3508 - gray.shape[0]), (0, 2480 - gray.shape[1])], mode="symmetric")
    found = {}
    for kind, options in (("PNG", {}), ("PDF", {"resolution": 300.0, "quality": 90})):
        file = io.BytesIO()
        Image.fromarray(gray).save(file, kind, **options)
        found[f"A4 {kind}"] = file.getvalue()
    return found


def seconds(open_it: Callable[..., Any], data: bytes, binarizer: Binarizer | None) -> float:
    begin = time.perf_counter()
    with open_it(io.BytesIO(data), "page") as document:
        gray = document.page(0).gray
    if binarizer:
        binarizer(gray)
    return time.perf_counter() - begin


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    ways = {
        "here": lambda file, name: open_here(file, name, **LIMITS),
        "apart": lambda file, name: open_apart(file, name, Patience(), **LIMITS),
    }
    binarizer = Binarizer()
    print(f"{cores()} cores, {rounds} rounds, medians")
    for name, data in documents().items():
        for what, verb in (("decoded", None), ("decoded and binarized", binarizer)):
            took: dict[str, list[float]] = {way: [] for way in ways}
            for number in range(rounds + 1):
                for way, open_it in ways.items():
                    spent = seconds(open_it, data, verb)
                    if number:  # the first round warms up
                        took[way].append(spent)
            here, apart = (statistics.median(took[way]) for way in ways)
            print(f"{name} {what}: {here * 1000:.0f} ms here, {apart * 1000:.0f} ms apart; pages/s {here / apart:.3f}")


if __name__ == "__main__":
    main()
