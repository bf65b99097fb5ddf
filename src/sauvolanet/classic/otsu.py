"""Otsu's global threshold."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Gray, Ink, Surface
from ..core.bands import run_bands
from ..core.windows import histogram
from ..options import Method
from ..page.numbers import PageNumbers


def threshold_otsu(gray: Gray, *, threads: int | None = 1, ink: bool = False) -> Surface | Ink:
    """The threshold that splits the histogram into the two classes of largest between-class variance.

    gray : (H, W) uint8, 0 black. Returns a constant surface, float32; ink is ``gray < surface`` (with ``ink=True`` that
    mask at once, bool, True = ink).

    References: N. Otsu, IEEE Trans. SMC 9(1), 1979, doi:10.1109/TSMC.1979.4310076.
    **Deviations**: none; a page of one gray level has no ink.

    >>> import numpy as np
    >>> threshold_otsu(np.array([[10, 10, 200, 210]], np.uint8)).tolist()
    [[11.0, 11.0, 11.0, 11.0]]
    """
    level = PageNumbers(histogram(gray, threads)).otsu()
    if not ink:
        return np.full(gray.shape, level, np.float32)
    result = np.empty(gray.shape, bool)
    run_bands(len(gray), threads, lambda a, b: np.less(gray[a:b], level, out=result[a:b]))
    return result


METHOD = Method("otsu", threshold_otsu, (), "Otsu 1979", "10.1109/TSMC.1979.4310076", surface=True, fused=True)
