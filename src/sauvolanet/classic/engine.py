"""A classic method with its option values as an engine of the pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Never

from ..core.arrays import Gray, Ink
from ..errors import UsageError
from ..options import Method
from ..page.prepared import Prepared
from ..page.reading import Tiles


@dataclass(frozen=True)
class MethodEngine:
    """See `sauvolanet.pipeline.Engine`. params : the value of every option of the method, checked."""

    method: Method
    params: dict[str, Any]
    kind = "method"
    has_steps = False
    reading = None

    @property
    def name(self) -> str:
        return self.method.name

    @property
    def has_surface(self) -> bool:
        return self.method.surface

    @property
    def values(self) -> dict[str, Any]:
        return {"method": self.name, **self.params}

    def tiles(self, prepared: Prepared, threads: int | None) -> Tiles:
        gray = prepared.gray
        whole = (slice(0, gray.shape[0]), slice(0, gray.shape[1]))
        return [(whole, self.method.function(gray, threads=threads, **self.params))]

    def ink(self, gray: Gray, threads: int | None) -> Ink | None:
        if self.method.surface and not self.method.fused:
            return None
        at_once = {"ink": True} if self.method.surface else {}
        ink: Ink = self.method.function(gray, threads=threads, **at_once, **self.params)
        return ink

    def writing(self, ink: Ink) -> Ink:
        return ink

    def steps(self, prepared: Prepared, threads: int | None) -> Never:
        raise UsageError(f"{self.name} is a classic method; explain shows the steps of a model")
