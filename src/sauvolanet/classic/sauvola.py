"""Sauvola's local threshold, with the presets of three libraries."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Gray, Ink, Surface
from ..core.windows import local_threshold
from ..options import Method, Option
from .shared import window_option


def threshold_sauvola(
    gray: Gray, *, window: int = 15, k: float = 0.2, r: float = 0.5, threads: int | None = 1, ink: bool = False
) -> Surface | Ink:
    """``T = m · (1 + k·(s/R − 1))`` with the window's mean m and deviation s; ``R = 255·r``.

    gray : (H, W) uint8, 0 black. k : 0 … 1, larger is lighter. r : the deviation of full contrast on the 0–1 scale.
    Returns a float32 surface on the 0–255 scale; ink is ``gray < surface`` (with ``ink=True`` that mask at once,
    bool, True = ink).

    References: J. Sauvola, M. Pietikäinen, Pattern Recognition 33(2), 2000, doi:10.1016/S0031-3203(99)00055-2.
    **Deviations**: the default k is scikit-image's 0.2; the publication used 0.5 (preset ``opencv``).

    >>> threshold_sauvola(np.array([[0, 0, 6]], np.uint8), window=3, k=0.5).astype(float).round(3).tolist()
    [[0.0, 1.022, 1.535]]
    """
    base, slope = np.float32(1 - k), np.float32(k / (255 * r))

    def formula(rows: slice, mean: Surface, deviation: Surface) -> Surface:
        deviation *= slope
        deviation += base
        return np.multiply(mean, deviation, out=deviation)

    return local_threshold(gray, window, formula, threads, ink)


K = Option("k", float, 0.2, 0, 5, help="How far the threshold falls below the mean where contrast is low.")
R = Option("r", float, 0.5, 0.001, 5, help="The deviation of full contrast, on the 0-1 scale of gray/255.")

METHOD = Method(
    "sauvola",
    threshold_sauvola,
    (window_option(15), K, R),
    "Sauvola & Pietikäinen 2000",
    "10.1016/S0031-3203(99)00055-2",
    surface=True,
    presets={
        "opencv": {"window": 11, "k": 0.5, "r": 0.5},
        "scikit-image": {"window": 15, "k": 0.2, "r": 0.5},
        "pythreshold": {"window": 15, "k": 0.35, "r": 0.5},
    },
    table1={
        "trainable": "no", "w": "user specified", "k": "user specified", "r": "user specified",
        "scales": "single", "preproc": "yes", "postproc": "yes",
    },
    fused=True,
)  # fmt: skip
