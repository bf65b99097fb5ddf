"""AdOtsu: Otsu's threshold in a window around each node of a grid, interpolated between the nodes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.arrays import Gray, Ink, Surface
from ..core.bands import run_bands
from ..core.windows import histogram
from ..options import Method, Option
from ..page.numbers import PageNumbers
from .shared import window_option


def threshold_adotsu(
    gray: Gray, *, window: int = 75, k: float = 1.0, r: float = 0.1, threads: int | None = 1, ink: bool = False
) -> Surface | Ink:
    """``T = k·T_window`` where that is within ``255·r`` of the page's Otsu threshold, else 0 (no ink there).

    T_window is Otsu's threshold of the window, taken on a grid of half windows and interpolated linearly between.

    gray : (H, W) uint8, 0 black. Returns a float32 surface on the 0–255 scale; ink is ``gray < surface`` (with
    ``ink=True`` that mask at once, bool, True = ink).

    References: R. Farrahi Moghaddam, M. Cheriet, Pattern Recognition 43(6), 2010, doi:10.1016/j.patcog.2009.12.024.
    **Deviations**: the step function compares gray levels, as in Doxa. The multi-scale frame of the same publication
    is the method ``sauvola-grid``.
    """
    ys, xs = _nodes(gray.shape[0], window // 2), _nodes(gray.shape[1], window // 2)
    half = window // 2
    across = np.arange(gray.shape[1])

    def node_row(y: int) -> Surface:
        strip = gray[max(y - half, 0) : y + half + 1]
        levels = [PageNumbers(histogram(strip[:, max(x - half, 0) : x + half + 1])).otsu() for x in xs]
        return np.interp(across, xs, np.multiply(levels, k)).astype(np.float32)

    lines = np.concatenate(run_bands(len(ys), threads, lambda a, b: np.stack([node_row(y) for y in ys[a:b]]), least=1))
    centre, limit = np.float32(PageNumbers.of(gray).otsu()), np.float32(255 * r)
    result = np.empty(gray.shape, bool if ink else np.float32)

    def band(first: int, last: int) -> None:
        for y in range(first, last):
            i = min(int(np.searchsorted(ys, y, "right")) - 1, max(len(ys) - 2, 0))
            j = min(i + 1, len(ys) - 1)
            part = np.float32((y - ys[i]) / max(ys[j] - ys[i], 1))
            line = lines[i] + part * (lines[j] - lines[i])
            line[np.abs(line - centre) >= limit] = 0
            result[y] = gray[y] < line if ink else line

    run_bands(gray.shape[0], threads, band)
    return result


def _nodes(length: int, step: int) -> npt.NDArray[np.int64]:
    return np.unique(np.append(np.arange(0, length, max(step, 1)), length - 1))


METHOD = Method(
    "adotsu",
    threshold_adotsu,
    (
        window_option(75),
        Option("k", float, 1.0, 0, 2, help="Factor of the local threshold."),
        Option("r", float, 0.1, 0, 1, help="How far it may lie from the page's own, on the 0-1 scale of gray/255."),
    ),
    "Farrahi Moghaddam & Cheriet 2010 (AdOtsu)",
    "10.1016/j.patcog.2009.12.024",
    surface=True,
    fused=True,
)
