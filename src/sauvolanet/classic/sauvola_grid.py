"""Multi-grid Sauvola of Farrahi Moghaddam and Cheriet: fine windows add to the ink that coarse ones found."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Gray, Ink
from ..core.windows import window_extreme
from ..options import Method, Option
from .edges import stroke_width
from .sauvola import threshold_sauvola
from .shared import high_contrast, odd, window_option
from .wolf import largest_deviation

SCALES = 4  # each half as wide as the one before


def ink_sauvola_grid(gray: Gray, *, window: int | None = None, k: float = 0.2, threads: int | None = 1) -> Ink:
    """Sauvola's ink in four windows, each half as wide as the one before.

    The first result stands. What a finer window finds is added where the window before had ink within a quarter of
    its side, so weak strokes are completed and noise far from ink stays out. R is the largest deviation of the scale;
    the finest window, if not given by the coarsest, is twice the stroke width.

    gray : (H, W) uint8, 0 black. window : the coarsest. Returns ink (bool, True = ink); there is no threshold surface.

    References: R. Farrahi Moghaddam, M. Cheriet, Pattern Recognition 43(6), 2010, doi:10.1016/j.patcog.2009.12.024.
    **Deviations**: thresholds are computed at every pixel, where the publication interpolates a grid; the stroke
    width is Su's estimate; its pre- and post-processing (background removal, bleed-through) are left out.
    """
    first = window or odd(2 ** (SCALES - 1) * 2 * stroke_width(high_contrast(gray, threads)))
    result = near = np.zeros(gray.shape, bool)
    for i in range(SCALES):
        side = odd(first / 2**i)
        largest = largest_deviation(gray, side, threads)
        if not largest:
            break
        found = threshold_sauvola(gray, window=side, k=k, r=largest / 255, threads=threads, ink=True)
        result = result | (found & near) if i else found
        near = window_extreme(found.view(np.uint8), odd(side / 4), np.maximum, threads).view(bool)
    return result


METHOD = Method(
    "sauvola-grid",
    ink_sauvola_grid,
    (
        window_option(None, "Side of the coarsest window in pixels; sixteen stroke widths if not given."),
        Option("k", float, 0.2, 0, 5, help="Sauvola's k, the same in every window."),
    ),
    "Farrahi Moghaddam & Cheriet 2010 (multi-grid Sauvola)",
    "10.1016/j.patcog.2009.12.024",
    surface=False,
    table1={
        "trainable": "no", "w": "auto", "k": "user specified", "r": "auto",
        "scales": "multiple", "preproc": "no", "postproc": "no",
    },
)  # fmt: skip
