"""ISauvola: those parts of Sauvola's ink that hold a pixel of high local contrast."""

from __future__ import annotations

from typing import cast

from ..core.arrays import Gray, Ink
from ..core.components import runs_of, touching
from ..options import Method, Option
from .sauvola import R, threshold_sauvola
from .shared import high_contrast, window_option


def ink_isauvola(
    gray: Gray,
    *,
    window: int = 15,
    k: float = 0.01,
    r: float = 0.5,
    opening: int = 50,
    threads: int | None = 1,
) -> Ink:
    """Sauvola's ink with a low k, of which only the 8-connected parts with a high-contrast pixel are kept.

    gray : (H, W) uint8, 0 black. High contrast is ``(max − min)/(max + min)`` over 3×3 pixels above its Otsu
    threshold; its 8-connected parts of fewer than ``opening`` pixels do not count. Returns ink (bool, True = ink);
    there is no threshold surface.

    References: Z. Hadjadj et al., ICIAR 2016, doi:10.1007/978-3-319-41501-7_82.
    **Deviations**: the size of the opening by area (Matlab's ``bwareaopen``), which was not at hand, was chosen on
    DIBCO 2009, 2010, 2012 and 2013. Doxa's defaults are ``window=75, k=0.2, opening=0``.
    """
    seeds = high_contrast(gray, threads)
    if opening > 1:
        parts = runs_of(seeds)
        seeds = parts.paint(parts.sizes() >= opening, gray.shape)
    ink = cast(Ink, threshold_sauvola(gray, window=window, k=k, r=r, threads=threads, ink=True))
    return touching(ink, seeds)


METHOD = Method(
    "isauvola",
    ink_isauvola,
    (
        window_option(15),
        Option("k", float, 0.01, 0, 5, help="Sauvola's k; low, because the contrast weeds out the noise."),
        R,
        Option("opening", int, 50, 0, 100_000, help="Parts of high contrast with fewer pixels than this do not count."),
    ),
    "Hadjadj et al. 2016 (ISauvola)",
    "10.1007/978-3-319-41501-7_82",
    surface=False,
    table1={
        "trainable": "no", "w": "fixed", "k": "fixed", "r": "fixed",
        "scales": "single", "preproc": "no", "postproc": "no",
    },
)  # fmt: skip
