"""Multi-scale Sauvola of Lazzara and Géraud: every object is cut at the scale where it has the right size."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.arrays import Gray, Surface
from ..core.components import runs_of
from ..core.windows import box_sum
from ..options import Method, Option
from .sauvola import R
from .shared import window_option

FIRST = 3  # side of the blocks of the first reduction; two more by 2 follow
FULL = 0.7  # share of the window that the largest object of a scale may fill
OVERLAP = 0.8  # the smallest object of a scale is that much of the largest of the scale below


def threshold_sauvola_ms(
    gray: Gray,
    *,
    window: int = 101,
    k2: float = 0.2,
    k3: float = 0.3,
    k4: float = 0.5,
    r: float = 0.5,
    threads: int | None = 1,
) -> Surface:
    """Sauvola's threshold of one of three scales, chosen per pixel by the size of the object it belongs to.

    The page is reduced by 3, 6 and 12 (scales 2, 3 and 4, each with its own k). The finest scale looks at 3·window
    blocks of 3×3 pixels, the others 2 and 4 times as far, all at most as far as the page's smaller side.
    An object (8-connected ink of a scale) counts if it has the right number of pixels there: with
    ``a = 0.7·window²/9``, from 3 to a on the finest, from 0.8·a/4 to 4·a on the second, from 0.8·a on the coarsest.
    The coarsest goes first; pixels without an object take the scale of the nearest one. Statistics are those of the
    full page; thresholds are rounded.

    gray : (H, W) uint8, 0 black. Returns ``T + ½`` as a float32 surface on the 0–255 scale, constant on blocks; ink is
    ``gray < surface``, at or below T. ``threads`` is accepted and not used.

    References: G. Lazzara, T. Géraud, IJDAR 17(2), 2014, doi:10.1007/s10032-013-0209-0.
    **Deviations**: windows, sizes and rounding are those of the authors' program (Olena, 2013), whose finest window is
    nine times as wide as its name says; it gives the figures others have printed. Windows are odd and square. The
    program's earlier k of 0.34 on every scale loses faint ink.
    """
    margin = [(0, -n % (4 * FIRST)) for n in gray.shape]
    blocks = np.pad(gray, margin, "symmetric" if min(gray.shape) >= 4 * FIRST else "edge").astype(np.int64)
    total, square = _reduce(blocks, FIRST), _reduce(blocks * blocks, FIRST)

    most = FULL * (window * window // FIRST**2)
    sizes = {4: (OVERLAP * most, np.inf), 2: (OVERLAP * most / 4, 4 * most), 1: (2, most)}
    scale = np.zeros(total.shape, np.uint8)
    surfaces = {}
    for step, k in ((4, k4), (2, k3), (1, k2)):
        side = max(min(FIRST * window * step, min(total.shape) - 4), 3) - 1 | 1
        mean, deviation = _statistics(total, square, side, step)
        surface = np.rint(mean * (1 + k * (deviation / (255 * r) - 1)))
        surfaces[step] = surface.repeat(step, 0).repeat(step, 1)
        small = np.rint(_reduce(total, step) / (FIRST * step) ** 2)
        runs = runs_of(small < surface)
        size = runs.sizes()
        right = (size > sizes[step][0]) & (size < sizes[step][1])
        objects = runs.paint(right, small.shape).repeat(step, 0).repeat(step, 1)
        scale[objects & (scale == 0)] = step

    scale = nearest(scale)
    chosen = np.where(scale == 4, surfaces[4], np.where(scale == 2, surfaces[2], surfaces[1])) + 0.5
    return chosen.repeat(FIRST, 0).repeat(FIRST, 1)[: gray.shape[0], : gray.shape[1]].astype(np.float32)


def _reduce(values: npt.NDArray[np.int64], step: int) -> npt.NDArray[np.int64]:
    """Sums of step × step blocks."""
    height, width = values.shape
    sums: npt.NDArray[np.int64] = values.reshape(height // step, step, width // step, step).sum((1, 3))
    return sums


def _statistics(
    total: npt.NDArray[np.int64], square: npt.NDArray[np.int64], window: int, step: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Mean and unbiased deviation around the middle of every ``step``-th block, over the page's own pixels."""
    middle = slice(step // 2, None, step)
    sums, squares, count = (
        box_sum(values, window)[middle, middle] for values in (total, square, np.full_like(total, FIRST**2))
    )
    variance = np.maximum(squares - sums / count * sums, 0) / np.maximum(count - 1, 1)
    return sums / count, np.sqrt(variance)


def nearest(labels: Gray) -> Gray:
    """Every pixel's own label or, where that is 0, the nearest one by 8-connected steps; of two the smaller label."""
    far = np.int64(1) << 40
    key = np.where(labels > 0, labels.astype(np.int64), far)  # distance · 256 + label
    slope = 256 * np.arange(labels.shape[1])
    for rows in (range(len(key)), range(len(key) - 1, -1, -1)):
        before = np.full(labels.shape[1] + 2, far)
        for y in rows:
            line = np.minimum.reduce([key[y], before[:-2] + 256, before[1:-1] + 256, before[2:] + 256])
            line = np.minimum(line, np.minimum.accumulate(line - slope) + slope)
            line = np.minimum(line, np.minimum.accumulate((line + slope)[::-1])[::-1] - slope)
            key[y] = before[1:-1] = line
    return np.where(key < far, key % 256, 0).astype(np.uint8)


METHOD = Method(
    "sauvola-ms",
    threshold_sauvola_ms,
    (
        window_option(101, "The publication's window; the finest scale looks at three times as many blocks of 3×3."),
        Option("k2", float, 0.2, 0, 5, help="Sauvola's k on the finest scale, the page reduced by 3."),
        Option("k3", float, 0.3, 0, 5, help="Sauvola's k on the middle scale, the page reduced by 6."),
        Option("k4", float, 0.5, 0, 5, help="Sauvola's k on the coarsest scale, the page reduced by 12."),
        R,
    ),
    "Lazzara & Géraud 2014 (Sauvola MS)",
    "10.1007/s10032-013-0209-0",
    surface=True,
    table1={
        "trainable": "no", "w": "fixed", "k": "fixed", "r": "fixed",
        "scales": "multiple", "preproc": "yes", "postproc": "yes",
    },
)  # fmt: skip
