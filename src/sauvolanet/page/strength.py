"""Heavier and lighter ink: strokes grow into the soft edge around them, or shrink out of it.

Where a stroke ends is a level between the gray of its ink and that of the paper beside it. The strength moves that
level, whatever the threshold is there: a surface that lies far above or below every gray would not move a stroke. The
levels of strengths between are the page's own, so that half the strength takes or gives half as much ink.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..core.arrays import Gray, Ink, Surface
from ..core.components import grown, stroke_width
from ..core.windows import window_extreme
from .reading import PaperLevel

LIGHTEST = 0.36  # strength -1: what is left of a stroke is darker than this part of the way from its ink to the paper
HEAVIEST = 0.78  # strength 1: a stroke grows into all that is darker than this part of the way
REACH = 0.15  # pixels that a stroke may grow at each side, as a part of its width; always one


@dataclass(frozen=True)
class Edges:
    """The ink of strength 0 of a page, and what tells how far its strokes may grow or shrink.

    ink : (H, W) bool, True = ink. free : (H, W) bool, where ink may be at all. share : (H, W) float32, where between the ink beside it (0) and the paper (1) the gray
    of a pixel lies. reach : how far a stroke may grow, in pixels.
    """

    ink: Ink
    free: Ink
    share: Surface
    reach: int

    @classmethod
    def of(cls, gray: Gray, ink: Ink, free: Ink, paper: PaperLevel, threads: int | None = 1) -> Edges:
        reach = max(1, round(REACH * stroke_width(ink)))
        side = 2 * max(reach, 2) + 1
        low = window_extreme(np.where(ink, gray, np.uint8(255)), side, np.minimum, threads)
        high = paper.ratio((slice(0, gray.shape[0]), slice(0, gray.shape[1]))) * np.float32(paper.white)
        return cls(ink, free, (gray - low.astype(np.float32)) / np.maximum(high - low, 1), reach)

    def at(self, strength: float) -> Ink:
        """Ink (bool, True = ink) of a strength: it only grows with strength, and only where it touches ink."""
        if strength <= 0:
            return self.ink & (self.share < self.level(strength)) if strength else self.ink
        return self._grown(self.level(strength))

    def level(self, strength: float) -> np.float32:
        """Where between the gray of its ink (0) and of the paper (1) a stroke ends; not for strength 0."""
        if abs(strength) == 1:
            return np.float32(HEAVIEST if strength > 0 else LIGHTEST)
        moving = self._coming if strength > 0 else self._going
        at = strength if strength > 0 else 1 + strength
        return moving[int(at * len(moving))] if len(moving) else np.float32(0 if strength > 0 else np.inf)

    @cached_property
    def _going(self) -> npt.NDArray[np.float32]:
        """The shares of the ink that strength -1 takes, sorted."""
        return np.sort(self.share[self.ink & (self.share >= LIGHTEST)])

    @cached_property
    def _coming(self) -> npt.NDArray[np.float32]:
        """The shares of the ink that strength 1 gives, sorted."""
        return np.sort(self.share[self._grown(np.float32(HEAVIEST)) & ~self.ink])

    def _grown(self, level: np.float32) -> Ink:
        """The ink grown into what is darker than a level."""
        soft = self.free & (self.share < level)
        ink = self.ink
        for _ in range(self.reach):
            ink = ink | (grown(ink) & soft)
        return ink

    def onset(self, strengths: Sequence[float]) -> npt.NDArray[np.uint8]:
        """For each pixel the first of the strengths (growing, 0 among them) at which it is ink; their number if none."""
        zero = strengths.index(0)
        levels = np.array([self.level(s) if s else np.inf for s in strengths], np.float32)
        lighter = np.searchsorted(levels[: zero + 1], self.share, side="right")
        heavier = zero + 1 + np.searchsorted(levels[zero + 1 :], self.share, side="right")
        heavier[~self.free] = len(strengths)
        first = np.where(self.ink, lighter, len(strengths)).astype(np.uint8)
        for _ in range(self.reach):
            beside = np.pad(first, 1, constant_values=len(strengths))
            around = np.minimum.reduce([beside[:-2, 1:-1], beside[2:, 1:-1], beside[1:-1, :-2], beside[1:-1, 2:]])
            first = np.minimum(first, np.maximum(around, heavier)).astype(np.uint8)
        return first


def moved(surface: Surface, gray: Gray, ink: Ink) -> Surface:
    """The surface moved as little as makes the ink (bool, True = ink) exactly the gray below it."""
    above = np.nextafter(gray.astype(np.float32), np.float32(np.inf))
    return np.where(ink, np.maximum(surface, above), np.minimum(surface, gray)).astype(np.float32)
