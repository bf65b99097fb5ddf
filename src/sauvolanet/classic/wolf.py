"""The local threshold of Wolf and Jolion."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Gray, Ink, Surface
from ..core.bands import run_bands
from ..core.windows import local_threshold, walk
from ..options import Method, Option
from .shared import window_option


def threshold_wolf(
    gray: Gray, *, window: int = 41, k: float = 0.5, threads: int | None = 1, ink: bool = False
) -> Surface | Ink:
    """``T = m − k·(1 − s/S)·(m − M)``: S is the largest deviation of any window, M the darkest gray of the page.

    gray : (H, W) uint8, 0 black. k : 0 … 1, larger is lighter. Returns a float32 surface on the 0–255 scale; ink is
    ``gray < surface`` (with ``ink=True`` that mask at once, bool, True = ink).

    References: C. Wolf, J.-M. Jolion, Pattern Analysis and Applications 6(4), 2003, doi:10.1007/s10044-003-0197-7.
    **Deviations**: none; the authors' program has window 40, which is 41 here.

    >>> threshold_wolf(np.array([[2, 2, 8]], np.uint8), window=3).astype(float).round(3).tolist()
    [[2.0, 3.943, 5.0]]
    """
    darkest = np.float32(gray.min())
    largest = largest_deviation(gray, window, threads)
    k32, slope = np.float32(k), np.float32(k / largest if largest else 0)

    def formula(rows: slice, mean: Surface, deviation: Surface) -> Surface:
        deviation *= slope
        deviation -= k32
        deviation *= mean - darkest
        return np.add(mean, deviation, out=deviation)

    return local_threshold(gray, window, formula, threads, ink)


def largest_deviation(gray: Gray, window: int, threads: int | None) -> float:
    """The largest deviation of any window of the page."""

    def band(a: int, b: int) -> float:
        return max(float(deviation.max()) for *_, deviation in walk(gray, window, a, b))

    return float(max(run_bands(gray.shape[0], threads, band)))


METHOD = Method(
    "wolf",
    threshold_wolf,
    (window_option(41), Option("k", float, 0.5, 0, 1, help="How far the threshold falls where contrast is low.")),
    "Wolf & Jolion 2003",
    "10.1007/s10044-003-0197-7",
    surface=True,
    fused=True,
)
