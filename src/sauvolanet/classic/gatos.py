"""The method of Gatos, Pratikakis and Perantonis: distance from an estimated background."""

from __future__ import annotations

from typing import cast

import numpy as np

from ..core.arrays import Gray, Ink, Surface
from ..core.bands import run_bands
from ..core.windows import mean_deviation
from ..options import Method, Option
from .sauvola import K, R, threshold_sauvola
from .shared import window_option


def ink_gatos(
    gray: Gray,
    *,
    window: int = 61,
    k: float = 0.2,
    r: float = 0.5,
    glyph: int = 60,
    q: float = 0.6,
    p1: float = 0.5,
    p2: float = 0.8,
    threads: int | None = 1,
) -> Ink:
    """Ink is where the page I lies more than ``d(B)`` below its background B.

    ``d(B) = q·δ·((1 − p2) / (1 + exp(−4B/(b·(1 − p1)) + 2(1 + p1)/(1 − p1))) + p2)``: δ is the mean of B − I over the
    rough ink, b the mean of B elsewhere. I is the page after a 3×3 Wiener filter, the rough ink is Sauvola's, and B
    is I, under rough ink the mean of the other pixels within ``2·glyph + 1``.

    gray : (H, W) uint8, 0 black. Returns ink (bool, True = ink); the filter leaves no threshold for the page itself.

    References: B. Gatos, I. Pratikakis, S. J. Perantonis, Pattern Recognition 39(3), 2006,
    doi:10.1016/j.patcog.2005.09.010. **Deviations**: upsampling (which changes the page's size) and the shrink and
    swell filters are left out, as in Doxa. Doxa 0.9.2 reads the rough mask where the formula wants B, so that its
    ``d`` is 0.48·δ everywhere under rough ink (``q=0.48, p2=1`` gives its results).
    """
    page = _wiener(gray, threads)
    rough = cast(Ink, threshold_sauvola(page, window=window, k=k, r=r, threads=threads, ink=True))
    if not rough.any() or rough.all():
        return rough
    background = _background(page, rough, 2 * glyph + 1, threads)
    gap = background - page
    delta = gap.sum(dtype=np.float64) / rough.sum()
    level = background[~rough].mean(dtype=np.float64)
    slope, start = np.float32(-4 / (level * (1 - p1))), np.float32(2 * (1 + p1) / (1 - p1))
    fade, least = np.float32(q * delta * (1 - p2)), np.float32(q * delta * p2)
    ink = np.empty(gray.shape, bool)

    def band(a: int, b: int) -> None:
        np.greater(gap[a:b], fade / (1 + np.exp(background[a:b] * slope + start)) + least, out=ink[a:b])

    run_bands(gray.shape[0], threads, band)
    return ink


def _wiener(gray: Gray, threads: int | None) -> Gray:
    """The 3×3 Wiener filter; the noise is the mean of the local variances."""
    mean, variance = mean_deviation(gray, 3, threads)
    variance *= variance
    noise = np.float32(variance.sum(1, dtype=np.float64).sum() / gray.size)
    result = np.empty_like(gray)

    def band(a: int, b: int) -> None:
        v = variance[a:b]
        keep = np.maximum(v - noise, 0) / np.maximum(v, np.float32(1e-6))
        result[a:b] = mean[a:b] + keep * (gray[a:b] - mean[a:b])

    run_bands(gray.shape[0], threads, band)
    return result


def _background(page: Gray, rough: Ink, window: int, threads: int | None) -> Surface:
    paper = ~rough
    total = mean_deviation(np.where(paper, page, np.uint8(0)), window, threads)[0]
    share = mean_deviation(paper.view(np.uint8), window, threads)[0]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(rough & (share > 0), total / share, page).astype(np.float32)


METHOD = Method(
    "gatos",
    ink_gatos,
    (
        window_option(61),
        K,
        R,
        Option("glyph", int, 60, 1, 10_000, help="Size of a character in pixels; the background looks twice as far."),
        Option("q", float, 0.6, 0, 5, help="Share of the mean distance between ink and background that makes ink."),
        Option("p1", float, 0.5, 0, 0.99, help="Where dark background begins, as a share of the mean background."),
        Option("p2", float, 0.8, 0, 1, help="How much of the distance remains on dark background."),
    ),
    "Gatos, Pratikakis & Perantonis 2006",
    "10.1016/j.patcog.2005.09.010",
    surface=False,
)
