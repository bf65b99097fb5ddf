"""What is done to a training patch beside cutting it out: one function per change, each a pure function of its arguments.

gray : (H, W) uint8, the region around a patch; its windows see it all. The target changes only where strokes move.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from ..core.arrays import Gray
from ..page.numbers import PageNumbers
from ..synth.fields import noise

_TURN = 7.0  # degrees, at most
_PALEST = 0.4  # of the depth of faded ink
SHARES = 200  # a paper's share of its own level, as a byte: so much is all of it


def turned(rng: np.random.Generator, gray: Gray, target: np.ndarray) -> tuple[Gray, np.ndarray]:
    """Turned by some degrees about its middle; beyond its sides it goes on as its mirror image."""
    angle = float(rng.uniform(-_TURN, _TURN))
    around = int(max(gray.shape) * np.sin(np.radians(_TURN))) // 2 + 3
    inside = tuple(slice(around, around + n) for n in gray.shape)

    def turn(values: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        wide = Image.fromarray(np.pad(values, around, mode="symmetric"))
        return np.asarray(wide.rotate(angle, Image.Resampling.BICUBIC))[inside]

    coverage = turn((target * np.float32(255)).astype(np.uint8))
    return turn(gray), coverage >= 128 if target.dtype == bool else coverage / np.float16(255)


def faded(rng: np.random.Generator, gray: Gray, white: np.float32) -> Gray:
    """Ink that is paler here and darker there; where between ink and paper an edge lies stays as it was.

    white : the gray of the paper.
    """
    depth = np.clip(0.78 + 0.3 * noise(rng, gray.shape, float(np.exp(rng.uniform(np.log(8), np.log(80))))), _PALEST, 1)
    made: Gray = np.where(gray < white, np.rint(white - depth * (white - gray)), gray).astype(np.uint8)
    return made


def on_paper(rng: np.random.Generator, gray: Gray, paper: npt.NDArray[np.uint8], contrast: float) -> Gray:
    """The patch on another paper; what is printed on that stays paler than the ink.

    paper : as `shares_of_paper` gives it. contrast : of the page's ink.
    """
    zoom = rng.uniform(1.0, 2.5)
    size = [min(int(n / zoom) + 1, m) for n, m in zip(gray.shape, paper.shape, strict=True)]
    top, left = (int(rng.integers(m - n + 1)) for n, m in zip(size, paper.shape, strict=True))
    part = paper[top : top + size[0], left : left + size[1]][:: rng.choice((1, -1)), :: rng.choice((1, -1))]
    enlarged = Image.fromarray(np.ascontiguousarray(part)).resize(gray.shape[::-1], Image.Resampling.BICUBIC)
    depth = 1 - np.asarray(enlarged, np.float32) / np.float32(SHARES)
    deepest = max(float(np.percentile(depth, 99.5)), 0.01)
    depth *= np.float32(min(contrast * rng.uniform(0.1, 0.6) / deepest, 1))
    made: Gray = np.rint(np.clip(gray * (1 - depth), 0, 255)).astype(np.uint8)
    return made


def with_rules(rng: np.random.Generator, gray: Gray, target: np.ndarray, white: np.float32,
               contrast: float) -> tuple[Gray, np.ndarray]:  # fmt: skip
    """Rules of a form or table, straight and as dark as the page's ink: they are ink.

    white : the gray of the paper. contrast : of the page's ink.
    """
    height, width = gray.shape
    picture = Image.new("L", (2 * width, 2 * height))
    pen = ImageDraw.Draw(picture)
    for _ in range(int(rng.integers(1, 5))):
        upright = rng.random() < 0.4
        along, across = (2 * height, 2 * width) if upright else (2 * width, 2 * height)
        at, slope = rng.uniform(0, across), rng.uniform(-0.02, 0.02)
        first, last = (0.0, float(along)) if rng.random() < 0.6 else sorted(rng.uniform(0, along, 2))
        ends = [(first, at + slope * first), (last, at + slope * last)]
        pen.line([(y, x) for x, y in ends] if upright else ends, 255, max(round(2 * np.exp(rng.uniform(0.2, 1.5))), 2))
    coverage = np.asarray(picture.resize((width, height), Image.Resampling.BOX), np.float32) / 255
    dark = white * np.float32(max(1 - contrast * rng.uniform(0.85, 1.15), 0))
    ruled = np.rint(np.minimum(gray, gray * (1 - coverage) + dark * coverage)).astype(np.uint8)
    return ruled, np.where(coverage >= 0.5, True, target)


def with_border(rng: np.random.Generator, gray: Gray, target: np.ndarray, spot: tuple[int, int], side: int,
            numbers: PageNumbers, ends: Sequence[tuple[int, int]] = ()) -> tuple[Gray, np.ndarray, PageNumbers]:  # fmt: skip
    """The page ends at a line through the patch; beyond it something dark lies, which is not ink.

    spot, side : the patch in the region. ends : (axis, 0 or 1) of the patch's sides one of which it lies at; any side
    where there are none. The page's numbers count what lies beyond as 1 to 20 % of the page, and as at most half that
    share of its body.
    """
    y, x = np.indices(gray.shape, np.float32)
    axis, end = ends[int(rng.integers(len(ends)))] if ends else (int(rng.random() >= 0.5), int(rng.random() < 0.5))
    away, along = (y - spot[0], x - spot[1]) if axis == 0 else (x - spot[1], y - spot[0])
    if end:
        away = side - away
    beyond = away < side * np.float32(rng.uniform(0, 0.4)) + along * np.float32(rng.uniform(-0.06, 0.06))
    slope = rng.uniform(-0.15, 0.15, 2) / side
    ground = paper_gray(gray) * (rng.uniform(0, 0.65) + slope[0] * (y - spot[0]) + slope[1] * (x - spot[1]))
    grain = rng.standard_normal(gray.shape, np.float32) * np.float32(rng.uniform(0, 6))
    ground = np.clip(np.rint(ground + grain), 0, 255).astype(np.uint8)
    share = rng.uniform(0.01, 0.2)
    counted = _counted(numbers, ground, share, share * rng.uniform(0, 0.5))
    return np.where(beyond, ground, gray), np.where(beyond, False, target), counted


def with_headline(rng: np.random.Generator, gray: Gray, target: np.ndarray, spot: tuple[int, int], side: int, contrast: float,
              numbers: PageNumbers) -> tuple[Gray, np.ndarray, PageNumbers]:  # fmt: skip
    """Letters with strokes of 14 to 70 pixels, printed over the page with ink as dark as its own or darker.

    They end before the patch does: what is dark up to the end of an image is as a rule the scanner's bed or a desk.
    spot, side : the patch in the region. contrast : of the page's own ink. The page's numbers count the letters as 1 to
    10 % of the page.
    """
    from ..synth.drawing import draw_headline

    coverage = np.zeros(gray.shape, np.float32)
    top, left, bottom, right = rng.integers(6, side // 4, 4)
    place = (slice(spot[0] + top, spot[0] + side - bottom), slice(spot[1] + left, spot[1] + side - right))
    height, width = coverage[place].shape
    coverage[place] = draw_headline(rng, height, width, (14, 70))
    paper = paper_gray(gray)
    dark = paper * np.float32(1 - rng.uniform(max(contrast, 0.4), 1))
    grain = rng.standard_normal(gray.shape, np.float32) * np.float32(rng.uniform(0, 6))
    ink = np.clip(dark + (gray - paper) * np.float32(rng.uniform(0, 0.2)) + grain, 0, 255)
    printed = np.rint(np.minimum(gray, gray * (1 - coverage) + ink * coverage)).astype(np.uint8)
    letters = coverage >= 0.5
    if letters.any():
        share = rng.uniform(0.01, 0.1)
        numbers = _counted(numbers, printed[letters], share, share)
    return printed, np.where(letters, True, target), numbers


def _counted(numbers: PageNumbers, more: Gray, share: float, share_of_body: float) -> PageNumbers:
    """The page's numbers as if these shares of it and of its body (the page without its margins) were as gray as ``more``."""
    added = np.bincount(more.reshape(-1), minlength=256) / more.size

    def count(h: np.ndarray, part: float) -> np.ndarray:
        counts: np.ndarray = np.rint(h * (1 - part) + added * (h.sum() * part)).astype(np.int64)
        return counts

    return PageNumbers(count(numbers.histogram, share), count(numbers.body.histogram, share_of_body))


def paper_gray(gray: Gray) -> np.float32:
    """The gray of the paper: most of a page is lighter than its darker parts."""
    return np.float32(np.percentile(gray[::4, ::4], 85) + 1)
