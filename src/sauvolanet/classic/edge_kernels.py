"""Compiled parts of local contrast and Canny's edges, a block of rows at a time; the truth is in shared.py and edges.py.

Operations stand in the order in which numpy does them there, so that both give the same float32 to the last bit.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def contrast(gray, alpha, y0, y1, result):
    """Local contrast over 3×3 pixels of rows y0 … y1 − 1, on a scale of 255."""
    height, width = gray.shape
    low = np.empty(width + 2, np.uint8)  # extremes of three rows, with the page's edge repeated
    high = np.empty(width + 2, np.uint8)
    small, one, scale = np.float32(1e-4), np.float32(1), np.float32(255)
    for y in range(y0, y1):
        above, here, below = gray[max(y - 1, 0)], gray[y], gray[min(y + 1, height - 1)]
        for x in range(width):
            a, b, c = above[x], here[x], below[x]
            least, most = (a if a < b else b), (a if a > b else b)
            low[x + 1] = least if least < c else c
            high[x + 1] = most if most > c else c
        low[0], low[width + 1], high[0], high[width + 1] = low[1], low[width], high[1], high[width]
        out = result[y]
        for x in range(width):
            a, b, c = low[x], low[x + 1], low[x + 2]
            a = a if a < b else b
            least = np.float32(a if a < c else c)
            a, b, c = high[x], high[x + 1], high[x + 2]
            a = a if a > b else b
            most = np.float32(a if a > c else c)
            ratio = (most - least) * scale / (most + least + small)
            out[x] = np.uint8(np.int32(alpha * ratio + (one - alpha) * (most - least)))


@njit(nogil=True, cache=True)
def weigh(weight, values, result):
    for x in range(result.shape[0]):
        result[x] = weight * values[x]


@njit(nogil=True, cache=True)
def weigh_two(a, values_a, b, values_b, result):
    """Add two weighted rows at once: fewer trips to memory."""
    for x in range(result.shape[0]):
        result[x] = result[x] + a * values_a[x] + b * values_b[x]


@njit(nogil=True, cache=True)
def along_rows(values, weights, result):
    """Correlation along the rows with an odd number of weights, the page's edge repeated."""
    reach, width = weights.shape[0] // 2, values.shape[1]
    padded = np.empty(width + 2 * reach, np.float32)
    for y in range(values.shape[0]):
        padded[:reach] = values[y, 0]
        padded[reach : reach + width] = values[y]
        padded[reach + width :] = values[y, width - 1]
        weigh(weights[0], padded, result[y])
        for i in range(1, 2 * reach, 2):
            weigh_two(weights[i], padded[i:], weights[i + 1], padded[i + 1 :], result[y])


@njit(nogil=True, cache=True)
def along_columns(values, start, weights, first, height, result):
    """Correlation along the columns for the page's rows from ``first`` on; ``values`` begin at the page's row start."""
    reach = weights.shape[0] // 2
    rows = np.empty(2 * reach + 1, np.int64)
    for y in range(result.shape[0]):
        for i in range(2 * reach + 1):
            rows[i] = min(max(first + y - reach + i, 0), height - 1) - start
        weigh(weights[0], values[rows[0]], result[y])
        for i in range(1, 2 * reach, 2):
            weigh_two(weights[i], values[rows[i]], weights[i + 1], values[rows[i + 1]], result[y])


@njit(nogil=True, cache=True)
def ridge_row(gx, gy, above, here, below, result):
    """All neighbours are read before one is chosen, so that the loop has no branches and uses eight lanes."""
    one, zero, tiny = np.float32(1), np.float32(0), np.float32(1e-30)
    for x in range(1, here.shape[0] - 1):
        north, south, west, east = above[x], below[x], here[x - 1], here[x + 1]
        northwest, northeast, southwest, southeast = above[x - 1], above[x + 1], below[x - 1], below[x + 1]
        ax, ay = abs(gx[x]), abs(gy[x])
        flat = ax >= ay
        rising = gx[x] * gy[x] > zero
        longer, shorter = (ax if flat else ay), (ay if flat else ax)
        part = shorter / (longer if longer > tiny else tiny)
        ahead = (east if flat else south) * (one - part)
        ahead += (southeast if rising else (northeast if flat else southwest)) * part
        behind = (west if flat else north) * (one - part)
        behind += (northwest if rising else (southwest if flat else northeast)) * part
        result[x] = (here[x] >= ahead) & (here[x] >= behind) & (longer > zero)


@njit(nogil=True, cache=True)
def ridges(gx, gy, magnitude, result):
    """Pixels (True) no smaller than both neighbours along the gradient, which are interpolated; none at the border."""
    for y in range(1, magnitude.shape[0] - 1):
        ridge_row(gx[y], gy[y], magnitude[y - 1], magnitude[y], magnitude[y + 1], result[y])


@njit(nogil=True, cache=True)
def thinned(code, first):
    """Whether a pixel goes in the first or second half of a round; bits of code: neighbours from the right, up, left …"""
    a, b, c, d = code & 1, code >> 1 & 1, code >> 2 & 1, code >> 3 & 1
    e, f, g, h = code >> 4 & 1, code >> 5 & 1, code >> 6 & 1, code >> 7 & 1
    crossings = (a ^ 1) & (b | c)
    crossings += (c ^ 1) & (d | e)
    crossings += (e ^ 1) & (f | g)
    crossings += (g ^ 1) & (h | a)
    pairs = min((a | b) + (c | d) + (e | f) + (g | h), (b | c) + (d | e) + (f | g) + (h | a))
    side = (b | c | (h ^ 1)) & a if first else (f | g | (d ^ 1)) & e
    return crossings == 1 and 2 <= pairs <= 3 and not side


@njit(nogil=True, cache=True)
def thin(padded, first, result, y0, y1):
    """Half a round of thinning by Guo and Hall for rows y0 … y1 − 1; the mask (1 = inside) has one pixel of padding."""
    goes = np.array([thinned(code, first) for code in range(256)])
    for y in range(y0, y1):
        above, here, below = padded[y], padded[y + 1], padded[y + 2]
        for x in range(result.shape[1]):
            if here[x + 1]:
                code = here[x + 2] | above[x + 2] << 1 | above[x + 1] << 2 | above[x] << 3
                code |= here[x] << 4 | below[x] << 5 | below[x + 1] << 6 | below[x + 2] << 7
                result[y, x] = not goes[code]
            else:
                result[y, x] = False


@njit(nogil=True, cache=True)
def distances(edges):
    """How often neighbouring beginnings of edges in a row lie 0 … 255 pixels apart."""
    counts = np.zeros(256, np.int64)
    for y in range(edges.shape[0]):
        row = edges[y]
        last = -1
        for x in range(1, edges.shape[1]):
            if row[x] and not row[x - 1]:
                if last >= 0 and x - last < 256:
                    counts[x - last] += 1
                last = x
    return counts
