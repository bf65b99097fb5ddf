"""NICK, the local threshold of Khurshid, Siddiqi, Faure and Vincent."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Gray, Ink, Surface
from ..core.windows import local_threshold
from ..options import Method, Option
from .shared import window_option


def threshold_nick(
    gray: Gray, *, window: int = 19, k: float = -0.2, threads: int | None = 1, ink: bool = False
) -> Surface | Ink:
    """``T = m + k·sqrt((Σp² − m²) / n)`` over the n pixels p of the window with mean m.

    gray : (H, W) uint8, 0 black. k : −0.2 for clean pages … −0.1 for faint ink. Returns a float32 surface on the
    0–255 scale; ink is ``gray < surface`` (with ``ink=True`` that mask at once, bool, True = ink).

    References: K. Khurshid et al., Document Recognition and Retrieval XVI, 2009, doi:10.1117/12.805827.
    **Deviations**: n in m²/n is the whole window's also at the border. Doxa leaves m²/n out; that is below a quarter
    of a gray level from window 9 on.

    >>> threshold_nick(np.array([[9, 9, 9]], np.uint8), window=3).astype(float).round(3).tolist()
    [[7.303, 7.303, 7.303]]
    """
    k32, share = np.float32(k), np.float32(1 - 1 / window**2)

    def formula(rows: slice, mean: Surface, deviation: Surface) -> Surface:
        deviation *= deviation
        deviation += share * (mean * mean)
        np.sqrt(deviation, out=deviation)
        deviation *= k32
        return np.add(mean, deviation, out=deviation)

    return local_threshold(gray, window, formula, threads, ink)


METHOD = Method(
    "nick",
    threshold_nick,
    (window_option(19), Option("k", float, -0.2, -1, 0, help="-0.2 for clean pages, -0.1 for faint ink.")),
    "Khurshid et al. 2009 (NICK)",
    "10.1117/12.805827",
    surface=True,
    fused=True,
)
