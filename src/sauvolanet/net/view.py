"""The whole page in view: a coarse picture of the page that a network sees once, before any tiling.

    gray ▸ sums of cells ▸ what is seen of each cell ▸ map of the view's convolutions ▸ its values at any place

A cell is a square of at least 16 pixels, so many that at most 160 lie along the page's long side. Of each the network
sees whether it lies on the page, the mean and deviation of its gray, how much of it is dark (by Otsu) and how dark that
is; and the same page-wide numbers at every cell. Around the page lie cells of zeros, as far as the convolutions reach.

What the network makes of it is a map of a few numbers per cell. Between the cells' centres the map is linear, so its
value at a place depends on the place alone. Its first number is the logit that there is writing at all: that is what a
person is shown.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Gray, by_rows
from ..core.bands import run_bands
from ..core.kernels import native
from .architecture import VIEW_CELL, VIEW_INPUTS, Architecture
from .buffers import Array

CELLS = 160  # along the long side of a page, at most
STEP = 2  # every second pixel of every second row tells
_COUNT, _SUM, _SQUARES, _DARK, _DARK_SUM = range(5)
_SOME = np.float32(0.01)  # pixels; where sums are differences of totals, less is what rounding leaves of nothing
_HABIT = slice(7, 9)  # of what is seen of a cell


def cell_side(shape: tuple[float, float]) -> int:
    """Pixels along a cell of a page of that height and width: a multiple of `STEP`."""
    return max(VIEW_CELL, STEP * int(np.ceil(max(shape) / (CELLS * STEP))))


def cell_sums(gray: Gray, cut: int, side: int, threads: int | None = 1) -> Array:
    """(rows, columns, 5) of the cells of a page: pixels that tell, sums of their gray and of its square, and pixels darker
    than ``cut`` and the sum of their gray. side : of a cell, a multiple of `STEP`."""
    kernels = native()
    if kernels is None:
        return cell_sums_numpy(gray, cut, side)
    sums, gray = np.empty([-(-n // side) for n in gray.shape] + [5], np.float32), by_rows(gray)
    run_bands(len(sums), threads, lambda a, b: kernels.cell_sums(gray, cut, side, STEP, a, b, sums), least=1)
    return sums


def cell_sums_numpy(gray: Gray, cut: int, side: int) -> Array:
    """The truth of the sums."""
    counts = [-(-n // side) for n in gray.shape]
    sampled = gray[::STEP, ::STEP].astype(np.int32)
    dark = (sampled < cut).astype(np.int32)
    planes = (np.ones_like(sampled), sampled, sampled * sampled, dark, dark * sampled)
    lack = [(0, c * side // STEP - n) for c, n in zip(counts, sampled.shape, strict=True)]
    each = side // STEP
    sums = [np.pad(p, lack).reshape(counts[0], each, counts[1], each).sum((1, 3), np.int64) for p in planes]
    return np.stack(sums, -1).astype(np.float32)


def stroke_gray(sums: Array) -> float:
    """How dark the page's strokes are: the median gray of what is dark in a cell, weighed by how much that is."""
    dark = sums[..., _DARK].reshape(-1)
    if not dark.any():
        return 255.0
    level = sums[..., _DARK_SUM].reshape(-1) / np.maximum(dark, 1)
    order = np.argsort(level, kind="stable")
    passed = np.cumsum(dark[order])
    return float(level[order][np.searchsorted(passed, passed[-1] / 2)])


def seen(sums: Array, full: float, low: float, gain: float, numbers: Array) -> Array:
    """(rows, columns, 10): what the network sees of each cell; zeros where the page is not.

    full : pixels that tell of a whole cell. low, gain : the page's scale. numbers : page-wide ones, the same everywhere.
    """
    count = np.maximum(sums[..., _COUNT], _SOME)
    mean = sums[..., _SUM] / count
    variance = np.maximum(sums[..., _SQUARES] / count - mean * mean, 0)
    some = sums[..., _DARK] > _SOME
    dark = np.where(some, sums[..., _DARK_SUM] / np.where(some, sums[..., _DARK], 1), mean)
    inside = np.where(sums[..., _COUNT] > _SOME, sums[..., _COUNT] / np.float32(full), np.float32(0))
    out = np.empty((*inside.shape, VIEW_INPUTS), np.float32)
    out[..., 0] = 1
    out[..., 1] = (mean - low) * gain
    out[..., 2] = np.sqrt(variance) * gain
    out[..., 3] = sums[..., _DARK] / count
    out[..., 4] = (dark - low) * gain
    out[..., 5:] = numbers
    out *= inside[..., None]
    return out


def page_numbers(numbers: Array, habit: tuple[float, float], stroke: float, low: float, gain: float) -> Array:
    """The page-wide numbers of the view: Otsu's level and share, the habit of the truth, and how dark strokes are."""
    return np.array([*numbers, *habit, (stroke - low) * gain], np.float32)


@dataclass(frozen=True)
class View:
    """What a network sees of the whole page, or of the surroundings of a part of it.

    cells : (rows, columns, 10). side : of a cell in pixels. origin : where the first row and the first column of pixels
    begin, counted in cells.
    """

    cells: Array
    side: int
    origin: tuple[float, float]

    @classmethod
    def of(cls, architecture: Architecture, gray: Gray, cut: int, low: float, gain: float, numbers: Array,
           habit: tuple[float, float]) -> View:  # fmt: skip
        """cut : Otsu's threshold of the page. low, gain : its scale. numbers : Otsu's level and share, scaled."""
        side, around = cell_side(gray.shape), reach(architecture)
        sums = cell_sums(gray, cut, side)
        known = page_numbers(numbers, habit, stroke_gray(sums), low, gain)
        cells = seen(sums, (side // STEP) ** 2, low, gain, known)
        return cls(np.pad(cells, ((around, around), (around, around), (0, 0))), side, (around, around))

    def centres(self, axis: int, first: int, span: int) -> tuple[float, float]:
        """Along an axis: where, in cells, the centre of a square of ``span`` pixels that begins at pixel ``first`` lies,
        and how far the next square's is."""
        return self.origin[axis] + (first + span / 2) / self.side, span / self.side

    def told(self, habit: tuple[float, float]) -> View:
        """The same with another habit of the truth."""
        cells = self.cells.copy()
        cells[..., _HABIT] = cells[..., :1] * np.array(habit, np.float32)
        return replace(self, cells=cells)

    def mirrored(self, axis: int, length: int) -> View:
        """Of the gray turned round along an axis, in which it has that many pixels."""
        origin = list(self.origin)
        origin[axis] = self.cells.shape[axis] - length / self.side - origin[axis]
        return replace(self, cells=np.flip(self.cells, axis), origin=(origin[0], origin[1]))

    def transposed(self) -> View:
        """Of the gray with rows and columns exchanged."""
        return replace(self, cells=self.cells.transpose(1, 0, 2), origin=self.origin[::-1])


def reach(architecture: Architecture) -> int:
    """How many cells away the view's convolutions see."""
    return sum(architecture.view_dilations) + 1  # and one for what is linear between two cells


def sampled(values: Array, view: View, region: tuple[slice, slice], span: int) -> Array:
    """The map (rows, columns, N) of a view at the squares of ``span`` pixels of a region: linear between cells."""
    axes = []
    for axis, part in enumerate(region):
        # exact in binary, so that a place has the same value in every region
        centres = np.arange(part.start, part.stop, span) + span / 2
        at = np.clip(view.origin[axis] + centres / view.side - 0.5, 0, values.shape[axis] - 1)
        before = np.minimum(np.floor(at).astype(np.intp), values.shape[axis] - 2)
        axes.append((before, (at - before).astype(np.float32)))
    (top, down), (left, right) = axes
    upper = values[top] + (values[top + 1] - values[top]) * down[:, None, None]
    found: Array = upper[:, left] + (upper[:, left + 1] - upper[:, left]) * right[:, None]
    return found
