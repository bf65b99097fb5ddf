"""Multi-scale Sauvola of Lazzara and Géraud: every object is cut at the scale where it has the right size."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..options import Method, Option
from ..windows import Gray, Surface, box_sum
from .components import runs_of
from .sauvola import R
from .shared import window_option

FIRST = 3  # side of the blocks of the first reduction; two more by 2 follow
SPREAD = 1.4  # by which the sizes of neighbouring scales overlap


def threshold_sauvola_ms(
    gray: Gray, *, window: int = 101, k: float = 0.34, r: float = 0.5, threads: int | None = 1
) -> Surface:
    """Sauvola's threshold of one of three scales, chosen per pixel by the size of the object it belongs to.

    The page is reduced by 3, 6 and 12; with w the window of the first reduction in its own pixels, each scale has the
    same w and so sees 1, 2 and 4 times as far. An object (4-connected ink of a scale) counts if it has the right
    number of pixels there: below ``3·w·1.4`` on the first, between ``w'/3/1.4`` and ``3·w'·1.4`` with w' = 2w on the
    second, above ``w''/3/1.4`` with w'' = 4w on the third. The coarsest scale goes first; pixels without an object
    take the scale of the nearest one. Statistics are those of the full page.

    gray : (H, W) uint8, 0 black. window : in pixels of the page. Returns a float32 surface on the 0–255 scale,
    constant on blocks; ink is ``gray < surface``. ``threads`` is accepted and not used.

    References: G. Lazzara, T. Géraud, IJDAR 17(2), 2014, doi:10.1007/s10032-013-0209-0; sizes as in their program.
    **Deviations**: windows are odd on every scale; thresholds are not rounded to whole gray levels.
    """
    size = max(window // FIRST, 3) | 1
    margin = [(0, -n % (4 * FIRST)) for n in gray.shape]
    blocks = np.pad(gray, margin, "symmetric" if min(gray.shape) >= 4 * FIRST else "edge").astype(np.int64)
    total, square = _reduce(blocks, FIRST), _reduce(blocks * blocks, FIRST)

    scale = np.zeros(total.shape, np.uint8)
    surfaces = []
    for step in (4, 2, 1):
        mean, deviation = _statistics(total, square, size * step | 1, step)
        surface = mean * (1 + k * (deviation / (255 * r) - 1))
        surfaces.append(surface.repeat(step, 0).repeat(step, 1))
        small = _reduce(total, step) / (FIRST * step) ** 2
        runs = runs_of(small < surface, diagonal=False)
        sizes, seen = runs.sizes(), size * step | (step > 1)
        right = np.ones(len(sizes), bool)
        right &= sizes > (seen / 3 / SPREAD if step > 1 else 2)
        if step < 4:
            right &= sizes < seen * 3 * SPREAD
        objects = runs.paint(right, small.shape).repeat(step, 0).repeat(step, 1)
        scale[objects & (scale == 0)] = step

    scale = nearest(scale)
    chosen = np.where(scale == 4, surfaces[0], np.where(scale == 2, surfaces[1], surfaces[2]))
    return chosen.repeat(FIRST, 0).repeat(FIRST, 1)[: gray.shape[0], : gray.shape[1]].astype(np.float32)


def _reduce(values: npt.NDArray[np.int64], step: int) -> npt.NDArray[np.int64]:
    """Sums of step × step blocks."""
    height, width = values.shape
    return values.reshape(height // step, step, width // step, step).sum((1, 3))


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
        window_option(101, "Side of the window of the finest scale, in pixels of the page."),
        Option("k", float, 0.34, 0, 5, help="How far the threshold falls below the mean where contrast is low."),
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
