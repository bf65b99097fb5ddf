"""Convolutions on (H, W, C) float32 arrays, compiled: the heart of both the runtime and the trainer.

Sixteen (or eight) output channels of six (or eight) neighbouring pixels are held in registers while all taps and
input channels pass by. Input rows are copied once into a small ring of rows with zero columns on both sides, so the
inner loop knows no border, and rows outside the page are zeros. The truth is `convolve_numpy` in net/layers.py.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .vector import fma, load, positive, store

RING = 40_000  # numbers in a ring of rows, 160 KB


@njit(nogil=True, cache=True)
def _sixteen_by_six(x, taps, p, cin, w, wi, bias, bi, y, o, step, relu):
    a0 = load(bias, bi)
    b0 = load(bias, bi + 8)
    a1 = a2 = a3 = a4 = a5 = a0
    b1 = b2 = b3 = b4 = b5 = b0
    for t in range(taps.shape[0]):
        q = taps[t] + p
        for _ in range(cin):
            w0 = load(w, wi)
            w1 = load(w, wi + 8)
            a0 = fma(w0, x, q, a0)
            b0 = fma(w1, x, q, b0)
            a1 = fma(w0, x, q + cin, a1)
            b1 = fma(w1, x, q + cin, b1)
            a2 = fma(w0, x, q + 2 * cin, a2)
            b2 = fma(w1, x, q + 2 * cin, b2)
            a3 = fma(w0, x, q + 3 * cin, a3)
            b3 = fma(w1, x, q + 3 * cin, b3)
            a4 = fma(w0, x, q + 4 * cin, a4)
            b4 = fma(w1, x, q + 4 * cin, b4)
            a5 = fma(w0, x, q + 5 * cin, a5)
            b5 = fma(w1, x, q + 5 * cin, b5)
            wi += 16
            q += 1
    if relu:
        a0, a1, a2, a3, a4, a5 = positive(a0), positive(a1), positive(a2), positive(a3), positive(a4), positive(a5)
        b0, b1, b2, b3, b4, b5 = positive(b0), positive(b1), positive(b2), positive(b3), positive(b4), positive(b5)
    store(y, o, a0)
    store(y, o + 8, b0)
    store(y, o + step, a1)
    store(y, o + step + 8, b1)
    store(y, o + 2 * step, a2)
    store(y, o + 2 * step + 8, b2)
    store(y, o + 3 * step, a3)
    store(y, o + 3 * step + 8, b3)
    store(y, o + 4 * step, a4)
    store(y, o + 4 * step + 8, b4)
    store(y, o + 5 * step, a5)
    store(y, o + 5 * step + 8, b5)


@njit(nogil=True, cache=True)
def _eight_by_eight(x, taps, p, cin, w, wi, bias, bi, y, o, step, relu):
    a0 = load(bias, bi)
    a1 = a2 = a3 = a4 = a5 = a6 = a7 = a0
    for t in range(taps.shape[0]):
        q = taps[t] + p
        for _ in range(cin):
            w0 = load(w, wi)
            a0 = fma(w0, x, q, a0)
            a1 = fma(w0, x, q + cin, a1)
            a2 = fma(w0, x, q + 2 * cin, a2)
            a3 = fma(w0, x, q + 3 * cin, a3)
            a4 = fma(w0, x, q + 4 * cin, a4)
            a5 = fma(w0, x, q + 5 * cin, a5)
            a6 = fma(w0, x, q + 6 * cin, a6)
            a7 = fma(w0, x, q + 7 * cin, a7)
            wi += 8
            q += 1
    if relu:
        a0, a1, a2, a3 = positive(a0), positive(a1), positive(a2), positive(a3)
        a4, a5, a6, a7 = positive(a4), positive(a5), positive(a6), positive(a7)
    store(y, o, a0)
    store(y, o + step, a1)
    store(y, o + 2 * step, a2)
    store(y, o + 3 * step, a3)
    store(y, o + 4 * step, a4)
    store(y, o + 5 * step, a5)
    store(y, o + 6 * step, a6)
    store(y, o + 7 * step, a7)


@njit(nogil=True, cache=True)
def fill_ring(x, row, ring, slot, pad, channels):
    """Copy row ``row`` of x (zeros if outside) into the ring, ``channels`` apart, behind ``pad`` zero columns."""
    height, width, cin = x.shape
    line = ring[slot]
    if row < 0 or row >= height:
        line[:] = 0
        return
    source = x[row]
    at = pad * channels
    if channels == cin:
        flat = source.reshape(-1)
        line[at : at + flat.shape[0]] = flat
    else:
        for j in range(width):
            for c in range(cin):
                line[at + j * channels + c] = source[j, c]


@njit(nogil=True, cache=True)
def _fill_strip(x, row, line, left, right):
    """Copy columns left … right − 1 of a row of x into line; what lies outside the page is zero."""
    height, width, cin = x.shape
    line[:] = 0
    if 0 <= row < height:
        first, last = max(left, 0), min(right, width)
        source = x[row, first:last].reshape(-1)
        line[(first - left) * cin : (first - left) * cin + source.shape[0]] = source


@njit(nogil=True, cache=True)
def _convolve_strip(x, w, bias, y, y0, y1, left, right, size, dilation, relu):
    """Columns left … right − 1 of rows y0 … y1 − 1."""
    width, cin = right - left, x.shape[2]
    cout = y.shape[2]
    reach = (size // 2) * dilation
    rows = 2 * reach + 1
    ring = np.zeros((rows, (width + 2 * reach + 8) * cin), np.float32)
    flat = ring.reshape(-1)
    taps = np.zeros(size * size, np.intp)
    spare = np.zeros(8 * cout, np.float32)
    for row in range(y0 - reach, y0 + reach):
        _fill_strip(x, row, ring[row % rows], left - reach, right + reach)
    for i in range(y0, y1):
        _fill_strip(x, i + reach, ring[(i + reach) % rows], left - reach, right + reach)
        for a in range(size):
            slot = (i + (a - size // 2) * dilation) % rows
            for b in range(size):
                taps[a * size + b] = slot * ring.shape[1] + b * dilation * cin
        out = y[i, left:right].reshape(-1)
        wide = cout - cout % 16
        for block in range(0, wide, 16):
            at = block * size * size * cin
            if width >= 6:
                for j in range(0, width - 5, 6):
                    _sixteen_by_six(flat, taps, j * cin, cin, w, at, bias, block, out, j * cout + block, cout, relu)
                if width % 6:
                    j = width - 6
                    _sixteen_by_six(flat, taps, j * cin, cin, w, at, bias, block, out, j * cout + block, cout, relu)
            else:
                _sixteen_by_six(flat, taps, 0, cin, w, at, bias, block, spare, block, cout, relu)
        if wide < cout:
            at = wide * size * size * cin
            if width >= 8:
                for j in range(0, width - 7, 8):
                    _eight_by_eight(flat, taps, j * cin, cin, w, at, bias, wide, out, j * cout + wide, cout, relu)
                if width % 8:
                    j = width - 8
                    _eight_by_eight(flat, taps, j * cin, cin, w, at, bias, wide, out, j * cout + wide, cout, relu)
            else:
                _eight_by_eight(flat, taps, 0, cin, w, at, bias, wide, spare, wide, cout, relu)
        if width < 6:
            out[:] = spare[: width * cout]
        elif width < 8:
            for j in range(width):
                for c in range(wide, cout):
                    out[j * cout + c] = spare[j * cout + c]


@njit(nogil=True, cache=True)
def convolve(x, w, bias, y, y0, y1, size, dilation, relu):
    """Rows y0 … y1 − 1 of the convolution of x (H, W, Cin) into y (H, W, Cout); w packed by `pack`.

    size : 1 or 3. dilation : distance of the taps. Zero padding keeps the size of the page. The page is walked in
    strips of columns whose ring of rows stays in the second cache.
    """
    width, cin = x.shape[1], x.shape[2]
    rows = 2 * (size // 2) * dilation + 1
    strips = 1 + (width * cin * rows) // RING
    for strip in range(strips):
        _convolve_strip(
            x, w, bias, y, y0, y1, width * strip // strips, width * (strip + 1) // strips, size, dilation, relu
        )


def pack(weights: np.ndarray) -> np.ndarray:
    """Weights (Cout, Cin, size, size) in the order the kernel reads them: blocks of 16 (last perhaps 8) outputs."""
    cout = weights.shape[0]
    assert cout % 8 == 0
    order = weights.transpose(2, 3, 1, 0).astype(np.float32)  # tap row, tap column, input, output
    wide = cout - cout % 16
    blocks = [order[..., b : b + 16].reshape(-1) for b in range(0, wide, 16)]
    if wide < cout:
        blocks.append(order[..., wide:].reshape(-1))
    return np.concatenate(blocks)


@njit(nogil=True, cache=True)
def pool(x, out, y0, y1):
    """Rows y0 … y1 − 1 of the maximum of each two by two cells."""
    for y in range(y0, y1):
        for j in range(out.shape[1]):
            for c in range(out.shape[2]):
                a = max(x[2 * y, 2 * j, c], x[2 * y, 2 * j + 1, c])
                b = max(x[2 * y + 1, 2 * j, c], x[2 * y + 1, 2 * j + 1, c])
                out[y, j, c] = max(a, b)


@njit(nogil=True, cache=True)
def add_enlarged(skip, small, out, y0, y1):
    """out = skip + small, rows y0 … y1 − 1 of small taken twice in both directions."""
    for y in range(y0, y1):
        for j in range(small.shape[1]):
            for a in range(2):
                for b in range(2):
                    for c in range(skip.shape[2]):
                        out[2 * y + a, 2 * j + b, c] = skip[2 * y + a, 2 * j + b, c] + small[y, j, c]
