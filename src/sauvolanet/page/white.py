"""Paper made even and white, strokes kept in their shades."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Gray, Ink
from ..core.bands import run_bands
from ..core.components import grown
from ..core.windows import box_sum


def paper_to_white(
    gray: Gray, ink: Ink, window: int, fallback: float, threads: int | None = 1, rows: int = 256
) -> Gray:
    """Divide the gray by the mean of the paper pixels in the window around each pixel.

    ink : bool, True = ink. fallback : the paper's level where a window holds no paper.
    It goes down the page ``rows`` at a time, so that a huge page needs little more memory than itself; as the sums are
    of whole numbers, the result does not depend on it.
    """
    white = np.empty_like(gray)
    reach = window // 2 + 1  # one more for the neighbours of ink

    def band(first: int, last: int) -> None:
        for a in range(first, last, rows):
            b = min(a + rows, last)
            top, bottom = max(a - reach, 0), b + reach
            white[a:b] = _to_white(gray[top:bottom], ink[top:bottom], window, fallback)[a - top : b - top]

    run_bands(len(gray), threads, band)
    return white


def _to_white(gray: Gray, ink: Ink, window: int, fallback: float) -> Gray:
    paper = ~grown(ink)  # strokes have soft edges: leave out their neighbours too
    count = box_sum(paper.astype(np.int64), window)
    total = box_sum(np.where(paper, gray, 0).astype(np.int64), window)
    level = np.where(count > 0, total / np.maximum(count, 1), fallback)
    return np.clip(np.rint(gray * (255 / np.maximum(level, 1))), 0, 255).astype(np.uint8)
