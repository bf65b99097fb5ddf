"""A page ready to be compared: what the pipeline decided about it, for everybody who comes after."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.arrays import Gray
from .numbers import PageNumbers
from .reading import PaperLevel, Read, Reading, usual_stroke


@dataclass(frozen=True)
class Prepared:
    """A page ready to be compared, and what was decided about it.

    gray : (H, W) uint8, 0 black: enlarged, and inverted as a whole or in areas if need be. numbers : of that gray.
    blank : nothing is on it. inverted : it was light on dark. channel : of a colour page, the one that became gray.
    times : it has so many times the page's rows and columns. read : the page as the engine reads it, where it has a
    reading. areas : how many dark bars and boxes of it have letters (`sauvolanet.page.dark_areas`).
    """

    gray: Gray
    numbers: PageNumbers
    blank: bool
    inverted: bool
    channel: str
    times: int
    read: Read | None = None
    areas: int = 0

    @property
    def paper(self) -> PaperLevel:
        """How light the paper is, place by place."""
        return Reading().paper_level(self.gray) if self.read is None else self.read.paper

    @property
    def stroke(self) -> float:
        """How wide strokes are, in pixels; 0 where nothing tells."""
        return usual_stroke(self.gray, self.numbers.body.otsu()) if self.read is None else self.read.stroke
