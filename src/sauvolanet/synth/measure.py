"""The off-domain measure: a fixed set of pages, with kinds, fonts, hands and stains that no training page has."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..windows import Gray, Ink
from .kinds import MEASURE as KINDS_MEASURED
from .kinds import MEASURE_BLANK
from .pages import make_page
from .streams import MEASURE, stream

PER_KIND, BLANK_PAGES = 6, 4
HEIGHT, WIDTH = 800, 600

Named = tuple[str, Gray, Ink]


def measure_set(n_per_kind: int = PER_KIND, n_blank: int = BLANK_PAGES) -> list[Named]:
    """Name (``office-03``), gray and truth (bool, True = ink) of each page; a shorter set is part of a longer."""
    wanted = [(kind, i) for kind in KINDS_MEASURED for i in range(n_per_kind)]
    wanted += [(MEASURE_BLANK, i) for i in range(n_blank)]
    return [(f"{kind.name}-{i:02d}", *make_page(stream(MEASURE, *kind.name.encode(), i), kind, HEIGHT, WIDTH))
            for kind, i in wanted]  # fmt: skip


def off_domain_pages() -> list[Named]:
    """The fixed set that votes in training: 24 pages of four kinds, 4 blank ones, 600 × 800 pixels each."""
    return measure_set()


def measure(binarize: Callable[[Gray], Ink], pages: list[Named] | None = None) -> dict[str, float]:
    """Mean FM (percent) of each kind, their mean as ``mean``, and ``blank``: ink per million pixels of blank paper.

    binarize : gray uint8 to ink, bool, True = ink.
    """
    scores: dict[str, list[float]] = {}
    for name, gray, truth in pages if pages is not None else off_domain_pages():
        ink = binarize(gray)
        kind = name.rsplit("-", 1)[0]
        if kind == MEASURE_BLANK.name:
            score = 1e6 * float(ink.mean())
        else:
            both = np.count_nonzero(ink & truth)
            score = 200 * both / (np.count_nonzero(ink) + np.count_nonzero(truth))
        scores.setdefault(kind, []).append(score)
    means = {kind: float(np.mean(values)) for kind, values in scores.items()}
    blank = means.pop(MEASURE_BLANK.name, 0.0)
    return {**means, "mean": float(np.mean(list(means.values()))), "blank": blank}
