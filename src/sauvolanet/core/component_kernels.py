"""Compiled union of runs into components, and flooding from seeds; the truth is in components.py."""

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


@njit(nogil=True, cache=True)
def flood(state, seeds, width, stack):
    """Raise ``state`` from 1 (inside the mask) to 2 on the 8-connected components that hold a seed.

    Both are flat, of rows of that width, with one pixel of padding; the stack has room for the whole mask.
    """
    around = np.array([-width - 1, -width, -width + 1, -1, 1, width - 1, width, width + 1])
    for start in range(state.shape[0]):
        if not seeds[start] or state[start] != 1:
            continue
        state[start] = 2
        stack[0] = start
        count = 1
        while count:
            count -= 1
            at = stack[count]
            for step in around:
                if state[at + step] == 1:
                    state[at + step] = 2
                    stack[count] = at + step
                    count += 1
