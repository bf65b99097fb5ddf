"""The method of Su, Lu and Tan: a threshold from the stroke edges nearby."""

from __future__ import annotations

import numpy as np

from ..options import Method, Option
from ..page import PageNumbers
from ..windows import Gray, Ink, mean_deviation, window_extreme
from .edges import Gradient, stroke_width
from .shared import odd, window_option


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
    **Deviations**: Canny's limits, not printed, are Matlab's own. Doxa's method of the same name is the authors' of
    2010 (no α, no Canny, no cleaning) and in version 0.9.2 loses D.
    """
    low = window_extreme(gray, 3, np.minimum, threads)
    high = window_extreme(gray, 3, np.maximum, threads)
    alpha = np.float32(min(float(gray.std()) / 128, 1) ** gamma)
    gap = (high - low).astype(np.float32)
    ratio = gap * np.float32(255) / (high.astype(np.float32) + low + np.float32(1e-4))
    contrast = (alpha * ratio + (1 - alpha) * gap).astype(np.uint8)
    edges = (contrast >= max(PageNumbers.of(contrast).otsu(), 1)) & Gradient(gray, 1.0, threads).automatic()
    if not edges.any():
        return edges
    width = stroke_width(gray, edges)
    size = window or odd(2 * width)
    mean, deviation = mean_deviation(np.where(edges, gray, np.uint8(0)), size, threads)
    share = mean_deviation(edges.view(np.uint8), size, threads)[0]
    enough = share * np.float32(size * size) > (width if least is None else least) - 0.5
    share = np.maximum(share, np.float32(1e-9))
    centre = mean / share
    spread = np.sqrt(np.maximum((deviation * deviation + mean * mean) / share - centre * centre, 0))
    return _clean(enough & (gray <= centre + spread / 2), gray, edges)


def _clean(ink: Ink, gray: Gray, edges: Ink) -> Ink:
    edges = edges & (_neighbours(edges) > 0)
    for turned in (False, True):  # pairs left and right, then above and below
        if turned:
            ink, gray, edges = ink.T, gray.T, edges.T
        fixed = ink.copy()
        alike = edges[:, 1:-1] & (ink[:, :-2] == ink[:, 2:])
        darker = gray[:, :-2] < gray[:, 2:]
        lighter = gray[:, :-2] > gray[:, 2:]
        fixed[:, :-2][alike & darker] = True
        fixed[:, 2:][alike & darker] = False
        fixed[:, :-2][alike & lighter] = False
        fixed[:, 2:][alike & lighter] = True
        ink = fixed
    ink = ink.T
    around = _neighbours(ink)
    return np.ascontiguousarray((ink & (around > 0)) | (around == 8))


def _neighbours(mask: Ink) -> Gray:
    """The number of the eight neighbours that are True."""
    p = np.pad(mask, 1).view(np.uint8)
    rows = p[:-2] + p[1:-1] + p[2:]
    return rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:] - p[1:-1, 1:-1]


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
