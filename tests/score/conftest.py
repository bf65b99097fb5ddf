"""Ink like writing, and the pair and weights that the DIBCO tool came with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage


def strokes(shape: tuple[int, int], seed: int, sigma: float = 2.0) -> np.ndarray:
    """Blobs and strokes like writing: smoothed noise, cut."""
    noise = ndimage.gaussian_filter(np.random.default_rng(seed).standard_normal(shape), sigma)
    return noise > np.quantile(noise, 0.85)


@pytest.fixture(scope="module")
def reference(data: Path) -> Path:
    folder = data.parent / "reference" / "weighted-pfm"
    if not folder.is_dir():
        pytest.skip("no data: the weighted pseudo-F-measure reference is not there")
    return folder


def read_pbm(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path).convert("L")) < 128


@pytest.fixture(scope="module")
def pair(reference: Path) -> tuple[np.ndarray, np.ndarray]:
    return read_pbm(reference / "Sauvola.pbm"), read_pbm(reference / "GroundTruth.pbm")
