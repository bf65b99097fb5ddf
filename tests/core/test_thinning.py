"""Thinning: against scikit-image, and the kernel against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage
from skimage.morphology import thin

from sauvolanet.core import thinning_kernels
from sauvolanet.core.thinning import GUO_HALL, ZHANG_SUEN, skeleton, thin_numpy


def strokes(shape: tuple[int, int], seed: int, sigma: float = 2.0) -> np.ndarray:
    """Blobs and strokes like writing: smoothed noise, cut."""
    noise = ndimage.gaussian_filter(np.random.default_rng(seed).standard_normal(shape), sigma)
    return noise > np.quantile(noise, 0.85)


@pytest.mark.parametrize("seed", range(6))
def test_thinning_agrees_with_scikit_image_and_numpy(seed: int) -> None:
    ink = strokes((71, 96), seed, 1 + seed / 2)
    if seed == 0:
        ink = np.random.default_rng(0).random((71, 96)) < 0.6
    assert (skeleton(ink) == thin(ink)).all()
    assert (skeleton(ink) == thin_numpy(ink, GUO_HALL)).all()
    padded = np.pad(ink, 1).astype(np.uint8)
    thinning_kernels.thin(padded.reshape(-1), padded.shape[1], ZHANG_SUEN)
    assert (padded[1:-1, 1:-1] == thin_numpy(ink, ZHANG_SUEN)).all()
