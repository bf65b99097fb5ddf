"""Compiled window statistics, one band of rows at a time; the truth is in windows.py.

A method's kernel walks its rows with the three steps here::

    sums, squares = start(gray, y0, half)              # column sums of the window rows around y0
    for y in range(y0, y1):
        if y > y0: slide(gray, y, half, sums, squares)  # one row in, one row out
        rows = rows_inside(height, y, half)
        statistics(sums, squares, rows, half, mean, deviation)   # one row of each

Sums are modulo 2**32 while the window is at most 255 (the true values fit), so the row loops use eight lanes.
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
def slide(gray, y, half, sums, squares):
    """Column sums of row y from those of row y − 1."""
    if y + half < gray.shape[0]:
        add_row(gray[y + half], sums, squares)
    if y - half - 1 >= 0:
        drop_row(gray[y - half - 1], sums, squares)


@njit(nogil=True, cache=True)
def start(gray, y, half, sums, squares):
    """Column sums of the window rows around row y."""
    sums[:] = 0
    squares[:] = 0
    for i in range(max(y - half, 0), min(y + half + 1, gray.shape[0])):
        add_row(gray[i], sums, squares)


@njit(nogil=True, cache=True)
def prefix(values, out):
    """out[x] = values[0] + … + values[x − 1], modulo the type's range."""
    running = out[0] * out[0]
    running -= running
    out[0] = running
    for x in range(values.shape[0]):
        running += values[x]
        out[x + 1] = running


@njit(nogil=True, cache=True)
def one_pixel(total, square, count):
    t = np.float64(total)
    mean = t / count
    variance = (np.float64(square) - t * mean) / count
    return mean, np.sqrt(max(variance, 0.0))


@njit(nogil=True, cache=True)
def statistics(sums, squares, p, q, rows, half, mean, deviation):
    """One row of means and deviations from the column sums; p and q are scratch of W + 1."""
    width = sums.shape[0]
    prefix(sums, p)
    prefix(squares, q)
    inner0 = min(half, width)
    inner1 = max(width - half, inner0)
    for x in range(inner0):
        right = min(x + half + 1, width)
        m, d = one_pixel(p[right] - p[0], q[right] - q[0], np.float64(rows * right))
        mean[x] = m
        deviation[x] = d
    count = np.float64(rows * (2 * half + 1))
    a = p[: max(inner1 - inner0, 0)]
    b = p[min(2 * half + 1, width):]
    c = q[: max(inner1 - inner0, 0)]
    d_ = q[min(2 * half + 1, width):]
    for i in range(inner1 - inner0):
        m, d = one_pixel(b[i] - a[i], d_[i] - c[i], count)
        mean[inner0 + i] = m
        deviation[inner0 + i] = d
    for x in range(inner1, width):
        left = max(x - half, 0)
        right = min(x + half + 1, width)
        m, d = one_pixel(p[right] - p[left], q[right] - q[left], np.float64(rows * (right - left)))
        mean[x] = m
        deviation[x] = d


@njit(nogil=True, cache=True)
def _mean_deviation(gray, half, y0, y1, mean, deviation, sums, squares, p, q):
    start(gray, y0, half, sums, squares)
    for y in range(y0, y1):
        if y > y0:
            slide(gray, y, half, sums, squares)
        statistics(sums, squares, p, q, rows_inside(gray.shape[0], y, half), half, mean[y], deviation[y])


def scratch(width: int, window: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Column sums and prefix rows: 32 bits while a window's sum of squares fits, else 64."""
    kind = np.uint32 if window <= 255 else np.uint64
    return np.zeros(width, kind), np.zeros(width, kind), np.zeros(width + 1, kind), np.zeros(width + 1, kind)


def mean_deviation(gray, window, y0, y1, mean, deviation):
    """Fill rows y0 … y1 − 1 of both arrays."""
    _mean_deviation(gray, window // 2, y0, y1, mean, deviation, *scratch(gray.shape[1], window))
