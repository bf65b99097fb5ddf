"""The threshold of T. Romen Singh and others, from the mean alone."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Gray, Ink, Surface
from ..core.windows import local_threshold
from ..options import Method, Option
from .shared import window_option


def threshold_trsingh(
    gray: Gray, *, window: int = 15, k: float = 0.06, threads: int | None = 1, ink: bool = False
) -> Surface | Ink:
    """``T = m · (1 + k·(d/(1 − d) − 1))``, d = gray − m: the pixel's own distance from the mean, on the 0–1 scale.

    gray : (H, W) uint8, 0 black. k : 0 … 1, larger is lighter. Returns a float32 surface on the 0–255 scale; ink is
    ``gray < surface`` (with ``ink=True`` that mask at once, bool, True = ink).

    References: T. R. Singh et al., IJCSI 8(6), 2011, arXiv:1201.5227.
    **Deviations**: d is kept below 1. In Doxa 0.9.2 a wrong constant in the denominator makes the fraction vanish: its
    result, with window 75 and k = 0.2, is that of the method ``bradley`` with ``window=75, t=20``.

    >>> threshold_trsingh(np.array([[0, 255, 255]], np.uint8), window=3, k=0.5).astype(float).round(2).tolist()
    [[42.5, 127.5, 127.5]]
    """
    k32, base, one = np.float32(k / 255), np.float32(1 - k), np.float32(1)

    def formula(rows: slice, mean: Surface, distance: Surface) -> Surface:
        np.subtract(gray[rows], mean, out=distance)
        np.minimum(distance, np.float32(254), out=distance)
        distance /= one - distance * np.float32(1 / 255)
        distance *= k32
        distance += base
        return np.multiply(mean, distance, out=distance)

    return local_threshold(gray, window, formula, threads, ink)


METHOD = Method(
    "trsingh",
    threshold_trsingh,
    (window_option(15), Option("k", float, 0.06, 0, 1, help="How far the threshold falls below the mean.")),
    "Singh et al. 2011",
    "10.48550/arXiv.1201.5227",
    surface=True,
    fused=True,
)
