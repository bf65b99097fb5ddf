"""ISauvola: those parts of Sauvola's ink that hold a pixel of high local contrast."""

from __future__ import annotations

import numpy as np

from ..options import Method, Option
from ..windows import Gray, Ink, window_extreme
from .components import touching
from .sauvola import R, threshold_sauvola
from .shared import high_contrast, window_option


def ink_isauvola(
    gray: Gray,
    *,
    window: int = 15,
    k: float = 0.01,
    r: float = 0.5,
    opening: bool = True,
    threads: int | None = 1,
) -> Ink:
    """Sauvola's ink with a low k, of which only the 8-connected parts with a high-contrast pixel are kept.

    gray : (H, W) uint8, 0 black. High contrast is ``(max − min)/(max + min)`` over 3×3 pixels above its Otsu
    threshold, opened by 3×3 pixels. Returns ink (bool, True = ink); there is no threshold surface.

    References: Z. Hadjadj et al., ICIAR 2016, doi:10.1007/978-3-319-41501-7_82.
    **Deviations**: none known; Doxa leaves the opening out (``opening=False``).
    """
    seeds = high_contrast(gray, threads)[0]
    if opening:
        shrunk = window_extreme(seeds.view(np.uint8), 3, np.minimum, threads)
        seeds = window_extreme(shrunk, 3, np.maximum, threads).view(bool)
    return touching(threshold_sauvola(gray, window=window, k=k, r=r, threads=threads, ink=True), seeds)


METHOD = Method(
    "isauvola",
    ink_isauvola,
    (
        window_option(15),
        Option("k", float, 0.01, 0, 5, help="Sauvola's k; low, because the contrast weeds out the noise."),
        R,
        Option("opening", bool, True, help="Whether lone pixels of high contrast are dropped first."),
    ),
    "Hadjadj et al. 2016 (ISauvola)",
    "10.1007/978-3-319-41501-7_82",
    surface=False,
    table1={
        "trainable": "no", "w": "fixed", "k": "fixed", "r": "fixed",
        "scales": "single", "preproc": "no", "postproc": "no",
    },
)  # fmt: skip
