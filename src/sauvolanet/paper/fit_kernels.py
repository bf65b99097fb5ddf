"""One pass over sampled pixels: value, gradient and curvature of the smoothed hinge loss."""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def hinge(gray, mean, product, ink, weight, a, b, alpha, soft):
    """See `fit.hinge_numpy`."""
    out = np.zeros(6)
    for i in range(gray.size):
        side = -alpha if ink[i] else alpha
        lack = 1 - side * (gray[i] - a * mean[i] - b * product[i])
        if lack <= 0:
            continue
        if lack < soft:
            value, slope, curve = lack * lack / (2 * soft), lack / soft, 1 / soft
        else:
            value, slope, curve = lack - soft / 2, 1.0, 0.0
        da, db, w = side * mean[i], side * product[i], weight[i]
        out[0] += w * value
        out[1] += w * slope * da
        out[2] += w * slope * db
        out[3] += w * curve * da * da
        out[4] += w * curve * da * db
        out[5] += w * curve * db * db
    return out
