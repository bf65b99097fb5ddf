"""Sauvola's k and r from data: the paper's hinge loss over sampled pixels, by Newton's method.

``T = μ·(1 + k·(σ/r − 1)) = a·μ + b·μσ`` with ``a = 1 − k`` and ``b = k/r``: the threshold is linear in (a, b), so the
hinge loss is convex in them, and also along the lines on which k or r is held fixed. Whatever the start, there is one
optimum; training k and r from two different presets must give the same values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..core.kernels import native
from ..errors import RunFailed

Values = npt.NDArray[np.float32]

ALPHA = 16.0  # the paper's
SOFTNESS = (1.0, 0.3, 0.1, 0.03, 0.01)  # width of the parabola that rounds the hinge's corner; the last one counts


@dataclass(frozen=True)
class Pixels:
    """Sampled pixels: gray, window mean, mean × deviation (gray/255 scale), ink (True = ink) and weight, each (n,)."""

    gray: Values
    mean: Values
    product: Values
    ink: npt.NDArray[np.bool_]
    weight: Values


def hinge_numpy(pixels: Pixels, a: float, b: float, soft: float) -> npt.NDArray[np.float64]:
    """Loss, its derivatives by a and b, and the second ones (aa, ab, bb), summed with the weights: the definition.

    ``loss = max(1 − α·(D − T)·B, 0)`` with B = +1 on paper and −1 on ink, its corner rounded over the width ``soft``.
    """
    side = np.where(pixels.ink, -ALPHA, ALPHA)
    lack = 1 - side * (pixels.gray - a * pixels.mean.astype(float) - b * pixels.product)
    round_ = (lack > 0) & (lack < soft)
    value = np.where(round_, lack**2 / (2 * soft), np.maximum(lack - soft / 2, 0))
    slope, curve = np.clip(lack / soft, 0, 1), round_ / soft
    da, db, w = side * pixels.mean, side * pixels.product, pixels.weight
    terms = (value, slope * da, slope * db, curve * da * da, curve * da * db, curve * db * db)
    return np.array([(w * term).sum() for term in terms])


def _hinge(pixels: Pixels, point: npt.NDArray[np.float64], soft: float) -> npt.NDArray[np.float64]:
    a, b = point
    kernels = native()
    if kernels is None:
        return hinge_numpy(pixels, a, b, soft)
    sums = np.empty(6)
    kernels.hinge(pixels.gray, pixels.mean, pixels.product, pixels.ink, pixels.weight, a, b, ALPHA, soft, sums)
    return sums


def fit(pixels: Pixels, k: float | None = None, r: float | None = None) -> tuple[float, float]:
    """The k and r of least loss; a value that is given is held fixed, one that is None is trained."""
    if k is not None and r is not None:
        return k, r
    if k is not None:
        start, ways = np.array([1 - k, k / 0.5]), np.array([[0.0], [1.0]])
    elif r is not None:
        start, ways = np.array([0.8, 0.2 / r]), np.array([[-1.0], [1 / r]])
    else:
        start, ways = np.array([0.8, 0.4]), np.eye(2)
    a, b = _newton(pixels, start, ways)
    return float(1 - a), float(r if r is not None else (1 - a) / b)


def _newton(pixels: Pixels, point: npt.NDArray[np.float64], ways: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The minimum of the loss on ``point + ways · φ``; damped as Levenberg and Marquardt do, so it never climbs."""
    for soft in SOFTNESS:
        loss, *rest = _hinge(pixels, point, soft)
        damping = 1e-6
        for _ in range(200):
            gradient = ways.T @ rest[:2]
            curvature = ways.T @ [[rest[2], rest[3]], [rest[3], rest[4]]] @ ways
            move = -np.linalg.solve(curvature + damping * np.eye(len(gradient)), gradient)
            new_loss, *new_rest = _hinge(pixels, point + ways @ move, soft)
            if new_loss > loss:
                damping *= 10
                if damping > 1e9:  # no direction leads down any more
                    break
                continue
            gain = loss - new_loss
            point, loss, rest, damping = point + ways @ move, new_loss, new_rest, max(damping / 10, 1e-9)
            if gain <= 1e-9 * abs(loss):
                break
        else:
            raise RunFailed("the fit of k and r did not settle in 200 steps")
    return point
