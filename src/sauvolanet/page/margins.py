"""What at a page's sides is no writing: a scanner's bed, a fold, a frame.

`Margins` holds every rule about it. A model's JSON stores it under ``margins``, or null for a model that takes a page
as it is. The rules act in three places:

    scale    the page without its margins decides how its gray is scaled     Margins.body, Margins.levels
    veto     the surface is 0 where the scanner's bed shows                  Margins.bed, clear
    writing  strips and lines along a side of the page are no ink            Margins.writing
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.arrays import Gray, Ink, Surface
from ..core.components import Indices, Runs, runs_of
from ..errors import UsageError
from ..options import Option
from .numbers import MARGIN_PART, PageNumbers

Region = tuple[slice, slice]  # rows, columns


_SIDES: tuple[Callable[[Ink], Ink], ...] = (  # views of a page, rows from one of its sides inward
    lambda ink: ink, lambda ink: ink[::-1], lambda ink: ink.T, lambda ink: ink.T[::-1],
)  # fmt: skip


class BedStrip(NamedTuple):
    """A part of the page's margins (rows, columns), and which of its pixels show the scanner's bed (True)."""

    place: Region
    bed: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Margins:
    """The rules about a page's sides; see the module's text. A value that makes no sense is a UsageError."""

    part: int = MARGIN_PART  # one part in so many of each side is the page's margin
    bed_contrast: float = 0.25  # the bed is darker than the darkest ink by this much of the page's contrast
    strip_depth: int = 20  # ink that touches a side, reaches no deeper (pixels), …
    strip_shape: float = 6.0  # … and is at least so many times as long as deep is a strip
    line_part: float = 0.25  # ink within that depth, at least so long a part of the side …
    line_shape: float = 10.0  # … and so many times as long as thick, is a line
    sparse_contrast: int = 8  # gray levels by which a few words are darker than the paper, at least

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            option = Option(f"margins: {one.name}", type(one.default), one.default, *_RANGES[one.name])
            if isinstance(value, str):
                raise UsageError(f"{option.name} must be {option.expected()}, not {value!r}")
            object.__setattr__(self, one.name, option.parse(value))

    # -- scale ---------------------------------------------------------------------------------------------------

    def body(self, numbers: PageNumbers) -> PageNumbers:
        """The numbers that decide: those of the page without its margins."""
        return numbers.body

    def levels(self, numbers: PageNumbers, low: float, high: float) -> tuple[float, float]:
        """Dark and light level of the page: percentiles of its body.

        On a page with less ink than the low percentile (a title page, the last lines of a chapter) the dark level is
        that of the ink. Only the body can tell: in the margins such a small dark part may be the scanner's bed.
        """
        body = self.body(numbers)
        sparse = body.sparse_ink(low, self.sparse_contrast)
        return body.percentile(low) if sparse is None else sparse, body.percentile(high)

    # -- veto ----------------------------------------------------------------------------------------------------

    def bed(self, gray: Gray, dark: float, contrast: float) -> list[BedStrip]:
        """Where the scanner's bed shows: what is too dark for ink, all the way from a side of the page, in its margins.

        dark, contrast : the page's dark level, and how far its light level is above it.
        """
        level = dark - self.bed_contrast * contrast
        if level <= 0:
            return []
        found = []
        for axis, length in enumerate(gray.shape):
            deep = length // self.part
            for part, way in ((slice(0, deep), 1), (slice(length - deep, length), -1)):
                place = (part, slice(0, gray.shape[1])) if axis == 0 else (slice(0, gray.shape[0]), part)
                inward = (slice(None, None, way), slice(None)) if axis == 0 else (slice(None), slice(None, None, way))
                bed = np.logical_and.accumulate(gray[place][inward] < level, axis=axis)[inward]
                if bed.any():
                    found.append(BedStrip(place, bed))
        return found

    # -- writing -------------------------------------------------------------------------------------------------

    def writing(self, ink: Ink) -> Ink:
        """Ink (True) without strips and lines along a side of the page: what is left there of a frame, a fold or a bed.

        A strip is a component that touches the side, stays within the margin, and is far longer than deep; in the
        corners it may go on along the next side, whose turn comes. A line need not touch the side, and is cut off where
        it or the writing that crosses it leaves the margin.

        >>> import numpy as np
        >>> page = np.zeros((100, 100), bool)
        >>> page[97:, 20:44] = page[2, 30:70] = page[95:, 90] = True
        >>> Margins().writing(page).sum(), page.sum()
        (np.int64(5), np.int64(117))
        """
        deepest = min(self.strip_depth, *(n // self.part for n in ink.shape))
        if not deepest:
            return ink
        given = ink
        for way in _SIDES:
            for rule in (self._strips, self._lines):
                dropped = rule(way(ink), deepest)
                if dropped is not None:
                    ink = ink.copy() if ink is given else ink
                    way(ink)[: len(dropped)] &= ~dropped
        return ink

    def _strips(self, side: Ink, deepest: int) -> Ink | None:
        """Of the first rows, the components that touch the first, reach no deeper, and are far longer."""
        if not side[0].any():
            return None
        margin = side[: deepest + 1]  # one row more: what has ink there goes deeper
        runs = runs_of(margin)
        between = (runs.last > deepest + 1) & (runs.first < margin.shape[1] - deepest - 1)  # the corners
        deep = np.zeros(len(runs.row), np.int64)
        np.maximum.at(deep, runs.component[between], runs.row[between] + 1)
        touches = np.zeros(len(runs.row), bool)
        touches[runs.component[between & (runs.row == 0)]] = True
        strip = touches & (deep <= deepest) & (_lengths(runs) >= self.strip_shape * deep)
        return runs.paint(strip[runs.component], margin.shape) if strip.any() else None

    def _lines(self, side: Ink, deepest: int) -> Ink | None:
        """Of the first rows, what is connected there and is a long line."""
        margin = side[:deepest]
        least = self.line_part * margin.shape[1]
        bare = np.flatnonzero(~margin.any(axis=0))  # no line crosses these columns
        if np.diff(bare, prepend=-1, append=margin.shape[1]).max() - 1 < least:
            return None
        runs = runs_of(margin)
        length = _lengths(runs)[runs.component]
        line = (length >= least) & (length**2 >= self.line_shape * runs.sizes())
        return runs.paint(line, margin.shape) if line.any() else None

    def to_json(self) -> dict[str, Any]:
        """The part of a model's JSON named ``margins``."""
        return asdict(self)


_RANGES = {
    "part": (MARGIN_PART, MARGIN_PART),  # the page's numbers are taken once, for all models, with these margins
    "bed_contrast": (0, 1), "strip_depth": (0, 10_000), "strip_shape": (1, 10_000), "line_part": (0.01, 1),
    "line_shape": (1, 10_000), "sparse_contrast": (0, 255),
}  # fmt: skip


def margins_from_json(data: Mapping[str, Any] | None) -> Margins | None:
    """The rules in a model's JSON; a missing or unknown key is a UsageError."""
    if data is None:
        return None
    known = {f.name for f in fields(Margins)}
    odd = sorted(set(data) ^ known)
    if odd:
        raise UsageError(f"margins: missing or unknown keys: {', '.join(odd)}")
    return Margins(**data)


def clear(surface: Surface, tile: Region, strips: Iterable[BedStrip]) -> Surface:
    """The surface of a tile (rows, columns of the page), set to 0 where the scanner's bed shows."""
    for place, bed in strips:
        both = [slice(max(t.start, p.start), min(t.stop, p.stop)) for t, p in zip(tile, place, strict=True)]
        if all(part.start < part.stop for part in both):
            here, there = (
                tuple(slice(b.start - o.start, b.stop - o.start) for b, o in zip(both, origin, strict=True))
                for origin in (tile, place)
            )
            surface[here][bed[there]] = 0
    return surface


def _lengths(runs: Runs) -> Indices:
    """How many columns the component of that number extends over."""
    first, last = np.zeros((2, len(runs.row)), np.int64)
    first[runs.component] = runs.first
    np.minimum.at(first, runs.component, runs.first)
    np.maximum.at(last, runs.component, runs.last)
    return last - first
