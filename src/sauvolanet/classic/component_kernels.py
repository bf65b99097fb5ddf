"""Compiled union of runs into components; the truth is `components.link_numpy`."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def root(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit(nogil=True, cache=True)
def link(row, first, last, reach):
    """The component of each run, named by its first run; reach 1 joins diagonally, 0 does not."""
    parent = np.arange(len(row))
    above = 0  # first run of the row above that may still touch
    for i in range(len(row)):
        while above < i and (row[above] < row[i] - 1 or (row[above] == row[i] - 1 and last[above] + reach <= first[i])):
            above += 1
        j = above
        while j < i and row[j] == row[i] - 1 and first[j] < last[i] + reach:
            a, b = root(parent, i), root(parent, j)
            if a < b:
                parent[b] = a
            else:
                parent[a] = b
            j += 1
    for i in range(len(row)):
        parent[i] = root(parent, i)
    return parent
