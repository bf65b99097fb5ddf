"""The method of Su, Lu and Tan: a threshold from the stroke edges nearby."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Gray, Ink, by_rows
from ..core.bands import run_bands
from ..core.kernels import native
from ..core.windows import box_sum
from ..options import Method, Option
from ..page.numbers import PageNumbers
from .edges import Gradient, stroke_width
from .shared import above_otsu, local_contrast, odd, window_option


def ink_su(
    gray: Gray,
    *,
    window: int | None = None,
    least: int | None = None,
    gamma: float = 1.0,
    threads: int | None = 1,
) -> Ink:
    """Ink is ``gray ≤ E + D/2`` where at least ``least`` edge pixels lie in the window; E, D: their mean and deviation.

    Edge pixels are Canny's edges with a local contrast above its Otsu threshold. The contrast is
    ``α·(max − min)/(max + min) + (1 − α)·(max − min)`` over 3×3 pixels on the 0–1 scale, ``α = (s/128)^γ`` with the
    page's deviation s. The window is twice the stroke width w, ``least`` is w.

    gray : (H, W) uint8, 0 black. Returns ink (bool, True = ink) after the publication's cleaning: where both
    neighbours of an edge pixel have one label, the darker becomes ink and the lighter paper; lone pixels go.

    References: B. Su, S. Lu, C. L. Tan, IEEE Trans. Image Processing 22(4), 2013, doi:10.1109/TIP.2012.2231089.
    **Deviations**: Canny's limits, not printed, are Matlab's own, which find edges on any page: coarse paper under
    faint print floods with ink. The stroke width is the distance between the two sides of a stroke, where Algorithm 1
    by its letter measures from stroke to stroke. Doxa's method of the same name is the authors' of 2010 (no α, no
    Canny, no cleaning) with a fixed window of 9 and 9 pixels at least, and in version 0.9.2 loses D.
    """
    alpha = min(_deviation(PageNumbers.of(gray)) / 128, 1) ** gamma
    edges = above_otsu(local_contrast(gray, threads, alpha)) & Gradient(gray, 1.0, threads).automatic()
    if not edges.any():
        return edges
    width = stroke_width(edges)
    size, count = window or odd(2 * width), width if least is None else least
    kernels = native()
    if kernels is None:
        return clean_numpy(below_edges_numpy(gray, edges, size, count), gray, edges)
    gray = by_rows(gray)
    ink, other = np.empty(gray.shape, bool), np.empty(gray.shape, bool)
    run_bands(gray.shape[0], threads, lambda a, b: kernels.below_edges(gray, edges, size, count, a, b, ink))
    kernels.settle(gray, edges, ink, 0, 1, other)
    kernels.settle(gray, edges, other, 1, 0, ink)
    kernels.drop_lone(ink, other)
    return other


def _deviation(numbers: PageNumbers) -> float:
    """The deviation of the page's gray levels."""
    levels = np.arange(256)
    mean = np.average(levels, weights=numbers.histogram)
    return float(np.sqrt(np.average((levels - mean) ** 2, weights=numbers.histogram)))


def below_edges_numpy(gray: Gray, edges: Ink, window: int, least: int) -> Ink:
    """Ink (True): gray ≤ mean + deviation/2 of the window's edge pixels (True), of which there are at least ``least``.

    Written with whole numbers: ``4·(n·gray − s)² ≤ n·q − s²`` for n pixels with the sum s and the sum of squares q.
    """
    value = np.where(edges, gray, 0).astype(np.int64)
    n, s, q = (box_sum(v, window).astype(np.float64) for v in (edges.astype(np.int64), value, value * value))
    above = gray * n - s
    ink: Ink = (n >= least) & ((above <= 0) | (4 * above * above <= q * n - s * s))
    return ink


def clean_numpy(ink: Ink, gray: Gray, edges: Ink) -> Ink:
    """Ink (True) after the publication's cleaning along the edges (True)."""
    ink = ink.copy()
    joined = np.nonzero(edges & (_neighbours(edges) > 0))
    for axis in (1, 0):  # pairs left and right, then above and below
        inside = (joined[axis] > 0) & (joined[axis] < gray.shape[axis] - 1)
        before, after = np.stack(joined)[:, inside], np.stack(joined)[:, inside]
        before[axis] -= 1
        after[axis] += 1
        step = gray[*after].astype(np.int16) - gray[*before]
        alike = ink[*before] == ink[*after]
        for rising in (True, False):
            chosen = alike & (step > 0 if rising else step < 0)
            ink[*before[:, chosen]] = rising
            ink[*after[:, chosen]] = not rising
    around = _neighbours(ink)
    ink = (ink & (around > 0)) | (around == 8)
    return ink


def _neighbours(mask: Ink) -> Gray:
    """The number of the eight neighbours that are True."""
    p = np.pad(mask, 1).view(np.uint8)
    rows = p[:-2] + p[1:-1] + p[2:]
    count: Gray = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:] - p[1:-1, 1:-1]
    return count


METHOD = Method(
    "su",
    ink_su,
    (
        window_option(None, "Side of the square window in pixels; twice the stroke width if not given."),
        Option("least", int, None, 1, 10_000, help="Edge pixels in a window with ink; the stroke width if not given."),
        Option("gamma", float, 1.0, 0, 10, help="How fast a page of low contrast turns from ratios to differences."),
    ),
    "Su, Lu & Tan 2012",
    "10.1109/TIP.2012.2231089",
    surface=False,
)  # fmt: skip
