"""Phansalkar's threshold: Sauvola's, raised where the page is dark."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Gray, Ink, Surface
from ..core.windows import local_threshold
from ..options import Method, Option
from .sauvola import R
from .shared import window_option


def threshold_phansalkar(
    gray: Gray,
    *,
    window: int = 31,
    k: float = 0.25,
    r: float = 0.5,
    p: float = 2.0,
    q: float = 10.0,
    threads: int | None = 1,
    ink: bool = False,
) -> Surface | Ink:
    """``T = m · (1 + p·exp(−q·m) + k·(s/r − 1))`` with the window's mean m and deviation s on the 0–1 scale.

    gray : (H, W) uint8, 0 black. Returns a float32 surface on the 0–255 scale; ink is ``gray < surface`` (with
    ``ink=True`` that mask at once, bool, True = ink).

    References: N. Phansalkar et al., ICCSP 2011, doi:10.1109/ICCSP.2011.5739305.
    **Deviations**: one gray channel instead of two colour spaces; the window is ImageJ's, the publication gives none.

    >>> threshold_phansalkar(np.full((1, 3), 51, np.uint8), window=3).astype(float).round(2).tolist()
    [[52.05, 52.05, 52.05]]
    """
    base, slope = np.float32(1 - k), np.float32(k / (255 * r))
    p32, fall = np.float32(p), np.float32(-q / 255)

    def formula(rows: slice, mean: Surface, deviation: Surface) -> Surface:
        deviation *= slope
        deviation += base
        deviation += p32 * np.exp(mean * fall)
        return np.multiply(mean, deviation, out=deviation)

    return local_threshold(gray, window, formula, threads, ink)


METHOD = Method(
    "phansalkar",
    threshold_phansalkar,
    (
        window_option(31),
        Option("k", float, 0.25, 0, 5, help="How far the threshold falls below the mean where contrast is low."),
        R,
        Option("p", float, 2.0, 0, 100, help="How much dark places raise the threshold."),
        Option("q", float, 10.0, 0, 1000, help="How soon that ends as places grow lighter."),
    ),
    "Phansalkar et al. 2011",
    "10.1109/ICCSP.2011.5739305",
    surface=True,
    fused=True,
)
