"""From the gray to what a network reads: scaled gray, window statistics, and the features of the attention.

The same function serves the runtime (a slab of a page) and the trainer (a patch). Everything is on the *scaled* gray
``(g − low) · gain``; the window sums are integer sums of the uint8 gray and are scaled afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..page import PageNumbers
from ..windows import Gray, compiled, mean_deviation_numpy, run_bands
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


def statistics(gray: Gray, windows: tuple[int, ...], scale: Scale, region: tuple[slice, slice],
               threads: int | None) -> tuple[Array, Array]:  # fmt: skip
    """Mean and deviation of the scaled gray of a region of the page, in each window: two (H, W, windows) arrays."""
    rows, columns = region
    # a window reaches beyond the region, not further than its half
    half = max(windows) // 2
    seen = slice(max(columns.start - half, 0), min(columns.stop + half, gray.shape[1]))
    gray, columns = gray[:, seen], slice(columns.start - seen.start, columns.stop - seen.start)
    shape = (rows.stop - rows.start, columns.stop - columns.start, len(windows))
    mean, deviation = np.empty(shape, np.float32), np.empty(shape, np.float32)
    low, gain, floor = np.float32(scale.low), np.float32(scale.gain), np.float32(MINIMUM_VARIANCE**0.5)
    kernels = compiled("sauvolanet.net.feature_kernels")
    if kernels is None:
        for i, window in enumerate(windows):
            m, d = mean_deviation_numpy(gray, window)
            mean[..., i] = (m[rows, columns] - low) * gain
            deviation[..., i] = np.maximum(d[rows, columns] * gain, floor)
    else:
        run_bands(shape[0], threads, lambda a, b: kernels.scaled_statistics(
            gray, windows, rows, columns, rows.start + a, rows.start + b, low, gain, floor, mean, deviation))  # fmt: skip
    return mean, deviation


def features(arch: Architecture, scaled: Array, mean: Array, deviation: Array, numbers: Array,
             threads: int | None = 1) -> Array:  # fmt: skip
    """What the attention sees: (H / fold, W / fold, inputs), H and W rounded up to the architecture's multiple.

    Beyond the page its last row and column go on.
    """
    fold = arch.fold
    shape = tuple(-(-n // arch.multiple) * arch.multiple // fold for n in scaled.shape)
    out = np.empty((*shape, arch.inputs), np.float32)
    kernels = compiled("sauvolanet.net.feature_kernels")
    at = 0
    for name in arch.features:
        if name == "numbers":
            out[..., at : at + PAGE_NUMBERS] = numbers
            at += PAGE_NUMBERS
            continue
        if name == "gray":
            full, fill = scaled, (kernels.fold_gray if kernels else fold_gray_numpy)
        else:
            full = {"mean": mean, "deviation": deviation}[name]
            fill = kernels.fold_mean if kernels else fold_mean_numpy
        run_bands(shape[0], threads, lambda a, b, full=full, fill=fill, at=at: fill(full, a, b, fold, at, out))
        at += fold * fold if name == "gray" else len(arch.windows)
    return out


def fold_gray_numpy(scaled: Array, y0: int, y1: int, fold: int, at: int, out: Array) -> None:
    """The truth of the folding: pixel (a, b) of each cell becomes channel at + a · fold + b."""
    scaled = _continued(scaled, fold, out)
    for a in range(fold):
        for b in range(fold):
            out[y0:y1, :, at + a * fold + b] = scaled[a::fold, b::fold][y0:y1]


def fold_mean_numpy(full: Array, y0: int, y1: int, fold: int, at: int, out: Array) -> None:
    """The truth of the folding by means."""
    full = _continued(full, fold, out)
    part = sum(full[a::fold, b::fold][y0:y1] for a in range(fold) for b in range(fold))
    out[y0:y1, :, at : at + full.shape[2]] = part * np.float32(1 / (fold * fold))


def _continued(full: Array, fold: int, out: Array) -> Array:
    """The array, its last row and column repeated until it fills the cells of ``out``."""
    more = [(0, cells * fold - n) for n, cells in zip(full.shape, out.shape[:2], strict=False)]
    return np.pad(full, more + [(0, 0)] * (full.ndim - 2), mode="edge")
