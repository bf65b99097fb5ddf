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
def flood(mask, seeds, kept, stack):
    """Set ``kept`` on the 8-connected components of the mask that hold a seed; the stack has room for the mask."""
    height, width = mask.shape
    for row in range(height):
        for column in range(width):
            if not seeds[row, column] or not mask[row, column] or kept[row, column]:
                continue
            kept[row, column] = True
            stack[0] = row * width + column
            count = 1
            while count:
                count -= 1
                y, x = divmod(stack[count], width)
                for i in range(max(y - 1, 0), min(y + 2, height)):
                    for j in range(max(x - 1, 0), min(x + 2, width)):
                        if mask[i, j] and not kept[i, j]:
                            kept[i, j] = True
                            stack[count] = i * width + j
                            count += 1
