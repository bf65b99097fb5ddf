"""The habit of a truth: how thick somebody drew the strokes, measured on the page."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Gray, Ink
from ..core.windows import mean_deviation, window_extreme

_INK_WINDOW, _PAPER_WINDOW = 5, 9  # pixels across, in which the gray of ink and of paper beside an edge is looked for
_CONTRAST = 12  # gray levels between the two, at least
_EDGES = 100  # pairs of pixels, at least


def habit_of(gray: Gray, truth: Ink) -> float | None:
    """Where between the ink's gray (0) and the paper's (1) the edges of the truth lie: the median over its edges.

    truth : (H, W) bool, True = ink. An edge lies between two neighbours, one of them ink; its gray is their mean. The
    ink's gray beside it is the darkest of the truth, the paper's the lightest mean of 3 × 3 pixels. None where too
    few edges, or too pale ones, tell it.
    """
    smooth = mean_deviation(gray, 3)[0].astype(np.uint8)
    paper = window_extreme(smooth, _PAPER_WINDOW, np.maximum)
    ink = window_extreme(np.where(truth, gray, np.uint8(255)), _INK_WINDOW, np.minimum)
    found = []
    for one, other in ((np.s_[1:], np.s_[:-1]), (np.s_[:, 1:], np.s_[:, :-1])):
        edge = truth[one] != truth[other]
        low = np.minimum(ink[one][edge], ink[other][edge]).astype(np.float32)
        high = np.maximum(paper[one][edge], paper[other][edge]).astype(np.float32)
        middle = (gray[one][edge].astype(np.float32) + gray[other][edge]) / 2
        clear = high - low >= _CONTRAST
        found.append((middle[clear] - low[clear]) / (high[clear] - low[clear]))
    levels = np.concatenate(found)
    return float(np.median(levels)) if len(levels) >= _EDGES else None
