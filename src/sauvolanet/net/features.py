"""From the gray to what a network reads: scaled gray, window statistics, and the features of the attention.

The same function serves the runtime (a slab of a page) and the trainer (a patch). Everything is on the *scaled* gray
``(g − low) · gain``; the window sums are integer sums of the uint8 gray and are scaled afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..page import PageNumbers
from ..windows import Gray, compiled, mean_deviation_numpy, run_bands
from .architecture import Architecture
from .buffers import Array, empty

MINIMUM_VARIANCE = 1e-6  # of the scaled gray
BED = 0.25  # what is darker than the darkest ink by this much of the scaled gray, at a side of the page, is no ink


@dataclass(frozen=True)
class Scale:
    """The page's scaling: ``scaled = (gray − low) · gain``."""

    low: float
    gain: float
    floor: int = 0  # the network is shown no darker gray; a threshold that is not above it means paper

    @property
    def bed(self) -> float:
        """The gray level below which the rim of the page is the scanner's bed; 0 where it is not looked for."""
        return max(self.floor - BED * round(1 / self.gain), 0.0)

    def to_gray(self, scaled: Array) -> Array:
        """Back to the page's own 0–255 scale."""
        gray: Array = scaled * np.float32(1 / self.gain) + np.float32(self.low)
        if self.floor:
            gray[gray <= self.floor] = 0
        return gray

    def apart(self, one: Array, other: Array) -> float:
        """The largest difference of two surfaces on the 0–255 scale; at or below the floor all of them mean paper."""
        if self.floor:
            one, other = (np.maximum(surface, self.floor) for surface in (one, other))
        return float(np.abs(one - other).max())


SCALINGS = ("minmax", "percentile", "inner")


def _decisive(numbers: PageNumbers, scaling: dict[str, Any]) -> PageNumbers:
    """The part of the page that decides its scale."""
    return numbers.inner if scaling["kind"] == "inner" else numbers


def page_scale(numbers: PageNumbers, scaling: dict[str, Any]) -> Scale:
    """The scale of a page: ``minmax`` as the authors do, or ``percentile`` with its low and high percent.

    ``inner`` are percentiles of the page without its rim, and nothing is darker than the low one: a scanner's black bed
    says nothing about how dark the ink is. On a page with less ink than the low percentile, its level is that of the ink.
    """
    if scaling["kind"] == "minmax":
        low, high = numbers.extremes()
        return Scale(low, 1 / (high - low + 0.1))
    numbers = _decisive(numbers, scaling)
    dark, light = numbers.percentile(float(scaling["low"])), numbers.percentile(float(scaling["high"]))
    if scaling["kind"] == "inner":  # of a title page or the last lines of a chapter too, the ink is the dark level
        sparse = numbers.sparse_ink(float(scaling["low"]))
        dark = dark if sparse is None else sparse
    return Scale(dark, 1 / max(light - dark, float(scaling["least"])), int(dark) if scaling["kind"] == "inner" else 0)


def shown(gray: Gray, scale: Scale) -> Gray:
    """The page's gray as the network is shown it."""
    return np.maximum(gray, np.uint8(scale.floor)) if scale.floor else gray


def page_numbers(numbers: PageNumbers, scaling: dict[str, Any]) -> Array:
    """The page-wide numbers a network may see: Otsu's level on the scaled gray, and the share of the page below it."""
    scale = page_scale(numbers, scaling)
    numbers = _decisive(numbers, scaling)
    cut = numbers.otsu()
    share = numbers.histogram[:cut].sum() / numbers.histogram.sum()
    return np.array([(cut - scale.low) * scale.gain, share], np.float32)


def statistics(gray: Gray, windows: tuple[int, ...], scale: Scale, region: tuple[slice, slice],
               threads: int | None) -> tuple[Array, Array]:  # fmt: skip
    """Mean and deviation of the scaled gray of a region of the page, in each window: two (H, W, windows) arrays."""
    rows, columns = region
    # a window reaches beyond the region, not further than its half
    half = max(windows, default=0) // 2
    seen = slice(max(columns.start - half, 0), min(columns.stop + half, gray.shape[1]))
    gray, columns = gray[:, seen], slice(columns.start - seen.start, columns.stop - seen.start)
    shape = (rows.stop - rows.start, columns.stop - columns.start, len(windows))
    mean, deviation = empty(*shape), empty(*shape)
    low, gain, floor = np.float32(scale.low), np.float32(scale.gain), np.float32(MINIMUM_VARIANCE**0.5)
    kernels = compiled("sauvolanet.net.feature_kernels")
    if kernels is None or not windows:
        for i, window in enumerate(windows):
            m, d = mean_deviation_numpy(gray, window)
            mean[..., i] = (m[rows, columns] - low) * gain
            deviation[..., i] = np.maximum(d[rows, columns] * gain, floor)
    else:
        run_bands(shape[0], threads, lambda a, b: kernels.scaled_statistics(
            gray, windows, rows, columns, rows.start + a, rows.start + b, low, gain, floor, mean, deviation))  # fmt: skip
    return mean, deviation


def thresholds(gray: Gray, arch: Architecture, k: Array, r: Array, scale: Scale, region: tuple[slice, slice], logits: Array,
               threads: int | None) -> Array:  # fmt: skip
    """AST of a region of the page from its logits, the window statistics on the way: for networks that do not see them.

    Only with compiled kernels, and for at most eight choices.
    """
    kernels = compiled("sauvolanet.net.feature_kernels")
    assert kernels is not None
    threshold = np.empty((region[0].stop - region[0].start, region[1].stop - region[1].start), np.float32)
    low, gain, floor = np.float32(scale.low), np.float32(scale.gain), np.float32(MINIMUM_VARIANCE**0.5)
    constants = np.asarray(arch.constants, np.float32)
    first = region[0].start
    run_bands(len(threshold), threads, lambda a, b: kernels.thresholds(
        gray, arch.windows, *region, first + a, first + b, low, gain, floor, logits, k, r, constants, threshold))  # fmt: skip
    return threshold


def features(arch: Architecture, scaled: Array, mean: Array, deviation: Array, numbers: Array,
             threads: int | None = 1) -> Array:  # fmt: skip
    """What the attention sees: (H / fold, W / fold, inputs), H and W rounded up to the architecture's multiple.

    Beyond the page its last row and column go on.
    """
    fold = arch.fold
    height, width = (-(-n // arch.multiple) * arch.multiple // fold for n in scaled.shape)
    out = empty(height, width, arch.inputs)
    kernels = compiled("sauvolanet.net.feature_kernels")
    if kernels is None:
        features_numpy(arch, scaled, mean, deviation, numbers, out)
    else:
        at = arch.feature_channels()
        pair = sorted([(at["mean"], mean), (at["deviation"], deviation)], key=lambda one: one[0])
        (at_one, one), (at_other, other) = pair
        run_bands(height, threads, lambda a, b: kernels.features(
            scaled, one, at_one, other, at_other, numbers, at["gray"], at["numbers"], fold, a, b, out))  # fmt: skip
    return out


def features_numpy(
    arch: Architecture, scaled: Array, mean: Array, deviation: Array, numbers: Array, out: Array
) -> None:
    """The truth of the features: pixel (a, b) of a cell is its channel a · fold + b; statistics are means over the cell."""
    fold = arch.fold
    for name, at in arch.feature_channels().items():
        if at < 0:
            continue
        if name == "gray":
            gray = _continued(scaled, fold, out)
            values: Any = np.stack([gray[a::fold, b::fold] for a in range(fold) for b in range(fold)], -1)
        elif name == "numbers":
            values = numbers
        else:
            full = _continued(mean if name == "mean" else deviation, fold, out)
            values = sum(full[a::fold, b::fold] for a in range(fold) for b in range(fold)) * np.float32(1 / fold**2)
        out[..., at : at + values.shape[-1]] = values


def _continued(full: Array, fold: int, out: Array) -> Array:
    """The array, its last row and column repeated until it fills the cells of ``out``."""
    more = [(0, cells * fold - n) for n, cells in zip(full.shape, out.shape[:2], strict=False)]
    return np.pad(full, more + [(0, 0)] * (full.ndim - 2), mode="edge")
