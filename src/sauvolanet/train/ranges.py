"""A run's model in 8 bits, by the ranges that some of its training pages show."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np

from ..api import Binarizer
from ..core.arrays import Gray
from ..errors import InputError
from ..net.eight import fits
from ..net.model import Model
from ..net.quantise import quantised
from ..page.reading import Reading
from ..score.datasets import Page, read_image
from .composed import SET as COMPOSED
from .settings import Settings
from .split import split

# pages of each set, composed pages, and pixels along a side of their middle
_PAGES, _COMPOSED, _SIDE = 4, 60, 1200
MOST = 0.005  # share of a page's pixels whose ink rounding may change before single precision is advised


def in_eight_bits(model: Model, settings: Settings, data: Path, composed: Path) -> Model:
    """The model in 8 bits; as it is where its network cannot be, or where none of the pages is there any more.

    settings, data, composed : of the run that made it.
    """
    if not fits(model.architecture):
        return model
    training: list[Page] = []
    if data.name:
        with contextlib.suppress(InputError):
            training = split(settings, data, composed)[0]
    by_set: dict[str, list[Page]] = {}
    for page in training:
        if page.image.exists():
            by_set.setdefault(page.set, []).append(page)
    chosen = []
    for name, pages in by_set.items():
        most = _COMPOSED if name == COMPOSED else _PAGES
        chosen += pages[:: -(-len(pages) // most)]
    return quantised(model, (_as_read(page, settings.reading) for page in chosen)) if chosen else model


def told_of_rounding(single: Model, rounded: Model, gray: Gray) -> str:
    """What the rounding of a model to 8 bits does to the ink of a page, and what to do where that is much."""
    if rounded.about["bits"] == single.about["bits"]:
        return "not rounded"
    share = float((Binarizer(model=single)(gray) != Binarizer(model=rounded)(gray)).mean())
    told = f"rounding changes {share:.2%} of a page's pixels"
    return f"{told}, which is much: 'sauvolanet export --single' keeps single precision" if share > MOST else told


def _as_read(page: Page, reading: Reading | None) -> Gray:
    """The middle of a page as a network reads it."""
    gray = read_image(page.image)
    if reading is not None:
        gray = reading.paper_level(gray).even(gray)
    top, left = (max(n - _SIDE, 0) // 2 for n in gray.shape)
    return np.ascontiguousarray(gray[top : top + _SIDE, left : left + _SIDE])
