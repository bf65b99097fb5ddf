"""Dark areas: letters, light ones or still darker ones, on a dark bar or box of a page that is otherwise dark on light.

    gray ▸ dark without a gap ▸ what differs from its ground ▸ is that letters, on even ground?     areas
    light letters and ground change their levels, ground with dark letters is lit                   turned

The area's edge becomes paper. Pictures are no such areas: their ground is not even, they have levels between, or what
differs from the ground does not stand side by side like letters.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..core.arrays import Gray, Ink
from ..core.components import Runs, runs_of, stroke_width
from ..core.windows import extreme_along, window_extreme
from .numbers import PageNumbers

UNITS = 400  # the short side of a page has so many blocks, of whole pixels, or more
LEAST_HIGH, LEAST_WIDE = 6, 32  # blocks, of an area
THIN = 2  # blocks to each side of what does not belong to it: letters that touch it
FILLED = 0.3  # least part of its bounding box that is dark ground
WHOLE = 0.94  # least part of its rows and of its columns, from end to end, that it has
LIGHT = 0.02, 0.45  # part of an area that is light, where its letters are
DARK = 0.004, 0.45  # the same of darker letters
CONTRAST = 0.5  # least part of the way from its ground to the page's paper that its light letters' level is at
GROUND = 0.6  # largest part of the paper's level that ground with darker letters has; lighter ground is read as it is
DEPTH, LEAST_DEPTH = 0.25, 12  # least part of its ground's level by which letters are darker, and least levels
DARKEST = 0.2  # percentile of an area that is its dark letters' level
EVEN = 0.25  # how far apart levels of the ground may be, as a part of the contrast
MIDDLE = 0.2  # largest part of an area whose levels are between ground and letters
LETTERS, MOST = 3, 2000  # fewer are none, more are the dots of a screen
MOST_AREAS = 500  # more dark boxes on a page are a pattern
LETTER_HEIGHT = 5  # pixels, at least
STROKE = 0.05, 0.45  # width of strokes over the height of letters
ALIKE = 0.7  # part of what is light that is letters, and of letters that stand beside others
EDGE = 2  # pixels to both sides of an area's edge that become paper


class Area(NamedTuple):
    """A dark area: its bounding box, the pixels of that which it has (True), its levels of ground and letters, and of the
    paper around it."""

    place: tuple[slice, slice]
    mask: Ink
    ground: int
    letters: int
    paper: int

    @property
    def table(self) -> Gray:
        """(256,) what each gray of the area becomes, dark on light."""
        grays = np.arange(256)
        if self.letters > self.ground:
            return np.clip(self.ground + self.letters - grays, 0, 255).astype(np.uint8)
        return np.minimum(grays * self.paper // max(self.ground, 1), 255).astype(np.uint8)


def areas(gray: Gray, numbers: PageNumbers) -> list[Area]:
    """The dark areas of a page, gray (H, W) uint8, dark on light, with its numbers."""
    cut = numbers.body.otsu()
    side = max(min(gray.shape) // UNITS, 1)
    solid = _largest(gray, side) < cut
    if np.count_nonzero(solid) < LEAST_HIGH * LEAST_WIDE * FILLED:
        return []
    runs = runs_of(solid, diagonal=False)
    names = runs.names()
    size = np.bincount(runs.component, runs.last - runs.first)[names]
    boxes = runs.boxes()[:, names]
    high, wide = boxes[1] - boxes[0], boxes[3] - boxes[2]
    likely = (high >= LEAST_HIGH) & (wide >= LEAST_WIDE) & (size >= FILLED * high * wide)
    if np.count_nonzero(likely) > MOST_AREAS:
        return []
    wanted = np.zeros(len(runs.row), bool)
    wanted[names[likely]] = True
    own = np.flatnonzero(wanted[runs.component])
    runs = Runs(*(part[own[np.argsort(runs.component[own], kind="stable")]] for part in runs))
    whole = np.where(runs.enclosed(), np.append(runs.first[1:], 0), runs.last)  # ends of runs, with what is enclosed
    paper = numbers.percentile(50)
    found = []
    for one, box in zip(names[likely], boxes[:, likely].T, strict=True):
        here = slice(*np.searchsorted(runs.component, (one, one + 1)))
        top, bottom, left, right = box.tolist()
        origin = (top - 1, left - 1)  # one block of the outside all around
        inside = Runs(runs.row[here] - origin[0], runs.first[here] - origin[1], whole[here] - origin[1], own)
        area = _area(gray, _opened(inside, (bottom - top + 2, right - left + 2)), origin, side, cut, paper)
        if area is not None:
            found.append(area)
    return found


def turned(gray: Gray, found: Iterable[Area]) -> Gray:
    """The page with dark letters on light ground in the areas; uint8."""
    gray = gray.copy()
    for area in found:
        part = gray[area.place]
        outer, inner = (_spread(area.mask, EDGE), ~_spread(~area.mask, EDGE))
        part[:] = np.where(inner, area.table[part], np.where(outer, area.table[area.ground], part))
    return gray


def _largest(gray: Gray, side: int) -> Gray:
    """The lightest pixel of each whole block."""
    if side == 1:
        return gray
    height, width = (n - n % side for n in gray.shape)
    rows = np.maximum.reduce(gray[:height].reshape(height // side, side, -1), axis=1)
    largest: Gray = np.maximum.reduce([rows[:, i:width:side] for i in range(side)])
    return largest


def _opened(runs: Runs, shape: tuple[int, int]) -> Ink:
    """The runs as a mask of that shape, without what is thin."""
    more = 2 * THIN
    shifted = Runs(runs.row + more, runs.first + more, runs.last + more, runs.component)
    mask = shifted.paint(np.ones(len(runs.row), bool), (shape[0] + 2 * more, shape[1] + 2 * more))
    for pick in (np.logical_and, np.logical_or):
        mask = extreme_along(extreme_along(mask, 2 * THIN + 1, pick).T, 2 * THIN + 1, pick).T
    return mask


def _area(gray: Gray, inside: Ink, origin: tuple[int, int], side: int, cut: int, paper: float) -> Area | None:
    """The area of blocks (True) with letters; None if it has none. origin : row and column of the first block."""
    count = np.count_nonzero(inside)
    if not count or any(count < WHOLE * _spanned(way) for way in (inside, inside.T)):
        return None
    reach = side + EDGE + 1
    spans = [slice(max(o * side - reach, 0), min((o + n) * side + reach, size))
             for o, n, size in zip(origin, inside.shape, gray.shape, strict=True)]  # fmt: skip
    place = (spans[0], spans[1])
    part = gray[place]
    at = [np.clip(np.arange(p.start, p.stop) // side - o, 0, n - 1)
          for p, o, n in zip(place, origin, inside.shape, strict=True)]  # fmt: skip
    mask = inside[np.ix_(*at)]
    dark = part < cut
    light = mask & ~dark
    share = np.count_nonzero(light) / np.count_nonzero(mask)
    if share > LIGHT[1]:
        return None
    levels = _light_letters(part, mask, light, paper) if share >= LIGHT[0] else _dark_letters(part, mask & dark, paper)
    if levels is None:
        return None
    mask |= dark & _spread(mask, side + 1)
    around = part[~mask & ~dark]
    return Area(place, mask, *levels, round(float(np.median(around))) if around.size else round(paper))


def _light_letters(part: Gray, mask: Ink, light: Ink, paper: float) -> tuple[int, int] | None:
    """The levels of ground and letters of an area (True in the mask), if what is light in it is letters."""
    ground = part[mask & ~light]
    middle, letters = float(np.median(ground)), float(np.percentile(part[light], 75))
    contrast = letters - middle
    if contrast < CONTRAST * (paper - middle) or not _two_levels(part[mask], ground, contrast):
        return None
    return (round(middle), round(letters)) if _letters(light) else None


def _dark_letters(part: Gray, mask: Ink, paper: float) -> tuple[int, int] | None:
    """The levels of ground and letters of an area (True in the mask), if it has letters that are still darker."""
    letters, middle = np.percentile(part[mask], (DARKEST, 50))
    contrast = letters - middle
    if middle > GROUND * paper or -contrast < max(DEPTH * middle, LEAST_DEPTH):
        return None
    dark = mask & (part < middle + contrast / 2)
    share = np.count_nonzero(dark) / np.count_nonzero(mask)
    if not DARK[0] <= share <= DARK[1] or not _two_levels(part[mask], part[mask & ~dark], contrast):
        return None
    return (round(middle), round(letters)) if _letters(dark) else None


def _two_levels(grays: Gray, ground: Gray, contrast: float) -> bool:
    """Whether grays are an even ground and letters that differ from it by the contrast, not 0, and little between."""
    low, middle, high = np.percentile(ground, (5, 50, 75) if contrast > 0 else (25, 50, 95))
    levels = (grays - middle) / contrast
    return bool(np.mean((levels > 0.3) & (levels < 0.7)) <= MIDDLE and high - low <= EVEN * abs(contrast))


def _spanned(mask: Ink) -> int:
    """How much of a mask, which has some True, lies between the first and the last True of its rows, these included."""
    rows = mask[mask.any(axis=1)]
    return int((rows.shape[1] - rows.argmax(axis=1) - rows[:, ::-1].argmax(axis=1)).sum())


def _letters(ink: Ink) -> bool:
    """Whether what differs (True) from an area's ground is letters: alike in height, of strokes, side by side."""
    runs = runs_of(ink)
    names = runs.names()
    size = np.bincount(runs.component, runs.last - runs.first)[names]
    boxes = runs.boxes()[:, names]
    high = boxes[1] - boxes[0]
    order = np.argsort(high)
    weight = np.cumsum(size[order])
    usual = high[order][np.searchsorted(weight, weight[-1] / 2)]
    letter = (high >= LETTER_HEIGHT) & (high >= 0.4 * usual) & (high <= 2 * usual)
    if letter.sum() < LETTERS or size[letter].sum() < ALIKE * size.sum():
        return False
    if not STROKE[0] * usual <= stroke_width(ink) <= STROKE[1] * usual:
        return False
    top, bottom, left, right = boxes[:, letter]
    if len(top) > MOST:
        return False
    overlap = np.minimum(bottom[:, None], bottom) - np.maximum(top[:, None], top)
    gap = np.maximum(left[:, None], left) - np.minimum(right[:, None], right)
    beside = (overlap >= 0.5 * high[letter]) & (gap <= usual) & ~np.eye(len(top), dtype=bool)
    return bool(beside.any(axis=1).mean() >= ALIKE)


def _spread(mask: Ink, reach: int) -> Ink:
    """The mask (True) and what is within so many rows and columns of it."""
    return window_extreme(mask.view(np.uint8), 2 * reach + 1, np.maximum).astype(bool)
