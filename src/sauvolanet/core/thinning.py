"""Thinning: ink reduced to lines one pixel wide, by tables of the 256 neighbourhoods.

A table says for each neighbourhood (eight bits: east, then counterclockwise) whether the pixel in its middle goes.
`skeleton` is the one of the skeleton pseudo-F-measure; ZHANG_SUEN and LEE_CHEN make the skeleton of the DIBCO weights.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from .arrays import Ink, by_rows
from .kernels import native

Table = npt.NDArray[np.bool_]


def _table(rule: Callable[[list[int]], bool]) -> Table:
    return np.array([rule([code >> i & 1 for i in range(8)]) for code in range(256)])


def _branches(n: list[int]) -> int:
    """Pieces of ink around the pixel that are not connected without it (8-connected ink)."""
    return sum(not n[i] and (n[i + 1] or n[(i + 2) % 8]) for i in (0, 2, 4, 6))


def _guo_hall(n: list[int], first: bool) -> bool:
    pairs = [sum(n[i] | n[(i + shift) % 8] for i in (0, 2, 4, 6)) for shift in (1, 7)]
    east, northeast, north, southeast = (n[i] for i in (0, 1, 2, 7)) if first else (n[i] for i in (4, 5, 6, 3))
    side = bool((northeast or north or not southeast) and east)
    return _branches(n) == 1 and 2 <= min(pairs) <= 3 and not side


def _zhang_suen(n: list[int], first: bool) -> bool:
    east, north, west, south = n[0], n[2], n[4], n[6]
    rises = sum(not n[i] and n[(i + 1) % 8] for i in range(8))
    if first:
        side = (north and east and south) or (east and south and west)
    else:
        side = (north and east and west) or (north and south and west)
    return 2 <= sum(n) <= 6 and rises == 1 and not side


def _lee_chen(n: list[int]) -> bool:
    code = sum(bit << i for i, bit in enumerate(n))
    if code in (0b10000011, 0b00111000):  # a full east or west side: goes
        return True
    if code in (0b01000101, 0b01010100):  # a cross that lacks its west or east arm: stays
        return False
    return _branches(n) == 1 and sum(n) >= 2 and not (_zhang_suen(n, True) or _zhang_suen(n, False))


GUO_HALL = np.stack([_table(partial(_guo_hall, first=first)) for first in (True, False)])
ZHANG_SUEN = np.stack([_table(partial(_zhang_suen, first=first)) for first in (True, False)])
LEE_CHEN = _table(_lee_chen)


def skeleton(ink: Ink) -> Ink:
    """Lines of the ink, bool (H, W), True = ink: MATLAB's ``bwmorph(ink, 'thin', Inf)``.

    References: Z. Guo, R. W. Hall, Comm. ACM 32(3), 1989, doi:10.1145/62065.62074; L. Lam, S.-W. Lee, C. Y. Suen,
    IEEE Trans. PAMI 14(9), 1992, doi:10.1109/34.161346.

    >>> skeleton(np.ones((3, 5), bool)).astype(int).tolist()
    [[0, 0, 0, 0, 0], [0, 1, 1, 1, 0], [0, 0, 0, 0, 0]]
    """
    return thin(ink, GUO_HALL)


def thin(ink: Ink, tables: npt.NDArray[np.bool_]) -> Ink:
    """Ink thinned by the tables in turn, each deleting in parallel, until nothing changes; bool, True = ink."""
    kernels = native()
    if kernels is None:
        return thin_numpy(ink, tables)
    padded = np.pad(by_rows(ink), 1)
    kernels.thin(padded.view(np.uint8), tables)
    return padded[1:-1, 1:-1].copy()


def thin_in_order(ink: Ink, table: Table) -> Ink:
    """Ink thinned by one table in raster order, each deletion seen by the pixels after it, until nothing changes."""
    kernels = native()
    if kernels is None:
        return thin_in_order_numpy(ink, table)
    padded = np.pad(by_rows(ink), 1)
    kernels.thin_in_order(padded.view(np.uint8), table)
    return padded[1:-1, 1:-1].copy()


def _around(stride: int) -> tuple[int, ...]:
    """The eight neighbours of a pixel in a flat mask, in the order of their bits."""
    return (1, 1 - stride, -stride, -stride - 1, -1, stride - 1, stride, stride + 1)


def thin_numpy(ink: Ink, tables: npt.NDArray[np.bool_]) -> Ink:
    """What `thin` gives: the definition of the truth."""
    padded = np.pad(by_rows(ink), 1).astype(np.uint8)
    flat, around = padded.reshape(-1), _around(padded.shape[1])
    left = np.flatnonzero(flat)
    while True:
        before = len(left)
        for table in tables:
            code = sum(flat[left + step] << i for i, step in enumerate(around))
            gone = table[code]
            flat[left[gone]] = 0
            left = left[~gone]
        if len(left) == before:
            return padded[1:-1, 1:-1].astype(bool)


def thin_in_order_numpy(ink: Ink, table: Table) -> Ink:
    """What `thin_in_order` gives, in plain Python: the definition of the truth."""
    padded = np.pad(by_rows(ink), 1).astype(np.uint8)
    flat, around = padded.reshape(-1), _around(padded.shape[1])
    left = np.flatnonzero(flat).tolist()
    while True:
        stays = []
        for at in left:
            if table[sum(int(flat[at + step]) << i for i, step in enumerate(around))]:
                flat[at] = 0
            else:
                stays.append(at)
        if len(stays) == len(left):
            return padded[1:-1, 1:-1].astype(bool)
        left = stays
