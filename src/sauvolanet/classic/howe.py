"""Howe's method: ink by the sign of the Laplacian, smoothed by a minimal cut that may follow Canny's edges."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import Gray, Ink, Surface
from ..core.bands import run_bands
from ..core.kernels import native
from ..errors import MissingExtra
from ..options import Method, Option
from .edges import Gradient

COSTS = np.exp(np.linspace(np.log(20), np.log(5120), 33))  # candidates for c
EDGE_LIMITS = (0.25, 0.5)  # candidates for t_hi
EDGE_LOW = 0.1
UNIT = 1 << 16  # a link in whole numbers
SINK = 2  # the kernel's mark of the ink side
BRIGHT = -500.0  # the Laplacian of pixels that are surely paper


def ink_howe(
    gray: Gray,
    *,
    c: float | None = None,
    edge: float | None = None,
    sigma: float = 0.6,
    threads: int | None = 1,
) -> Ink:
    """The labelling B that is cheapest under ``Σ B·(−L) + c · (neighbours labelled differently without an edge)``.

    L is the Laplacian of the gray (positive in dark strokes), −500 for pixels brighter than twice the local deviation
    above the local mean (a bell of σ = 20). Edges are Canny's between the limits 0.1 and ``edge``.

    Both parameters are chosen per page if not given (Algorithm 3 of the publication): for each edge limit c is the
    middle of the widest valley of the instability curve over 33 costs from 20 to 5120; of the limits 0.25 and 0.5 that
    one serves whose result is nearer to the result at 0.375.

    gray : (H, W) uint8, 0 black. Returns ink (bool, True = ink); there is no threshold surface. Threads work
    on different edge limits.

    References: N. Howe, IJDAR 16(3), 2013, doi:10.1007/s10032-012-0192-x.
    **Deviations**: none meant; the author's program defines the Laplacian (divergence of forward differences), the
    Canny detector (Matlab's old one), and the last step (ink with paper above and left of it is dropped).
    """
    if min(gray.shape) < 4:
        return np.zeros(gray.shape, bool)
    page = gray.astype(np.float32)
    laplacian = _laplacian(page)
    gradient = Gradient(gray, sigma, threads)
    limits = (EDGE_LIMITS[0], sum(EDGE_LIMITS) / 2, EDGE_LIMITS[1]) if edge is None else (edge,)

    def result(i: int) -> Ink:
        links = _links(page, gradient.edges(min(EDGE_LOW, limits[i]), limits[i]))
        if c is not None:
            return _finish(next(cheapest_cuts(laplacian, *links, np.array([c]))))
        # from the dearest down, because terminals that only grow disturb the flow less
        packed = [np.packbits(_finish(cut)) for cut in cheapest_cuts(laplacian, *links, COSTS[::-1])][::-1]
        return np.unpackbits(packed[most_stable(packed)], count=gray.size).reshape(gray.shape).view(bool)

    results: list[Ink] = [
        r for band in run_bands(len(limits), threads, lambda a, b: [result(i) for i in range(a, b)], 1) for r in band
    ]
    if edge is not None:
        return results[0]
    low, middle, high = results
    return low if (low != middle).sum() < (high != middle).sum() else high


def _laplacian(page: Surface) -> Surface:
    """(H − 1, W − 1): divergence of the forward differences, with sure paper set far below zero."""
    dx = page[:-1, 1:] - page[:-1, :-1]
    dy = page[1:, :-1] - page[:-1, :-1]
    laplacian: Surface = np.gradient(dx, axis=1) + np.gradient(dy, axis=0)
    above = page - _blur(page, 20)
    rms = np.sqrt(np.maximum(_blur(above * above, 20), 0))
    laplacian[(above > 2 * rms + 1e-6)[:-1, :-1]] = BRIGHT
    return laplacian


def _blur(values: Surface, sigma: int) -> Surface:
    """A bell cut at 3 sigma, the page mirrored at its edges; by FFT along each axis."""
    reach = 3 * sigma
    bell = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    bell /= bell.sum()
    for axis in (0, 1):
        margin = [(0, 0), (0, 0)]
        margin[axis] = (reach, reach)
        padded = np.pad(values, margin, "symmetric")
        length = padded.shape[axis]
        kernel = np.fft.rfft(bell, length).reshape((-1, 1) if axis == 0 else (1, -1))
        smooth = np.fft.irfft(np.fft.rfft(padded, axis=axis) * kernel, length, axis=axis)
        values = np.take(smooth, np.arange(2 * reach, length), axis=axis).astype(np.float32)
    return values


def _links(page: Surface, edges: Ink) -> tuple[Ink, Ink]:
    """Whether neighbours, one below the other and side by side, are linked: no edge runs on the darker side."""
    dx = page[:-1, 1:] - page[:-1, :-1]
    dy = page[1:, :-1] - page[:-1, :-1]
    here = edges[:-1, :-1]
    down = ~((here & (dy > 0)) | (edges[1:, :-1] & (dy <= 0)))
    side = ~((here & (dx > 0)) | (edges[:-1, 1:] & (dx <= 0)))
    return down[:-1], side[:, :-1]


def cheapest_cuts(laplacian: Surface, down: Ink, side: Ink, costs: npt.NDArray[np.float64]) -> Iterator[Ink]:
    """The minimal cut for each cost of an unlike pair: ink on the grid of the Laplacian (True = ink).

    Dividing the energy by the cost leaves the links at 1 and weakens the Laplacian, so one graph serves all costs:
    what a terminal loses is given to the other one, and the flow found so far stays. Whole numbers keep it exact.
    """
    kernels = native()
    if kernels is None:
        yield from cuts_maxflow(laplacian, down, side, costs)
        return
    height, width = laplacian.shape[0] + 2, laplacian.shape[1] + 2
    capacity = np.zeros((height, width, 4), np.int32)
    capacity[1:-2, 1:-1, 2] = capacity[2:-1, 1:-1, 3] = down * np.int32(UNIT)
    capacity[1:-1, 1:-2, 0] = capacity[1:-1, 2:-1, 1] = side * np.int32(UNIT)
    terminals = np.zeros((height, width), np.int32)
    before = np.zeros(laplacian.shape, np.int32)
    tree = np.empty((height, width), np.uint8)
    for cost in costs:
        weights = _weights(laplacian, cost)
        terminals[1:-1, 1:-1] -= weights - before
        before = weights
        kernels.cut(terminals, capacity, tree)
        yield tree[1:-1, 1:-1] == SINK


def _weights(laplacian: Surface, cost: float) -> npt.NDArray[np.int32]:
    """What the wrong label costs: 2·L beside ``cost`` for an unlike pair (the author's weights are 1500 ± L)."""
    weights: npt.NDArray[np.int32] = np.rint(laplacian * (2 * UNIT / cost)).astype(np.int32)
    return weights


def cuts_maxflow(laplacian: Surface, down: Ink, side: Ink, costs: npt.NDArray[np.float64]) -> Iterator[Ink]:
    """The same by PyMaxflow: the definition of the truth, and what serves without the compiled core."""
    try:
        import maxflow
    except ImportError:
        raise MissingExtra("howe", "method howe without the compiled core") from None

    for cost in costs:
        graph: Any = maxflow.GraphInt(laplacian.size, 2 * laplacian.size)
        nodes = graph.add_grid_nodes(laplacian.shape)
        below, beside = np.zeros(laplacian.shape, np.int64), np.zeros(laplacian.shape, np.int64)
        below[:-1], beside[:, :-1] = down * UNIT, side * UNIT
        graph.add_grid_edges(nodes, below, structure=[[0, 0, 0], [0, 0, 0], [0, 1, 0]], symmetric=True)
        graph.add_grid_edges(nodes, beside, structure=[[0, 0, 0], [0, 0, 1], [0, 0, 0]], symmetric=True)
        weights = _weights(laplacian, cost).astype(np.int64)
        graph.add_grid_tedges(nodes, np.maximum(-weights, 0), np.maximum(weights, 0))
        graph.maxflow()
        yield graph.get_grid_segments(nodes)


def _finish(cut: Ink) -> Ink:
    """The cut on the page's own grid, without ink whose upper and left neighbours are both paper."""
    ink = np.pad(cut, ((0, 1), (0, 1)), "edge")
    above = np.concatenate([ink[:1], ink[:-1]])
    left = np.concatenate([ink[:, :1], ink[:, :-1]], axis=1)
    ink &= above | left
    return ink


def most_stable(cuts: list[Gray]) -> int:
    """The one of the results (packed bits) in the deepest valley of the instability curve d.

    That is the largest ``d[i] + d[j] − 2·d[k]`` for i < k < j.
    """
    change = np.array([np.bitwise_count(a ^ b).sum() for a, b in pairwise(cuts)], float)
    bell = np.exp(-0.5 * np.arange(-2.5, 3) ** 2)
    curve = np.convolve(change, bell / bell.sum())[2:-2]  # between the differences lie the candidates
    left = np.maximum.accumulate(curve)
    right = np.maximum.accumulate(curve[::-1])[::-1]
    return 1 + int(np.argmax(left[:-2] + right[2:] - 2 * curve[1:-1]))


METHOD = Method(
    "howe",
    ink_howe,
    (
        Option("c", float, None, 1, 100_000, help="Cost of unlike neighbours; chosen per page if not given."),
        Option("edge", float, None, 0.01, 1, help="Upper limit of Canny's edges; chosen per page if not given."),
        Option("sigma", float, 0.6, 0.1, 10, help="Smoothing in front of Canny's edges, in pixels."),
    ),
    "Howe 2013",
    "10.1007/s10032-012-0192-x",
    surface=False,
)
