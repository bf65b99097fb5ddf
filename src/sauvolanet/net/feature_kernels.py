"""Compiled counterparts of net/features.py and of AST: scaled window statistics, folded features, attention."""

from __future__ import annotations

import numpy as np
from numba import njit

from ..window_kernels import rows_inside, scratch, slide, start, statistics


@njit(nogil=True, cache=True)
def _scaled(gray, half, y0, y1, top, left, right, low, gain, floor, index, mean, deviation, sums, squares, p, q, m, d):
    start(gray, y0, half, sums, squares)
    for y in range(y0, y1):
        if y > y0:
            slide(gray, y, half, sums, squares)
        statistics(sums, squares, p, q, rows_inside(gray.shape[0], y, half), half, m, d)
        means, deviations = mean[y - top], deviation[y - top]
        for x in range(left, right):
            means[x - left, index] = (m[x] - low) * gain
            deviations[x - left, index] = max(d[x] * gain, floor)


def scaled_statistics(gray, windows, rows, columns, y0, y1, low, gain, floor, mean, deviation):
    """Rows y0 … y1 − 1 of the scaled mean and deviation (H, W, windows) of the region rows × columns of the page."""
    width = gray.shape[1]
    m, d = np.empty(width, np.float32), np.empty(width, np.float32)
    for index, window in enumerate(windows):
        _scaled(gray, window // 2, y0, y1, rows.start, columns.start, columns.stop, low, gain, floor, index, mean,
                deviation, *scratch(width, window), m, d)  # fmt: skip


@njit(nogil=True, cache=True)
def fold_gray(scaled, y0, y1, fold, at, out):
    """Channels at … of rows y0 … y1 − 1: the fold × fold pixels of each cell; the page's edge goes on beyond it."""
    bottom, right = scaled.shape[0] - 1, scaled.shape[1] - 1
    for y in range(y0, y1):
        for x in range(out.shape[1]):
            for a in range(fold):
                for b in range(fold):
                    out[y, x, at + a * fold + b] = scaled[min(y * fold + a, bottom), min(x * fold + b, right)]


@njit(nogil=True, cache=True)
def fold_mean(full, y0, y1, fold, at, out):
    """Channels at … of rows y0 … y1 − 1: the mean of full (H, W, C) over each cell; the edge goes on beyond it."""
    part = np.float32(1 / (fold * fold))
    bottom, right = full.shape[0] - 1, full.shape[1] - 1
    for y in range(y0, y1):
        for x in range(out.shape[1]):
            for c in range(full.shape[2]):
                total = np.float32(0)
                for a in range(fold):
                    for b in range(fold):
                        total += full[min(y * fold + a, bottom), min(x * fold + b, right), c]
                out[y, x, at + c] = total * part


@njit(nogil=True, cache=True, fastmath={"contract"})
def _exponential(values, fraction, bits):
    """fraction · 2**(bits) = exp(values), values ≤ 0, to about 1e-7: split so that the loops vectorise."""
    for i in range(values.shape[0]):
        y = max(values[i], np.float32(-87)) * np.float32(1.4426950408889634)
        n = np.floor(y)
        f = y - n
        t = np.float32(1.8775767e-3) * f + np.float32(8.9893397e-3)
        t = t * f + np.float32(5.5826318e-2)
        t = t * f + np.float32(2.4015361e-1)
        t = t * f + np.float32(6.9315308e-1)
        fraction[i] = t * f + np.float32(9.9999994e-1)
        bits[i] = (np.int32(n) + np.int32(127)) << np.int32(23)


@njit(nogil=True, cache=True)
def _multiply(a, b):
    for i in range(a.shape[0]):
        a[i] *= b[i]


@njit(nogil=True, cache=True)
def _attend(
    logits,
    change,
    mean,
    deviation,
    slope,
    level,
    constants,
    keep,
    attention,
    threshold,
    shifted,
    fraction,
    bits,
    powers,
):
    height, width = logits.shape[:2]
    windows, choices = slope.shape[0], slope.shape[0] + constants.shape[0]
    for i in range(height):
        for j in range(width):
            top = np.float32(-np.inf)
            for c in range(choices):
                value = logits[i, j, c] + change[i, j, c]
                shifted[j * choices + c] = value
                top = max(top, value)
            for c in range(choices):
                shifted[j * choices + c] -= top
        _exponential(shifted, fraction, bits)
        _multiply(fraction, powers)
        for j in range(width):
            total = np.float32(0)
            t = np.float32(0)
            for c in range(windows):
                a = fraction[j * choices + c]
                total += a
                t += a * (mean[i, j, c] * (level[c] + slope[c] * deviation[i, j, c]))
            for c in range(windows, choices):
                a = fraction[j * choices + c]
                total += a
                t += a * constants[c - windows]
            inverse = np.float32(1) / total
            threshold[i, j] = t * inverse
            if keep:
                for c in range(choices):
                    attention[i, j, c] = fraction[j * choices + c] * inverse


def attend(logits, change, mean, deviation, k, r, constants, attention, threshold):
    """threshold = Σ softmax(logits + change) · (m · (1 − k + k / r · s), constants).

    change : like logits, or None. attention : the softmax is put there unless it is empty.
    """
    if change is None:
        change = np.broadcast_to(np.float32(0), logits.shape)
    choices = len(k) + len(constants)
    size = logits.shape[1] * choices
    bits = np.empty(size, np.int32)
    _attend(logits, change, mean, deviation, k / r, np.float32(1) - k, constants, attention.size > 0, attention, threshold,
            np.empty(size, np.float32), np.empty(size, np.float32), bits, bits.view(np.float32))  # fmt: skip


@njit(nogil=True, cache=True)
def unfold(head, scaled, mean, near, fold, choices, top, out):
    """Logits at full resolution from the folded head, then gray and gray − mean of the windows in ``near``."""
    height, width, inputs = out.shape
    for i in range(height):
        y = top + i
        for x in range(width):
            at = ((y % fold) * fold + x % fold) * choices
            cell = head[y // fold, x // fold]
            for c in range(choices):
                out[i, x, c] = cell[at + c]
            if inputs > choices:
                g = scaled[y, x]
                out[i, x, choices] = g
                for c in range(near.shape[0]):
                    out[i, x, choices + 1 + c] = g - mean[y, x, near[c]]


@njit(nogil=True, cache=True)
def row_sums(z, out):
    """out (H, 2, C) float64: sums and sums of squares of each row."""
    height, width, channels = z.shape
    for i in range(height):
        for j in range(width):
            for c in range(channels):
                v = np.float64(z[i, j, c])
                out[i, 0, c] += v
                out[i, 1, c] += v * v


@njit(nogil=True, cache=True, fastmath={"contract"})
def normalise(z, scale, shift):
    """z = max(z · scale + shift, 0) per channel."""
    height, width, channels = z.shape
    for i in range(height):
        for j in range(width):
            for c in range(channels):
                v = z[i, j, c] * scale[c] + shift[c]
                z[i, j, c] = v if v > 0 else np.float32(0)
