"""What several classic methods share: the declaration of a window, local contrast, Otsu of any values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..options import Option
from ..page import PageNumbers
from ..windows import Gray, Ink, run_bands, window_extreme


def window_option(default: int | None, help: str = "Side of the square window in pixels.") -> Option:
    """The option ``window``: odd, at least 3; None as default means that the method finds it."""
    return Option("window", int, default, 3, 100_001, help=help, odd=True)


def odd(value: float, least: int = 3) -> int:
    """The odd whole number at or just above the value."""
    return max(int(np.ceil(value)) | 1, least)


def high_contrast(gray: Gray, threads: int | None) -> tuple[Ink, npt.NDArray[np.uint8]]:
    """Pixels of high local contrast (True), and the contrast itself as uint8, by Su, Lu and Tan 2010.

    ``(max − min) / (max + min)`` over 3×3 pixels, on a scale of 255, cut by Otsu's threshold.
    """
    low = window_extreme(gray, 3, np.minimum, threads)
    high = window_extreme(gray, 3, np.maximum, threads)
    contrast = np.empty_like(gray)

    def band(a: int, b: int) -> None:
        total = high[a:b].astype(np.float32) + low[a:b] + np.float32(0.0001)
        contrast[a:b] = (high[a:b] - low[a:b]) * np.float32(255) / total

    run_bands(gray.shape[0], threads, band)
    return contrast >= max(PageNumbers.of(contrast).otsu(), 1), contrast
