"""Connected components by horizontal runs: which touch a seed, how large each is; specks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import Ink, by_rows
from .kernels import native

Indices = npt.NDArray[np.int64]

DIAGONAL = 1.27  # edges on a grid of pixels are longer by this, on average over all angles


class Runs(NamedTuple):
    """Horizontal runs of a mask: row, first and past-the-end column, and the component each belongs to."""

    row: Indices
    first: Indices
    last: Indices
    component: Indices

    def names(self) -> Indices:
        """The components, each once, in order."""
        return np.flatnonzero(np.bincount(self.component))

    def sizes(self) -> Indices:
        """The number of pixels of each run's component."""
        totals = np.bincount(self.component, weights=self.last - self.first)
        return totals.astype(np.int64)[self.component]

    def boxes(self) -> Indices:
        """(4, runs): first row, row past the last, first column, column past the last of the component so named."""
        boxes = np.zeros((4, len(self.row)), np.int64)
        boxes[[0, 2]] = np.iinfo(np.int64).max
        for box, pick, ends in zip(boxes, (np.minimum, np.maximum) * 2,
                                   (self.row, self.row + 1, self.first, self.last), strict=True):  # fmt: skip
            pick.at(box, self.component, ends)
        return boxes

    def enclosed(self) -> Ink:
        """Whether the gap behind each run, up to the next of its component and row, is enclosed by the component.

        Runs have to be in the order of their components, then rows and columns. A gap is not enclosed where a way of
        steps to any of the eight neighbours leads out of it.
        """
        kernels = native()
        if kernels is None:
            return enclosed_numpy(self)
        closed = np.zeros(len(self.row), bool)
        kernels.enclosed(*self, closed)
        return closed

    def letter_height(self) -> int:
        """How many rows a letter has; see `letter_height`."""
        if not len(self.row):
            return 0
        bottom = np.zeros(self.component.max() + 1, np.int64)
        bottom[self.component] = self.row  # runs go down the page, and the last assignment stays
        top = bottom.copy()
        top[self.component[::-1]] = self.row[::-1]
        heights = np.sort((bottom - top + 1)[np.bincount(self.component) > 0])
        reached = np.cumsum(heights)
        return int(heights[np.searchsorted(reached, reached[-1] / 2)])

    def paint(self, chosen: Ink, shape: tuple[int, int]) -> Ink:
        """A mask (True = chosen) of the runs marked in ``chosen``."""
        marks = np.zeros((shape[0], shape[1] + 1), np.int8)
        marks[self.row[chosen], self.first[chosen]] = 1
        marks[self.row[chosen], self.last[chosen]] -= 1
        return np.cumsum(marks, axis=1, dtype=np.int8)[:, :-1].astype(bool)


def runs_of(mask: Ink, diagonal: bool = True) -> Runs:
    """The runs of a mask (True = inside) and their components, 8-connected or, without ``diagonal``, 4-connected."""
    kernels = native()
    if kernels is None:
        row, first, last = runs_numpy(mask)
    else:
        mask = by_rows(mask)
        count = np.count_nonzero(mask[:, :1]) + np.count_nonzero(mask[:, 1:] > mask[:, :-1])
        row, first, last = np.empty((3, count), np.int64)
        kernels.find_runs(mask, row, first, last)
    return Runs(row, first, last, joined(row, first, last, diagonal))


def runs_numpy(mask: Ink) -> tuple[Indices, Indices, Indices]:
    """Row, first and past-the-end column of the runs of a mask (True = inside): the definition of the truth."""
    width = mask.shape[1] + 1
    padded = np.zeros(mask.shape[0] * width + 1, bool)
    padded[1:].reshape(-1, width)[:, :-1] = mask  # the column of padding keeps the rows apart
    edges = np.flatnonzero(padded[1:] != padded[:-1])
    row, first = np.divmod(edges[::2], width)
    return row, first, edges[1::2] - row * width


def joined(row: Indices, first: Indices, last: Indices, diagonal: bool = True) -> Indices:
    """The component of each run, named by one of its runs; runs are in the order of their rows, then columns."""
    kernels = native()
    if kernels is None:
        return link_numpy(row, first, last, int(diagonal))
    components = np.empty_like(row)
    kernels.link(row, first, last, diagonal, components)
    return components


def letter_height(ink: Ink) -> int:
    """How many rows a letter has: the median height of components, each weighed by its height; 0 without ink.

    The weights keep specks and points from deciding, of which a page may have more than letters.

    >>> import numpy as np
    >>> letter_height(np.array([[1, 0, 1, 0, 1], [1, 0, 0, 0, 0], [1, 0, 1, 0, 1]], bool))
    1
    """
    return runs_of(ink).letter_height()


def stroke_width(ink: Ink) -> float:
    """How wide strokes of ink (True) are, in pixels: twice the area over the length of the edges; 0 without ink.

    On a grid of pixels the edges of a stroke at an angle are longer than it is; on average by a factor of 1.27.

    >>> import numpy as np
    >>> bar = np.zeros((9, 100), bool)
    >>> bar[3:6] = True
    >>> round(stroke_width(bar) / 1.27, 2)
    3.0
    """
    edges = int((ink[1:] != ink[:-1]).sum()) + int((ink[:, 1:] != ink[:, :-1]).sum())
    return 2 * DIAGONAL * float(ink.sum()) / edges if edges else 0.0


def grown(ink: Ink) -> Ink:
    """The ink and the four neighbours of each of its pixels; bool, True = ink."""
    out = ink.copy()
    out[1:] |= ink[:-1]
    out[:-1] |= ink[1:]
    out[:, 1:] |= ink[:, :-1]
    out[:, :-1] |= ink[:, 1:]
    return out


def despeckle(ink: Ink, largest: int) -> Ink:
    """Ink without its 8-connected components of at most ``largest`` pixels; bool, True = ink.

    >>> import numpy as np
    >>> despeckle(np.array([[1, 0, 0, 1], [0, 0, 1, 1]], bool), 1).astype(int).tolist()
    [[0, 0, 0, 1], [0, 0, 1, 1]]
    """
    runs = runs_of(ink)
    return ink & ~runs.paint(runs.sizes() <= largest, ink.shape)


def touching(mask: Ink, seeds: Ink) -> Ink:
    """The 8-connected components of a mask (True = inside) that hold at least one seed (True)."""
    if kernels := native():
        state = np.pad(by_rows(mask), 1).view(np.uint8)
        kernels.flood(state, np.pad(by_rows(seeds), 1))
        kept: Ink = state[1:-1, 1:-1] == 2
        return kept
    runs = runs_of(mask)
    counts = np.zeros(seeds.size + 1, np.int32)
    np.cumsum((seeds & mask).reshape(-1), out=counts[1:])
    start = runs.row * mask.shape[1]
    hit = np.zeros(len(runs.row), bool)
    hit[runs.component[counts[start + runs.last] > counts[start + runs.first]]] = True
    return runs.paint(hit[runs.component], mask.shape)


def enclosed_numpy(runs: Runs) -> Ink:
    """The gaps behind runs that their components enclose, see `Runs.enclosed`: the definition of the truth."""
    closed = np.zeros(len(runs.row), bool)
    top, bottom, left, right = runs.boxes()
    for one in runs.names():
        own = np.flatnonzero(runs.component == one)
        row, first, last = runs.row[own] - top[one] + 1, runs.first[own] - left[one] + 1, runs.last[own] - left[one] + 1
        shape = (bottom[one] - top[one] + 2, right[one] - left[one] + 2)  # one pixel of the outside all around
        sides = np.ones(shape, bool)
        sides[1:-1, 1:-1] = False
        outside = touching(~Runs(row, first, last, row).paint(np.ones(len(own), bool), shape), sides)
        closed[own[:-1]] = (row[:-1] == row[1:]) & ~outside[row, last][:-1]
    return closed


def link_numpy(row: Indices, first: Indices, last: Indices, reach: int) -> Indices:
    """The component of each run, named by one of its runs: the definition of the truth."""
    # a run touches those runs of the row above that begin before its end + reach and end after its begin − reach;
    # on one number line (row · stride + column) both limits are found by binary search
    stride = int(last.max(initial=0)) + 4
    low = np.searchsorted((row + 1) * stride + last, row * stride + first + 1 - reach, side="left")
    high = np.searchsorted((row + 1) * stride + first, row * stride + last - 1 + reach, side="right")
    count = np.maximum(high - low, 0)
    below = np.repeat(np.arange(len(row)), count)
    above = np.repeat(low, count) + np.arange(count.sum()) - np.repeat(count.cumsum() - count, count)
    parent = np.arange(len(row))
    while True:
        a, b = parent[below], parent[above]
        if (a == b).all():
            return parent
        np.minimum.at(parent, np.maximum(a, b), np.minimum(a, b))
        while (parent[parent] != parent).any():
            parent = parent[parent]
