"""Canny's edges, as Matlab's ``edge(…, 'canny_old')`` finds them: what Howe's and Su's methods were built on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ..core.arrays import Gray, Ink, Surface, by_rows
from ..core.bands import run_bands
from ..core.components import touching
from ..core.kernels import native
from ..core.thinning import GUO_HALL
from ..core.windows import histogram


class Gradient:
    """The gradient of a page smoothed with ``sigma``: its magnitude over the largest one, and its ridges."""

    def __init__(self, gray: Gray, sigma: float, threads: int | None = 1) -> None:
        reach = max(1, int(np.floor(sigma * np.sqrt(2 * np.log(10_000)))))  # where the bell falls below 1e-4
        at = np.arange(-reach, reach + 1, dtype=np.float32)
        bell = np.exp(-(at**2) / np.float32(2 * sigma**2)).astype(np.float32)
        slope = at * bell
        gray, height = by_rows(gray), gray.shape[0]
        self.threads = threads
        self.gx, self.gy = np.empty(gray.shape, np.float32), np.empty(gray.shape, np.float32)
        self.magnitude = np.empty(gray.shape, np.float32)
        self.ridge: Ink = np.empty(gray.shape, bool)

        def block(a: int, b: int) -> None:
            top, bottom = max(a - 1, 0), min(b + 1, height)  # ridges look one row further
            first, last = max(top - reach, 0), min(bottom + reach, height)
            start = max(first - reach, 0)
            rows = _along_rows(gray[start : last + reach].astype(np.float32), bell)
            smooth = _along_columns(rows, start, bell, first, last, height)
            gx = _along_columns(_along_rows(smooth, slope), first, bell, top, bottom, height)
            gy = _along_columns(_along_rows(smooth, bell), first, slope, top, bottom, height)
            magnitude = np.sqrt(gx * gx + gy * gy)
            ridge = _ridges(gx, gy, magnitude)
            inner = slice(a - top, b - top)
            self.gx[a:b], self.gy[a:b] = gx[inner], gy[inner]
            self.magnitude[a:b], self.ridge[a:b] = magnitude[inner], ridge[inner]

        _in_blocks(height, threads, block)
        self.magnitude /= max(self.magnitude.max(), np.float32(1e-30))

    def edges(self, low: float, high: float, threads: int | None = 1) -> Ink:
        """Edges (True): ridges above ``low`` that hang together with one above ``high``, thinned once."""
        weak = self.ridge & (self.magnitude > low)
        return thin_once(touching(weak, weak & (self.magnitude > high)), threads)

    def automatic(self) -> Ink:
        """Edges with Matlab's own limits: 30 % of the pixels lie above the high one, the low one is 0.4 of it."""
        counts = histogram(np.minimum(self.magnitude * np.float32(64), np.float32(63)).astype(np.uint8)).cumsum()
        high = (int(np.searchsorted(counts, 0.7 * counts[-1], side="right")) + 1) / 64
        return self.edges(0.4 * high, high, self.threads)


def _in_blocks(height: int, threads: int | None, block: Callable[[int, int], None], rows: int = 32) -> None:
    """Call ``block(first, last)`` for blocks of rows that fit the cache."""

    def band(first: int, last: int) -> None:
        for a in range(first, last, rows):
            block(a, min(a + rows, last))

    run_bands(height, threads, band)


def _along_rows(values: Surface, weights: Surface) -> Surface:
    """Correlation along the rows, the page's edge repeated."""
    if kernels := native():
        result: Surface = np.empty_like(values)
        kernels.along_rows(values, weights, result)
        return result
    reach = len(weights) // 2
    padded = np.pad(values, ((0, 0), (reach, reach)), "edge")
    result = weights[0] * padded[:, : values.shape[1]]
    for i in range(1, len(weights)):
        result += weights[i] * padded[:, i : i + values.shape[1]]
    return result


def _along_columns(values: Surface, start: int, weights: Surface, first: int, last: int, height: int) -> Surface:
    """Correlation along the columns for the page's rows first … last − 1; ``values`` begin at the page's row start."""
    if kernels := native():
        result: Surface = np.empty((last - first, values.shape[1]), np.float32)
        kernels.along_columns(values, start, weights, first, height, result)
        return result
    reach = len(weights) // 2
    padded = values[np.clip(np.arange(first - reach, last + reach), 0, height - 1) - start]
    result = weights[0] * padded[: last - first]
    for i in range(1, len(weights)):
        result += weights[i] * padded[i : i + last - first]
    return result


def _ridges(gx: Surface, gy: Surface, magnitude: Surface) -> Ink:
    """Pixels (True) no smaller than both neighbours along the gradient, which are interpolated; none at the border."""
    ridge = np.zeros(magnitude.shape, bool)
    if min(magnitude.shape) < 3:
        return ridge
    if kernels := native():
        kernels.ridges(gx, gy, magnitude, ridge)
        return ridge
    height, width = magnitude.shape
    gx, gy = gx[1:-1, 1:-1], gy[1:-1, 1:-1]
    ax, ay = np.abs(gx), np.abs(gy)
    flat = ax >= ay  # more across than down
    part = np.minimum(ax, ay) / np.maximum(np.maximum(ax, ay), np.float32(1e-30))
    rising = gx * gy > 0

    def shifted(dy: int, dx: int) -> Surface:
        return magnitude[1 + dy : height - 1 + dy, 1 + dx : width - 1 + dx]

    peak = np.ones(gx.shape, bool)
    for sign in (1, -1):
        straight = np.where(flat, shifted(0, sign), shifted(sign, 0))
        # the diagonal neighbour on the same side; where gx and gy have one sign it lies down-right or up-left
        diagonal = np.where(rising, shifted(sign, sign), np.where(flat, shifted(-sign, sign), shifted(sign, -sign)))
        peak &= magnitude[1:-1, 1:-1] >= straight * (1 - part) + diagonal * part
    ridge[1:-1, 1:-1] = peak & ((ax > 0) | (ay > 0))
    return ridge


def thin_once(mask: Ink, threads: int | None = 1) -> Ink:
    """One round of thinning by Guo and Hall (True = inside), as Matlab's ``bwmorph(…, 'thin', 1)``."""
    kernels = native()
    for table in GUO_HALL:
        padded, result = np.pad(by_rows(mask), 1), np.empty(mask.shape, bool)
        if kernels:
            run_bands(mask.shape[0], threads, partial(kernels.thin_rows, padded, table, result))
        else:
            _in_blocks(mask.shape[0], threads, partial(_thin_rows, padded, table, result))
        mask = result
    return mask


def _thin_rows(padded: Ink, table: Ink, result: Ink, a: int, b: int) -> None:
    rows = padded[a : b + 2].view(np.uint8)
    code = np.zeros(result[a:b].shape, np.uint8)
    # neighbours counter-clockwise from the right
    for bit, (dy, dx) in enumerate(((0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1), (1, 0), (1, 1))):
        code |= rows[1 + dy : rows.shape[0] - 1 + dy, 1 + dx : rows.shape[1] - 1 + dx] << np.uint8(bit)
    result[a:b] = padded[a + 1 : b + 1, 1:-1] & ~table[code]


def stroke_width(edges: Ink) -> int:
    """The most frequent distance, along the rows, between neighbouring places where an edge (True) begins.

    That is the distance between the two sides of a stroke, as Su, Lu and Tan 2012 ask for; their Algorithm 1, taken by
    the letter, keeps the left sides only and measures from stroke to stroke. 3 where there are no edges.
    """
    if kernels := native():
        counts = np.zeros(256, np.int64)
        kernels.distances(by_rows(edges), counts)
    else:
        row, column = np.nonzero(~edges[:, :-1] & edges[:, 1:])
        apart = np.diff(column)[np.diff(row) == 0]
        counts = np.bincount(apart[apart < 256], minlength=256)
    return int(counts.argmax()) if counts.any() else 3
