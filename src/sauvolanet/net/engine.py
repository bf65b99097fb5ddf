"""A model as an engine of the pipeline: surfaces in one of two qualities, and how they came about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.arrays import Gray, Ink, Surface
from ..page.margins import clear
from ..page.numbers import PageNumbers
from ..page.prepared import Prepared
from ..page.reading import Reading, Tiles
from .model import Model


class Steps(NamedTuple):
    """How a model decided: Sauvola thresholds per window (H, W, windows), attention per choice (H, W, windows +
    constants), the surface, and how sure a model with a view is that a place has writing (H, W), 0 … 1; all float32,
    thresholds on the 0–255 scale."""

    windows: tuple[int, ...]
    constants: tuple[float, ...]
    surfaces: npt.NDArray[np.float32]
    attention: npt.NDArray[np.float32]
    surface: Surface
    view: npt.NDArray[np.float32] | None


@dataclass(frozen=True)
class ModelEngine:
    """See `sauvolanet.pipeline.Engine`. quality : "best" averages the surfaces of the page and its mirror images."""

    model: Model
    quality: str = "fast"
    kind = "model"
    has_surface = True
    has_steps = True

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def values(self) -> dict[str, Any]:
        return {"model": self.model.digest}

    @property
    def reading(self) -> Reading | None:
        return self.model.reading

    def tiles(self, prepared: Prepared, threads: int | None) -> Tiles:
        read, gray, numbers = prepared.read, prepared.gray, prepared.numbers
        if read is None:
            return self._as_read(gray, numbers, threads)
        # what lies at the page's sides is seen in its own light
        bed = self.model.bed(gray, self.model.scale(numbers))
        surface = read.surface(self._as_read(read.gray, read.numbers, threads), threads)
        return ((core, clear(part, core, bed)) for core, part in surface)

    def ink(self, gray: Gray, threads: int | None) -> Ink | None:
        return None

    def writing(self, ink: Ink) -> Ink:
        return self.model.writing(ink)

    def steps(self, prepared: Prepared, threads: int | None) -> Steps:
        arch, read = self.model.architecture, prepared.read
        whole = (slice(0, prepared.gray.shape[0]), slice(0, prepared.gray.shape[1]))
        gray, numbers = (prepared.gray, prepared.numbers) if read is None else (read.gray, read.numbers)
        surfaces, attention, _ = self.model.explain(gray, numbers, threads)
        view = self.model.in_view(gray, numbers, threads)
        if read is not None:
            surfaces = read.at_page_size(surfaces) * read.paper.ratio(whole)[..., None]
            attention = read.at_page_size(attention)
            view = None if view is None else read.at_page_size(view[..., None])[..., 0]
        surface = np.empty(prepared.gray.shape, np.float32)
        for core, part in self.tiles(prepared, threads):
            surface[core] = part
        return Steps(arch.windows, arch.constants, surfaces, attention, surface, view)

    def _as_read(self, gray: Gray, numbers: PageNumbers, threads: int | None) -> Tiles:
        if self.quality == "fast":
            return self.model.tiles(gray, numbers, threads)
        total: Surface = self.model.surface(gray, numbers, threads)
        for flip in ((0,), (1,), (0, 1)):
            turned = np.ascontiguousarray(np.flip(gray, flip))
            total += np.flip(self.model.surface(turned, numbers, threads), flip)
        return [((slice(0, gray.shape[0]), slice(0, gray.shape[1])), total / np.float32(4))]
