"""Connected components by horizontal runs: which touch a seed, how large each is; specks, and strips at an edge."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .page import RIM
from .windows import Ink, compiled

Indices = npt.NDArray[np.int64]

# ink along a side of the page that reaches no deeper, and is so many times as long as deep, is no writing;
# nor is a line there, whatever crosses it, that is so long a part of the side and so many times as long as thick
EDGE_RULES = STRIP_DEPTH, STRIP_SHAPE, LINE_PART, LINE_SHAPE = 20, 6, 1 / 4, 10


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


def letter_height(ink: Ink) -> int:
    """How many rows a letter has: the median height of components, each weighed by its height; 0 without ink.

    The weights keep specks and points from deciding, of which a page may have more than letters.

    >>> import numpy as np
    >>> letter_height(np.array([[1, 0, 1, 0, 1], [1, 0, 0, 0, 0], [1, 0, 1, 0, 1]], bool))
    1
    """
    runs = runs_of(ink)
    if not len(runs.row):
        return 0
    bottom = np.zeros(runs.component.max() + 1, np.int64)
    bottom[runs.component] = runs.row  # runs go down the page, and the last assignment stays
    top = bottom.copy()
    top[runs.component[::-1]] = runs.row[::-1]
    heights = np.sort((bottom - top + 1)[np.bincount(runs.component) > 0])
    reached = np.cumsum(heights)
    return int(heights[np.searchsorted(reached, reached[-1] / 2)])


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


def drop_edge_strips(ink: Ink) -> Ink:
    """Ink without strips and lines along a side of the page: what is left there of a frame, a fold or a scanner's bed.

    A strip is a component that touches the side, stays within the page's rim, and is far longer than deep; in the
    corners it may go on along the next side, whose turn comes. A line need not touch the side, and is cut off where it
    or the writing that crosses it leaves the rim.

    >>> import numpy as np
    >>> page = np.zeros((100, 100), bool)
    >>> page[97:, 20:44] = page[2, 30:70] = page[95:, 90] = True
    >>> drop_edge_strips(page).sum(), page.sum()
    (np.int64(5), np.int64(117))
    """
    deepest = min(STRIP_DEPTH, *(n // RIM for n in ink.shape))
    if not deepest:
        return ink
    ink = ink.copy()
    for side in (ink, ink[::-1], ink.T, ink.T[::-1]):  # rows from a side inward
        _drop_strips(side, deepest)
        _drop_lines(side, deepest)
    return ink


def _drop_strips(side: Ink, deepest: int) -> None:
    """Clear components that touch the first row, reach no deeper, and are far longer."""
    if not side[0].any():
        return
    rim = side[: deepest + 1]  # one row more: what has ink there goes deeper
    runs = runs_of(rim)
    between = (runs.last > deepest + 1) & (runs.first < rim.shape[1] - deepest - 1)  # the corners
    deep = np.zeros(len(runs.row), np.int64)
    np.maximum.at(deep, runs.component[between], runs.row[between] + 1)
    touches = np.zeros(len(runs.row), bool)
    touches[runs.component[between & (runs.row == 0)]] = True
    strip = touches & (deep <= deepest) & (_lengths(runs) >= STRIP_SHAPE * deep)
    rim &= ~runs.paint(strip[runs.component], rim.shape)


def _drop_lines(side: Ink, deepest: int) -> None:
    """Clear what is connected in the first rows and is a long line."""
    rim = side[:deepest]
    runs = runs_of(rim)
    length = _lengths(runs)[runs.component]
    line = (length >= LINE_PART * rim.shape[1]) & (length**2 >= LINE_SHAPE * runs.sizes())
    if line.any():
        rim &= ~runs.paint(line, rim.shape)


def _lengths(runs: Runs) -> Indices:
    """How many columns the component of that number extends over."""
    first, last = np.zeros((2, len(runs.row)), np.int64)
    first[runs.component] = runs.first
    np.minimum.at(first, runs.component, runs.first)
    np.maximum.at(last, runs.component, runs.last)
    return last - first


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
