"""Sauvola with the window of each pixel from the stroke width transform, by Kaur, Rani and Josan."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.arrays import Gray, Ink, Surface
from ..options import Method, Option
from .edges import Gradient
from .sauvola import K, R, threshold_sauvola
from .sauvola_ms import nearest
from .shared import odd

WIDEST = 50  # pixels; wider is no stroke


def threshold_sauvola_swt(
    gray: Gray, *, factor: float = 3.0, k: float = 0.2, r: float = 0.5, threads: int | None = 1
) -> Surface:
    """Sauvola's threshold in a window of ``factor`` times the stroke width at the pixel, made odd.

    The stroke width transform sends a ray from each Canny edge into the dark; where it meets an edge of opposite
    direction, the pixels on the ray get its length if they had none shorter, at most the median of their ray.
    Pixels on no stroke take the width of the nearest stroke.

    gray : (H, W) uint8, 0 black. Returns a float32 surface on the 0–255 scale; ink is ``gray < surface``.

    References: A. Kaur, U. Rani, G. S. Josan, Engineering Applications of AI 92, 2020,
    doi:10.1016/j.engappai.2020.103672; the transform: B. Epshtein, E. Ofek, Y. Wexler, CVPR 2010,
    doi:10.1109/CVPR.2010.5540041.
    **Deviations**: only the abstract of the publication was at hand: that every pixel's window follows the transform.
    The factor, Canny's limits (Matlab's own) and the filling between strokes are ours; there is no preprocessing.
    """
    widths = nearest(stroke_widths(gray, threads))
    surface = np.zeros(gray.shape, np.float32)
    for width in np.unique(widths):
        line = threshold_sauvola(gray, window=odd(factor * (int(width) or 5)), k=k, r=r, threads=threads)
        np.copyto(surface, line, where=widths == width)
    return surface


def stroke_widths(gray: Gray, threads: int | None = 1) -> Gray:
    """The stroke width transform: uint8, the width of the stroke at each pixel, 0 on none."""
    gradient = Gradient(gray, 1.0, threads)
    return rays(gradient.automatic(), -gradient.gx, -gradient.gy)


def rays(edges: Ink, dx: Surface, dy: Surface) -> Gray:
    """Widths of the strokes that rays along (dx, dy) cross from edge to edge (True)."""
    y0, x0 = np.nonzero(edges)
    length: Surface = np.maximum(np.hypot(dx[y0, x0], dy[y0, x0]), np.float32(1e-30))
    ux, uy = dx[y0, x0] / length, dy[y0, x0] / length
    unit_x, unit_y = np.zeros(edges.shape, np.float32), np.zeros(edges.shape, np.float32)
    unit_x[y0, x0], unit_y[y0, x0] = ux, uy
    reached = np.zeros(len(x0), np.int64)  # steps to the opposite edge
    alive = np.arange(len(x0))
    for step in range(1, WIDEST + 1):
        y, x = _at(y0, x0, ux, uy, alive, step)
        inside = (y >= 0) & (y < edges.shape[0]) & (x >= 0) & (x < edges.shape[1])
        alive, y, x = alive[inside], y[inside], x[inside]
        stop = edges[y, x] & ((y != y0[alive]) | (x != x0[alive]))
        facing = ux[alive] * unit_x[y, x] + uy[alive] * unit_y[y, x] < -np.cos(np.pi / 6)
        reached[alive[stop & facing]] = step
        alive = alive[~stop]
    whole = np.flatnonzero(reached)
    widths = np.full(edges.shape, 255, np.uint8)
    for limit in (reached, None):
        if limit is None:  # second pass: at corners long rays cross, the median of a ray is nearer the truth
            limit = np.zeros_like(reached)
            limit[whole] = _medians(widths, y0, x0, ux, uy, reached, whole)
        for step in range(int(reached.max(initial=0)) + 1):
            there = whole[reached[whole] >= step]
            np.minimum.at(widths, _at(y0, x0, ux, uy, there, step), limit[there].astype(np.uint8))
    widths[widths == 255] = 0
    return widths


def _at(
    y0: npt.NDArray[np.int64],
    x0: npt.NDArray[np.int64],
    ux: Surface,
    uy: Surface,
    which: npt.NDArray[np.int64],
    step: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    y = y0[which] + np.rint(uy[which] * step).astype(np.int64)
    return y, x0[which] + np.rint(ux[which] * step).astype(np.int64)


def _medians(
    widths: Gray,
    y0: npt.NDArray[np.int64],
    x0: npt.NDArray[np.int64],
    ux: Surface,
    uy: Surface,
    reached: npt.NDArray[np.int64],
    whole: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """The lower median of the widths along each whole ray."""
    values = np.full((len(whole), int(reached.max(initial=0)) + 1), 255, np.uint8)
    for step in range(values.shape[1]):
        on = reached[whole] >= step
        values[on, step] = widths[_at(y0, x0, ux, uy, whole[on], step)]
    values.sort(axis=1)
    return values[np.arange(len(whole)), reached[whole] // 2].astype(np.int64)


METHOD = Method(
    "sauvola-swt",
    threshold_sauvola_swt,
    (Option("factor", float, 3.0, 1, 50, help="Side of the window in stroke widths."), K, R),
    "Kaur, Rani & Josan 2020 (Sauvola, stroke width transform)",
    "10.1016/j.engappai.2020.103672",
    surface=True,
    table1={
        "trainable": "no", "w": "auto", "k": "fixed", "r": "fixed",
        "scales": "multiple", "preproc": "no", "postproc": "yes",
    },
)  # fmt: skip
