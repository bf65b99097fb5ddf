"""Small specks of ink are dropped: 8-connected components, labelled by runs, without a heavy library."""

from __future__ import annotations

import numpy as np

from .windows import Ink


def despeckle(ink: Ink, largest: int) -> Ink:
    """Ink without its 8-connected components of at most ``largest`` pixels; bool, True = ink.

    >>> import numpy as np
    >>> despeckle(np.array([[1, 0, 0, 1], [0, 0, 1, 1]], bool), 1).astype(int).tolist()
    [[0, 0, 0, 1], [0, 0, 1, 1]]
    """
    if largest <= 0 or not ink.any():
        return ink
    label, first, last, row = label_runs(ink)
    sizes = np.bincount(label, weights=last - first).astype(np.int64)
    small = sizes[label] <= largest
    # mark the small runs: +1 where one begins, −1 behind its end, then sum along the rows
    marks = np.zeros((ink.shape[0], ink.shape[1] + 1), np.int8)
    marks[row[small], first[small]] = 1
    marks[row[small], last[small]] -= 1
    return ink & ~marks.cumsum(1, dtype=np.int8)[:, :-1].astype(bool)


def label_runs(ink: Ink) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Component label, first and past-the-end column, and row of every horizontal run of ink."""
    padded = np.zeros((ink.shape[0], ink.shape[1] + 2), np.int8)
    padded[:, 1:-1] = ink
    step = np.diff(padded, axis=1)
    row, first = np.nonzero(step == 1)
    last = np.nonzero(step == -1)[1]
    # a run touches those runs of the row above that begin before its end + 1 and end after its begin − 1;
    # on one number line (row · stride + column) both limits are found by binary search
    stride = ink.shape[1] + 4
    above_low = np.searchsorted((row + 1) * stride + last, row * stride + first, side="left")
    above_high = np.searchsorted((row + 1) * stride + first, row * stride + last, side="right")
    count = np.maximum(above_high - above_low, 0)
    below = np.repeat(np.arange(len(row)), count)
    above = np.repeat(above_low, count) + np.arange(count.sum()) - np.repeat(count.cumsum() - count, count)
    return _components(len(row), below, above), first, last, row


def _components(count: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Component number of each node of a graph with edges a–b: labels sink to the smallest in a few sweeps."""
    parent = np.arange(count)
    while True:
        low = np.minimum(parent[a], parent[b])
        high = np.maximum(parent[a], parent[b])
        if (low == high).all():
            return parent
        np.minimum.at(parent, high, low)
        while True:
            jumped = parent[parent]
            if (jumped == parent).all():
                break
            parent = jumped
