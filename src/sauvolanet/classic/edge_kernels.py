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
            low[x + 1] = min(above[x], here[x], below[x])
            high[x + 1] = max(above[x], here[x], below[x])
        low[0], low[width + 1], high[0], high[width + 1] = low[1], low[width], high[1], high[width]
        out = result[y]
        for x in range(width):
            least = min(low[x], low[x + 1], low[x + 2])
            most = max(high[x], high[x + 1], high[x + 2])
            gap = np.float32(most) - np.float32(least)
            ratio = gap * scale / (np.float32(most) + np.float32(least) + small)
            out[x] = np.uint8(np.int32(alpha * ratio + (one - alpha) * gap))


@njit(nogil=True, cache=True)
def add_weighted(values, weights, first, offset, result):
    """result += Σ weights[i] · values[x + offset + i] for three i from ``first`` on."""
    a, b, c = weights[first], weights[first + 1], weights[first + 2]
    va, vb, vc = values[offset:], values[offset + 1 :], values[offset + 2 :]
    for x in range(result.shape[0]):
        result[x] = result[x] + a * va[x] + b * vb[x] + c * vc[x]


@njit(nogil=True, cache=True)
def along_rows(values, weights, result):
    """Correlation along the rows, the page's edge repeated."""
    taps, width = weights.shape[0], values.shape[1]
    reach = taps // 2
    padded = np.empty(width + 2 * reach, np.float32)
    for y in range(values.shape[0]):
        padded[:reach] = values[y, 0]
        padded[reach : reach + width] = values[y]
        padded[reach + width :] = values[y, width - 1]
        out = result[y]
        for x in range(width):
            out[x] = weights[0] * padded[x]
        whole = 1 + (taps - 1) // 3 * 3
        for i in range(1, whole, 3):
            add_weighted(padded, weights, i, i, out)
        for i in range(whole, taps):
            part = padded[i:]
            for x in range(width):
                out[x] += weights[i] * part[x]


@njit(nogil=True, cache=True)
def along_columns(values, start, weights, first, height, result):
    """Correlation along the columns for the page's rows from ``first`` on; ``values`` begin at the page's row start."""
    taps = weights.shape[0]
    reach = taps // 2
    for y in range(result.shape[0]):
        out = result[y]
        row = values[min(max(first + y - reach, 0), height - 1) - start]
        for x in range(out.shape[0]):
            out[x] = weights[0] * row[x]
        for i in range(1, taps):
            row = values[min(max(first + y - reach + i, 0), height - 1) - start]
            weight = weights[i]
            for x in range(out.shape[0]):
                out[x] += weight * row[x]


@njit(nogil=True, cache=True)
def ridges(gx, gy, magnitude, result):
    """Pixels (True) no smaller than both neighbours along the gradient, which are interpolated; none on the rim."""
    height, width = magnitude.shape
    one, tiny = np.float32(1), np.float32(1e-30)
    for y in range(1, height - 1):
        above, here, below = magnitude[y - 1], magnitude[y], magnitude[y + 1]
        for x in range(1, width - 1):
            ax, ay = abs(gx[y, x]), abs(gy[y, x])
            flat = ax >= ay
            part = min(ax, ay) / max(max(ax, ay), tiny)
            rest = one - part
            right, left = (here[x + 1], here[x - 1]) if flat else (below[x], above[x])
            if gx[y, x] * gy[y, x] > 0:
                ahead, behind = below[x + 1], above[x - 1]
            elif flat:
                ahead, behind = above[x + 1], below[x - 1]
            else:
                ahead, behind = below[x - 1], above[x + 1]
            peak = (here[x] >= right * rest + ahead * part) & (here[x] >= left * rest + behind * part)
            result[y, x] = peak & ((ax > 0) | (ay > 0))


@njit(nogil=True, cache=True)
def thin(mask, first, result):
    """Half a round of thinning by Guo and Hall (True = inside)."""
    height, width = mask.shape
    for y in range(height):
        for x in range(width):
            result[y, x] = mask[y, x]
            if not mask[y, x]:
                continue
            up, down, left, right = y > 0, y < height - 1, x > 0, x < width - 1
            # neighbours counter-clockwise from the right
            a = right and mask[y, x + 1]
            b = up and right and mask[y - 1, x + 1]
            c = up and mask[y - 1, x]
            d = up and left and mask[y - 1, x - 1]
            e = left and mask[y, x - 1]
            f = down and left and mask[y + 1, x - 1]
            g = down and mask[y + 1, x]
            h = down and right and mask[y + 1, x + 1]
            crossings = (not a and (b or c)) + (not c and (d or e)) + (not e and (f or g)) + (not g and (h or a))
            pairs = min((a or b) + (c or d) + (e or f) + (g or h), (b or c) + (d or e) + (f or g) + (h or a))
            side = (b or c or not h) and a if first else (f or g or not d) and e
            if crossings == 1 and 2 <= pairs <= 3 and not side:
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
