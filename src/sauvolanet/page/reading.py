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
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.arrays import Gray, Surface, by_rows
from ..core.bands import run_bands
from ..core.components import DIAGONAL
from ..core.kernels import native
from ..core.windows import extreme_along
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


class Place(NamedTuple):
    """Cells' levels over ``white`` as (rows + 1, columns + 1), and where between their centres the pixels of a region lie.

    above, left : the cell whose centre lies before a row or column; lower, further : how near that is to the next one.
    """

    levels: Values
    above: npt.NDArray[np.int64]
    lower: Values
    left: npt.NDArray[np.int64]
    further: Values


def ratio_numpy(levels: Values, above: npt.NDArray[np.int64], lower: Values, left: npt.NDArray[np.int64],
                further: Values) -> Values:  # fmt: skip
    """The truth of the light of a region, see `Place`: linear between the centres of cells."""
    by_row = levels[above] + (levels[above + 1] - levels[above]) * lower[:, None]
    ratio: Values = np.take(np.diff(by_row, axis=1), left, axis=1)
    ratio *= further
    ratio += np.take(by_row, left, axis=1)
    return ratio


def even_numpy(pixels: npt.NDArray[np.uint8], ratio: Values, out: npt.NDArray[np.uint8]) -> None:
    """The truth of even light: gray or colour over the ratio."""
    lit = pixels / (ratio if pixels.ndim == 2 else ratio[..., None])
    lit += np.float32(0.5)
    out[:] = np.minimum(lit, np.float32(255), out=lit)  # the fraction is cut off


def _between(span: slice, side: float, count: int) -> tuple[npt.NDArray[np.int64], Values]:
    """Of cells that are ``side`` pixels wide: the one whose centre lies before each pixel of a span, and how near the pixel
    is to the next one, 0 … 1."""
    at = np.clip((np.arange(span.start, span.stop) + 0.5) / side - 0.5, 0, count - 1)
    first = np.floor(at).astype(np.int64)
    return first, (at - first).astype(np.float32)


def enlarged(surface: Surface, shape: tuple[int, int], threads: int | None = 1) -> Iterator[tuple[Region, Surface]]:
    """The surface at a larger size, some rows at a time: linear between the centres of its pixels, so it stays between its
    neighbours."""
    padded = np.pad(surface, ((0, 1), (0, 1)), mode="edge")
    rows, columns = (large / small for large, small in zip(shape, surface.shape, strict=True))
    across = _between(slice(0, shape[1]), columns, surface.shape[1])
    kernels = native()
    for top in range(0, shape[0], _ROWS):
        made = np.empty((min(_ROWS, shape[0] - top), shape[1]), np.float32)

        def band(first: int, last: int, top: int = top, made: Surface = made) -> None:
            place = Place(padded, *_between(slice(top + first, top + last), rows, surface.shape[0]), *across)
            if kernels is None:
                made[first:last] = ratio_numpy(*place)
            else:
                kernels.light(*place, made[first:last])

        run_bands(len(made), threads, band)
        yield (slice(top, top + len(made)), slice(0, shape[1])), made


@dataclass(frozen=True)
class PaperLevel:
    """How light the paper is, place by place: levels at the centres of square cells, linear in between."""

    levels: Values  # (rows, columns) of cells
    side: int  # of a cell in pixels
    white: float  # the level that all paper gets in the even gray

    def ratio(self, region: Region) -> Values:
        """(H, W): the local level over ``white`` in a region of the page."""
        kernels = native()
        if kernels is None:
            return ratio_numpy(*self._place(region))
        ratio = np.empty([part.stop - part.start for part in region], np.float32)
        kernels.light(*self._place(region), ratio)
        return ratio

    def even(self, pixels: npt.NDArray[np.uint8], threads: int | None = 1) -> npt.NDArray[np.uint8]:
        """The page, gray (H, W) or colour (H, W, 3) uint8, with all its paper at one level."""
        even = np.empty(pixels.shape, np.uint8)
        kernels = native() if pixels.ndim == 2 else None
        pixels = by_rows(pixels)

        def band(first: int, last: int) -> None:
            for a in range(first, last, _ROWS):
                rows = slice(a, min(a + _ROWS, last))
                place = self._place((rows, slice(0, pixels.shape[1])))
                if kernels is None:
                    even_numpy(pixels[rows], ratio_numpy(*place), even[rows])
                else:
                    kernels.even(pixels[rows], *place, even[rows])

        run_bands(len(pixels), threads, band)
        return even

    def relight(self, surface: Surface, region: Region, threads: int | None = 1) -> None:
        """The surface of a region on the even gray becomes that on the page's own, in place."""
        kernels = native()

        def band(first: int, last: int) -> None:
            top = region[0].start
            place = self._place((slice(top + first, top + last), region[1]))
            if kernels is None or surface.strides[1] != surface.itemsize:
                surface[first:last] *= ratio_numpy(*place)
            else:
                kernels.relight(*place, surface[first:last])

        run_bands(len(surface), threads, band)

    @cached_property
    def _shares(self) -> Values:
        """The levels over ``white``, and one more row and column of them."""
        return np.pad(np.ascontiguousarray(self.levels) / np.float32(self.white), ((0, 1), (0, 1)), mode="edge")

    def _place(self, region: Region) -> Place:
        down, right = (_between(span, self.side, count) for span, count in zip(region, self.levels.shape, strict=True))
        return Place(self._shares, *down, *right)


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

    def surface(self, tiles: Tiles, threads: int | None = 1) -> Iterator[tuple[Region, Surface]]:
        """The surface on the page's own size and gray, tile by tile, from that of what was read."""
        if self.times != 1:
            whole = np.empty(self.gray.shape, np.float32)
            for core, part in tiles:
                whole[core] = part
            tiles = enlarged(whole, self.shape, threads)
        for core, part in tiles:
            self.paper.relight(part, core, threads)
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
        paper = self.paper_level(gray, threads)
        even = paper.even(gray, threads)
        numbers = PageNumbers.of(even, threads)
        stroke = usual_stroke(even, numbers.body.otsu())
        times = 0.5 if stroke >= self.thick else 1.0
        if times != 1:
            even = resized(even, tuple(max(round(n * times), 1) for n in even.shape))
            numbers = PageNumbers.of(even, threads)
        return Read(even, numbers, paper, stroke, times, gray.shape)

    def paper_level(self, gray: Gray, threads: int | None = 1) -> PaperLevel:
        """The page's paper level: a high percentile of each cell; writing, bars and dark letters are closed over."""
        side = int(np.clip(round(min(gray.shape) / self.cells), 8, 128))
        step = max(side // _SAMPLES, 1)
        nth = int((-(-side // step)) ** 2 * self.percent / 100)
        levels = cell_levels(gray, side, step, nth, threads)
        levels = _extreme(_extreme(levels, self.closing, np.maximum), self.closing, np.minimum)
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


def cell_levels(gray: Gray, side: int, step: int, nth: int, threads: int | None = 1) -> Values:
    """(rows, columns) of square cells: of every step-th pixel of every step-th row the nth, the darkest first."""
    counts = [-(-n // side) for n in gray.shape]
    kernels = native()
    if kernels is None:
        return cell_levels_numpy(gray, side, step, nth)
    levels, gray = np.empty(counts, np.float32), by_rows(gray)
    run_bands(counts[0], threads, lambda a, b: kernels.cell_levels(gray, side, step, nth, a, b, levels), least=1)
    return levels


def cell_levels_numpy(gray: Gray, side: int, step: int, nth: int) -> Values:
    """The truth of the cells' levels; beyond the page its last row and column go on."""
    counts = [-(-n // side) for n in gray.shape]
    padded = np.pad(gray, [(0, c * side - n) for c, n in zip(counts, gray.shape, strict=True)], mode="edge")
    cells = padded.reshape(counts[0], side, counts[1], side)[:, ::step, :, ::step]
    samples = cells.transpose(0, 2, 1, 3).reshape(*counts, -1)
    return np.partition(samples, nth, axis=2)[:, :, nth].astype(np.float32)


def usual_stroke(gray: Gray, level: int) -> float:
    """How wide the strokes darker than a level are: the median over places of twice area over edge, weighed by area.

    Places with hardly anything dark, or hardly anything else, say nothing: specks and pictures do not decide.
    """
    counts = [n // _BLOCK for n in gray.shape]
    if all(counts):
        every = int(np.ceil(np.sqrt(counts[0] * counts[1] / _BLOCKS)))
        whole = gray[: counts[0] * _BLOCK, : counts[1] * _BLOCK].reshape(counts[0], _BLOCK, counts[1], _BLOCK)
        blocks = whole[::every, :, ::every].transpose(0, 2, 1, 3)
    else:
        every, blocks = 1, gray[None, None]
    kernels = native()
    if kernels is None or not all(counts):
        strokes = strokes_numpy(blocks, level)
    else:
        strokes = np.empty((*blocks.shape[:2], 2), np.int64)
        kernels.strokes(by_rows(gray), level, _BLOCK, every, strokes)
    area, edges = strokes.reshape(-1, 2).T
    share = area / (blocks.shape[2] * blocks.shape[3])
    tells = (share > 0.01) & (share < 0.5) & (edges > 0)
    if not tells.any():
        return 0.0
    widths = 2 * DIAGONAL * area[tells] / edges[tells]
    order = np.argsort(widths)
    weight = np.cumsum(area[tells][order])
    return float(widths[order][np.searchsorted(weight, weight[-1] / 2)])


def strokes_numpy(blocks: Gray, level: int) -> npt.NDArray[np.int64]:
    """(rows, columns, 2) of blocks, (rows, columns, H, W): the truth of how many pixels are dark, and how many edges."""
    dark = blocks < level
    edges = [
        (one != other).sum((2, 3))
        for one, other in ((dark[:, :, 1:], dark[:, :, :-1]), (dark[..., 1:], dark[..., :-1]))
    ]
    return np.stack([dark.sum((2, 3)), sum(edges)], -1)


def _extreme(levels: Values, count: int, pick: np.ufunc) -> Values:
    """The largest or smallest level of count × count cells around each."""
    half = count // 2
    padded = np.pad(levels, (half, count - 1 - half), mode="edge")
    return extreme_along(extreme_along(padded, count, pick).T, count, pick).T
