"""WAN: Sauvola's threshold from the mean of the local mean and the local maximum."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Gray, Ink, Surface
from ..core.windows import local_threshold, window_extreme
from ..options import Method
from .sauvola import K, R
from .shared import window_option


def threshold_wan(
    gray: Gray, *, window: int = 75, k: float = 0.2, r: float = 0.5, threads: int | None = 1, ink: bool = False
) -> Surface | Ink:
    """``T = (max + m)/2 · (1 + k·(s/R − 1))`` with the window's maximum, mean m and deviation s; ``R = 255·r``.

    gray : (H, W) uint8, 0 black. k : 0 … 1, larger is lighter. Returns a float32 surface on the 0–255 scale; ink is
    ``gray < surface`` (with ``ink=True`` that mask at once, bool, True = ink).

    References: W. A. Mustafa, M. M. M. Abdul Kader, J. Phys.: Conf. Ser. 1019, 2018,
    doi:10.1088/1742-6596/1019/1/012022. **Deviations**: none; the defaults are Doxa's.

    >>> threshold_wan(np.array([[0, 0, 6]], np.uint8), window=3, k=0.5).astype(float).round(3).tolist()
    [[0.0, 2.044, 2.303]]
    """
    base, slope = np.float32(1 - k), np.float32(k / (255 * r))
    largest = window_extreme(gray, window, np.maximum, threads)

    def formula(rows: slice, mean: Surface, deviation: Surface) -> Surface:
        mean += largest[rows]
        mean *= np.float32(0.5)
        deviation *= slope
        deviation += base
        return np.multiply(mean, deviation, out=deviation)

    return local_threshold(gray, window, formula, threads, ink)


METHOD = Method(
    "wan",
    threshold_wan,
    (window_option(75), K, R),
    "Mustafa & Abdul Kader 2018 (WAN)",
    "10.1088/1742-6596/1019/1/012022",
    surface=True,
    fused=True,
)
