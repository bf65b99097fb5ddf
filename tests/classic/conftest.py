"""Pages for the classic methods: small real crops, and the peers' results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sauvolanet.core.arrays import Gray, Ink

CROPS = ("DIBCO2009/H01", "DIBCO2010/H03", "DIBCO2012/H05", "DIBCO2013/H03", "DIBCO2017/H04")


@pytest.fixture(scope="session")
def crops(data: Path) -> list[Gray]:
    """Upper left parts of five pages that no figure is tested on."""
    return [
        np.ascontiguousarray(Image.open(data / "documents" / f"{p}.webp").convert("L"))[:600, :800].copy()
        for p in CROPS
    ]


@pytest.fixture(scope="session")
def doxa() -> Callable[..., Ink]:
    """``doxa(name, gray, **parameters)``: ink (True = ink) by doxapy."""
    doxapy = pytest.importorskip("doxapy")

    def run(name: str, gray: Gray, **parameters: float) -> Ink:
        method = doxapy.Binarization(getattr(doxapy.Binarization.Algorithms, name))
        method.initialize(gray)
        out = np.empty_like(gray)
        method.to_binary(out, parameters)
        return out == 0

    return run


@pytest.fixture
def written() -> Gray:
    """A made page: dark strokes of three widths with soft edges on uneven paper with a little noise."""
    rng = np.random.default_rng(11)
    y, x = np.mgrid[:160, :200]
    dark = np.zeros((160, 200))
    for i, width in enumerate((3, 5, 8)):
        for j in range(6):
            left, top = 12 + 30 * j, 12 + 50 * i
            dark[top : top + 34, left : left + width] = 1
            dark[top + 10 : top + 10 + width, left : left + 20] = 1
    for axis in (0, 1, 0, 1):  # a scanner's blur
        dark = (np.roll(dark, 1, axis) + 2 * dark + np.roll(dark, -1, axis)) / 4
    page = 205 + 25 * np.sin(x / 90) + 10 * np.cos(y / 60) + rng.normal(0, 2, (160, 200)) - 140 * dark
    return np.clip(page, 0, 255).astype(np.uint8)


@pytest.fixture
def strokes(written: Gray) -> Ink:
    """The ink of the made page (True = ink)."""
    return written < 130
