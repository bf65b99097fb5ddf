"""The weights of the weighted pseudo-F-measure, generated from the truth or read from the DIBCO tool's files.

Recall weights live on the truth's ink: the distance to the stroke's contour over a normalisation, so that a cross
section of any stroke weighs the same. Precision weights live on the paper around the ink: the distance to the contour
over the stroke width, or over half the gap where two letters might be joined.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import Ink, by_rows
from ..core.components import runs_of
from ..core.kernels import native
from ..core.thinning import LEE_CHEN, ZHANG_SUEN, thin, thin_in_order
from ..errors import BadData
from . import loops

Map = npt.NDArray[np.float32]
Components = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]


def contour(ink: Ink) -> Ink:
    """Ink pixels with paper or the page's edge above, below, left or right; bool, True = on the contour."""
    padded = np.pad(ink, 1)
    return ink & ~(padded[:-2, 1:-1] & padded[2:, 1:-1] & padded[1:-1, :-2] & padded[1:-1, 2:])


def generate(truth: Ink) -> tuple[Map, Map]:
    """Recall and precision weights of a truth (bool, True = ink), each float32 (H, W).

    References: Ntirogiannis, Gatos and Pratikakis 2013, doi:10.1109/TIP.2012.2219550, as the DIBCO tool
    ``BinEvalWeights`` computes them; its skeleton is that of H.-J. Lee and B. Chen, Pattern Recognition 25(5), 1992.
    **Deviations**: none known from the tool's files where distances stay below 250 pixels; beyond, the tool's
    eight-bit maps overflow and the weight here is 0.
    """
    if not truth.any():
        return np.zeros(truth.shape, np.float32), np.zeros(truth.shape, np.float32)
    kernels, truth, shape = native() or loops, by_rows(truth), truth.shape
    from_edge, factor, labels = np.empty(shape, np.uint8), np.empty(shape, np.uint8), np.empty(shape, np.int32)
    scale = np.empty(shape, np.int32)
    with ThreadPoolExecutor(1) as pool:  # the paper's lines take as long as all that concerns the ink
        later = pool.submit(_paper_lines, truth)
        edge = contour(truth)
        kernels.chessboard(edge, from_edge)
        ink = _components(truth)
        lines = _lines(truth, ink)
        deep = np.where(truth, np.minimum(from_edge, loops.OUT), 0).astype(np.uint8)
        deep[edge & lines] = 1
        kernels.medial(deep, lines, lines & ~edge, *ink, factor, scale)
        recall = np.zeros(shape, np.float32)
        np.divide(deep, scale, out=recall, where=scale > 0, dtype=np.float32)
        widths = np.empty(len(ink[2]), np.int32)
        kernels.stroke_widths(factor, lines, *ink[:2], widths)
        paper, lines = later.result()
    reached = _reached(shape, ink[2], 2 * widths)
    away = np.where(truth, 0, np.where(reached, np.minimum(from_edge, loops.OUT), loops.OUT)).astype(np.uint8)
    kernels.medial(away, lines, lines, *paper, factor, scale)
    gap = np.floor(np.sqrt(scale, dtype=np.float32) + 0.5).astype(np.int32)
    kernels.label_image(*ink[:2], labels)
    labels[~edge] = -1
    kernels.precision_scale(away, gap, from_edge, labels, widths, *paper, scale)
    precision = np.zeros(shape, np.float32)
    np.divide(away, scale, out=precision, where=scale > 0, dtype=np.float32)
    return recall, np.minimum(precision, 2)


def _paper_lines(truth: Ink) -> tuple[Components, Ink]:
    """The components of the paper and its skeleton, which does not run along the page's edge."""
    paper = _components(~truth)
    inner = ~truth
    inner[[0, -1]] = inner[:, [0, -1]] = False
    return paper, _lines(inner, paper)


def _lines(mask: Ink, components: Components) -> Ink:
    """The skeleton: Zhang–Suen, then Lee–Chen's tidying; a component that vanished gets its centroid."""
    lines = thin_in_order(thin(mask, ZHANG_SUEN), LEE_CHEN)
    (native() or loops).seed_components(lines, *components[:2])
    return lines


def _components(mask: Ink) -> Components:
    """8-connected components in raster order of their first pixel.

    Returns their horizontal runs (row, first column, past the last), component by component, each in raster order;
    where each component begins among them (and the end); and their boxes (top, bottom, left, right, inclusive).
    """
    row, first, last, label = runs_of(mask)
    by_component = np.argsort(label, kind="stable")
    row, first, last = row[by_component], first[by_component], last[by_component]
    starts = np.flatnonzero(np.diff(label[by_component], prepend=-1))
    boxes = (row[starts], np.maximum.reduceat(row, starts), np.minimum.reduceat(first, starts),
             np.maximum.reduceat(last, starts) - 1)  # fmt: skip
    return np.stack([row, first, last], axis=1), np.append(starts, len(row)), np.stack(boxes, axis=1)


def _reached(shape: tuple[int, ...], boxes: np.ndarray, margin: np.ndarray) -> Ink:
    """Pixels inside any of the boxes, each widened by its margin; bool, True = inside."""
    height, width = shape
    top, left = np.maximum(boxes[:, 0] - margin, 0), np.maximum(boxes[:, 2] - margin, 0)
    bottom, right = np.minimum(boxes[:, 1] + margin + 1, height), np.minimum(boxes[:, 3] + margin + 1, width)
    corners = np.zeros((height + 1, width + 1), np.int32)
    for y, x, sign in ((top, left, 1), (bottom, right, 1), (top, right, -1), (bottom, left, -1)):
        np.add.at(corners, (y, x), sign)
    for axis in (0, 1):
        np.cumsum(corners, axis, out=corners)
    return corners[:-1, :-1] > 0


def read(path: Path, shape: tuple[int, int]) -> Map:
    """A weight map from a DIBCO ``.dat`` file: H·W numbers as text, row by row."""
    try:
        text = path.read_text("ascii").replace(",", ".")  # the tool writes the system's decimal sign
        values = np.array(text.split(), np.float32)
    except OSError as problem:
        raise BadData(f"{path}: cannot be read: {problem.strerror}") from None
    except ValueError:
        raise BadData(f"{path}: not a DIBCO weight file, it must hold numbers only") from None
    if values.size != shape[0] * shape[1]:
        raise BadData(f"{path}: holds {values.size} weights, the truth has {shape[0] * shape[1]} pixels")
    return values.reshape(shape)
