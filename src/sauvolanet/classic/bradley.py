"""The threshold of Bradley and Roth: so many percent below the local mean."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Gray, Ink, Surface
from ..core.windows import local_threshold
from ..options import Method, Option
from .shared import odd, window_option


def threshold_bradley(
    gray: Gray, *, window: int | None = None, t: float = 15.0, threads: int | None = 1, ink: bool = False
) -> Surface | Ink:
    """``T = m · (1 − t/100)`` with the window's mean m; the window is an eighth of the page's width if not given.

    gray : (H, W) uint8, 0 black. t : percent. Returns a float32 surface on the 0–255 scale; ink is
    ``gray < surface`` (with ``ink=True`` that mask at once, bool, True = ink).

    References: D. Bradley, G. Roth, Journal of Graphics Tools 12(2), 2007, doi:10.1080/2151237X.2007.10129236.
    **Deviations**: the window is made odd.

    >>> threshold_bradley(np.array([[100, 100]], np.uint8), window=3).tolist()
    [[85.0, 85.0]]
    """
    share = np.float32(1 - t / 100)
    return local_threshold(gray, window or odd(gray.shape[1] / 8), lambda rows, mean, _: mean * share, threads, ink)


METHOD = Method(
    "bradley",
    threshold_bradley,
    (
        window_option(None, "Side of the square window in pixels; an eighth of the page's width if not given."),
        Option("t", float, 15.0, 0, 100, help="How many percent darker than the local mean ink is."),
    ),
    "Bradley & Roth 2007",
    "10.1080/2151237X.2007.10129236",
    surface=True,
    fused=True,
)
