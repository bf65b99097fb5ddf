"""What a network with a view sees around a training patch: the coarse picture of its page, at the patch's size.

Sums of small squares are taken once for each page. A patch that is enlarged or reduced sees them gathered into cells of
another size, as the page of that size would have them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..core.arrays import Gray
from ..net.architecture import VIEW_CELL
from ..net.buffers import Array
from ..net.inputs import habit_features, number_features, page_scale
from ..net.view import STEP, View, cell_side, cell_sums, page_numbers, reach, seen, stroke_gray
from ..page.numbers import PageNumbers
from .settings import Settings

_SQUARE = 8  # pixels along the squares whose sums are kept


@dataclass(frozen=True)
class CoarsePage:
    """The sums of a page's small squares, and its numbers: all that the view of any of its patches is made of."""

    totals: npt.NDArray[
        np.float64
    ]  # (rows + 1, columns + 1, 5): sums of all squares above and to the left, see net/view.py
    shape: tuple[int, int]  # of the page
    low: float  # the page's scale
    gain: float
    numbers: Array  # the same at every cell, with the habit unknown

    @classmethod
    def of(cls, gray: Gray, settings: Settings) -> CoarsePage:
        numbers, margins = PageNumbers.of(gray), settings.margins
        scale = page_scale(numbers, settings.scaling, margins)
        cut = (numbers if margins is None else margins.body(numbers)).otsu()
        sums = cell_sums(gray, cut, _SQUARE)
        known = page_numbers(number_features(numbers, scale, margins), habit_features(None), stroke_gray(sums), scale.low,
                             scale.gain)  # fmt: skip
        totals = np.pad(sums.astype(np.float64), ((1, 0), (1, 0), (0, 0))).cumsum(0).cumsum(1)
        return cls(totals, gray.shape, scale.low, scale.gain, known)

    def around(self, settings: Settings, corner: tuple[int, int], side: int, spot: tuple[int, int]) -> View:
        """The view of a patch and as far around it as the network sees.

        corner, side : the patch on the page, before it is brought to its size. spot : where it begins in the gray that is
        cut out with it.
        """
        times = settings.patch / side
        cell = cell_side((self.shape[0] * times, self.shape[1] * times))
        count = settings.patch // VIEW_CELL + 2 * reach(settings.architecture)
        sums, origin = self.totals, []
        for axis in (0, 1):
            first = int((corner[axis] + side / 2) * times / cell) - count // 2
            origin.append((corner[axis] * times - spot[axis]) / cell - first)
            sums = _between(
                sums, axis, np.arange(first, first + count + 1, dtype=np.float64) * (cell / times / _SQUARE)
            )
        cells = seen(sums.astype(np.float32), (cell / times / STEP) ** 2, self.low, self.gain, self.numbers)
        return View(cells, cell, (origin[0], origin[1]))


def disturbed(view: View, rng: np.random.Generator, deviation: float) -> View:
    """The view with noise in its numbers, the same at every cell and another at each: no page is known by them."""
    change = rng.normal(0, deviation, view.cells.shape[2]) + rng.normal(0, deviation / 2, view.cells.shape)
    change[..., 0] = 0  # a cell lies on the page or not
    return replace(view, cells=view.cells + view.cells[..., :1] * change.astype(np.float32))


def _between(totals: npt.NDArray[np.float64], axis: int, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """What lies between neighbouring edges along an axis, from running totals; a square that an edge cuts counts in part."""
    last = totals.shape[axis] - 1
    edges = np.clip(edges, 0, last)  # beyond the page nothing is added
    before = np.minimum(edges.astype(np.intp), last - 1)
    part = (edges - before).reshape((-1, 1, 1) if axis == 0 else (-1, 1))
    below, above = np.take(totals, before, axis), np.take(totals, before + 1, axis)
    return np.diff(below + (above - below) * part, axis=axis)
