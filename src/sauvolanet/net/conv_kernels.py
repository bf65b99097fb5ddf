"""Convolutions on (H, W, C) float32 arrays, compiled: the heart of both the runtime and the trainer.

Sixteen output channels of six neighbouring pixels (or 24 of four, or 8 of eight) are held in registers while all taps
and input channels pass by. The inner loop knows no border: the few columns at the edges of the page are computed from a
small copy with zeros around it. The truth is `convolve_numpy` in net/run.py.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numba import njit

from .vector import fma, load, positive, store

STRIP = 40_000  # numbers in the rows of a strip that its taps span, 160 KB


@njit(nogil=True, cache=True)
def _sixteen_by_six(x, taps, count, p, cin, w, wi, bias, bi, y, o, step, relu):
    a0 = load(bias, bi)
    b0 = load(bias, bi + 8)
    a1 = a2 = a3 = a4 = a5 = a0
    b1 = b2 = b3 = b4 = b5 = b0
    for t in range(count):
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
def _twenty_four_by_four(x, taps, count, p, cin, w, wi, bias, bi, y, o, step, relu):
    a0 = load(bias, bi)
    b0 = load(bias, bi + 8)
    c0 = load(bias, bi + 16)
    a1 = a2 = a3 = a0
    b1 = b2 = b3 = b0
    c1 = c2 = c3 = c0
    for t in range(count):
        q = taps[t] + p
        for _ in range(cin):
            w0 = load(w, wi)
            w1 = load(w, wi + 8)
            w2 = load(w, wi + 16)
            a0 = fma(w0, x, q, a0)
            b0 = fma(w1, x, q, b0)
            c0 = fma(w2, x, q, c0)
            a1 = fma(w0, x, q + cin, a1)
            b1 = fma(w1, x, q + cin, b1)
            c1 = fma(w2, x, q + cin, c1)
            a2 = fma(w0, x, q + 2 * cin, a2)
            b2 = fma(w1, x, q + 2 * cin, b2)
            c2 = fma(w2, x, q + 2 * cin, c2)
            a3 = fma(w0, x, q + 3 * cin, a3)
            b3 = fma(w1, x, q + 3 * cin, b3)
            c3 = fma(w2, x, q + 3 * cin, c3)
            wi += 24
            q += 1
    if relu:
        a0, a1, a2, a3 = positive(a0), positive(a1), positive(a2), positive(a3)
        b0, b1, b2, b3 = positive(b0), positive(b1), positive(b2), positive(b3)
        c0, c1, c2, c3 = positive(c0), positive(c1), positive(c2), positive(c3)
    store(y, o, a0)
    store(y, o + 8, b0)
    store(y, o + 16, c0)
    store(y, o + step, a1)
    store(y, o + step + 8, b1)
    store(y, o + step + 16, c1)
    store(y, o + 2 * step, a2)
    store(y, o + 2 * step + 8, b2)
    store(y, o + 2 * step + 16, c2)
    store(y, o + 3 * step, a3)
    store(y, o + 3 * step + 8, b3)
    store(y, o + 3 * step + 16, c3)


@njit(nogil=True, cache=True)
def _eight_by_eight(x, taps, count, p, cin, w, wi, bias, bi, y, o, step, relu):
    a0 = load(bias, bi)
    a1 = a2 = a3 = a4 = a5 = a6 = a7 = a0
    for t in range(count):
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
def odd_block(outputs):
    """How many outputs, a multiple of 8, come before the blocks of 16: none, 8 or 24."""
    return 0 if outputs % 16 == 0 else 8 if outputs == 8 else 24


@njit(nogil=True, cache=True)
def _edge(x, w, bias, out, row, begin, end, first, last, size, dilation, relu, copy, taps, spare):
    """Columns begin … end − 1 of a row, six at a time, from a copy of their surroundings with zeros around the page.

    first, last : the rows of taps that lie on the page.
    """
    width, cin = x.shape[1:]
    cout, reach, pitch = bias.shape[0], (size // 2) * dilation, copy.shape[1]
    flat = copy.reshape(-1)
    odd = odd_block(cout)
    for column in range(begin, end, 6):
        copy[:] = 0
        left, right = max(column - reach, 0), min(column + 6 + reach, width)
        to = (left - column + reach) * cin
        n = 0
        for a in range(first, last):
            source = x[row + (a - size // 2) * dilation, left:right].reshape(-1)
            copy[a, to : to + source.shape[0]] = source
            for b in range(size):
                taps[n] = a * pitch + b * dilation * cin
                n += 1
        at = first * odd * size * cin
        if odd == 8:
            _eight_by_eight(flat, taps, n, 0, cin, w, at, bias, 0, spare, 0, cout, relu)
        elif odd == 24:
            for j in (0, 2):
                _twenty_four_by_four(flat, taps, n, j * cin, cin, w, at, bias, 0, spare, j * cout, cout, relu)
        for block in range(odd, cout, 16):
            at = (block * size + first * 16) * size * cin
            _sixteen_by_six(flat, taps, n, 0, cin, w, at, bias, block, spare, block, cout, relu)
        count = (min(column + 6, end) - column) * cout
        out[column * cout : column * cout + count] = spare[:count]


@njit(nogil=True, cache=True)
def _inside(x, w, bias, out, begin, end, first, taps, count, size, cin, relu):
    """Columns begin … end − 1 of a row, at least eight, whose surroundings lie on the page."""
    cout = bias.shape[0]
    odd = odd_block(cout)
    at = first * odd * size * cin
    # where the columns are no multiple, the last ones are done again, together with some that are done
    if odd == 8:
        for j in range(begin, end - 7, 8):
            _eight_by_eight(x, taps, count, j * cin, cin, w, at, bias, 0, out, j * cout, cout, relu)
        if (end - begin) % 8:
            j = end - 8
            _eight_by_eight(x, taps, count, j * cin, cin, w, at, bias, 0, out, j * cout, cout, relu)
    elif odd == 24:
        for j in range(begin, end - 3, 4):
            _twenty_four_by_four(x, taps, count, j * cin, cin, w, at, bias, 0, out, j * cout, cout, relu)
        if (end - begin) % 4:
            j = end - 4
            _twenty_four_by_four(x, taps, count, j * cin, cin, w, at, bias, 0, out, j * cout, cout, relu)
    for block in range(odd, cout, 16):
        at = (block * size + first * 16) * size * cin
        for j in range(begin, end - 5, 6):
            _sixteen_by_six(x, taps, count, j * cin, cin, w, at, bias, block, out, j * cout + block, cout, relu)
        if (end - begin) % 6:
            j = end - 6
            _sixteen_by_six(x, taps, count, j * cin, cin, w, at, bias, block, out, j * cout + block, cout, relu)


@njit(nogil=True, cache=True)
def convolve(x, w, bias, y, y0, y1, size, dilation, relu):
    """Rows y0 … y1 − 1 of the convolution of x (H, W, Cin) into y (H, W, Cout); w packed by `pack`.

    size : 1 or 3. dilation : distance of the taps. Zero padding keeps the size of the page: taps in rows beyond it
    are left out. The page is walked in strips of columns whose rows stay in the second cache.
    """
    height, width, cin = x.shape
    half = size // 2
    reach = half * dilation
    flat = x.reshape(-1)
    taps, edge_taps = np.empty(size * size, np.intp), np.empty(size * size, np.intp)
    copy = np.empty((size, (8 + 2 * reach) * cin), np.float32)
    spare = np.empty(8 * bias.shape[0], np.float32)
    strips = max(1, min((width * cin * (2 * reach + 1)) // STRIP, width // 32))
    for strip in range(strips):
        left, right = width * strip // strips, width * (strip + 1) // strips
        begin = max(left, reach) if left == 0 else left
        end = min(right, width - reach) if right == width else right
        if end - begin < 8:
            begin = end = right
        for i in range(y0, y1):
            first = half if i < dilation else 0
            last = half + 1 if i + dilation >= height else size
            count = 0
            for a in range(first, last):
                for b in range(size):
                    taps[count] = ((i + (a - half) * dilation) * width + (b - half) * dilation) * cin
                    count += 1
            out = y[i].reshape(-1)
            if begin > left:
                _edge(x, w, bias, out, i, left, begin, first, last, size, dilation, relu, copy, edge_taps, spare)
            if end > begin:
                _inside(flat, w, bias, out, begin, end, first, taps, count, size, cin, relu)
            if right > end:
                _edge(x, w, bias, out, i, end, right, first, last, size, dilation, relu, copy, edge_taps, spare)


def pack(weights: np.ndarray) -> np.ndarray:
    """Weights (Cout, Cin, size, size) in the order the kernel reads them: a block of 8 or 24, then blocks of 16 outputs."""
    cout = weights.shape[0]
    assert cout % 8 == 0
    order = weights.transpose(2, 3, 1, 0).astype(np.float32)  # tap row, tap column, input, output
    edges = [0, *range(odd_block(cout), cout + 1, 16)]
    return np.concatenate([order[..., a:b].reshape(-1) for a, b in pairwise(edges)])


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
