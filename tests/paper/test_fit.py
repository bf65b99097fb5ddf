"""k and r by Newton's method, against hand-worked sums, an exact linear program, and the printed values."""

import numpy as np
import pytest

from sauvolanet.core.kernels import native
from sauvolanet.paper.fit import ALPHA, SOFTNESS, Pixels, fit, hinge_numpy


def some_pixels(count: int = 400) -> Pixels:
    rng = np.random.default_rng(3)
    ink = rng.random(count) < 0.2
    mean = rng.uniform(0.4, 0.9, count)
    deviation = rng.uniform(0.01, 0.25, count) + 0.1 * ink
    gray = np.clip(np.where(ink, mean - 2 * deviation, mean + 0.3 * deviation) + rng.normal(0, 0.1, count), 0, 1)
    columns = (gray, mean, mean * deviation)
    return Pixels(*(c.astype(np.float32) for c in columns), ink, np.full(count, 1 / count, np.float32))


def test_loss_of_one_pixel_by_hand():
    # T = 0.5·0.8 + 1·0.04 = 0.44; paper at 0.48: 1 − 16·0.04 = 0.36, above the rounded corner
    one = Pixels(*(np.array([v], np.float32) for v in (0.48, 0.8, 0.04)), np.array([False]), np.ones(1, np.float32))
    loss, by_a, by_b, *second = hinge_numpy(one, 0.5, 1.0, 0.01)
    assert loss == pytest.approx(0.36 - 0.005, abs=1e-5)
    assert (by_a, by_b) == pytest.approx((16 * 0.8, 16 * 0.04))
    assert second == [0, 0, 0]


@pytest.mark.parametrize("soft", [1.0, 0.01])
def test_kernel_equals_numpy(soft, level):
    pixels = some_pixels()
    sums = np.empty(6)
    native().hinge(pixels.gray, pixels.mean, pixels.product, pixels.ink, pixels.weight, 0.75, 0.9, ALPHA, soft, sums)
    assert sums == pytest.approx(hinge_numpy(pixels, 0.75, 0.9, soft), rel=1e-5)


def exact_loss(pixels: Pixels) -> float:
    """The least hinge loss by linear programming: minimise Σ w·u with u ≥ 0 and u ≥ 1 − α(D − T)B."""
    from scipy.optimize import linprog

    side = np.where(pixels.ink, -ALPHA, ALPHA)
    count = len(side)
    rows = np.concatenate([np.stack([side * pixels.mean, side * pixels.product], 1), -np.eye(count)], 1)
    result = linprog(
        np.r_[0, 0, pixels.weight], rows, side * pixels.gray - 1, bounds=[(None, None)] * 2 + [(0, None)] * count
    )
    return float(result.fun)


def test_the_optimum_is_that_of_the_linear_program():
    pixels = some_pixels()
    k, r = fit(pixels)
    lack = 1 - np.where(pixels.ink, -ALPHA, ALPHA) * (pixels.gray - (1 - k) * pixels.mean - k / r * pixels.product)
    # rounding the corner over a width of s costs at most s/2
    assert 0 <= (np.maximum(lack, 0) * pixels.weight).sum() - exact_loss(pixels) + 1e-6 < SOFTNESS[-1] / 2


def test_with_one_held_at_its_optimum_the_other_goes_to_its_own():
    pixels = some_pixels()
    k, r = fit(pixels)
    assert fit(pixels, k=k)[1] == pytest.approx(r, rel=0.02)
    assert fit(pixels, r=r)[0] == pytest.approx(k, rel=0.02)
    assert fit(pixels, k=0.5, r=0.5) == (0.5, 0.5)


def test_numpy_serves_without_kernels(monkeypatch):
    pixels = some_pixels()
    expected = fit(pixels)
    monkeypatch.setenv("SAUVOLANET_NO_NATIVE", "1")
    assert fit(pixels) == pytest.approx(expected, rel=1e-3)
