"""How good is a binarization: pure functions of two masks, prediction and truth, bool (H, W), True = ink.

Rates are in percent (fm, precision, recall, pfm, pfm_weighted, accuracy); psnr is in decibels; drd, nrm, mpm and mcc
are plain numbers. Every function has a result for a blank page:

==============================  ======================================  ================================
both blank, or both equal       one of the two blank                    otherwise
==============================  ======================================  ================================
fm, precision, recall, pfm,     0 (0 / 0 counts as 0)                   the formula
pfm_weighted, accuracy 100      accuracy: the formula
psnr None (infinite)            the formula                             the formula
drd, nrm, mpm 0; mcc 1          nrm, drd: the formula, 0 / 0 counts     the formula; drd counts at least
                                as 0; mcc 0; mpm None for blank truth   one non-uniform block
==============================  ======================================  ================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import Ink, by_rows
from ..core.kernels import native
from ..core.thinning import skeleton
from ..errors import UnknownName, UsageError
from . import loops
from . import weights as metric_weights

Weights = tuple[npt.NDArray[np.floating[Any]], npt.NDArray[np.floating[Any]]]
"""Recall and precision weights of a truth, each (H, W), as in the DIBCO tool's two .dat files."""

BLOCK = 8  # side of the blocks that drd counts
_OFFSETS = [(dy, dx) for dy in range(-2, 3) for dx in range(-2, 3) if (dy, dx) != (0, 0)]
_RECIPROCALS = np.array([1 / math.hypot(dy, dx) for dy, dx in _OFFSETS])
_RECIPROCALS /= _RECIPROCALS.sum()


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _counts(prediction: Ink, truth: Ink) -> tuple[int, int, int, int]:
    """True positives, false positives, false negatives, true negatives; ink is positive."""
    both = int(np.count_nonzero(prediction & truth))
    found = int(np.count_nonzero(prediction))
    there = int(np.count_nonzero(truth))
    return both, found - both, there - both, truth.size - found - there + both


def _harmonic(precision: float, recall: float) -> float:
    return _ratio(2 * precision * recall, precision + recall)


def precision(prediction: Ink, truth: Ink) -> float:
    """Share of the predicted ink that is ink in the truth, percent."""
    tp, fp, fn, _ = _counts(prediction, truth)
    return 100 * _ratio(tp, tp + fp) if fp or fn else 100.0


def recall(prediction: Ink, truth: Ink) -> float:
    """Share of the truth's ink that was predicted, percent."""
    tp, fp, fn, _ = _counts(prediction, truth)
    return 100 * _ratio(tp, tp + fn) if fp or fn else 100.0


def fm(prediction: Ink, truth: Ink) -> float:
    """F-measure, percent: the harmonic mean of precision and recall.

    >>> fm(np.array([[True, True, False]]), np.array([[True, False, False]]))
    66.66666666666667
    """
    tp, fp, fn, _ = _counts(prediction, truth)
    return 200 * tp / (2 * tp + fp + fn) if fp or fn else 100.0


def pfm(prediction: Ink, truth: Ink) -> float:
    """Pseudo-F-measure by skeleton, percent: precision, and recall over the skeleton of the truth's ink.

    The definition of H-DIBCO 2010 and 2012, and the one the SauvolaNet paper prints. The skeleton is that of
    `sauvolanet.core.thinning.skeleton` (MATLAB's ``bwmorph(…, 'thin', Inf)``).
    """
    tp, fp, fn, _ = _counts(prediction, truth)
    if not (fp or fn):
        return 100.0
    line = skeleton(truth)
    found = _ratio(int(np.count_nonzero(prediction & line)), int(np.count_nonzero(line)))
    return 100 * _harmonic(_ratio(tp, tp + fp), found)


def pfm_weighted(prediction: Ink, truth: Ink, weights: Weights | None = None) -> float:
    """Pseudo-F-measure by weights, percent (DIBCO since 2013): see `pseudo_rates`.

    weights : the truth's recall and precision weights; without them they are generated, see
        `sauvolanet.score.weights.generate`.
    """
    return _harmonic(*pseudo_rates(prediction, truth, weights))


def pseudo_rates(prediction: Ink, truth: Ink, weights: Weights | None = None) -> tuple[float, float]:
    """Pseudo-precision and pseudo-recall in percent.

    Recall weights make a broken stroke cost the same whatever its width; precision weights make false ink cost more
    where it joins letters, and less where it only thickens a stroke.
    Σ(R·prediction) / ΣR over the truth's ink, and Σ over true ink / Σ over predicted ink of (1 + P).

    References: K. Ntirogiannis, B. Gatos, I. Pratikakis, IEEE Trans. Image Processing 22(2), 2013,
    doi:10.1109/TIP.2012.2219550.
    """
    if not (prediction ^ truth).any():
        return 100.0, 100.0
    for_recall, for_precision = metric_weights.generate(truth) if weights is None else weights
    if for_recall.shape != truth.shape or for_precision.shape != truth.shape:
        raise UsageError(f"weights of shape {for_recall.shape} do not fit a truth of shape {truth.shape}")
    # weights may be nonzero on the other side of the contour: each counts only where its sum is defined
    found = float(for_recall[prediction & truth].sum(dtype=np.float64))
    there = float(for_recall[truth].sum(dtype=np.float64))
    right = float((1.0 + for_precision[prediction & truth]).sum(dtype=np.float64))
    wrong = float((1.0 + for_precision[prediction & ~truth]).sum(dtype=np.float64))
    return 100 * _ratio(right, right + wrong), 100 * _ratio(found, there)


def psnr(prediction: Ink, truth: Ink) -> float | None:
    """Peak signal-to-noise ratio in dB: 10·log10(pixels / wrong pixels); None (infinite) without a wrong pixel."""
    wrong = int(np.count_nonzero(prediction ^ truth))
    return 10 * math.log10(truth.size / wrong) if wrong else None


def drd(prediction: Ink, truth: Ink) -> float:
    """Distance reciprocal distortion: how visible the wrong pixels are, per non-uniform block of the truth.

    Each wrong pixel adds the weights (1 / distance, 5×5, sum 1) of those neighbours in the truth that differ from
    its predicted value; the total is divided by the number of 8×8 blocks of the truth that hold both ink and paper.
    Neighbours outside the page do not count; blocks begin at the upper left corner, incomplete ones are left out.

    References: H. Lu, A. C. Kot, Y. Q. Shi, IEEE Signal Processing Letters 11(2), 2004, doi:10.1109/LSP.2003.821748.
    """
    y, x = np.nonzero(prediction ^ truth)
    if not len(y):
        return 0.0
    padded = np.full((truth.shape[0] + 4, truth.shape[1] + 4), 2, np.uint8)
    padded[2:-2, 2:-2] = truth
    # the predicted value is the opposite of the truth's; a neighbour that equals the truth's centre differs from it
    flat = padded.reshape(-1)
    at = (y + 2) * padded.shape[1] + x + 2
    centre = flat[at]
    total = 0.0
    for (dy, dx), weight in zip(_OFFSETS, _RECIPROCALS, strict=True):
        total += weight * np.count_nonzero(flat[at + (dy * padded.shape[1] + dx)] == centre)
    return float(total / max(_mixed_blocks(truth), 1))


def _mixed_blocks(truth: Ink) -> int:
    rows, columns = truth.shape[0] // BLOCK, truth.shape[1] // BLOCK
    blocks = truth[: rows * BLOCK, : columns * BLOCK].reshape(rows, BLOCK, columns, BLOCK)
    ink = blocks.sum(1, dtype=np.uint8).sum(2, dtype=np.uint8)
    return int(np.count_nonzero((ink > 0) & (ink < BLOCK * BLOCK)))


def nrm(prediction: Ink, truth: Ink) -> float:
    """Negative rate metric, 0 … 1: the mean of the rates of missed ink and of false ink."""
    tp, fp, fn, tn = _counts(prediction, truth)
    return (_ratio(fn, fn + tp) + _ratio(fp, fp + tn)) / 2


def mpm(prediction: Ink, truth: Ink) -> float | None:
    """Misclassification penalty: wrong pixels cost their distance to the truth's contour.

    Half of (Σ distance of the wrong pixels) / (Σ distance of all pixels), Euclidean distance to the nearest ink pixel
    of the truth that has paper or the page's edge beside it. DIBCO prints it times 1000. None where the truth is
    blank and the prediction is not: without a contour there is no distance.

    References: D. P. Young, J. M. Ferryman, PETS metrics, VS-PETS 2005; as used by DIBCO 2009.
    """
    wrong = prediction ^ truth
    if not wrong.any():
        return 0.0
    if not truth.any():
        return None
    sums = np.zeros(2)
    (native() or loops).distance_sums(metric_weights.contour(by_rows(truth)), by_rows(wrong), sums)
    everywhere, there = sums.tolist()
    return _ratio(there, everywhere) / 2


def accuracy(prediction: Ink, truth: Ink) -> float:
    """Share of the pixels that are right, percent."""
    return 100 * (1 - int(np.count_nonzero(prediction ^ truth)) / truth.size)


def mcc(prediction: Ink, truth: Ink) -> float:
    """Matthews correlation coefficient, −1 … 1; 0 where one mask is all one value and the other is not."""
    tp, fp, fn, tn = _counts(prediction, truth)
    if not (fp or fn):
        return 1.0
    # integers of any size in Python: the product of the four sums does not overflow
    return _ratio(tp * tn - fp * fn, math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))


METRICS: dict[str, Callable[..., float | None]] = {
    f.__name__: f for f in (fm, precision, recall, pfm, pfm_weighted, psnr, drd, nrm, mpm, accuracy, mcc)
}


def score(
    prediction: Ink, truth: Ink, *, weights: Weights | None = None, metrics: Iterable[str] | None = None
) -> dict[str, float | None]:
    """The named metrics (all of them without names) of a prediction against the truth; masks bool, True = ink.

    weights : the truth's recall and precision weights for pfm_weighted, generated where not given.

    >>> score(np.array([[True, False]]), np.array([[True, True]]), metrics=["fm", "recall"])
    {'fm': 66.66666666666667, 'recall': 50.0}
    """
    for name, mask in (("prediction", prediction), ("truth", truth)):
        if mask.dtype != np.bool_ or mask.ndim != 2 or not mask.size:
            raise UsageError(f"the {name} must be a mask, bool (H, W), not {mask.dtype} {mask.shape}")
    if prediction.shape != truth.shape:
        raise UsageError(f"the prediction is {_size(prediction)} pixels and the truth {_size(truth)}")
    names = list(METRICS if metrics is None else metrics)
    for name in names:
        if name not in METRICS:
            raise UnknownName("metric", name, METRICS)
    return {
        name: pfm_weighted(prediction, truth, weights) if name == "pfm_weighted" else METRICS[name](prediction, truth)
        for name in names
    }


def _size(mask: Ink) -> str:
    return f"{mask.shape[1]}×{mask.shape[0]}"
