"""Compiled threshold of Su's method, one band of rows at a time; the truth is `su.below_edges_numpy`."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def add_row(gray, edges, sign, count, total, square):
    """Add a row's edge pixels to the column sums: their number, gray and squared gray."""
    for x in range(gray.shape[0]):
        one = sign * np.int32(edges[x])
        value = np.int32(gray[x])
        count[x] += one
        total[x] += one * value
        square[x] += one * value * value


@njit(nogil=True, cache=True)
def prefix(sums, running):
    running[0] = 0
    value = running[0]
    for x in range(sums.shape[0]):
        value += sums[x]
        running[x + 1] = value


@njit(nogil=True, cache=True)
def is_ink(gray, n, s, q, least):
    """gray ≤ mean + deviation/2 of n values with the sum s and the sum of squares q, without a root or a division."""
    above = gray * n - s
    return (n >= least) & ((above <= 0) | (4 * above * above <= q * n - s * s))


@njit(nogil=True, cache=True)
def one_row(gray, running, half, least, ink):
    n, s, q = running[0], running[1], running[2]
    width = gray.shape[0]
    for x in range(width):
        if half <= x < width - half:
            continue
        a, b = max(x - half, 0), min(x + half + 1, width)
        ink[x] = is_ink(np.float64(gray[x]), np.float64(n[b] - n[a]), np.float64(s[b] - s[a]),
                        np.float64(q[b] - q[a]), least)  # fmt: skip
    side = 2 * half + 1
    inside = width + 1 - side
    if inside > 0:
        n0, s0, q0, n1, s1, q1 = n[:inside], s[:inside], q[:inside], n[side:], s[side:], q[side:]
        middle, out = gray[half : half + inside], ink[half : half + inside]
        for i in range(inside):
            out[i] = is_ink(np.float64(middle[i]), np.float64(n1[i] - n0[i]), np.float64(s1[i] - s0[i]),
                            np.float64(q1[i] - q0[i]), least)  # fmt: skip


@njit(nogil=True, cache=True)
def _below_edges(gray, edges, half, least, y0, y1, ink, sums, running):
    height = gray.shape[0]
    plus, minus = np.int32(1), np.int32(-1)
    for y in range(max(y0 - half, 0), min(y0 + half, height)):
        add_row(gray[y], edges[y], plus, sums[0], sums[1], sums[2])
    for y in range(y0, y1):
        if y + half < height:
            add_row(gray[y + half], edges[y + half], plus, sums[0], sums[1], sums[2])
        for i in range(3):
            prefix(sums[i], running[i])
        one_row(gray[y], running, half, least, ink[y])
        if y - half >= 0:
            add_row(gray[y - half], edges[y - half], minus, sums[0], sums[1], sums[2])


def below_edges(gray, edges, window, least, y0, y1, ink):
    """Fill rows y0 … y1 − 1."""
    kind = np.int32 if window <= 181 else np.int64  # a window's sum of squares fits; running sums may wrap
    width = gray.shape[1]
    scratch = np.zeros((3, width), kind), np.zeros((3, width + 1), kind)
    _below_edges(gray, edges, window // 2, float(least), y0, y1, ink, *scratch)


@njit(nogil=True, cache=True)
def joined(mask, y, x):
    """Whether one of the eight neighbours is True."""
    height, width = mask.shape
    for i in range(max(y - 1, 0), min(y + 2, height)):
        for j in range(max(x - 1, 0), min(x + 2, width)):
            if mask[i, j] and (i != y or j != x):
                return True
    return False


@njit(nogil=True, cache=True)
def settle(gray, edges, ink, dy, dx, result):
    """Where both neighbours of an edge along (dy, dx) are alike, the darker becomes ink and the lighter paper."""
    height, width = gray.shape
    result[:] = ink
    for rising in (True, False):
        for y in range(height - dy - 1, dy - 1, -1):  # backwards, so that of two edges the first has the last word
            for x in range(width - dx - 1, dx - 1, -1):
                if edges[y, x] and ink[y - dy, x - dx] == ink[y + dy, x + dx] and joined(edges, y, x):
                    before, after = gray[y - dy, x - dx], gray[y + dy, x + dx]
                    if before < after if rising else before > after:
                        result[y - dy, x - dx] = rising
                        result[y + dy, x + dx] = not rising


@njit(nogil=True, cache=True)
def drop_lone(ink, result):
    """Pixels unlike all their eight neighbours change sides; beyond the page is paper."""
    height, width = ink.shape
    for y in range(height):
        for x in range(width):
            if ink[y, x]:
                result[y, x] = joined(ink, y, x)
            else:
                result[y, x] = (
                    0 < y < height - 1 and 0 < x < width - 1
                    and ink[y, x - 1] and ink[y, x + 1] and ink[y - 1, x] and ink[y + 1, x]
                    and ink[y - 1, x - 1] and ink[y - 1, x + 1] and ink[y + 1, x - 1] and ink[y + 1, x + 1]
                )  # fmt: skip
