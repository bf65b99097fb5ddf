"""The method of Bataineh, Abdullah and Omar: one threshold per block, blocks sized by the page."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..core.arrays import Gray, Ink, Surface
from ..core.bands import run_bands
from ..options import Method
from ..page.numbers import PageNumbers

Edges = npt.NDArray[np.int64]
Blocks = npt.NDArray[np.float64]


def threshold_bataineh(gray: Gray, *, threads: int | None = 1, ink: bool = False) -> Surface | Ink:
    """``T = m − m²·s / ((M + s)·(2a + s))`` per block; M is the page's mean, a the block's contrast among all blocks.

    ``a = (s − s_min)/(s_max − s_min)·max`` with the page's largest gray. Blocks are 1/6 × 1/4, 1/30 × 1/20 or
    1/40 × 1/30 of the page, by its contrast and the share of undecided pixels; where those outnumber the dark ones,
    a block is quartered.

    gray : (H, W) uint8, 0 black. Returns a float32 surface on the 0–255 scale; ink is ``gray < surface`` (with
    ``ink=True`` that mask at once, bool, True = ink).

    References: B. Bataineh, S. N. H. S. Abdullah, K. Omar, Pattern Recognition Letters 32(14), 2011,
    doi:10.1016/j.patrec.2011.08.001. **Deviations**: m²·s stands where m² − s is printed, s_max − s_min for
    s_max − s_max, and a counts twice: the authors' corrections as recorded by Doxa. Blocks have at least one pixel,
    and a last block of less than half the size is joined to its neighbour.
    """
    numbers = PageNumbers.of(gray)
    levels, share = np.arange(256), numbers.histogram / gray.size
    mean = float(share @ levels)
    sigma = float(np.sqrt(max(float(share @ levels**2) - mean**2, 0)))
    top = numbers.extremes()[1]
    middle = mean - mean**2 * sigma / max((mean + sigma) * (0.5 * top + sigma), 1e-9)
    dark, undecided = levels <= middle - sigma / 2, (levels > middle - sigma / 2) & (levels < middle + sigma / 2)
    black, red = int(numbers.histogram[dark].sum()), int(numbers.histogram[undecided].sum())

    height, width = gray.shape
    if black >= 2.5 * red or sigma < 0.1 * top:
        parts = 6, 4
    elif black > red or width + height < 400:
        parts = 30, 20
    else:
        parts = 40, 30
    xs, ys = _quarter_edges(width, parts[0]), _quarter_edges(height, parts[1])
    sums = _block_sums(gray, ys, xs, dark.astype(np.uint8), undecided.astype(np.uint8), threads)

    whole = [np.repeat(np.repeat(s.reshape(len(s) // 2, 2, -1, 2).sum((1, 3)), 2, 0), 2, 1) for s in sums]
    split = whole[4] > whole[3]
    count, total, square = (np.where(split, part, all_) for part, all_ in zip(sums[:3], whole[:3], strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        m = total / count
        s = np.sqrt(np.maximum(square / count - m * m, 0))
        spread = np.where(count > 0, s, np.nan)
        a = (s - np.nanmin(spread)) / (np.nanmax(spread) - np.nanmin(spread)) * top
        t = m - m * m * s / ((mean + s) * (2 * a + s))
    t = np.where(np.isfinite(t), t, 0).astype(np.float32)

    result = np.empty(gray.shape, bool if ink else np.float32)

    def band(first: int, last: int) -> None:
        for i in range(first, last):
            rows, line = slice(ys[i], ys[i + 1]), np.repeat(t[i], np.diff(xs))
            result[rows] = gray[rows] < line if ink else line

    run_bands(len(ys) - 1, threads, band, least=1)
    return result


def _quarter_edges(length: int, parts: int) -> Edges:
    """Edges of the half blocks along one axis: block k holds the halves 2k and 2k + 1."""
    size = max(length // parts, 1)
    edges = list(range(0, length, size))
    if length - edges[-1] < size // 2 and len(edges) > 1:
        edges.pop()
    edges.append(length)
    middles = [(a + b) // 2 for a, b in pairwise(edges)]
    return np.sort(np.array(edges + middles))


def _block_sums(gray: Gray, ys: Edges, xs: Edges, dark: Gray, undecided: Gray, threads: int | None) -> list[Blocks]:
    """Count, sum, sum of squares, dark and undecided pixels of each half block, exact."""
    result = np.zeros((5, len(ys) - 1, len(xs) - 1))
    result[0] = np.outer(np.diff(ys), np.diff(xs))

    def band(first: int, last: int) -> None:
        for i in range(first, last):
            rows = gray[ys[i] : ys[i + 1]]
            wide = rows.astype(np.uint32)
            for j, values in enumerate((wide, wide * wide, dark[rows], undecided[rows]), 1):
                running = np.concatenate(([0], values.sum(0, dtype=np.uint32).cumsum(dtype=np.int64)))
                result[j, i] = np.diff(running[xs])

    run_bands(len(ys) - 1, threads, band, least=1)
    return list(result)


METHOD = Method(
    "bataineh",
    threshold_bataineh,
    (),
    "Bataineh, Abdullah & Omar 2011",
    "10.1016/j.patrec.2011.08.001",
    surface=True,
    fused=True,
)
