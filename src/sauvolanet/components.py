"""Connected components by horizontal runs: which touch a seed, how large each is; specks, and strips at an edge."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .page import RIM
from .windows import Ink, compiled

Indices = npt.NDArray[np.int64]

# ink along a side of the page that reaches no deeper, and is so many times as long as deep, is no writing;
# something that hangs on it may be, and then it must be longer still
STRIP_DEPTH, STRIP_SHAPE, BAR_SHAPE = 20, 6, 10


class Runs(NamedTuple):
    """Horizontal runs of a mask: row, first and past-the-end column, and the component each belongs to."""

    row: Indices
    first: Indices
    last: Indices
    component: Indices

    def sizes(self) -> Indices:
        """The number of pixels of each run's component."""
        totals = np.bincount(self.component, weights=self.last - self.first)
        return totals.astype(np.int64)[self.component]

    def paint(self, chosen: Ink, shape: tuple[int, int]) -> Ink:
        """A mask (True = chosen) of the runs marked in ``chosen``."""
        marks = np.zeros((shape[0], shape[1] + 1), np.int8)
        marks[self.row[chosen], self.first[chosen]] = 1
        marks[self.row[chosen], self.last[chosen]] -= 1
        return np.cumsum(marks, axis=1, dtype=np.int8)[:, :-1].astype(bool)


def runs_of(mask: Ink, diagonal: bool = True) -> Runs:
    """The runs of a mask (True = inside) and their components, 8-connected or, without ``diagonal``, 4-connected."""
    padded = np.zeros((mask.shape[0], mask.shape[1] + 2), np.int8)
    padded[:, 1:-1] = mask
    step = np.diff(padded.reshape(-1))  # the columns of padding keep the rows apart
    begin, end = np.flatnonzero(step == 1), np.flatnonzero(step == -1)
    width = padded.shape[1]
    row, first = begin // width, begin % width
    last = end - row * width
    kernels = compiled("sauvolanet.component_kernels")
    link = link_numpy if kernels is None else kernels.link
    return Runs(row, first, last, link(row, first, last, int(diagonal)))


def despeckle(ink: Ink, largest: int) -> Ink:
    """Ink without its 8-connected components of at most ``largest`` pixels; bool, True = ink.

    >>> import numpy as np
    >>> despeckle(np.array([[1, 0, 0, 1], [0, 0, 1, 1]], bool), 1).astype(int).tolist()
    [[0, 0, 0, 1], [0, 0, 1, 1]]
    """
    runs = runs_of(ink)
    return ink & ~runs.paint(runs.sizes() <= largest, ink.shape)


def drop_edge_strips(ink: Ink) -> Ink:
    """Ink without strips along a side of the page: what is left there of a frame, a fold or a scanner's bed.

    Such a component touches the side, stays within the page's rim, and is far longer than deep. In the corners it may
    go on along the next side, whose turn comes. Where writing touches a strip, the strip goes and the writing stays.

    >>> import numpy as np
    >>> page = np.zeros((100, 100), bool)
    >>> page[97:, 20:60] = page[95:, 90] = True
    >>> drop_edge_strips(page).sum(), page.sum()
    (np.int64(5), np.int64(125))
    """
    rim = min(n // RIM for n in ink.shape)
    if not rim:
        return ink
    ink = ink.copy()
    sides = [side for side in (ink, ink[::-1], ink.T, ink.T[::-1]) if side[0].any()]  # rows from a side inward
    for side in sides:
        _drop_strips(side, min(rim, STRIP_DEPTH))
    for side in sides:
        _drop_bars(side, rim)
    return ink


def _drop_strips(side: Ink, deepest: int) -> None:
    """Clear components that touch the first row, reach no deeper, and are far longer."""
    rim = side[: deepest + 1]  # one row more: what has ink there goes deeper
    width = rim.shape[1]
    runs = runs_of(rim)
    between = (runs.last > deepest + 1) & (runs.first < width - deepest - 1)  # the corners
    deep, first, last = np.zeros((3, len(runs.row)), np.int64)
    first[:] = width
    np.maximum.at(deep, runs.component[between], runs.row[between] + 1)
    np.minimum.at(first, runs.component, runs.first)
    np.maximum.at(last, runs.component, runs.last)
    touches = np.zeros(len(runs.row), bool)
    touches[runs.component[between & (runs.row == 0)]] = True
    strip = touches & (deep <= deepest) & (last - first >= STRIP_SHAPE * deep)
    rim &= ~runs.paint(strip[runs.component], rim.shape)


def _drop_bars(side: Ink, deepest: int) -> None:
    """Clear what is ink from the first row inward, over a long stretch of columns, down to its usual depth there."""
    rim = side[: deepest + 1]
    depth = np.logical_and.accumulate(rim, axis=0).sum(0)
    edges = np.flatnonzero(np.diff(np.pad(depth > 0, 1)))
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        usual = int(np.median(depth[first:last]))
        if usual <= deepest and last - first >= BAR_SHAPE * usual:
            goes = np.arange(len(rim))[:, None] < np.minimum(depth[first:last], usual)
            rim[:, first:last] &= ~goes


def touching(mask: Ink, seeds: Ink) -> Ink:
    """The 8-connected components of a mask (True = inside) that hold at least one seed (True)."""
    if kernels := compiled("sauvolanet.component_kernels"):
        state = np.pad(mask, 1).view(np.uint8)
        stack = np.empty(np.count_nonzero(mask), np.int32 if state.size < 2**31 else np.int64)
        kernels.flood(state.reshape(-1), np.pad(seeds, 1).reshape(-1), state.shape[1], stack)
        kept: Ink = state[1:-1, 1:-1] == 2
        return kept
    runs = runs_of(mask)
    counts = np.zeros(seeds.size + 1, np.int32)
    np.cumsum((seeds & mask).reshape(-1), out=counts[1:])
    start = runs.row * mask.shape[1]
    hit = np.zeros(len(runs.row), bool)
    hit[runs.component[counts[start + runs.last] > counts[start + runs.first]]] = True
    return runs.paint(hit[runs.component], mask.shape)


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
