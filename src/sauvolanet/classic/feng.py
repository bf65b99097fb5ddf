"""Feng and Tan's contrast-adaptive threshold with two windows."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Gray, Ink, Surface
from ..core.windows import local_threshold, mean_deviation, window_extreme
from ..options import Method, Option
from .shared import window_option


def threshold_feng(
    gray: Gray,
    *,
    window: int = 19,
    outer: int = 33,
    alpha: float = 0.12,
    k1: float = 0.25,
    k2: float = 0.04,
    gamma: float = 2.0,
    threads: int | None = 1,
    ink: bool = False,
) -> Surface | Ink:
    """``T = (1 − α)·m + k1·ρ^(γ+1)·(m − M) + k2·ρ^γ·M`` with mean m, minimum M and ``ρ = s / S``.

    s is the window's deviation and S the largest s within the outer window around the pixel.

    gray : (H, W) uint8, 0 black. Returns a float32 surface on the 0–255 scale; ink is ``gray < surface`` (with
    ``ink=True`` that mask at once, bool, True = ink).

    References: M.-L. Feng, Y.-P. Tan, IEICE Electronics Express 1(16), 2004, doi:10.1587/elex.1.501.
    **Deviations**: every pixel has its own threshold, where the publication interpolates between a few; the median
    filter in front is left to the caller; a flat neighbourhood has ρ = 0.

    >>> threshold_feng(np.full((3, 3), 100, np.uint8)).astype(float).round(3).tolist()[0]
    [88.0, 88.0, 88.0]
    """
    smallest = window_extreme(gray, window, np.minimum, threads)
    largest = window_extreme(mean_deviation(gray, window, threads)[1], outer, np.maximum, threads)
    base, k1_, k2_, power = (np.float32(value) for value in (1 - alpha, k1, k2, gamma))

    def formula(rows: slice, mean: Surface, deviation: Surface) -> Surface:
        ratio = deviation / np.maximum(largest[rows], np.float32(1e-6))
        raised = ratio**power
        dark = smallest[rows].astype(np.float32)
        surface: Surface = base * mean + raised * (k1_ * ratio * (mean - dark) + k2_ * dark)
        return surface

    return local_threshold(gray, window, formula, threads, ink)


METHOD = Method(
    "feng",
    threshold_feng,
    (
        window_option(19),
        Option("outer", int, 33, 3, 100_001, help="Side of the window for the largest deviation.", odd=True),
        Option("alpha", float, 0.12, 0, 1, help="How far the threshold lies below the mean."),
        Option("k1", float, 0.25, 0, 5, help="Weight of the contrast between mean and minimum."),
        Option("k2", float, 0.04, 0, 5, help="Weight of the minimum."),
        Option("gamma", float, 2.0, 0, 10, help="How fast both fade with falling contrast."),
    ),
    "Feng & Tan 2004",
    "10.1587/elex.1.501",
    surface=True,
    fused=True,
)
