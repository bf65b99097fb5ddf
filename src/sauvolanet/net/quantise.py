"""From single precision to 8 bits: the range of what enters each convolution, as pages show it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..core.arrays import Gray
from ..page.numbers import PageNumbers
from .buffers import Array
from .model import Model
from .run import Network

_REST = 1e-4  # share of what enters a convolution that lies below its range, and above
_SAMPLES = 20_000  # pixels of a page that tell


@dataclass(frozen=True)
class _Witness(Network):
    """A network that notes the range of what enters its convolutions."""

    seen: dict[str, list[tuple[Array, Array]]]

    def convolved(self, name: str, x: Array, threads: int | None, first: int = 0, last: int | None = None) -> Array:
        channels = self.layers[name].weight.shape[1]
        values = x[first:last, :, :channels].reshape(-1, channels)
        values = values[:: -(-len(values) // _SAMPLES)]
        low, high = np.quantile(values, (_REST, 1 - _REST), axis=0)
        self.seen.setdefault(name, []).append((low, high))
        return super().convolved(name, x, threads, first, last)


def quantised(model: Model, pages: Iterable[Gray]) -> Model:
    """The model in 8 bits; pages : gray as the network reads it, from which the ranges are taken."""
    network = model.network
    witness = _Witness(network.architecture, network.layers, network.k, network.r, {})
    for gray in pages:
        for _ in witness.tiles(model.inputs(gray, PageNumbers.of(gray)), None):
            pass
    weights = dict(model.weights)
    for name, ranges in witness.seen.items():
        lows, highs = zip(*ranges, strict=True)
        weights[f"{name}.low"] = np.min(lows, axis=0).astype(np.float32)
        weights[f"{name}.high"] = np.max(highs, axis=0).astype(np.float32)
    about = {n: v for n, v in model.about.items() if n not in ("file", "sha256")}
    return Model({**about, "bits": 8}, weights)
