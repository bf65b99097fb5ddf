"""What a page tells: measured once on the page and its ink, cheaply, and why a person should look at it.

`find` looks at samples and at a few bands of rows, never at every pixel in turn but for counting and for rules.

A picture is a place where hardly anything is paper: of what is not ink, little is near the lightest level thereabouts.
Shadows and stains are even thereabouts, and what is dark and reaches a side of the page (a scanner's bed, a desk) does
not count.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import Gray, Ink
from ..core.components import Runs, runs_of, touching
from ..core.windows import box_sum, window_extreme
from . import lines
from .prepared import Prepared

# why a person should look
BLANK_SHARE = 0.003  # ink on less of the page is next to nothing …
FULL_SHARE = 0.4  # … and on more of it more than writing has
LOW_CONTRAST = 24  # gray levels between paper and ink
PICTURE_SHARE = 0.06  # of the page that looks like a picture
SPECK_SHARE = 0.75  # of the pieces of ink that are specks

# pictures
_CELLS = 5000  # that a page has …
_STROKES = 4  # … or fewer: a cell is so many strokes wide, that paper shows between them
_THICKEST = 12  # pixels; wider strokes are no strokes of writing
_SAMPLES = 4  # along each side of a cell
_EDGE = 2  # pixels around a stroke in which it is soft
_LIGHT = 12  # of a cell's sixteen samples so many are as dark as its light level or darker
_AROUND = 7  # cells across, with which a cell is compared …
_BETWEEN = 5  # … and which are picture with it
_TOLERANCE = 0.4  # of the contrast of ink by which paper may be darker than the lightest around …
_LEAST = 40  # … and gray levels
_PAPER = 0.35  # of what is not ink is paper where there is no picture
_DARK = 0.6  # of the contrast of ink by which a scanner's bed is darker than the page
_FREE = 0.2  # of the samples around must not be ink: solid ink is a headline or a bar

# specks
_BANDS, _ROWS = 4, 64  # of rows in which pieces of ink are looked at
_SMALL = 0.3  # of the square of the stroke width is the size of a speck, at most: a full stop is larger
_FEW = 20  # pieces of ink that a page must have to have many specks


@dataclass(frozen=True)
class Found:
    """What was found on a page; lengths in pixels of the result, levels of the gray that was compared.

    stroke_width : 0 where nothing tells. reading_size : how many times larger the page was read than it is.
    paper_level, ink_level : their usual gray; the latter None without ink. ink_share, picture_share : of the page, 0 … 1.
    lines : long rules across and down. look : why a person should look at this page; mostly empty.
    """

    stroke_width: float
    reading_size: float
    paper_level: int
    ink_level: int | None
    inverted: bool
    ink_share: float
    lines: int
    picture_share: float
    look: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """For rows, responses and other JSON."""
        return {**asdict(self), "look": list(self.look)}


def find(prepared: Prepared, ink: Ink, dropped: int = 0) -> Found:
    """What is found on a page and its ink (bool, True = ink). dropped : long rules that were taken out of the ink."""
    share = float(np.count_nonzero(ink) / ink.size)
    stroke = prepared.stroke
    step = max(round(max((ink.size / _CELLS) ** 0.5, _STROKES * min(stroke, _THICKEST)) / _SAMPLES), 2)
    blank = ~ink[::step, ::step]
    paper = _median(prepared.gray[::step, ::step][blank]) if blank.any() else 255
    dark = _ink_level(prepared.gray, ink) if share else None
    pieces = runs_of(_bands(ink))
    picture = 0.0 if prepared.blank else _picture_share(prepared.gray, ink, step, dark)
    reasons = {
        "nearly blank": share < BLANK_SHARE,
        "much ink": share > FULL_SHARE,
        "very low contrast": dark is not None and paper - dark < LOW_CONTRAST,
        "picture lost": picture >= PICTURE_SHARE,
        "many specks": _speck_share(pieces, stroke) > SPECK_SHARE,
    }
    return Found(round(stroke, 2), 1.0 if prepared.read is None else prepared.read.times, paper, dark, prepared.inverted,
                 round(share, 5), dropped + lines.count_long(ink, pieces.letter_height()), round(picture, 4),
                 tuple(reason for reason, holds in reasons.items() if holds))  # fmt: skip


def _median(levels: Gray) -> int:
    return int(np.searchsorted(np.bincount(levels, minlength=256).cumsum(), levels.size / 2))


def _ink_level(gray: Gray, ink: Ink) -> int:
    """The usual gray of ink, of which there is some: from a part of the rows that have ink."""
    rows = np.flatnonzero(ink.any(axis=1))
    rows = rows[:: -(-len(rows) // _ROWS)]
    return _median(gray[rows][ink[rows]])


# --- pictures ---


def _picture_share(gray: Gray, ink: Ink, step: int, dark: int | None) -> float:
    """The share of the page that looks like a picture. step : pixels between samples. dark : the level of the ink."""
    counts = [(n - 2 * _EDGE) // (step * _SAMPLES) for n in gray.shape]
    if min(counts) < 1:
        return 0.0

    def sampled(page: npt.NDArray[Any], down: int = 0, right: int = 0) -> npt.NDArray[Any]:
        high, wide = (n * _SAMPLES for n in counts)
        return page[_EDGE + down :: step, _EDGE + right :: step][:high, :wide]

    def in_cells(some: npt.NDArray[Any]) -> npt.NDArray[Any]:
        parts = some.reshape(counts[0], _SAMPLES, counts[1], _SAMPLES)
        return parts.transpose(0, 2, 1, 3).reshape(*counts, _SAMPLES**2)

    samples = in_cells(sampled(gray))
    around = ((0, 0), (_EDGE, 0), (-_EDGE, 0), (0, _EDGE), (0, -_EDGE))
    near = in_cells(np.logical_or.reduce([sampled(ink, *by) for by in around]))
    light = np.partition(samples, _LIGHT, axis=2)[:, :, _LIGHT].astype(np.int64)
    white = float(np.percentile(light, 90))
    contrast = white - (float(np.percentile(samples, 1)) if dark is None else dark)
    bed = light < white - _DARK * max(contrast, _LEAST)
    sides = np.ones(bed.shape, bool)
    sides[1:-1, 1:-1] = False
    bed = touching(bed, sides)
    free = ~near & ~bed[..., None]
    lightest = window_extreme(np.where(bed, 0, light), _AROUND, np.maximum)
    paper = free & (samples >= (lightest - max(_TOLERANCE * contrast, _LEAST))[..., None])
    papers, frees, cells = (
        box_sum(n.astype(np.int64), _AROUND) for n in (paper.sum(2), free.sum(2), np.full(light.shape, _SAMPLES**2))
    )
    middles = (papers < _PAPER * frees) & (frees >= _FREE * cells)
    return float((box_sum(middles.astype(np.int64), _BETWEEN) > 0).mean())


# --- specks ---


def _speck_share(pieces: Runs, stroke: float) -> float:
    """The share of specks among pieces of ink; 0 where there are few pieces."""
    sizes = np.bincount(pieces.component, pieces.last - pieces.first)
    sizes = sizes[sizes > 0]
    return float(np.mean(sizes <= max(_SMALL * stroke**2, 2))) if len(sizes) >= _FEW else 0.0


def _bands(ink: Ink) -> Ink:
    """Some bands of rows, one below the other."""
    firsts = [max(round((number + 0.5) * len(ink) / _BANDS) - _ROWS // 2, 0) for number in range(_BANDS)]
    return np.concatenate([ink[first : first + _ROWS] for first in firsts])
