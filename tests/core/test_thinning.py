"""Thinning: against scikit-image, and the kernel against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage
from skimage.morphology import thin

from sauvolanet.core import thinning
from sauvolanet.core.thinning import GUO_HALL, LEE_CHEN, ZHANG_SUEN, skeleton, thin_numpy


def strokes(shape: tuple[int, int], seed: int, sigma: float = 2.0) -> np.ndarray:
    """Blobs and strokes like writing: smoothed noise, cut."""
    noise = ndimage.gaussian_filter(np.random.default_rng(seed).standard_normal(shape), sigma)
    return noise > np.quantile(noise, 0.85)


@pytest.mark.parametrize("seed", range(6))
def test_thinning_agrees_with_scikit_image_and_numpy(seed: int, level: str) -> None:
    ink = strokes((71, 96), seed, 1 + seed / 2)
    if seed == 0:
        ink = np.random.default_rng(0).random((71, 96)) < 0.6
    assert (skeleton(ink) == thin(ink)).all()
    assert (skeleton(ink) == thin_numpy(ink, GUO_HALL)).all()
    lines = thinning.thin(ink, ZHANG_SUEN)
    assert (lines == thin_numpy(ink, ZHANG_SUEN)).all()
    assert (thinning.thin_in_order(lines, LEE_CHEN) == thinning.thin_in_order_numpy(lines, LEE_CHEN)).all()


@pytest.mark.parametrize("shape", [(1, 1), (1, 30), (30, 1), (2, 2), (40, 3)])
def test_small_and_turned_pages(shape: tuple[int, int], level: str) -> None:
    noise = np.random.default_rng(5).random(shape) < 0.7
    for ink in (noise, noise.T, noise[::-1, ::-1], np.ones(shape, bool), np.zeros(shape, bool)):
        assert (skeleton(ink) == thin_numpy(ink, GUO_HALL)).all()
        assert (thinning.thin_in_order(ink, LEE_CHEN) == thinning.thin_in_order_numpy(ink, LEE_CHEN)).all()
