"""Real ink: how much of each pixel a photographed or scanned writing covers, and how wide its strokes are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from ..core.arrays import Ink
from ..core.components import despeckle, letter_height, touching
from ..page.formats import open_image
from .fields import Field, blur, largest, resize

_HALF = 0.5  # coverage from which a pixel is ink in the truth


@dataclass(frozen=True)
class Writing:
    """A piece of ink on disk: ``written`` is a colour picture on even ground, ``printed`` a 1-bit mask, 0 = ink."""

    name: str
    path: Path
    printed: bool = False

    def coverage(self) -> npt.NDArray[np.uint8]:
        """(H, W) uint8, 0 = paper, 255 = covered by ink."""
        return _coverage(self.path, self.printed)

    def width(self) -> float:
        """Stroke width in pixels."""
        return _numbers(self.path, self.printed)[0]

    def height(self) -> int:
        """Height of its small letters in pixels, 0 where it has none."""
        return _numbers(self.path, self.printed)[1]


@lru_cache(maxsize=96)
def _coverage(path: Path, printed: bool) -> npt.NDArray[np.uint8]:
    with open_image(path) as image:
        if printed:
            return np.where(np.asarray(image.convert("L")) < 128, np.uint8(255), np.uint8(0))
        return np.rint(255 * covered(np.asarray(image.convert("RGB")))).astype(np.uint8)


@cache
def _numbers(path: Path, printed: bool) -> tuple[float, int]:
    ink = _coverage(path, printed) >= 128
    return stroke_width(ink), letter_height(ink)


def stroke_width(ink: Ink) -> float:
    """Mean stroke width of a mask (True = ink) in pixels: 2 · area / edge length; 0 without ink.

    The edge length is the number of pixel sides between ink and paper times π/4, the mean over all directions.

    >>> round(stroke_width(np.pad(np.ones((4, 4000), bool), 8)) * np.pi / 4, 2)  # straight sides need no mean
    4.0
    """
    sides = np.count_nonzero(ink[1:] != ink[:-1]) + np.count_nonzero(ink[:, 1:] != ink[:, :-1])
    return float(8 / np.pi * np.count_nonzero(ink) / sides) if sides else 0.0


def rim(shape: tuple[int, ...], reach: int) -> Ink:
    """True within ``reach`` pixels of a side."""
    mask = np.ones(shape, bool)
    mask[reach:-reach, reach:-reach] = False
    return mask


def covered(colour: npt.NDArray[np.uint8]) -> Field:
    """How much of each pixel ink covers, 0 … 1, for writing in one or several colours on even ground.

    colour : (H, W, 3) uint8. Depth is 1 − gray / local paper in the channel that shows the ink best; coverage is depth
    over the depth of the strokes nearby, so that a pale pen and a thin stroke count in full. What is pale everywhere
    (dirt, folds, the other side) or wide (shadows, the desk) is paper; what the picture's side cuts is left out.
    """
    depth = np.zeros(colour.shape[:2], np.float32)
    for channel in range(3):
        values = blur(colour[..., channel].astype(np.float32), 0.5)
        paper = np.maximum(blur(largest(values, 14), 8), 1)
        depth = np.maximum(depth, 1 - values / paper)
    depth -= np.median(depth)
    sure = float(np.percentile(depth, 99))
    strokes = depth > 0.5 * sure
    typical = float(np.median(depth[strokes])) if strokes.any() else 1.0
    near = np.maximum(blur(largest(depth, 3), 1.5), 0.55 * typical)
    coverage = np.clip((depth / near - 0.25) / 0.5, 0, 1)
    ink = coverage >= _HALF
    ink = touching(ink, despeckle(depth > 0.55 * typical, 6))  # faint ends of strokes stay, faint dirt goes
    ink &= ~touching(ink, ink & rim(ink.shape, 2))  # letters that the picture's side cuts in two
    return np.asarray(np.where(largest(ink.astype(np.float32), 2) > 0, coverage, 0), np.float32)


def resampled(coverage: npt.NDArray[np.uint8], width: float, to: float) -> Field:
    """The coverage (0 … 255) at the size at which its strokes, ``width`` wide, are ``to`` pixels wide: 0 … 1.

    Strokes that shrink keep their share of each pixel; strokes that grow keep an edge of about a pixel.
    """
    scale = to / width
    field = coverage.astype(np.float32) * np.float32(1 / 255)
    for _ in range(3):
        h, w = (max(round(n * scale), 1) for n in field.shape)
        if scale < 1:
            made = resize(field, h, w, Image.Resampling.BOX)
        else:
            made = resize(blur(field, 0.6), h, w, Image.Resampling.BICUBIC)
            made = np.clip((made - _HALF) * min(scale * 1.2, 4) + _HALF, 0, 1)
        found = stroke_width(made >= _HALF)
        if not found or abs(found / to - 1) < 0.04:
            break
        scale *= float(np.clip(to / found, 0.6, 1.6))
    return np.clip(made, 0, 1)
