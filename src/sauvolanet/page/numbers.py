"""Page-wide numbers: the histogram of a page and what follows from it, computed once, before any tiling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import Gray
from ..core.windows import histogram

DARK_PERCENT, LIGHT_PERCENT = 0.1, 99.9  # percentiles that are a page's levels, whatever a few specks are like
BLANK_RANGE = 6  # gray levels; the faintest page of the 13 sets has more
LONE_CONTRAST = 32  # gray levels by which words on an otherwise blank page are darker than the paper; dust and JPEG's traces are paler
MARGIN_PART = 25  # one part in so many of each side of a page is its margin, where scanners show their bed


@dataclass(frozen=True)
class PageNumbers:
    """What is known of the whole page: its histogram, and what follows from it. Computed once, before any tiling.

    body_histogram : that of the page without its margins, where it is known.
    """

    histogram: npt.NDArray[np.int64]
    body_histogram: npt.NDArray[np.int64] | None = None

    @classmethod
    def of(cls, gray: Gray, threads: int | None = 1) -> PageNumbers:
        whole = histogram(gray, threads)
        high, wide = (n // MARGIN_PART for n in gray.shape)
        middle = gray[high : len(gray) - high]
        margins = [gray[:high], gray[len(gray) - high :], middle[:, :wide], middle[:, gray.shape[1] - wide :]]
        return cls(whole, whole - np.sum([histogram(part) for part in margins], axis=0))

    @cached_property
    def body(self) -> PageNumbers:
        """The numbers of the page without its margins."""
        return self if self.body_histogram is None else PageNumbers(self.body_histogram)

    def map(self, change: Callable[[npt.NDArray[np.int64]], npt.NDArray[Any]]) -> PageNumbers:
        """The numbers of a page whose histograms are so changed; fractions are rounded."""
        both = (self.histogram, self.body.histogram)
        return PageNumbers(*(np.rint(change(h)).astype(np.int64) for h in both))

    def inverted(self) -> PageNumbers:
        """The numbers of ``255 − gray``."""
        return self.map(lambda h: h[::-1])

    def percentile(self, percent: float) -> float:
        """The smallest gray level with at least this share of the pixels at or below it."""
        cumulative = self.histogram.cumsum()
        return float(np.searchsorted(cumulative, max(percent / 100 * cumulative[-1], 1)))

    def extremes(self) -> tuple[int, int]:
        """The darkest and the lightest gray level that occur."""
        present = np.flatnonzero(self.histogram)
        return int(present[0]), int(present[-1])

    def levels(self) -> tuple[float, float]:
        """Dark and light level of the page, robust against a few specks: percentiles 0.1 and 99.9."""
        return self.percentile(DARK_PERCENT), self.percentile(LIGHT_PERCENT)

    @cached_property
    def blank(self) -> bool:
        """Nothing on it: the levels between which 99.8 % of the pixels lie differ by no more than sensor noise.

        A page number may be less than the rest; it is something.
        """
        low, high = self.levels()
        return high - low < BLANK_RANGE and self.body.sparse_ink(DARK_PERCENT, LONE_CONTRAST) is None

    def sparse_ink(self, percent: float, contrast: int) -> float | None:
        """The gray of the ink, if there is some but on less than ``percent`` of the page; else None.

        That percentile is then a level of the paper. The ink is what Otsu's threshold sets apart, and darker by
        ``contrast`` and by twice what the paper itself varies.
        """
        dark = self.histogram[: self.otsu()]
        if not 0 < dark.sum() < percent / 100 * self.histogram.sum():
            return None
        level, paper = PageNumbers(dark).percentile(50), self.percentile(percent)
        return level if paper - level >= max(contrast, 2 * (self.percentile(50) - paper)) else None

    def otsu(self) -> int:
        """Otsu's threshold: ink is ``gray < threshold``; 0 on a page of one gray level."""
        return self._otsu

    @cached_property
    def _otsu(self) -> int:
        weight = self.histogram.cumsum()
        total = (self.histogram * np.arange(256)).cumsum()
        rest = weight[-1] - weight
        # products of pixels and gray levels of 190 million pixels are more than 64 bits: then Python's integers
        kind = np.int64 if int(weight[-1]) * int(total[-1]) < 2**63 else object
        apart = (total.astype(kind) * int(weight[-1]) - int(total[-1]) * weight.astype(kind)).astype(float)
        with np.errstate(divide="ignore", invalid="ignore"):
            between = apart**2 / (weight * rest.astype(float))
        between[~np.isfinite(between)] = -1
        best = int(between.argmax())
        return best + 1 if between[best] > 0 else 0

    def light_on_dark(self, gray: Gray) -> bool:
        """Whether the page is light writing on a dark ground.

        Its darker class (Otsu) must be most of the page and most of its outermost pixels, and be really dark; and the
        lighter class must be strokes, not an area such as a sheet of paper photographed on a dark desk.
        """
        cut = self.otsu()
        dark = int(self.histogram[:cut].sum())
        if dark <= 0.7 * self.histogram.sum() or self.percentile(50) >= 96:
            return False
        outermost = np.concatenate([gray[0], gray[-1], gray[:, 0], gray[:, -1]])
        return bool((outermost < cut).mean() > 0.7) and _share_in_areas(gray >= cut) < 0.5


def _share_in_areas(mask: npt.NDArray[np.bool_]) -> float:
    """How much of a mask lies in squares of a thirty-second of the short side that it fills to four fifths."""
    side = max(min(mask.shape) // 32, 4)
    height, width = (n - n % side for n in mask.shape)
    if not height or not width:
        return 0.0
    squares = mask[:height, :width].reshape(height // side, side, width // side, side).mean((1, 3))
    return float(squares[squares >= 0.8].sum() / max(squares.sum(), 1e-9))
