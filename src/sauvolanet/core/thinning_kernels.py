"""Compiled loops of thinning; what the tables mean is in thinning.py.

Where numba is absent, or ``SAUVOLANET_NO_NUMBA`` is set, the same loops run as plain Python: slow, same results.
"""

from __future__ import annotations

import os

import numpy as np

try:
    if os.environ.get("SAUVOLANET_NO_NUMBA"):
        raise ImportError
    from numba import njit
except ImportError:

    def njit(**_):
        return lambda function: function


@njit(nogil=True, cache=True)
def neighbours(mask, at, stride):
    """The eight neighbours of one pixel of a padded, flat mask as bits, east first, then counterclockwise."""
    return (
        mask[at + 1]
        | mask[at - stride + 1] << 1
        | mask[at - stride] << 2
        | mask[at - stride - 1] << 3
        | mask[at - 1] << 4
        | mask[at + stride - 1] << 5
        | mask[at + stride] << 6
        | mask[at + stride + 1] << 7
    )


@njit(nogil=True, cache=True)
def thin(mask, stride, tables):
    """Thin a padded, flat uint8 mask in place: the tables in turn, each deleting in parallel, until nothing changes.

    Only a pixel beside a hole can go, and only by a table that has not seen its present neighbourhood: pixels wait in
    a list with the number of tables that still have to look at them.
    """
    waiting = np.zeros(mask.size, np.uint8)
    listed = np.empty(mask.size, np.int32)
    size = 0
    for at in range(stride, mask.size - stride):
        if mask[at] and neighbours(mask, at, stride) != 255:
            listed[size] = at
            size += 1
            waiting[at] = len(tables)
    around = (1, 1 - stride, -stride, -stride - 1, -1, stride - 1, stride, stride + 1)
    gone = np.empty(mask.size, np.int32)
    while size:
        for table in tables:
            deleted = 0
            kept = 0
            for i in range(size):
                at = listed[i]
                waiting[at] -= 1
                if table[neighbours(mask, at, stride)]:
                    waiting[at] = 0
                    gone[deleted] = at
                    deleted += 1
                elif waiting[at]:
                    listed[kept] = at
                    kept += 1
            size = kept
            for i in range(deleted):
                mask[gone[i]] = 0
            for i in range(deleted):
                for step in around:
                    at = gone[i] + step
                    if mask[at]:
                        if not waiting[at]:
                            listed[size] = at
                            size += 1
                        waiting[at] = len(tables)


@njit(nogil=True, cache=True)
def thin_in_order(mask, stride, table):
    """Delete by one table in raster order, each deletion seen by the pixels after it, until nothing changes."""
    ink = np.flatnonzero(mask)
    changed = True
    while changed:
        changed = False
        kept = 0
        for at in ink:
            if table[neighbours(mask, at, stride)]:
                mask[at] = 0
                changed = True
            else:
                ink[kept] = at
                kept += 1
        ink = ink[:kept]
