"""What several classic methods share: the declaration of a window, local contrast, Otsu of any values."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Gray, Ink, by_rows
from ..core.bands import run_bands
from ..core.kernels import native
from ..core.windows import window_extreme
from ..options import Option
from ..page.numbers import PageNumbers


def window_option(default: int | None, help: str = "Side of the square window in pixels.") -> Option:
    """The option ``window``: odd, at least 3; None as default means that the method finds it."""
    return Option("window", int, default, 3, 100_001, help=help, odd=True)


def odd(value: float, least: int = 3) -> int:
    """The odd whole number at or just above the value."""
    return max(int(np.ceil(value)) | 1, least)


def local_contrast(gray: Gray, threads: int | None, alpha: float = 1.0) -> Gray:
    """``α·(max − min)/(max + min) + (1 − α)·(max − min)`` over 3×3 pixels, on a scale of 255."""
    contrast = np.empty(gray.shape, np.uint8)
    alpha32 = np.float32(alpha)
    if kernels := native():
        gray = by_rows(gray)
        run_bands(gray.shape[0], threads, lambda a, b: kernels.contrast(gray, alpha32, a, b, contrast))
        return contrast
    low = window_extreme(gray, 3, np.minimum, threads)
    high = window_extreme(gray, 3, np.maximum, threads)
    gap = (high - low).astype(np.float32)
    ratio = gap * np.float32(255) / (high.astype(np.float32) + low + np.float32(1e-4))
    return (alpha32 * ratio + (1 - alpha32) * gap).astype(np.uint8)


def above_otsu(contrast: Gray) -> Ink:
    """Pixels (True) of high contrast: above Otsu's threshold."""
    return contrast >= max(PageNumbers.of(contrast).otsu(), 1)


def high_contrast(gray: Gray, threads: int | None) -> Ink:
    """Pixels (True) of high local contrast by Su, Lu and Tan 2010."""
    return above_otsu(local_contrast(gray, threads))
