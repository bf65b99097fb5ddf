"""Niblack's local threshold."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Gray, Ink, Surface
from ..core.windows import local_threshold
from ..options import Method, Option
from .shared import window_option


def threshold_niblack(
    gray: Gray, *, window: int = 15, k: float = -0.2, threads: int | None = 1, ink: bool = False
) -> Surface | Ink:
    """``T = m + k·s`` with the window's mean m and deviation s.

    gray : (H, W) uint8, 0 black. Returns a float32 surface on the 0–255 scale; ink is ``gray < surface``
    (with ``ink=True`` that mask at once, bool, True = ink).

    References: W. Niblack, An Introduction to Digital Image Processing, Prentice Hall, 1986, ISBN 0-13-480674-3.
    **Deviations**: none. scikit-image writes the same with the sign of k turned.

    >>> threshold_niblack(np.array([[0, 0, 6]], np.uint8), window=3, k=-0.5).astype(float).round(3).tolist()
    [[0.0, 0.586, 1.5]]
    """
    k32 = np.float32(k)
    return local_threshold(gray, window, lambda rows, mean, deviation: mean + k32 * deviation, threads, ink)


METHOD = Method(
    "niblack",
    threshold_niblack,
    (window_option(15), Option("k", float, -0.2, -5, 5, help="Weight of the deviation; negative for dark ink.")),
    "Niblack 1986",
    "",
    surface=True,
    fused=True,
)
