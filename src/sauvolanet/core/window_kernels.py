"""Compiled window statistics, one band of rows at a time; the truth is in windows.py.

Column sums of the window's rows slide down the page (one row in, one row out); their running sums along the row
give every window's sum as one difference. Sums are modulo 2**32 while the window is at most 255 (the true values
fit), so that the row loops use eight lanes.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def rows_inside(height, y, half):
    """Number of page rows in the window around row y."""
    return min(y + half + 1, height) - max(y - half, 0)


@njit(nogil=True, cache=True)
def add_row(row, sums, squares):
    for x in range(row.shape[0]):
        value = np.uint32(row[x])
        sums[x] += value
        squares[x] += value * value


@njit(nogil=True, cache=True)
def drop_row(row, sums, squares):
    for x in range(row.shape[0]):
        value = np.uint32(row[x])
        sums[x] -= value
        squares[x] -= value * value


@njit(nogil=True, cache=True)
def exchange_rows(new, old, sums, squares):
    for x in range(new.shape[0]):
        a = np.int32(new[x])
        b = np.int32(old[x])
        sums[x] += a - b
        squares[x] += (a - b) * (a + b)


@njit(nogil=True, cache=True)
def slide(gray, y, half, sums, squares):
    """Column sums of row y from those of row y − 1."""
    enters, leaves = y + half < gray.shape[0], y - half - 1 >= 0
    if enters and leaves:
        exchange_rows(gray[y + half], gray[y - half - 1], sums, squares)
    elif enters:
        add_row(gray[y + half], sums, squares)
    elif leaves:
        drop_row(gray[y - half - 1], sums, squares)


@njit(nogil=True, cache=True)
def start(gray, y, half, sums, squares):
    """Column sums of the window rows around row y."""
    sums[:] = 0
    squares[:] = 0
    for i in range(max(y - half, 0), min(y + half + 1, gray.shape[0])):
        add_row(gray[i], sums, squares)


@njit(nogil=True, cache=True)
def prefix(sums, squares, p, q):
    """p[x] = sums[0] + … + sums[x − 1], and q likewise from the squares, modulo the type's range."""
    p[0] = 0
    q[0] = 0
    running_p = p[0]
    running_q = q[0]
    for x in range(sums.shape[0]):
        running_p += sums[x]
        running_q += squares[x]
        p[x + 1] = running_p
        q[x + 1] = running_q


@njit(nogil=True, cache=True, inline="always")
def moments(t, square, count, inverse):
    """Mean and deviation from the sum and the sum of squares of ``count`` grays, integers of one type.

    Both are taken about the gray c next to the mean, e = Σ (v − c) and s = Σ (v − c)², in integers, where a wrap
    cancels; so single precision is enough for the rest: nothing large is subtracted from something large.
    """
    kind = type(t)
    c = kind(np.rint(np.float32(t) * inverse))
    e = kind(t - count * c)
    s = kind(square - c * kind(t + e))
    part = np.float32(np.int32(e)) * inverse
    return np.float32(c) + part, np.sqrt(max(np.float32(s) * inverse - part * part, np.float32(0)))


@njit(nogil=True, cache=True)
def statistics(sums, squares, p, q, rows, half, mean, deviation):
    """One row of means and deviations from the column sums; p and q are scratch of W + 1."""
    prefix(sums, squares, p, q)
    row_statistics(p, q, rows, half, 0, mean.shape[0], mean, deviation)


@njit(nogil=True, cache=True)
def row_statistics(p, q, rows, half, first, last, mean, deviation):
    """Columns first … last − 1 of a row of means and deviations, from the running sums of the columns' sums and squares.

    A window that the left edge of the page cuts grows from column to column, one that the right edge cuts shrinks.
    """
    width = p.shape[0] - 1
    kind = p.dtype.type
    if width <= 2 * half:
        for x in range(first, last):
            a, b = max(x - half, 0), min(x + half + 1, width)
            many = kind(rows * (b - a))
            inverse = np.float32(1) / np.float32(many)
            mean[x], deviation[x] = moments(kind(p[b] - p[a]), kind(q[b] - q[a]), many, inverse)
        return
    a = min(max(half, first), last)
    b = max(min(width - half, last), a)
    for x in range(first, a):
        many = kind(rows * (x + half + 1))
        inverse = np.float32(1) / np.float32(many)
        mean[x], deviation[x] = moments(kind(p[x + half + 1] - p[0]), kind(q[x + half + 1] - q[0]), many, inverse)
    many = kind(rows * (2 * half + 1))
    inverse = np.float32(1) / np.float32(many)
    p0, p1, q0, q1 = p[a - half :], p[a + half + 1 :], q[a - half :], q[a + half + 1 :]
    means, deviations = mean[a:b], deviation[a:b]
    for i in range(b - a):
        means[i], deviations[i] = moments(kind(p1[i] - p0[i]), kind(q1[i] - q0[i]), many, inverse)
    for x in range(b, last):
        many = kind(rows * (width - x + half))
        inverse = np.float32(1) / np.float32(many)
        mean[x], deviation[x] = moments(kind(p[width] - p[x - half]), kind(q[width] - q[x - half]), many, inverse)


@njit(nogil=True, cache=True)
def _mean_deviation(gray, half, y0, y1, mean, deviation, sums, squares, p, q, begin):
    for y in range(y0, y1):
        if begin and y == y0:
            start(gray, y, half, sums, squares)
        else:
            slide(gray, y, half, sums, squares)
        statistics(sums, squares, p, q, rows_inside(gray.shape[0], y, half), half, mean[y - y0], deviation[y - y0])


def scratch(width: int, window: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Column sums and prefix rows: 32 bits while a window's sum of squares fits (signed ones turn to floats faster)."""
    kind = np.int32 if window <= 181 else np.uint32 if window <= 255 else np.uint64
    return np.zeros(width, kind), np.zeros(width, kind), np.zeros(width + 1, kind), np.zeros(width + 1, kind)


def mean_deviation(gray, window, y0, y1, mean, deviation):
    """Fill rows y0 … y1 − 1 of both arrays."""
    _mean_deviation(gray, window // 2, y0, y1, mean[y0:y1], deviation[y0:y1], *scratch(gray.shape[1], window), True)


def walk(gray, window, y0, y1, step=16):
    """Blocks of rows y0 … y1 − 1, small enough for the cache: first, last, mean, deviation (overwritten each time)."""
    state = scratch(gray.shape[1], window)
    mean = np.empty((step, gray.shape[1]), np.float32)
    deviation = np.empty((step, gray.shape[1]), np.float32)
    for y in range(y0, y1, step):
        last = min(y + step, y1)
        _mean_deviation(gray, window // 2, y, last, mean, deviation, *state, y == y0)
        yield y, last, mean[: last - y], deviation[: last - y]


@njit(nogil=True, cache=True)
def below(gray, surface, ink):
    """ink = gray < surface, one band."""
    for y in range(gray.shape[0]):
        for x in range(gray.shape[1]):
            ink[y, x] = np.float32(gray[y, x]) < surface[y, x]


@njit(nogil=True, cache=True)
def histogram(values):
    """Counts of the gray levels in four rows to be added, so that like neighbours do not wait for each other."""
    counts = np.zeros((4, 256), np.int64)
    whole = len(values) // 4 * 4
    for i in range(0, whole, 4):
        counts[0, values[i]] += 1
        counts[1, values[i + 1]] += 1
        counts[2, values[i + 2]] += 1
        counts[3, values[i + 3]] += 1
    for i in range(whole, len(values)):
        counts[0, values[i]] += 1
    return counts
