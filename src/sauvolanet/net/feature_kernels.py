"""Compiled counterparts of net/inputs.py and of AST: scaled window statistics, folded features, attention."""

from __future__ import annotations

import numpy as np
from numba import njit

from ..core.window_kernels import row_statistics, rows_inside
from .vector import (  # fmt: skip
    add,
    address,
    bare,
    divide,
    exponential,
    highest,
    interleave,
    larger,
    load,
    multiply,
    multiply_add,
    spread,
    store,
    subtract,
    total,
)

STRIP = 512  # columns that go down the page together, so that the running sums stay in the second cache


@njit(nogil=True, cache=True)
def _integrate(row, above_p, above_q, p, q):
    """Running sums of a row and of its squares, on top of the row above; modulo the type's range."""
    kind = p.dtype.type
    sums, squares = kind(0), kind(0)
    for x in range(row.shape[0]):
        value = kind(row[x])
        sums = kind(sums + value)
        squares = kind(squares + value * value)
        p[x + 1] = above_p[x + 1] + sums
        q[x + 1] = above_q[x + 1] + squares


@njit(nogil=True, cache=True)
def _subtract(a, b, c, d, p, q):
    for x in range(p.shape[0]):
        p[x] = a[x] - b[x]
        q[x] = c[x] - d[x]


@njit(nogil=True, cache=True)
def _put(values, first, last, low, gain, floor, out):
    """Columns first … last − 1 of (windows, W) into out (columns, windows) as max((v − low) · gain, floor)."""
    windows, count = out.shape[1], last - first
    safe = count - 8 - 8 // windows if windows <= 8 else 0
    done = 0
    for x in range(0, safe, 8):
        interleave(address(values) + 4 * (first + x), values.shape[1], address(out) + 4 * x * windows, windows, low, gain,
                   floor)  # fmt: skip
        done = x + 8
    for x in range(done, count):
        for w in range(windows):
            out[x, w] = max((values[w, first + x] - low) * gain, floor)


@njit(nogil=True, cache=True, inline="always")
def _bare(gray, halves, sums, squares, p, q, m, d):
    return bare(gray), bare(halves), bare(sums), bare(squares), bare(p), bare(q), bare(m), bare(d)


@njit(nogil=True, cache=True)
def _row(gray, halves, y, known, left, first, last, sums, squares, p, q, m, d):
    """Mean and deviation of row y in every window, into (windows, columns); returns up to which row sums are known.

    sums, squares : the last rows of the running sums from the top of the band, as many as the largest window needs.
    left : the page's column that is their first. first, last : columns wanted, counted from there.
    """
    height, rows, reach = gray.shape[0], sums.shape[0], halves.max()
    while known < min(y + reach + 1, height):
        a, b = known % rows, (known + 1) % rows
        _integrate(gray[known, left : left + m.shape[1]], sums[a], squares[a], sums[b], squares[b])
        known += 1
    for w in range(halves.shape[0]):
        half = halves[w]
        above, below = max(y - half, 0) % rows, min(y + half + 1, height) % rows
        _subtract(sums[below], sums[above], squares[below], squares[above], p, q)
        row_statistics(p, q, rows_inside(height, y, half), half, first, last, m[w], d[w])
    return known


@njit(nogil=True, cache=True)
def _scaled_strip(gray, halves, y0, y1, top, left, first, low, gain, floor, mean, deviation, sums, squares, p, q, m, d):
    """Rows y0 … y1 − 1 of as many columns as mean has."""
    gray, halves, sums, squares, p, q, m, d = _bare(gray, halves, sums, squares, p, q, m, d)
    last = first + mean.shape[1]
    known = max(y0 - halves.max(), 0)  # running sums exist of the rows above this one; they begin with zeros
    for y in range(y0, y1):
        known = _row(gray, halves, y, known, left, first, last, sums, squares, p, q, m, d)
        _put(m, first, last, low, gain, np.float32(-np.inf), mean[y - top])
        _put(d, first, last, np.float32(0), gain, floor, deviation[y - top])


@njit(nogil=True, cache=True)
def _threshold_strip(gray, halves, y0, y1, top, left, first, low, gain, floor, logits, slope, level, constants, threshold,
                     sums, squares, p, q, m, d, spare):  # fmt: skip
    """The same with the thresholds that follow from the logits; a lane is a pixel."""
    windows, choices, count = halves.shape[0], halves.shape[0] + constants.shape[0], threshold.shape[1]
    gray, halves, sums, squares, p, q, m, d = _bare(gray, halves, sums, squares, p, q, m, d)
    known = max(y0 - halves.max(), 0)
    lows, gains, floors = spread(-low * gain), spread(gain), spread(floor)
    turned, pitch, nothing = address(spare[0]), logits.strides[1] // 4, np.float32(-np.inf)
    a_mean, a_deviation, row = address(m) + 4 * first, address(d) + 4 * first, 4 * m.shape[1]
    for y in range(y0, y1):
        known = _row(gray, halves, y, known, left, first, first + count, sums, squares, p, q, m, d)
        a_logits, a_out = (
            address(logits) + (y - top) * logits.strides[0],
            address(threshold) + (y - top) * threshold.strides[0],
        )
        for x in range(0, count, 8):
            if x + 8 <= count:
                interleave(a_logits + 4 * x * pitch, pitch, turned, 8, np.float32(0), np.float32(1), nothing)
            else:
                for i in range(count - x):
                    for c in range(choices):
                        spare[0, 8 * c + i] = logits[y - top, x + i, c]
            peak = load(turned, 0)
            for c in range(1, choices):
                peak = larger(peak, load(turned, 8 * c))
            weights, surface = spread(np.float32(0)), spread(np.float32(0))
            for c in range(choices):
                weight = exponential(subtract(load(turned, 8 * c), peak))
                weights = add(weights, weight)
                if c < windows:
                    mean = multiply_add(load(a_mean + c * row, x), gains, lows)
                    deviation = larger(multiply(load(a_deviation + c * row, x), gains), floors)
                    one = multiply(mean, multiply_add(spread(slope[c]), deviation, spread(level[c])))
                else:
                    one = spread(constants[c - windows])
                surface = multiply_add(weight, one, surface)
            surface = divide(surface, weights)
            if x + 8 <= count:
                store(a_out, x, surface)
            else:
                store(address(spare[1]), 0, surface)
                for i in range(count - x):
                    threshold[y - top, x + i] = spare[1, i]


def _strips(gray, windows, columns):
    """Strips of the columns: first and last of each in the region; halves, left, first and buffers of its kernel."""
    halves = np.array([window // 2 for window in windows])
    reach = halves.max()
    width = columns.stop - columns.start
    strips = max(1, width // STRIP)
    kind = np.int32 if max(windows) <= 181 else np.int64  # a window's sum of squares must fit
    for strip in range(strips):
        a, b = width * strip // strips, width * (strip + 1) // strips
        left, right = max(columns.start + a - reach, 0), min(columns.start + b + reach, gray.shape[1])
        sums, squares = np.zeros((2, 2 * reach + 2, right - left + 1), kind)
        p, q = np.empty((2, right - left + 1), kind)
        # lanes may read beyond the last window and the last column
        m, d = (np.zeros((max(len(windows), 8) + 1, right - left), np.float32)[:-1] for _ in range(2))
        yield slice(a, b), halves, left, columns.start + a - left, (sums, squares, p, q, m, d)


def scaled_statistics(gray, windows, rows, columns, y0, y1, low, gain, floor, mean, deviation):
    """Rows y0 … y1 − 1 of the scaled mean and deviation (H, W, windows) of the region rows × columns of the page."""
    for strip, halves, left, first, buffers in _strips(gray, windows, columns):
        _scaled_strip(gray, halves, y0, y1, rows.start, left, first, low, gain, floor, mean[:, strip], deviation[:, strip],
                      *buffers)  # fmt: skip


def thresholds(gray, windows, rows, columns, y0, y1, low, gain, floor, logits, k, r, constants, threshold):
    """The same rows of threshold = Σ softmax(logits) · (m · (1 − k + k / r · s), constants), without keeping m and s.

    logits : (H, W, at least eight numbers of which the first are the choices); what lies behind those is not used.
    """
    spare = np.zeros((2, 64), np.float32)
    for strip, halves, left, first, buffers in _strips(gray, windows, columns):
        _threshold_strip(gray, halves, y0, y1, rows.start, left, first, low, gain, floor, logits[:, strip], k / r,
                         np.float32(1) - k, constants, threshold[:, strip], *buffers, spare)  # fmt: skip


@njit(nogil=True, cache=True)
def _cell(full, y, x, fold, part, out, to):
    """The mean of full (H, W, C) over a cell; the page's edge goes on beyond it."""
    bottom, right = full.shape[0] - 1, full.shape[1] - 1
    for c in range(full.shape[2]):
        sums = np.float32(0)
        for a in range(fold):
            for b in range(fold):
                sums += full[min(y * fold + a, bottom), min(x * fold + b, right), c]
        out[y, x, to + c] = sums * part


@njit(nogil=True, cache=True)
def _lanes_of_cell(full, at, pitch, windows, parts, out, to):
    """The same for a cell of 2 × 2 inside the page, eight channels at a time; some numbers behind them are spoilt."""
    for c in range(0, windows, 8):
        p = at + c
        sums = add(load(full, p), load(full, p + windows))
        sums = add(add(sums, load(full, p + pitch)), load(full, p + pitch + windows))
        store(out, to + c, multiply(sums, parts))


@njit(nogil=True, cache=True)
def features(scaled, one, at_one, other, at_other, numbers, at_gray, at_numbers, fold, y0, y1, out):
    """Rows y0 … y1 − 1 of the features (H / fold, W / fold, C): each kind from its own channel on, none if that is < 0.

    one, other : mean and deviation, the one with the lower channels first: cells are written from left to right, so
    that what lanes spoil is written later, and gray and the page's numbers after them.
    """
    height, width, windows = one.shape
    channels, pitch = out.shape[2], width * windows
    part = np.float32(1 / (fold * fold))
    parts = spread(part)
    a_one, a_other, a_out = address(one), address(other), address(out)
    for y in range(y0, y1):
        inside = min(width // 2, out.shape[1] - 7 // channels - 1)
        if fold != 2 or 2 * y + 2 >= height or pitch < 8 or inside < 0:
            inside = 0
        for x in range(inside):
            at, to = 2 * (y * pitch + x * windows), (y * out.shape[1] + x) * channels
            if at_one >= 0:
                _lanes_of_cell(a_one, at, pitch, windows, parts, a_out, to + at_one)
            if at_other >= 0:
                _lanes_of_cell(a_other, at, pitch, windows, parts, a_out, to + at_other)
        for x in range(inside, out.shape[1]):
            if at_one >= 0:
                _cell(one, y, x, fold, part, out, at_one)
            if at_other >= 0:
                _cell(other, y, x, fold, part, out, at_other)
        if at_gray >= 0:
            for a in range(fold):
                row = scaled[min(y * fold + a, height - 1)]
                for b in range(fold):
                    for x in range(out.shape[1]):
                        out[y, x, at_gray + a * fold + b] = row[min(x * fold + b, width - 1)]
        if at_numbers >= 0:
            for x in range(out.shape[1]):
                for c in range(numbers.shape[0]):
                    out[y, x, at_numbers + c] = numbers[c]


@njit(nogil=True, cache=True)
def _attend(logits, change, mean, deviation, slope, level, constant, bias, out):
    """Threshold of one pixel, and one over the sum of the weights, which go to ``out`` unless that is 0.

    The first four are addresses, a lane is a choice. What lies behind a pixel's own numbers is no choice: its bias is
    minus infinity, its slope and level zero.
    """
    value = add(add(load(logits, 0), load(change, 0)), bias)
    weight = exponential(add(value, spread(-highest(value))))
    surface = multiply_add(load(mean, 0), multiply_add(slope, load(deviation, 0), level), constant)
    if out:
        store(out, 0, weight)
    inverse = np.float32(1) / total(weight)
    return total(multiply(weight, surface)) * inverse, inverse


@njit(nogil=True, cache=True)
def _attend_rows(logits, change, mean, deviation, table, choices, attention, threshold, spare):
    height, width = threshold.shape
    windows = mean.shape[2]
    slope, level, constant, bias = load(table, 0), load(table, 8), load(table, 16), load(table, 24)
    out = address(spare[4]) if attention.shape[2] else 0
    safe = max(width - 8 // windows - 1, 0)  # from here on lanes may reach beyond the row
    y_logits, y_change, y_mean = logits.strides[0], change.strides[0], mean.strides[0]
    x_logits, x_change, x_mean = logits.strides[1], change.strides[1], mean.strides[1]
    for i in range(height):
        a_logits, a_change = address(logits) + i * y_logits, address(change) + i * y_change
        a_mean, a_deviation = address(mean) + i * y_mean, address(deviation) + i * y_mean
        for j in range(width):
            if j < safe:
                t, inverse = _attend(a_logits + j * x_logits, a_change + j * x_change, a_mean + j * x_mean,
                                     a_deviation + j * x_mean, slope, level, constant, bias, out)  # fmt: skip
            else:
                for c in range(choices):
                    spare[0, c], spare[1, c] = logits[i, j, c], change[i, j, c]
                for c in range(windows):
                    spare[2, c], spare[3, c] = mean[i, j, c], deviation[i, j, c]
                at = address(spare)
                t, inverse = _attend(at, at + 32, at + 64, at + 96, slope, level, constant, bias, out)
            threshold[i, j] = t
            if out:
                for c in range(choices):
                    attention[i, j, c] = spare[4, c] * inverse


def attend(logits, change, mean, deviation, k, r, constants, attention, threshold):
    """threshold = Σ softmax(logits + change) · (m · (1 − k + k / r · s), constants), at most eight choices.

    change : like logits, or None. attention : the softmax is put there unless it is empty. The last axis of every
    array is contiguous; mean and deviation have the same strides.
    """
    windows, choices = len(k), len(k) + len(constants)
    if change is None:
        change = np.broadcast_to(np.zeros(8, np.float32), (*logits.shape[:2], 8))
    table = np.zeros((4, 8), np.float32)
    table[0, :windows], table[1, :windows], table[2, windows:choices] = k / r, np.float32(1) - k, constants
    table[3, choices:] = -np.inf
    _attend_rows(logits, change, mean, deviation, table, choices, attention, threshold, np.zeros((5, 8), np.float32))


@njit(nogil=True, cache=True)
def unfold(head, scaled, mean, near, fold, choices, top, out):
    """Logits at full resolution from the folded head, then gray and gray − mean of the windows in ``near``."""
    height, width, inputs = out.shape
    safe = max(width - fold - 7 // inputs - 1, 0)  # from here on lanes may reach beyond the row
    shift, odd = fold - 1, fold - 1  # fold is 1 or 2: x // fold = x >> shift, x % fold = x & odd
    for i in range(height):
        y = top + i
        above = (y >> shift) * head.shape[1]
        for x in range(width):
            pixel = ((y & odd) * fold + (x & odd)) * choices
            if x < safe:
                at = (above + (x >> shift)) * head.shape[2] + pixel
                to = (i * width + x) * inputs
                for c in range(0, choices, 8):
                    store(out, to + c, load(head, at + c))
            else:
                for c in range(choices):
                    out[i, x, c] = head[y >> shift, x >> shift, pixel + c]
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
