"""Run a network over a page, tile by tile: gray in, threshold surface out.

A tile is computed with a halo of rows and columns that its pixels can see, so its values are those of the whole page,
bit for bit: every sum is taken in an order that depends on the pixel alone. Networks with instance normalisation need
page-wide statistics first: they are gathered layer by layer over the same tiles, from sums per row of the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..page import PageNumbers
from ..windows import Gray, Surface, compiled, run_bands
from .architecture import Architecture
from .features import Array, Scale, features, page_numbers, statistics

TILE_PIXELS = 12_000_000  # larger pages are cut into tiles of at most this many pixels, halo included


@dataclass(frozen=True)
class Layer:
    """One convolution: packed weights for the kernel, plain ones for numpy, and what follows it."""

    weight: Array  # (outputs rounded up to 8, inputs, size, size)
    bias: Array
    packed: Array
    outputs: int
    dilation: int
    relu: bool


@dataclass(frozen=True)
class Tile:
    """Rows and columns of a tile: its core, and what has to be read to compute it."""

    core: tuple[slice, slice]
    read: tuple[slice, slice]

    def inside(self) -> tuple[slice, slice]:
        """The core, counted from the first row and column read."""
        return tuple(slice(c.start - r.start, c.stop - r.start) for c, r in zip(self.core, self.read, strict=True))  # type: ignore[return-value]


def cut(height: int, width: int, halo: int, multiple: int, largest: int) -> list[Tile]:
    """Tiles whose cores cover the page; cores begin at multiples, so that pooling falls as on the whole page."""
    rows = columns = 1
    while True:
        tall, wide = (_step(n, parts, multiple) for n, parts in ((height, rows), (width, columns)))
        if (tall + 2 * halo) * (wide + 2 * halo) <= largest or rows * columns == 1 and height * width <= largest:
            break
        if tall <= multiple and wide <= multiple:
            break
        if tall >= wide:
            rows += 1
        else:
            columns += 1
    return [
        Tile((y, x), (_grow(y, halo, height), _grow(x, halo, width)))
        for y in _spans(height, tall)
        for x in _spans(width, wide)
    ]


def _step(length: int, parts: int, multiple: int) -> int:
    return -(-length // (parts * multiple)) * multiple


def _spans(length: int, step: int) -> list[slice]:
    return [slice(a, min(a + step, length)) for a in range(0, length, step)]


def _grow(span: slice, halo: int, length: int) -> slice:
    return slice(max(span.start - halo, 0), min(span.stop + halo, length))


def halo_of(arch: Architecture) -> int:
    """Pixels beyond a core that its values depend on (window statistics read the page itself), as a multiple.

    Follows the cells that the first row of a core needs, from the output back to the features.
    """
    need = 2 if arch.refine else 0
    need = -(-need // arch.fold) + arch.head // 2  # in cells of the level
    deepest = len(arch.widths) - 1

    def level(depth: int, cells: int) -> int:
        """Cells of the level that are needed above the core, counting what deeper levels need."""
        if depth < deepest:
            cells += 1  # the convolution after the addition
            below = level(depth + 1, -(-cells // 2)) * 2
            cells = max(cells, below)
        return cells + sum(arch.dilations[depth])

    need = level(0, need) * arch.fold
    return -(-need // arch.multiple) * arch.multiple


def convolve_numpy(x: Array, layer: Layer) -> Array:
    """The truth of the convolution: taps added one after the other, zeros outside."""
    size, dilation = layer.weight.shape[2], layer.dilation
    reach = size // 2 * dilation
    height, width, _ = x.shape
    padded = np.pad(x, ((reach, reach), (reach, reach), (0, 0)))
    out = np.broadcast_to(layer.bias, (height, width, len(layer.bias))).copy()
    for a in range(size):
        for b in range(size):
            rows = slice(a * dilation, a * dilation + height)
            out += padded[rows, b * dilation : b * dilation + width] @ layer.weight[:, :, a, b].T
    return np.maximum(out, 0) if layer.relu else out


def convolve(x: Array, layer: Layer, threads: int | None) -> Array:
    """The convolution of a tile (H, W, C), outputs rounded up to a multiple of eight."""
    kernels = compiled("sauvolanet.net.conv_kernels")
    if kernels is None:
        return convolve_numpy(x, layer)
    x = np.ascontiguousarray(x)
    out = np.empty((*x.shape[:2], len(layer.bias)), np.float32)
    size = layer.weight.shape[2]
    run_bands(x.shape[0], threads, lambda a, b: kernels.convolve(x, layer.packed, layer.bias, out, a, b, size,
                                                                 layer.dilation, layer.relu), least=8)  # fmt: skip
    return out


def pool(x: Array, threads: int | None) -> Array:
    """The maximum of each two by two cells."""
    kernels = compiled("sauvolanet.net.conv_kernels")
    if kernels is None:
        rows = np.maximum(x[0::2], x[1::2])
        return np.maximum(rows[:, 0::2], rows[:, 1::2])
    out = np.empty((x.shape[0] // 2, x.shape[1] // 2, x.shape[2]), np.float32)
    run_bands(len(out), threads, lambda a, b: kernels.pool(x, out, a, b))
    return out


def add_enlarged(skip: Array, small: Array, threads: int | None) -> Array:
    """skip + small, each cell of small taken twice in both directions."""
    kernels = compiled("sauvolanet.net.conv_kernels")
    if kernels is None:
        return skip + small.repeat(2, 0).repeat(2, 1)
    run_bands(len(small), threads, lambda a, b: kernels.add_enlarged(skip, small, skip, a, b))
    return skip


@dataclass(frozen=True)
class Network:
    """A network ready to run: description, layers by name, Sauvola parameters."""

    architecture: Architecture
    layers: dict[str, Layer]
    k: Array
    r: Array

    def tiles(self, gray: Gray, numbers: PageNumbers, scale: Scale, threads: int | None,
              largest: int = TILE_PIXELS) -> Iterator[tuple[tuple[slice, slice], Surface]]:  # fmt: skip
        """The surface on the page's 0–255 scale, tile by tile."""
        for core, logits, mean, deviation, _ in self._attention_tiles(gray, numbers, scale, threads, largest):
            yield core, scale.to_gray(self.attend(logits, mean, deviation, threads)[1])

    def explain(self, gray: Gray, numbers: PageNumbers, scale: Scale, threads: int | None) -> tuple[Array, Array, Array]:
        """Sauvola thresholds (H, W, windows) and surface on the 0–255 scale, attention (H, W, choices)."""
        arch = self.architecture
        surfaces = np.empty((*gray.shape, len(arch.windows)), np.float32)
        attention = np.empty((*gray.shape, arch.choices), np.float32)
        threshold = np.empty(gray.shape, np.float32)
        for core, logits, mean, deviation, _ in self._attention_tiles(gray, numbers, scale, threads, TILE_PIXELS):
            attention[core], t = self.attend(logits, mean, deviation, threads, keep=True)
            threshold[core] = scale.to_gray(t)
            surfaces[core] = scale.to_gray(mean * (1 + self.k * (deviation / self.r - 1)))
        return surfaces, attention, threshold

    def _attention_tiles(self, gray: Gray, numbers: PageNumbers, scale: Scale, threads: int | None,
                         largest: int) -> Iterator[tuple[tuple[slice, slice], Array, Array, Array, Array]]:  # fmt: skip
        arch = self.architecture
        known = page_numbers(numbers, scale)
        tiles = cut(*gray.shape, halo_of(arch), arch.multiple, largest)
        norms: dict[str, tuple[Array, Array]] = {}
        if arch.norm == "instance":
            self._gather(gray, tiles, scale, known, norms, threads)
        for tile in tiles:
            scaled, mean, deviation = self._statistics(gray, tile, scale, threads)
            logits = self._logits(scaled, mean, deviation, known, norms, threads)
            core = tile.inside()
            yield tile.core, logits[core], mean[core], deviation[core], scaled[core]

    def _statistics(self, gray: Gray, tile: Tile, scale: Scale, threads: int | None) -> tuple[Array, Array, Array]:
        mean, deviation = statistics(gray, self.architecture.windows, scale, tile.read, threads)
        scaled = (gray[tile.read] - np.float32(scale.low)) * np.float32(scale.gain)
        return scaled, mean, deviation

    def _logits(self, scaled: Array, mean: Array, deviation: Array, known: Array, norms: dict[str, tuple[Array, Array]],
                threads: int | None, until: str = "") -> Array:  # fmt: skip
        """The logits of a tile; with ``until`` the plain convolution of that layer instead (to gather statistics)."""
        arch = self.architecture
        height, width = scaled.shape
        padding = [(0, -n % arch.multiple) for n in (height, width)]
        if any(p[1] for p in padding):
            scaled = np.pad(scaled, padding, mode="edge")
            mean, deviation = (np.pad(v, [*padding, (0, 0)], mode="edge") for v in (mean, deviation))
        x = features(arch, scaled, mean, deviation, known, threads)
        kept: list[Array] = []
        for depth, widths in enumerate(arch.widths):
            if depth:
                kept.append(x)
                x = pool(x, threads)
            for i in range(len(widths)):
                name = f"down{depth}.{i}"
                x = convolve(x, self.layers[name], threads)
                if name == until:
                    return x[:height, :width]
                if name in norms:
                    mu, inverse = norms[name]
                    x -= mu
                    x *= inverse
                    np.maximum(x, 0, out=x)
        for depth in range(len(arch.widths) - 2, -1, -1):
            x = add_enlarged(kept.pop(), convolve(x, self.layers[f"reduce{depth}"], threads), threads)
            x = convolve(x, self.layers[f"up{depth}"], threads)
        logits = convolve(x, self.layers["head"], threads)[..., : self.layers["head"].outputs]
        if arch.fold > 1:
            f, (h, w) = arch.fold, logits.shape[:2]
            logits = logits.reshape(h, w, f, f, -1).transpose(0, 2, 1, 3, 4).reshape(h * f, w * f, -1)
        if arch.refine:
            near = [mean[..., arch.windows.index(w)] for w in arch.refine_windows]
            seen = np.stack([scaled, *(scaled - m for m in near)], -1)
            x = convolve(np.concatenate([logits, seen], -1), self.layers["refine0"], threads)
            logits = logits + convolve(x, self.layers["refine1"], threads)[..., : arch.choices]
        return logits[:height, :width]

    def _gather(self, gray: Gray, tiles: list[Tile], scale: Scale, known: Array, norms: dict[str, tuple[Array, Array]],
                threads: int | None) -> None:  # fmt: skip
        """Mean and 1 / deviation over the page for every normalised layer: one pass over the tiles per layer."""
        for name in [name for name, *_, normalised, _ in self.architecture.convolutions() if normalised]:
            channels = len(self.layers[name].bias)
            rows = np.zeros((gray.shape[0], 2, channels))
            for tile in tiles:
                z = self._logits(*self._statistics(gray, tile, scale, threads), known, norms, threads, until=name)
                z = z[tile.inside()].astype(np.float64)
                rows[tile.core[0], 0] += z.sum(1)
                rows[tile.core[0], 1] += (z * z).sum(1)
            mu, square = rows.sum(0) / gray.size
            deviation = np.sqrt(np.maximum(square - mu * mu, 1e-10))
            norms[name] = mu.astype(np.float32), (1 / deviation).astype(np.float32)

    def attend(self, logits: Array, mean: Array, deviation: Array, threads: int | None, keep: bool = False) -> tuple[Array, Array]:
        """Attention (empty unless it is to be kept) and threshold, on the scaled gray."""
        constants = np.asarray(self.architecture.constants, np.float32)
        kernels = compiled("sauvolanet.net.feature_kernels")
        if kernels is None:
            return attend_numpy(logits, mean, deviation, self.k, self.r, constants)
        attention = np.empty(logits.shape if keep else (len(logits), 0, 0), np.float32)
        threshold = np.empty(logits.shape[:2], np.float32)
        run_bands(len(logits), threads, lambda a, b: kernels.attend(
            logits[a:b], mean[a:b], deviation[a:b], self.k, self.r, constants, attention[a:b], threshold[a:b]))  # fmt: skip
        return attention, threshold


def attend_numpy(logits: Array, mean: Array, deviation: Array, k: Array, r: Array, constants: Array) -> tuple[Array, Array]:
    """The truth of AST: softmax over the choices, then the weighted sum of Sauvola thresholds and constants."""
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    surfaces = mean * (1 + k * (deviation / r - 1))
    count = len(k)
    return weights, (weights[..., :count] * surfaces).sum(-1) + weights[..., count:] @ constants
