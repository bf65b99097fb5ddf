"""How a page is put before a network: in even light, and at a size at which strokes are as wide as those it learnt.

`Reading` holds the rules. A model's JSON stores it under ``reading``, or null for a model that reads a page as it is.

    gray ▸ paper level ▸ even gray ▸ stroke width ▸ reading size         Reading.read
    surface of the network ▸ page's size ▸ page's light                  Read.surface

Everything is decided once, for the whole page, before any tiling; the result has the page's own size, and ink is the
page's own gray below the surface.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import Gray, Surface
from ..core.bands import run_bands
from ..core.components import DIAGONAL
from ..errors import UsageError
from ..options import Option
from .gray import resized
from .numbers import PageNumbers

Region = tuple[slice, slice]  # rows, columns
Tiles = Iterable[tuple[Region, Surface]]
Values = npt.NDArray[np.float32]

_SAMPLES = 8  # along each side of a cell, of which its paper level is taken
_BLOCK = 64  # side of the squares whose stroke widths are compared
_BLOCKS = 1000  # about so many of them tell the stroke width of a page
_ROWS = 256  # rows that are evened or brought back at a time


@dataclass(frozen=True)
class PaperLevel:
    """How light the paper is, place by place: levels at the centres of square cells, linear in between."""

    levels: Values  # (rows, columns) of cells
    side: int  # of a cell in pixels
    white: float  # the level that all paper gets in the even gray

    def ratio(self, region: Region) -> Values:
        """(H, W): the local level over ``white`` in a region of the page."""
        (above, lower), (left, further) = (
            self._between(span, count) for span, count in zip(region, self.levels.shape, strict=True)
        )
        levels = np.pad(self.levels / np.float32(self.white), ((0, 1), (0, 1)), mode="edge")
        by_row = levels[above] + (levels[above + 1] - levels[above]) * lower[:, None]
        ratio: Values = np.take(np.diff(by_row, axis=1), left, axis=1)
        ratio *= further
        ratio += np.take(by_row, left, axis=1)
        return ratio

    def even(self, pixels: npt.NDArray[np.uint8], threads: int | None = 1) -> npt.NDArray[np.uint8]:
        """The page, gray (H, W) or colour (H, W, 3) uint8, with all its paper at one level."""
        even = np.empty_like(pixels)

        def band(first: int, last: int) -> None:
            for a in range(first, last, _ROWS):
                rows = slice(a, min(a + _ROWS, last))
                ratio = self.ratio((rows, slice(0, pixels.shape[1])))
                lit = pixels[rows] / (ratio if pixels.ndim == 2 else ratio[..., None])
                lit += np.float32(0.5)
                even[rows] = np.minimum(lit, np.float32(255), out=lit)  # the fraction is cut off

        run_bands(len(pixels), threads, band)
        return even

    def _between(self, span: slice, count: int) -> tuple[npt.NDArray[np.intp], Values]:
        """The cell whose centre lies before each pixel of a span, and how near the pixel is to the next one, 0 … 1."""
        at = np.clip((np.arange(span.start, span.stop) + 0.5) / self.side - 0.5, 0, count - 1)
        first = np.floor(at).astype(np.intp)
        return first, (at - first).astype(np.float32)


@dataclass(frozen=True)
class Read:
    """A page as a network reads it.

    gray : (H', W') uint8, even, at the reading size. numbers : of that gray. paper : the page's paper level.
    stroke : how wide strokes are, in pixels of the page; 0 where nothing tells. times : H' / H.
    """

    gray: Gray
    numbers: PageNumbers
    paper: PaperLevel
    stroke: float
    times: float
    shape: tuple[int, int]  # of the page

    def surface(self, tiles: Tiles) -> Iterator[tuple[Region, Surface]]:
        """The surface on the page's own size and gray, tile by tile, from that of what was read."""
        if self.times != 1:
            whole = np.empty(self.gray.shape, np.float32)
            for core, part in tiles:
                whole[core] = part
            whole = np.array(resized(whole, self.shape))  # its own memory, which is written below
            tiles = [((slice(a, min(a + _ROWS, len(whole))), slice(0, self.shape[1])), whole[a : a + _ROWS])
                     for a in range(0, len(whole), _ROWS)]  # fmt: skip
        for core, part in tiles:
            part *= self.paper.ratio(core)
            yield core, part

    def at_page_size(self, values: Values) -> Values:
        """(H, W, N) values of the page's pixels, from those of the pixels that were read."""
        if self.times == 1:
            return values
        return np.stack([resized(np.ascontiguousarray(one), self.shape) for one in np.moveaxis(values, 2, 0)], 2)


@dataclass(frozen=True)
class Reading:
    """The rules; see the module's text. A value that makes no sense is a UsageError."""

    cells: int = 60  # the page's short side has so many cells
    percent: float = 80.0  # percentile of a cell that is its paper
    closing: int = 13  # dark places of fewer cells across are no paper
    darkest: float = 0.15  # paper in the deepest shadow, as a share of the page's usual paper level
    thick: float = 12.0  # strokes at least so wide are read at half the size

    def __post_init__(self) -> None:
        for one in fields(self):
            option = Option(f"reading: {one.name}", type(one.default), one.default, *_RANGES[one.name])
            value = getattr(self, one.name)
            if isinstance(value, str):
                raise UsageError(f"{option.name} must be {option.expected()}, not {value!r}")
            object.__setattr__(self, one.name, option.parse(value))

    def read(self, gray: Gray, threads: int | None = 1) -> Read:
        """The page as a network reads it."""
        paper = self.paper_level(gray)
        even = paper.even(gray, threads)
        numbers = PageNumbers.of(even)
        stroke = usual_stroke(even, numbers.body.otsu())
        times = 0.5 if stroke >= self.thick else 1.0
        if times != 1:
            even = resized(even, tuple(max(round(n * times), 1) for n in even.shape))
            numbers = PageNumbers.of(even)
        return Read(even, numbers, paper, stroke, times, gray.shape)

    def paper_level(self, gray: Gray) -> PaperLevel:
        """The page's paper level: a high percentile of each cell; writing, bars and dark letters are closed over."""
        side = int(np.clip(round(min(gray.shape) / self.cells), 8, 128))
        counts = [-(-n // side) for n in gray.shape]
        padded = np.pad(gray, [(0, c * side - n) for c, n in zip(counts, gray.shape, strict=True)], mode="edge")
        step = max(side // _SAMPLES, 1)
        cells = padded.reshape(counts[0], side, counts[1], side)[:, ::step, :, ::step]
        samples = cells.transpose(0, 2, 1, 3).reshape(*counts, -1)
        nth = int(samples.shape[2] * self.percent / 100)
        levels = np.partition(samples, nth, axis=2)[:, :, nth].astype(np.float32)
        levels = _extreme(_extreme(levels, self.closing, np.max), self.closing, np.min)
        white = float(np.percentile(levels, 90))  # the lit part of the page, however little of it is lit
        return PaperLevel(np.maximum(levels, max(self.darkest * white, 1)), side, max(white, 1.0))

    def to_json(self) -> dict[str, Any]:
        """The part of a model's JSON named ``reading``."""
        return asdict(self)


_RANGES = {"cells": (1, 1000), "percent": (0, 99.9), "closing": (1, 99), "darkest": (0.01, 1), "thick": (1, 1e6)}


def reading_from_json(data: Mapping[str, Any] | None) -> Reading | None:
    """The rules in a model's JSON; a missing or unknown key is a UsageError."""
    if data is None:
        return None
    odd = sorted(set(data) ^ {f.name for f in fields(Reading)})
    if odd:
        raise UsageError(f"reading: missing or unknown keys: {', '.join(odd)}")
    return Reading(**data)


def usual_stroke(gray: Gray, level: int) -> float:
    """How wide the strokes darker than a level are: the median over places of twice area over edge, weighed by area.

    Places with hardly anything dark, or hardly anything else, say nothing: specks and pictures do not decide.
    """
    counts = [n // _BLOCK for n in gray.shape]
    if not all(counts):
        blocks = gray[None]
    else:
        whole = gray[: counts[0] * _BLOCK, : counts[1] * _BLOCK].reshape(counts[0], _BLOCK, counts[1], _BLOCK)
        every = int(np.ceil(np.sqrt(counts[0] * counts[1] / _BLOCKS)))
        blocks = whole[::every, :, ::every].transpose(0, 2, 1, 3).reshape(-1, _BLOCK, _BLOCK)
    dark = blocks < level
    area = dark.sum((1, 2))
    edges = (dark[:, 1:] != dark[:, :-1]).sum((1, 2)) + (dark[:, :, 1:] != dark[:, :, :-1]).sum((1, 2))
    share = area / dark[0].size
    tells = (share > 0.01) & (share < 0.5) & (edges > 0)
    if not tells.any():
        return 0.0
    widths = 2 * DIAGONAL * area[tells] / edges[tells]
    order = np.argsort(widths)
    weight = np.cumsum(area[tells][order])
    return float(widths[order][np.searchsorted(weight, weight[-1] / 2)])


def _extreme(levels: Values, count: int, pick: Any) -> Values:
    """The largest or smallest level of count × count cells around each."""
    half = count // 2
    for axis in (0, 1):
        around = [(half, count - 1 - half) if axis == one else (0, 0) for one in (0, 1)]
        padded = np.pad(levels, around, mode="edge")
        levels = pick(np.lib.stride_tricks.sliding_window_view(padded, count, axis), axis=2)
    return levels
