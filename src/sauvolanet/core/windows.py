"""Mean and deviation of gray in a square window: the numpy truth, and the way to the compiled kernels beside it.

Only pixels inside the page count. Sums are integer sums of the uint8 gray, so they are exact and do not depend on
where a band of rows begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from .arrays import Array, Gray, Ink, Surface, Values, by_rows
from .bands import run_bands
from .kernels import native

Formula = Callable[[slice, Surface, Surface], Surface]

BLOCK = 16  # rows whose means and deviations fit the cache


def histogram(gray: Gray, threads: int | None = 1) -> npt.NDArray[np.int64]:
    """How often each of the 256 gray levels occurs."""
    kernels = native()
    if kernels is None:
        return np.bincount(gray.reshape(-1), minlength=256).astype(np.int64)
    gray = by_rows(gray)

    def band(first: int, last: int) -> npt.NDArray[np.int64]:
        counts = np.zeros(256, np.int64)
        kernels.histogram(gray[first:last], counts)
        return counts

    return sum(run_bands(len(gray), threads, band), np.zeros(256, np.int64))


def box_sum(values: npt.NDArray[np.int64], window: int) -> npt.NDArray[np.int64]:
    """Sum over the window around each pixel, cut at the border; exact for integers."""
    half = window // 2
    table = np.zeros((values.shape[0] + 1, values.shape[1] + 1), np.int64)
    table[1:, 1:] = values.cumsum(0).cumsum(1)
    top, bottom = _edges(values.shape[0], half)
    left, right = _edges(values.shape[1], half)
    rows: npt.NDArray[np.int64] = table[bottom] - table[top]
    return rows[:, right] - rows[:, left]


def _edges(length: int, half: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    at = np.arange(length)
    return np.maximum(at - half, 0), np.minimum(at + half + 1, length)


def window_sums(gray: Gray, window: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Sum, sum of squares and number of the pixels of each window, exact integers (the numpy truth)."""
    half = window // 2
    wide = gray.astype(np.int64)
    top, bottom = _edges(gray.shape[0], half)
    left, right = _edges(gray.shape[1], half)
    count = (bottom - top)[:, None] * (right - left)[None, :]
    return box_sum(wide, window), box_sum(wide * wide, window), count


def mean_deviation_numpy(gray: Gray, window: int) -> tuple[Surface, Surface]:
    """Mean and deviation of each window, float32 on the scale of the gray: the definition of the truth.

    Sum and sum of squares are first taken about the gray c next to the mean, exactly: e = Σ (v − c), s = Σ (v − c)².
    Then ``mean = c + e/n`` and ``variance = s/n − (e/n)²`` in float32: no difference of large numbers, and zero on a
    constant page with any window.
    """
    total, squares, count = window_sums(gray, window)
    inverse = np.float32(1) / count.astype(np.float32)
    near = np.rint(total.astype(np.float32) * inverse).astype(np.int64)
    rest = total - count * near
    about = squares - near * (total + rest)
    part = rest.astype(np.float32) * inverse
    variance = about.astype(np.float32) * inverse - part * part
    return near.astype(np.float32) + part, np.sqrt(np.maximum(variance, np.float32(0)))


def mean_deviation(gray: Gray, window: int, threads: int | None = 1) -> tuple[Surface, Surface]:
    """Mean and deviation of each window as float32, on the scale of the gray.

    gray : (H, W) uint8. window : odd side in pixels; it may be larger than the page.

    >>> import numpy as np
    >>> mean, deviation = mean_deviation(np.array([[0, 0, 6]], np.uint8), 3)
    >>> mean.tolist(), deviation.tolist()
    ([[0.0, 2.0, 3.0]], [[0.0, 2.8284270763397217, 3.0]])
    """
    if native() is None:
        return mean_deviation_numpy(gray, window)
    mean, deviation = np.empty(gray.shape, np.float32), np.empty(gray.shape, np.float32)
    run_bands(gray.shape[0], threads, lambda a, b: _kernel(gray, window)(a, b, mean[a:b], deviation[a:b], True))
    return mean, deviation


def _kernel(gray: Gray, window: int) -> Callable[[int, int, Surface, Surface, bool], None]:
    """The kernel for windows of that size, with the sums that it carries from row to row."""
    kernels = native()
    assert kernels is not None
    # a window's sum of squares fits into 32 bits, or needs 64
    rows, kind = (kernels.mean_deviation, np.uint32) if window <= 255 else (kernels.mean_deviation_wide, np.uint64)
    return partial(rows, by_rows(gray), window // 2, np.empty((4, gray.shape[1] + 1), kind))


def walk(gray: Gray, window: int, first: int, last: int) -> Iterator[tuple[slice, Surface, Surface]]:
    """Mean and deviation of rows first … last − 1 in blocks that fit the cache, each overwritten by the next."""
    if native() is None:
        top, half = max(first - window // 2, 0), window // 2
        mean, deviation = mean_deviation_numpy(gray[top : last + half], window)
        yield slice(first, last), mean[first - top : last - top], deviation[first - top : last - top]
        return
    rows = _kernel(gray, window)
    mean, deviation = np.empty((2, BLOCK, gray.shape[1]), np.float32)
    for a in range(first, last, BLOCK):
        b = min(a + BLOCK, last)
        rows(a, b, mean, deviation, a == first)
        yield slice(a, b), mean[: b - a], deviation[: b - a]


def local_threshold(gray: Gray, window: int, formula: Formula, threads: int | None, ink: bool = False) -> Surface | Ink:
    """The surface that a formula of mean and deviation gives, or with ``ink`` at once ``gray < surface`` (True = ink).

    formula : ``formula(rows, mean, deviation)`` gives float32 thresholds for the rows of the slice ``rows``; it may
        overwrite its arguments. It is called on blocks that fit the cache, so the page-sized surface need not exist.
    """
    result = np.empty(gray.shape, bool if ink else np.float32)

    def band(first: int, last: int) -> None:
        for rows, mean, deviation in walk(gray, window, first, last):
            surface = formula(rows, mean, deviation)
            if ink:
                below(gray[rows], surface, result[rows])
            else:
                result[rows] = surface

    gray = by_rows(gray)
    run_bands(gray.shape[0], threads, band)
    return result


def below(gray: Gray, surface: Surface, ink: Ink, threads: int | None = 1) -> None:
    """``gray < surface`` into ink (True = ink)."""
    kernels = native()
    if kernels is None:
        np.less(gray, surface, out=ink)
    else:
        gray, surface = by_rows(gray), by_rows(surface)
        run_bands(len(gray), threads, lambda a, b: kernels.below(gray[a:b], surface[a:b], ink[a:b]))


def window_extreme(gray: Values, window: int, pick: np.ufunc, threads: int | None = 1) -> Values:
    """The smallest (``pick=np.minimum``) or largest (``np.maximum``) gray in each window, cut at the border.

    Windows of 2, 4, 8 … pixels come from two of half the size; two that overlap make the last. Repeating the page's
    edge adds nothing to a window that holds the edge already.

    >>> window_extreme(np.array([[3, 1, 2, 9, 5]], np.uint8), 3, np.maximum).tolist()
    [[3, 3, 9, 9, 9]]
    """
    half = min(window // 2, max(gray.shape))
    result = np.empty_like(gray)

    def band(first: int, last: int) -> None:
        for a in range(first, last, 256):
            b = min(a + 256, last)
            top, bottom = max(a - half, 0), min(b + half, gray.shape[0])
            rows = np.pad(gray[top:bottom], ((top - a + half, b + half - bottom), (half, half)), "edge")
            result[a:b] = extreme_along(extreme_along(rows, 2 * half + 1, pick).T, 2 * half + 1, pick).T

    run_bands(gray.shape[0], threads, band)
    return result


def extreme_along(values: Array, count: int, pick: np.ufunc) -> Array:
    """Extremes over each ``count`` neighbours in the first axis, which shrinks by one less."""
    size = 1
    while 2 * size <= count:
        values = pick(values[:-size], values[size:])
        size *= 2
    rest = count - size
    values = pick(values[: len(values) - rest], values[rest:])
    return values
