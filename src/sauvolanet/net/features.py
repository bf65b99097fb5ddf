"""From the gray to what a network reads: scaled gray, window statistics, and the features of the attention.

The same function serves the runtime (a slab of a page) and the trainer (a patch). Everything is on the *scaled* gray
``(g − low) · gain``; the window sums are integer sums of the uint8 gray and are scaled afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..page import PageNumbers
from ..windows import Gray, mean_deviation
from .architecture import PAGE_NUMBERS, Architecture

Array = npt.NDArray[np.float32]
MINIMUM_VARIANCE = 1e-6  # of the scaled gray


@dataclass(frozen=True)
class Scale:
    """The page's scaling: ``scaled = (gray − low) · gain``."""

    low: float
    gain: float

    def to_gray(self, scaled: Array) -> Array:
        """Back to the page's own 0–255 scale."""
        return scaled * np.float32(1 / self.gain) + np.float32(self.low)


def page_scale(numbers: PageNumbers, scaling: dict[str, object]) -> Scale:
    """The scale of a page: ``minmax`` as the authors do, or ``percentile`` with its low and high percent."""
    if scaling["kind"] == "minmax":
        low, high = numbers.extremes()
        return Scale(low, 1 / (high - low + 0.1))
    low, high = numbers.percentile(float(scaling["low"])), numbers.percentile(float(scaling["high"]))  # type: ignore[arg-type]
    return Scale(low, 1 / max(high - low, float(scaling["least"])))  # type: ignore[arg-type]


def page_numbers(numbers: PageNumbers, scale: Scale) -> Array:
    """The page-wide numbers a network may see: Otsu's level on the scaled gray, and the share of the page below it."""
    cut = numbers.otsu()
    share = numbers.histogram[:cut].sum() / numbers.histogram.sum()
    return np.array([(cut - scale.low) * scale.gain, share], np.float32)


def statistics(gray: Gray, windows: tuple[int, ...], scale: Scale, threads: int | None) -> tuple[Array, Array]:
    """Mean and deviation of the scaled gray in each window: two (H, W, windows) arrays."""
    mean = np.empty((*gray.shape, len(windows)), np.float32)
    deviation = np.empty_like(mean)
    gain, floor = np.float32(scale.gain), np.float32(MINIMUM_VARIANCE**0.5)
    for i, window in enumerate(windows):
        m, d = mean_deviation(gray, window, threads)
        mean[..., i] = (m - np.float32(scale.low)) * gain
        deviation[..., i] = np.maximum(d * gain, floor)
    return mean, deviation


def features(arch: Architecture, scaled: Array, mean: Array, deviation: Array, numbers: Array) -> Array:
    """What the attention sees, (H / fold, W / fold, inputs); H and W are multiples of fold."""
    fold = arch.fold
    height, width = scaled.shape[0] // fold, scaled.shape[1] // fold
    out = np.empty((height, width, arch.inputs), np.float32)
    at = 0
    for name in arch.features:
        if name == "gray":
            for y in range(fold):
                for x in range(fold):
                    out[..., at] = scaled[y::fold, x::fold]
                    at += 1
        elif name == "numbers":
            out[..., at : at + PAGE_NUMBERS] = numbers
            at += PAGE_NUMBERS
        else:
            full = {"mean": mean, "deviation": deviation}.get(name)
            if full is None:  # contrast
                full = scaled[..., None] - mean
            part = sum(full[y::fold, x::fold] for y in range(fold) for x in range(fold))
            out[..., at : at + len(arch.windows)] = part / np.float32(fold * fold)
            at += len(arch.windows)
    return out
