"""Howe's method: ink by the sign of the Laplacian, smoothed by a minimal cut that may follow Canny's edges."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..options import Method, Option
from ..windows import Gray, Ink, Surface
from .edges import Gradient

COSTS = np.exp(np.linspace(np.log(20), np.log(5120), 33))  # candidates for c
EDGE_LIMITS = (0.25, 0.5)  # candidates for t_hi
EDGE_LOW = 0.1
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

    gray : (H, W) uint8, 0 black. Returns ink (bool, True = ink); there is no threshold surface. ``threads`` is
    accepted and not used.

    References: N. Howe, IJDAR 16(3), 2013, doi:10.1007/s10032-012-0192-x.
    **Deviations**: none meant; the author's program defines the Laplacian (divergence of forward differences), the
    Canny detector (Matlab's old one), and the last step (ink with paper above and left of it is dropped).
    """
    if min(gray.shape) < 4:
        return np.zeros(gray.shape, bool)
    page = gray.astype(np.float32)
    laplacian = _laplacian(page)
    gradient = Gradient(gray, sigma)
    limits = (EDGE_LIMITS[0], sum(EDGE_LIMITS) / 2, EDGE_LIMITS[1]) if edge is None else (edge,)
    results = []
    for limit in limits:
        links = _links(page, gradient.edges(min(EDGE_LOW, limit), limit))
        cuts = _cuts(laplacian, *links, COSTS if c is None else np.array([c]))
        results.append(cuts[_stable(cuts)] if c is None else cuts[0])
    if edge is not None:
        return results[0]
    low, middle, high = results
    return low if (low != middle).sum() < (high != middle).sum() else high


def _laplacian(page: Surface) -> Surface:
    """(H − 1, W − 1): divergence of the forward differences, with sure paper set far below zero."""
    dx = page[:-1, 1:] - page[:-1, :-1]
    dy = page[1:, :-1] - page[:-1, :-1]
    laplacian = np.gradient(dx, axis=1) + np.gradient(dy, axis=0)
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


def _cuts(laplacian: Surface, down: Ink, side: Ink, costs: npt.NDArray[np.float64]) -> list[Ink]:
    """The minimal cut for each cost of an unlike pair, as ink of the page's size (True = ink).

    Dividing the energy by the cost leaves the links at 1 and weakens the Laplacian, so one graph serves all costs:
    what a terminal loses is given to the other one, and the flow found so far stays.
    """
    import maxflow

    height, width = laplacian.shape
    graph: Any = maxflow.GraphFloat(laplacian.size, 2 * laplacian.size)
    nodes = graph.add_grid_nodes((height, width))
    weights = np.zeros((height, width), np.float64)
    weights[:-1] = down
    graph.add_grid_edges(nodes, weights, structure=[[0, 0, 0], [0, 0, 0], [0, 1, 0]], symmetric=True)
    weights[:] = 0
    weights[:, :-1] = side
    graph.add_grid_edges(nodes, weights, structure=[[0, 0, 0], [0, 0, 1], [0, 0, 0]], symmetric=True)
    before = 0.0
    results = []
    for cost in costs:
        # an unlike pair costs c, a wrong label 2·L (the author's weights are 1500 − L and 1500 + L)
        change = laplacian.astype(np.float64) * (2 / cost - before)
        before = 2 / cost
        graph.add_grid_tedges(nodes, np.maximum(-change, 0), np.maximum(change, 0))
        graph.maxflow()
        results.append(_finish(graph.get_grid_segments(nodes)))
    return results


def _finish(cut: Ink) -> Ink:
    """The cut on the page's own grid, without ink whose upper and left neighbours are both paper."""
    ink = np.pad(cut, ((0, 1), (0, 1)), "edge")
    above = np.concatenate([ink[:1], ink[:-1]])
    left = np.concatenate([ink[:, :1], ink[:, :-1]], axis=1)
    return ink & (above | left)


def _stable(cuts: list[Ink]) -> int:
    """The candidate in the deepest valley of the instability curve: largest d[i] + d[j] − 2·d[k] for i < k < j."""
    change = np.array([(a != b).mean() for a, b in pairwise(cuts)])
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
    extra="howe",
)
