"""Synthetic pages with exact truth: for tests, for the example page and for training.

    drawing (fonts, pen) ─▶ coverage ─▶ truth
                               └─▶ paper, stains, show-through, light, optics, sensor ─▶ gray

A page is a pure function of its seed, kind and size, for one version of this package and of Pillow. The two
streams of seeds, pages for users and pages for training, never meet.
"""

from __future__ import annotations

import numpy as np

from ..core.arrays import Gray, Ink
from ..errors import UnknownName
from .kinds import EXAMPLE_KIND, KINDS, TRAINING, Kind
from .pages import make_page
from .streams import EXAMPLE, FREE, TRAIN, stream

__all__ = ["KINDS", "Kind", "example", "page", "training_page"]


def page(seed: int, *, kind: str | None = None, height: int = 512, width: int = 512) -> tuple[Gray, Ink]:
    """One synthetic page: gray (H, W) uint8, 0 black, and its truth (H, W) bool, True = ink.

    kind : a name of `KINDS`; without it the seed chooses one. The same arguments give the same page.

    >>> gray, truth = page(1, kind="print", height=64, width=96)
    >>> gray.shape, gray.dtype.name, truth.dtype.name
    ((64, 96), 'uint8', 'bool')
    """
    if kind is not None and kind not in KINDS:
        raise UnknownName("kind of page", kind, KINDS)
    name = kind or str(stream(FREE, seed).choice(list(KINDS)))
    return make_page(stream(FREE, seed, *name.encode()), KINDS[name], height, width)


def training_page(seed: int, *, height: int = 512, width: int = 512) -> tuple[Gray, Ink]:
    """A page for training, gray and truth (True = ink), without the kinds, fonts and stains that are held back (see
    docs/synthetic.md)."""
    rng = stream(TRAIN, seed)
    return make_page(rng, TRAINING[rng.integers(len(TRAINING))], height, width)


def example() -> Gray:
    """The page of the demonstration: an old letter with stains, show-through and uneven light, 1300 × 900, uint8."""
    return make_page(np.random.default_rng(EXAMPLE), EXAMPLE_KIND, 1300, 900)[0]
