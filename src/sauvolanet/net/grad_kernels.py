"""What training adds to the convolution kernels: gradients of weights, and normalisation with ReLU both ways.

All arrays are (H, W, C) float32 of one patch; the caller walks over the batch. The truth is torch's own autograd.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .vector import fma, load, store


@njit(nogil=True, cache=True)
def _outer(x, p, cin, grad, o, cout, width, rows, pitch, total, at, step):
    """total[8 inputs, 8 outputs] += Σ over rows × width pixels of x ⊗ grad."""
    t0 = load(total, at)
    t1 = load(total, at + step)
    t2 = load(total, at + 2 * step)
    t3 = load(total, at + 3 * step)
    t4 = load(total, at + 4 * step)
    t5 = load(total, at + 5 * step)
    t6 = load(total, at + 6 * step)
    t7 = load(total, at + 7 * step)
    for r in range(rows):
        q = p + r * pitch
        s = o + r * width * cout
        for _ in range(width):
            g = load(grad, s)
            t0 = fma(g, x, q, t0)
            t1 = fma(g, x, q + 1, t1)
            t2 = fma(g, x, q + 2, t2)
            t3 = fma(g, x, q + 3, t3)
            t4 = fma(g, x, q + 4, t4)
            t5 = fma(g, x, q + 5, t5)
            t6 = fma(g, x, q + 6, t6)
            t7 = fma(g, x, q + 7, t7)
            q += cin
            s += cout
    store(total, at, t0)
    store(total, at + step, t1)
    store(total, at + 2 * step, t2)
    store(total, at + 3 * step, t3)
    store(total, at + 4 * step, t4)
    store(total, at + 5 * step, t5)
    store(total, at + 6 * step, t6)
    store(total, at + 7 * step, t7)


@njit(nogil=True, cache=True)
def _outer_sixteen(x, p, cin, grad, o, cout, width, rows, pitch, total, at, step):
    """total[6 inputs, 16 outputs] += Σ over rows × width pixels of x ⊗ grad."""
    a0 = load(total, at)
    b0 = load(total, at + 8)
    a1 = load(total, at + step)
    b1 = load(total, at + step + 8)
    a2 = load(total, at + 2 * step)
    b2 = load(total, at + 2 * step + 8)
    a3 = load(total, at + 3 * step)
    b3 = load(total, at + 3 * step + 8)
    a4 = load(total, at + 4 * step)
    b4 = load(total, at + 4 * step + 8)
    a5 = load(total, at + 5 * step)
    b5 = load(total, at + 5 * step + 8)
    for r in range(rows):
        q = p + r * pitch
        s = o + r * width * cout
        for _ in range(width):
            g = load(grad, s)
            h = load(grad, s + 8)
            a0 = fma(g, x, q, a0)
            b0 = fma(h, x, q, b0)
            a1 = fma(g, x, q + 1, a1)
            b1 = fma(h, x, q + 1, b1)
            a2 = fma(g, x, q + 2, a2)
            b2 = fma(h, x, q + 2, b2)
            a3 = fma(g, x, q + 3, a3)
            b3 = fma(h, x, q + 3, b3)
            a4 = fma(g, x, q + 4, a4)
            b4 = fma(h, x, q + 4, b4)
            a5 = fma(g, x, q + 5, a5)
            b5 = fma(h, x, q + 5, b5)
            q += cin
            s += cout
    store(total, at, a0)
    store(total, at + 8, b0)
    store(total, at + step, a1)
    store(total, at + step + 8, b1)
    store(total, at + 2 * step, a2)
    store(total, at + 2 * step + 8, b2)
    store(total, at + 3 * step, a3)
    store(total, at + 3 * step + 8, b3)
    store(total, at + 4 * step, a4)
    store(total, at + 4 * step + 8, b4)
    store(total, at + 5 * step, a5)
    store(total, at + 5 * step + 8, b5)


@njit(nogil=True, cache=True)
def weight_gradient(x, grad, total, size, dilation):
    """total (size², `rounded` inputs, Cout) += gradient of the weights from one patch.

    The rows of total behind the inputs take what lies behind a pixel's channels in memory; nobody reads them.
    """
    height, width, cin = x.shape
    cout = grad.shape[2]
    channels = total.shape[1]
    reach = (size // 2) * dilation
    pitch = (width + 2 * reach) * cin
    flat = np.zeros((height + 2 * reach) * pitch + 8, np.float32)
    padded = flat[: (height + 2 * reach) * pitch].reshape(height + 2 * reach, pitch)
    for row in range(height):
        padded[row + reach, reach * cin : (reach + width) * cin] = x[row].reshape(-1)
    flat_grad, flat_total = grad.reshape(-1), total.reshape(-1)
    chunk = max(1, 4096 // (width * cin))  # rows whose inputs stay in the first cache
    wide = cout - cout % 16
    for i in range(0, height, chunk):
        rows = min(chunk, height - i)
        for t in range(size * size):
            p = (i + (t // size) * dilation) * pitch + (t % size) * dilation * cin
            for o in range(0, wide, 16):
                for c in range(0, cin, 6):
                    _outer_sixteen(flat, p + c, cin, flat_grad, i * width * cout + o, cout, width, rows, pitch,
                                   flat_total, (t * channels + c) * cout + o, cout)  # fmt: skip
            if wide < cout:
                for c in range(0, cin, 8):
                    _outer(flat, p + c, cin, flat_grad, i * width * cout + wide, cout, width, rows, pitch,
                           flat_total, (t * channels + c) * cout + wide, cout)  # fmt: skip


def rounded(inputs: int) -> int:
    """Inputs for which `weight_gradient` needs room: it takes six or eight at a time."""
    return max(-(-inputs // 6) * 6, -(-inputs // 8) * 8)


@njit(nogil=True, cache=True)
def moments(z, total):
    """total (2, C) float64 += sums and sums of squares of z over its pixels."""
    height, width, channels = z.shape
    s = np.zeros(channels, np.float32)
    q = np.zeros(channels, np.float32)
    for i in range(height):
        s[:] = 0
        q[:] = 0
        row = z[i]
        for j in range(width):
            for c in range(channels):
                v = row[j, c]
                s[c] += v
                q[c] += v * v
        for c in range(channels):
            total[0, c] += s[c]
            total[1, c] += q[c]


@njit(nogil=True, cache=True, fastmath={"contract"})
def normalise(z, scale, shift, y):
    """y = max(z · scale + shift, 0) per channel."""
    height, width, channels = z.shape
    for i in range(height):
        for j in range(width):
            for c in range(channels):
                v = z[i, j, c] * scale[c] + shift[c]
                y[i, j, c] = v if v > 0 else np.float32(0)


@njit(nogil=True, cache=True)
def normalise_sums(z, y, grad, mean, inverse, total):
    """total (2, C) float64 += Σ g and Σ g · ẑ where y > 0, ẑ = (z − mean) · inverse."""
    height, width, channels = z.shape
    s = np.zeros(channels, np.float32)
    q = np.zeros(channels, np.float32)
    for i in range(height):
        s[:] = 0
        q[:] = 0
        for j in range(width):
            for c in range(channels):
                g = grad[i, j, c] if y[i, j, c] > 0 else np.float32(0)
                s[c] += g
                q[c] += g * ((z[i, j, c] - mean[c]) * inverse[c])
        for c in range(channels):
            total[0, c] += s[c]
            total[1, c] += q[c]


@njit(nogil=True, cache=True, fastmath={"contract"})
def normalise_gradient(z, y, grad, mean, inverse, scale, mean_grad, mean_product, out):
    """out = scale · (g − mean_grad − ẑ · mean_product), g masked by the ReLU."""
    height, width, channels = z.shape
    for i in range(height):
        for j in range(width):
            for c in range(channels):
                g = grad[i, j, c] if y[i, j, c] > 0 else np.float32(0)
                out[i, j, c] = scale[c] * (g - mean_grad[c] - (z[i, j, c] - mean[c]) * inverse[c] * mean_product[c])


@njit(nogil=True, cache=True)
def channel_sums(z, total):
    """total (C) float64 += sums of z over its pixels."""
    height, width, channels = z.shape
    s = np.zeros(channels, np.float32)
    for i in range(height):
        s[:] = 0
        for j in range(width):
            for c in range(channels):
                s[c] += z[i, j, c]
        for c in range(channels):
            total[c] += s[c]


@njit(nogil=True, cache=True)
def attend_gradient(attention, mean, deviation, k, r, constants, threshold, grad, for_logits, for_change, for_k, for_r):
    """Gradients of `attend`; for_change may have no channels, for_k and for_r (float64) are added to."""
    height, width, choices = attention.shape
    windows, extra = k.shape[0], for_change.shape[2] > 0
    inverse = np.float32(1) / r
    sums_k, sums_r = np.empty(windows, np.float32), np.empty(windows, np.float32)
    for i in range(height):
        sums_k[:] = 0
        sums_r[:] = 0
        for j in range(width):
            g = grad[i, j]
            t = threshold[i, j]
            for c in range(windows):
                a = attention[i, j, c] * g
                m = mean[i, j, c]
                ratio = deviation[i, j, c] * inverse[c]
                sums_k[c] += a * m * (ratio - np.float32(1))
                sums_r[c] += a * m * ratio
                for_logits[i, j, c] = a * (m * (np.float32(1) + k[c] * (ratio - np.float32(1))) - t)
            for c in range(windows, choices):
                for_logits[i, j, c] = attention[i, j, c] * g * (constants[c - windows] - t)
            if extra:
                for c in range(choices):
                    for_change[i, j, c] = for_logits[i, j, c]
        for c in range(windows):
            for_k[c] += sums_k[c]
            for_r[c] -= sums_r[c] * k[c] * inverse[c]


@njit(nogil=True, cache=True)
def unfold_gradient(grad, fold, choices, out):
    """The gradient of `unfold` for the head."""
    shift, odd = fold - 1, fold - 1  # fold is 1 or 2
    for y in range(grad.shape[0]):
        for x in range(grad.shape[1]):
            at = ((y & odd) * fold + (x & odd)) * choices
            for c in range(choices):
                out[y >> shift, x >> shift, at + c] = grad[y, x, c]


@njit(nogil=True, cache=True)
def sum_cells(grad, out):
    """The gradient of enlarging: out = sum of grad over each two by two cells."""
    for y in range(out.shape[0]):
        for j in range(out.shape[1]):
            for c in range(out.shape[2]):
                a = grad[2 * y, 2 * j, c] + grad[2 * y, 2 * j + 1, c]
                out[y, j, c] = a + (grad[2 * y + 1, 2 * j, c] + grad[2 * y + 1, 2 * j + 1, c])
