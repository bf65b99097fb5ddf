"""From the gray of a page to what a network reads: scaled gray, window statistics, features of the attention.

    gray, page numbers ▸ scale ▸ clamp ▸ window statistics ▸ scaled gray ▸ features

`PageInputs` is this way. The runtime walks it tile by tile, the trainer and the check of an export for one region, so
a network reads the same numbers wherever it runs. Everything is on the *scaled* gray ``(g − low) · gain``; the window
sums are integer sums of the uint8 gray and are scaled afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Gray
from ..core.bands import run_bands
from ..core.kernels import native
from ..core.windows import mean_deviation_numpy
from ..errors import UnknownName, UsageError
from ..options import Option
from ..page.margins import Margins, Region
from ..page.numbers import PageNumbers
from .architecture import Architecture
from .buffers import Array, empty, empty_bytes
from .view import View

MINIMUM_VARIANCE = 1e-6  # of the scaled gray
SCALINGS = ("minmax", "percentile")
_PERCENTILE = (
    Option("scaling: low", float, 0.0, 0, 100),
    Option("scaling: high", float, 100.0, 0, 100),
    Option("scaling: least", float, 1.0, 1, 255),
)


def check_scaling(scaling: Mapping[str, Any]) -> None:
    """A description of a scaling that `page_scale` cannot follow is a UsageError."""
    kind = scaling.get("kind")
    if kind not in SCALINGS:
        raise UnknownName("kind of scaling", str(kind), SCALINGS)
    options = {o.name.removeprefix("scaling: "): o for o in (_PERCENTILE if kind == "percentile" else ())}
    if odd := sorted((scaling.keys() ^ options.keys()) - {"kind"}):
        raise UsageError(f"scaling: missing or unknown keys: {', '.join(odd)}")
    for name, option in options.items():
        option.parse(scaling[name])
    if options and float(scaling["low"]) >= float(scaling["high"]):
        raise UsageError(f"scaling: low must be below high, not {scaling['low']:g} and {scaling['high']:g}")


@dataclass(frozen=True)
class Scale:
    """The page's scaling: ``scaled = (gray − low) · gain``."""

    low: float
    gain: float
    floor: int = 0  # the network reads no darker gray; a threshold that is not above it means paper

    @property
    def numbers(self) -> tuple[np.float32, np.float32, np.float32]:
        """What kernels need to scale gray and its deviations: low, gain, and the least deviation."""
        return np.float32(self.low), np.float32(self.gain), np.float32(MINIMUM_VARIANCE**0.5)

    @property
    def contrast(self) -> int:
        """Gray levels from the page's dark level to its light one."""
        return round(1 / self.gain)

    def clamp(self, gray: Gray) -> Gray:
        """The page's gray, nothing darker than the floor."""
        return np.maximum(gray, np.uint8(self.floor), out=empty_bytes(*gray.shape)) if self.floor else gray

    def to_gray(self, scaled: Array, threads: int | None = 1) -> Array:
        """Back to the page's own 0–255 scale."""
        gray = empty(*scaled.shape)
        kernels = native() if scaled.ndim == 2 and scaled.flags.c_contiguous else None
        numbers = np.float32(1 / self.gain), np.float32(self.low), self.floor
        kernel = to_gray_numpy if kernels is None else kernels.to_gray
        run_bands(len(gray), threads, lambda a, b: kernel(scaled[a:b], *numbers, gray[a:b]))
        return gray

    def largest_difference(self, one: Array, other: Array) -> float:
        """Of two surfaces on the 0–255 scale; at or below the floor all thresholds mean paper."""
        if self.floor:
            one, other = (np.maximum(surface, self.floor) for surface in (one, other))
        return float(np.abs(one - other).max())


def to_gray_numpy(scaled: Array, times: np.float32, low: np.float32, floor: int, gray: Array) -> None:
    """The truth of thresholds on the gray's own scale; those not above the floor are 0."""
    np.multiply(scaled, times, out=gray)
    gray += low
    if floor:
        np.putmask(gray, gray <= floor, 0)


def page_scale(numbers: PageNumbers, scaling: Mapping[str, Any], margins: Margins | None) -> Scale:
    """The scale of a page: from its extremes (``minmax``, as the authors do) or two percentiles to 0 … 1.

    With margins the page's body decides, and nothing is darker than its dark level: a scanner's black bed says nothing
    about how dark the ink is.
    """
    extremes = scaling["kind"] == "minmax"
    low, high = (0.0, 100.0) if extremes else (float(scaling["low"]), float(scaling["high"]))
    if margins is None:
        dark, light = numbers.percentile(low), numbers.percentile(high)
    else:
        dark, light = margins.levels(numbers, low, high)
    contrast = light - dark + 0.1 if extremes else max(light - dark, float(scaling["least"]))
    return Scale(dark, 1 / contrast, 0 if margins is None else int(dark))


def number_features(numbers: PageNumbers, scale: Scale, margins: Margins | None) -> Array:
    """The page-wide numbers a network may see: Otsu's level on the scaled gray, and the share of the page below it."""
    numbers = numbers if margins is None else margins.body(numbers)
    cut = numbers.otsu()
    share = numbers.histogram[:cut].sum() / numbers.histogram.sum()
    return np.array([(cut - scale.low) * scale.gain, share], np.float32)


def habit_features(habit: float | None) -> tuple[float, float]:
    """Whether the habit of the truth is known, and where it lies: around 0 for an edge half-way from ink to paper.

    habit : where between the ink's gray (0) and the paper's (1) the edges of strokes are to be drawn; None leaves it to
    the network.
    """
    return (0.0, 0.0) if habit is None else (1.0, 4 * (habit - 0.5))


class Statistics(NamedTuple):
    """The scaled gray (H, W) of a region, and its mean and deviation in each window (H, W, windows)."""

    gray: Array
    mean: Array
    deviation: Array


class Inputs(NamedTuple):
    """Everything a network reads of a region: its `Statistics`, the features of the attention, and the page's view with
    the region's place in it (see `SauvolaNet` of the trainer), which are empty for a network without a view."""

    gray: Array
    mean: Array
    deviation: Array
    features: Array
    view: Array
    place: Array


@dataclass(frozen=True)
class PageInputs:
    """A page as a network reads it: made once, before any tiling."""

    architecture: Architecture
    gray: Gray  # clamped
    scale: Scale
    numbers: Array  # those of the whole page, for the features "numbers" and "habit"
    view: View | None = None  # of the whole page, for a network with a view

    @classmethod
    def of(cls, gray: Gray, numbers: PageNumbers, architecture: Architecture, scaling: Mapping[str, Any],
           margins: Margins | None, habit: float | None = None, view: View | None = None) -> PageInputs:  # fmt: skip
        """view : of the page that the gray is a part of; without it the gray is the page."""
        scale = page_scale(numbers, scaling, margins)
        known = number_features(numbers, scale, margins)
        told = habit_features(habit)
        if architecture.view and view is None:
            cut = (numbers if margins is None else margins.body(numbers)).otsu()
            view = View.of(architecture, gray, cut, scale.low, scale.gain, known, told)
        if "habit" in architecture.features:
            known = np.append(known, np.array(told, np.float32))
        return cls(architecture, np.ascontiguousarray(scale.clamp(gray)), scale, known, view)

    def statistics(self, region: Region, threads: int | None = 1, windows: bool = True) -> Statistics:
        """Scaled gray and window statistics of a region; without ``windows`` the latter are empty."""
        sides = self.architecture.windows if windows else ()
        mean, deviation = statistics(self.gray, sides, self.scale, region, threads)
        gray = self.gray[region]
        scaled = np.subtract(gray, np.float32(self.scale.low), out=empty(*gray.shape))
        scaled *= np.float32(self.scale.gain)
        return Statistics(scaled, mean, deviation)

    def features(self, measured: Statistics, threads: int | None = 1, channels: int | None = None) -> Array:
        """What the attention sees of a region; see `features`."""
        return features(self.architecture, *measured, self.numbers, threads, channels)

    def inputs(self, region: Region, threads: int | None = 1) -> Inputs:
        """Everything the network reads of a region."""
        measured = self.statistics(region, threads)
        features = self.features(measured, threads)
        if self.view is None:
            return Inputs(*measured, features, np.empty(0, np.float32), np.empty(0, np.float32))
        span = self.architecture.multiple
        (top, down), (left, right) = (self.view.centres(axis, r.start, span) for axis, r in enumerate(region))
        return Inputs(*measured, features, self.view.cells, np.array([top, left, down, right], np.float32))


def statistics(gray: Gray, windows: tuple[int, ...], scale: Scale, region: Region,
               threads: int | None) -> tuple[Array, Array]:  # fmt: skip
    """Mean and deviation of the scaled gray of a region of the page, in each window: two (H, W, windows) arrays."""
    rows, columns = region
    # a window reaches beyond the region, not further than its half
    half = max(windows, default=0) // 2
    seen = slice(max(columns.start - half, 0), min(columns.stop + half, gray.shape[1]))
    gray, columns = gray[:, seen], slice(columns.start - seen.start, columns.stop - seen.start)
    shape = (rows.stop - rows.start, columns.stop - columns.start, len(windows))
    mean, deviation = empty(*shape), empty(*shape)
    low, gain, floor = scale.numbers
    kernels = native()
    if kernels is None or not windows:
        for i, window in enumerate(windows):
            m, d = mean_deviation_numpy(gray, window)
            mean[..., i] = (m[rows, columns] - low) * gain
            deviation[..., i] = np.maximum(d[rows, columns] * gain, floor)
    else:
        sides, top, left = np.array(windows), rows.start, columns.start
        run_bands(shape[0], threads, lambda a, b: kernels.scaled_statistics(
            gray, sides, top, left, top + a, top + b, low, gain, floor, mean, deviation))  # fmt: skip
    return mean, deviation


def thresholds(gray: Gray, arch: Architecture, k: Array, r: Array, scale: Scale, region: Region, logits: Array,
               threads: int | None) -> Array:  # fmt: skip
    """AST of a region of the page from its logits, the window statistics on the way: for networks that do not see them.

    Only with compiled kernels, and for at most eight choices.
    """
    kernels = native()
    assert kernels is not None
    threshold = np.empty((region[0].stop - region[0].start, region[1].stop - region[1].start), np.float32)
    low, gain, floor = scale.numbers
    choices = k / r, np.float32(1) - k, np.asarray(arch.constants, np.float32)
    sides, top, left = np.array(arch.windows), region[0].start, region[1].start
    run_bands(len(threshold), threads, lambda a, b: kernels.thresholds(
        gray, sides, top, left, top + a, top + b, low, gain, floor, logits, *choices, threshold))  # fmt: skip
    return threshold


def features(arch: Architecture, scaled: Array, mean: Array, deviation: Array, numbers: Array,
             threads: int | None = 1, channels: int | None = None) -> Array:  # fmt: skip
    """What the attention sees: (H / fold, W / fold, inputs), H and W rounded up to the architecture's multiple.

    Beyond the page its last row and column go on. channels : how many the result has, if more; these hold anything.
    """
    fold = arch.fold
    height, width = (-(-n // arch.multiple) * arch.multiple // fold for n in scaled.shape)
    out = empty(height, width, channels or arch.inputs)
    kernels = native()
    if kernels is None:
        features_numpy(arch, scaled, mean, deviation, numbers, out)
    else:
        at = arch.feature_channels()
        run_bands(height, threads, lambda a, b: kernels.features(
            scaled, mean, deviation, numbers, at["gray"], at["mean"], at["deviation"], at["numbers"], fold, a, b,
            out))  # fmt: skip
    return out


def features_numpy(
    arch: Architecture, scaled: Array, mean: Array, deviation: Array, numbers: Array, out: Array
) -> None:
    """The truth of the features: pixel (a, b) of a cell is its channel a · fold + b; statistics are means over the cell."""
    fold = arch.fold
    for name, at in arch.feature_channels().items():
        if at < 0 or name == "habit":  # its channels follow the numbers, and its values stand behind theirs
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
