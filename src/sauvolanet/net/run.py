"""Run a network over a page, tile by tile: what it reads in, thresholds and attention out, on the scaled gray.

A tile is computed with a halo of rows and columns that its pixels can see, so its values are those of the whole page,
bit for bit: every sum is taken in an order that depends on the pixel alone. Networks with instance normalisation need
page-wide statistics first: they are gathered layer by layer over the same tiles, from sums per row of the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.bands import run_bands
from ..core.kernels import native
from ..page.margins import Region
from .architecture import Architecture
from .buffers import Array, empty
from .inputs import PageInputs, Statistics, thresholds
from .view import sampled

TILE_BYTES = 300_000_000  # about what a tile may take; larger pages are cut
# a network with page-wide statistics computes every layer again for each of its layers once a page is cut
TILE_BYTES_INSTANCE = 4_000_000_000
BAND = 80  # rows that go through the steps at full resolution together, at most; more would only take memory


@dataclass(frozen=True)
class Layer:
    """One convolution: packed weights for the kernel, plain ones for numpy, and what follows it."""

    weight: Array  # (outputs rounded up to 8, inputs, size, size)
    bias: Array
    packed: Array
    outputs: int
    dilation: int
    relu: bool


def pack(weight: Array) -> Array:
    """Weights (outputs, inputs, size, size) in the order the kernel reads them: group by group of the outputs.

    A group has 16 outputs, the first 8 or 24 where they are no multiple of 16; in it tap after tap, input after input.
    """
    order = weight.transpose(2, 3, 1, 0).astype(np.float32)  # tap row, tap column, input, output
    return np.concatenate([order[..., a:b].reshape(-1) for a, b in pairwise(groups(len(weight)))])


def groups(outputs: int) -> list[int]:
    """Where the groups of outputs that a kernel computes together begin, and the end of the last."""
    assert outputs % 8 == 0
    return [0, *range(min(outputs, 24) if outputs % 16 else 16, outputs + 1, 16)]


@dataclass(frozen=True)
class Tile:
    """Rows and columns of a tile: its core, and what has to be read to compute it."""

    core: Region
    read: Region

    @property
    def core_in_read(self) -> Region:
        """The core, counted from the first row and column read."""
        return tuple(slice(c.start - r.start, c.stop - r.start) for c, r in zip(self.core, self.read, strict=True))  # type: ignore[return-value]


def cut(height: int, width: int, halo: int, multiple: int, largest: int, whole_rows: bool) -> list[Tile]:
    """Tiles whose cores cover the page; cores begin at multiples, so that pooling falls as on the whole page.

    largest : pixels of a tile with its halo. whole_rows : never cut a row, so that sums per row are always the same.
    """
    rows = columns = 1
    while True:
        tall, wide = (_step(n, parts, multiple) for n, parts in ((height, rows), (width, columns)))
        area = min(tall + 2 * halo, height) * min(wide + 2 * halo, width)
        if area <= largest or (tall <= multiple and (whole_rows or wide <= multiple)):
            break
        if whole_rows or tall >= wide:
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
    need = len(arch.refinement)
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


def convolve(x: Array, layer: Layer, threads: int | None, first: int = 0, last: int | None = None) -> Array:
    """The convolution of a tile (H, W, C), outputs rounded up to a multiple of eight.

    Only rows first … last − 1 are sure to be computed.
    """
    kernels = native()
    if kernels is None:
        return convolve_numpy(x, layer)
    x = np.ascontiguousarray(x)
    out = empty(*x.shape[:2], len(layer.bias))
    size = layer.weight.shape[2]
    last = len(x) if last is None else last
    run_bands(last - first, threads, lambda a, b: kernels.convolve(x, layer.packed, layer.bias, out, first + a, first + b,
                                                                   size, layer.dilation, layer.relu), least=8, pieces=4)  # fmt: skip
    return out


def pool(x: Array, threads: int | None) -> Array:
    """The maximum of each two by two cells."""
    kernels = native()
    if kernels is None:
        rows = np.maximum(x[0::2], x[1::2])
        return np.maximum(rows[:, 0::2], rows[:, 1::2])
    out = empty(x.shape[0] // 2, x.shape[1] // 2, x.shape[2])
    run_bands(len(out), threads, lambda a, b: kernels.pool(x, out, a, b))
    return out


def add_enlarged(skip: Array, small: Array, threads: int | None) -> Array:
    """skip + small, each cell of small taken twice in both directions."""
    kernels = native()
    if kernels is None:
        return skip + small.repeat(2, 0).repeat(2, 1)
    run_bands(len(small), threads, lambda a, b: kernels.add_enlarged(skip, small, skip, a, b))
    return skip


class TileResult(NamedTuple):
    """A tile's rows and columns, and what the network makes of it, on the scaled gray; see `Network.tiles`."""

    core: Region
    threshold: Array
    attention: Array
    mean: Array
    deviation: Array


Norms = dict[str, tuple[Array, Array]]  # scale and shift of each layer's instance normalisation, from the whole page


@dataclass(frozen=True)
class Network:
    """A network ready to run: description, layers by name, Sauvola parameters."""

    architecture: Architecture
    layers: dict[str, Layer]
    k: Array
    r: Array

    fused_sums = True  # see `attend`
    logit_multiple = 1  # what the refinement reads is filled up to a multiple of so many numbers

    def tiles(self, page: PageInputs, threads: int | None, largest: int | None = None,
              keep: bool = False) -> Iterator[TileResult]:  # fmt: skip
        """The page tile by tile.

        largest : pixels of a tile with its halo. keep : attention and window statistics too, not the threshold alone.
        """
        arch = self.architecture
        tiles = self.cut(page, largest)
        norms: Norms = {}
        if arch.norm == "instance" and len(tiles) > 1:
            for layer in arch.convolutions():
                if layer.normalised:
                    norms[layer.name] = self._page_norm(layer.name, layer.span, page, tiles, norms, threads)
        view = self.view(page, threads)
        for tile in tiles:
            measured = page.statistics(tile.read, threads, keep or not self.fused)
            head = self.head(page, measured, threads, norms, self.in_view(page, view, tile.read))
            core = tile.core_in_read
            if keep or not self.fused:
                threshold, attention = self.decide(head, measured, core, threads, keep)
            else:
                attention = np.empty((0, 0, 0), np.float32)
            if self.fused:  # also where attention is kept: the surface that is explained is the one that makes the ink
                threshold = thresholds(page.gray, arch, self.k, self.r, page.scale, tile.core, head[core], threads)
            yield TileResult(tile.core, threshold, attention, measured.mean[core], measured.deviation[core])

    def cut(self, page: PageInputs, largest: int | None) -> list[Tile]:
        """The tiles of a page; see `cut`."""
        arch = self.architecture
        instance = arch.norm == "instance"
        largest = largest or (TILE_BYTES_INSTANCE if instance else TILE_BYTES) // self.bytes_per_pixel
        height, width = page.gray.shape
        return cut(height, width, halo_of(arch), arch.multiple, largest, whole_rows=instance)

    @property
    def fused(self) -> bool:
        """Whether window statistics are taken while the thresholds are made, and never kept for the page."""
        arch = self.architecture
        fits = not arch.sees_windows and arch.fold == 1 and arch.choices <= 8
        return fits and native() is not None

    @property
    def bytes_per_pixel(self) -> int:
        """About what a tile takes: statistics where they are kept, a layer and the one before it; in a U also what skips."""
        arch = self.architecture
        held = 1 if arch.kind == "chain" else 2
        layers = [
            (layer.inputs + held * layer.outputs) / layer.span**2
            for layer in arch.convolutions()
            if layer.name not in arch.refinement and not layer.name.startswith("view")
        ]
        return int(4 * ((0 if self.fused else 2 * len(arch.windows)) + 1 + max(layers)))

    def view(self, page: PageInputs, threads: int | None) -> Array | None:
        """The map of the whole page, (rows, columns, N) of the view's cells; None for a network without a view."""
        if page.view is None:
            return None
        x = page.view.cells
        for i in range(len(self.architecture.view)):
            x = self.convolved(f"view{i}", x, threads)
        return x[..., : self.architecture.view[-1]]

    def in_view(self, page: PageInputs, view: Array | None, region: Region) -> Array | None:
        """The page's map at the cells of the deepest level in a region."""
        if page.view is None or view is None:
            return None
        return sampled(view, page.view, region, self.architecture.multiple)

    def head(self, page: PageInputs, measured: Statistics, threads: int | None, norms: Norms | None = None,
             view: Array | None = None, until: str = "") -> Array:  # fmt: skip
        """The head's output for a tile, still folded; with ``until`` that layer's plain convolution instead.

        Page-wide statistics that ``norms`` lacks are taken from the tile, which is then the whole page. view : what the
        page's map says of the tile's cells.
        """
        arch = self.architecture
        norms = norms or {}
        x = page.features(measured, threads)
        kept: list[Array] = []
        for depth, widths in enumerate(arch.widths):
            if depth:
                kept.append(x)
                x = pool(x, threads)
            if view is not None and depth == len(arch.widths) - 1:
                x = np.concatenate([x, view], 2)
            for i in range(len(widths)):
                x = self._layer(f"down{depth}.{i}", x, norms, threads, until)
                if until == f"down{depth}.{i}":
                    return x
        for depth in range(len(arch.widths) - 2, -1, -1):
            x = add_enlarged(kept.pop(), self.convolved(f"reduce{depth}", x, threads), threads)
            x = self._layer(f"up{depth}", x, norms, threads, until)
            if until == f"up{depth}":
                return x
        return self.convolved("head", x, threads)

    def convolved(self, name: str, x: Array, threads: int | None, first: int = 0, last: int | None = None) -> Array:
        """A convolution of the network, see `convolve`."""
        return convolve(x, self.layers[name], threads, first, last)

    def refined(self, logits: Array, first: int, last: int) -> Array:
        """What the refinement adds to the logits of rows first … last − 1; only these rows are sure to be computed."""
        x = logits
        for more, name in zip(
            reversed(range(len(self.architecture.refinement))), self.architecture.refinement, strict=True
        ):
            x = self.convolved(name, x, 1, max(first - more, 0), min(last + more, len(logits)))
        return x

    def _layer(self, name: str, x: Array, norms: Norms, threads: int | None, until: str) -> Array:
        """A convolution with its normalisation and ReLU; the plain convolution if it is the one asked for."""
        z = self.convolved(name, x, threads)
        if self.architecture.norm == "batch" or name == until:
            return z
        scale, shift = norms[name] if name in norms else page_norm(row_sums(z, threads), z.shape[0] * z.shape[1])
        return normalise(z, scale, shift, threads)

    def _page_norm(self, name: str, span: int, page: PageInputs, tiles: list[Tile], norms: Norms,
                   threads: int | None) -> tuple[Array, Array]:  # fmt: skip
        """Scale and shift of one layer from the whole page: its sums per row of the page, over all tiles."""
        rows = []
        for tile in tiles:
            core = tile.core_in_read[0]
            z = self.head(page, page.statistics(tile.read, threads, not self.fused), threads, norms, until=name)
            rows.append(row_sums(z, threads)[core.start // span : -(-core.stop // span)])
        count = sum(map(len, rows)) * -(-page.gray.shape[1] // span)
        return page_norm(np.concatenate(rows), count)

    def decide(self, head: Array, measured: Statistics, core: Region, threads: int | None,
               keep: bool) -> tuple[Array, Array]:  # fmt: skip
        """Threshold and attention of a tile's core: unfolding, refinement and AST, a band of rows at a time."""
        scaled, mean, deviation = measured
        arch = self.architecture
        rows, columns = core
        shape = (rows.stop - rows.start, columns.stop - columns.start)
        threshold = empty(*shape)
        attention = np.empty((*shape, arch.choices if keep else 0), np.float32)
        constants = np.asarray(arch.constants, np.float32)
        reach = len(arch.refinement)

        def work(begin: int, end: int) -> None:
            parts = -(-(end - begin) // BAND)
            for a, b in pairwise(begin + (end - begin) * i // parts for i in range(parts + 1)):
                top, bottom = max(rows.start + a - reach, 0), min(rows.start + b + reach, len(scaled))
                logits, change = unfold(arch, head, scaled, mean, top, bottom, self.logit_multiple), None
                here = (slice(rows.start + a, rows.start + b), columns)
                band = (slice(here[0].start - top, here[0].stop - top), columns, slice(arch.choices))
                if arch.refine:
                    change = self.refined(logits, band[0].start, band[0].stop)[band]
                attend(logits[band], change, mean[here], deviation[here], self.k, self.r, constants, attention[a:b],
                       threshold[a:b], self.fused_sums)  # fmt: skip

        run_bands(shape[0], threads, work, pieces=4)
        return threshold, attention


def row_sums(z: Array, threads: int | None) -> npt.NDArray[np.float64]:
    """(H, 2, C): sums and sums of squares of each row, the same whatever the tile."""
    out = np.zeros((z.shape[0], 2, z.shape[2]))
    kernels = native()
    if kernels is None:
        wide = z.astype(np.float64)
        out[:, 0], out[:, 1] = wide.sum(1), (wide * wide).sum(1)
    else:
        run_bands(len(z), threads, lambda a, b: kernels.row_sums(z[a:b], out[a:b]), pieces=4)
    return out


def page_norm(rows: npt.NDArray[np.float64], count: int) -> tuple[Array, Array]:
    """Scale and shift of instance normalisation from the sums of all rows; deviation floored at 1e-5."""
    mean, square = rows.sum(0) / count
    inverse = 1 / np.sqrt(np.maximum(square - mean * mean, 1e-10))
    return inverse.astype(np.float32), (-mean * inverse).astype(np.float32)


def normalise(z: Array, scale: Array, shift: Array, threads: int | None) -> Array:
    """max(z · scale + shift, 0) per channel, in place."""
    kernels = native()
    if kernels is None:
        z = np.maximum(z * scale + shift, 0)
    else:
        run_bands(len(z), threads, lambda a, b: kernels.normalise(z[a:b], scale, shift, z[a:b]), pieces=4)
    return z


def unfold(arch: Architecture, head: Array, scaled: Array, mean: Array, top: int, bottom: int,
           multiple: int = 1) -> Array:  # fmt: skip
    """Rows top … bottom − 1 at full resolution: the logits, and behind them what the refinement sees besides.

    multiple : of which the number of channels is; those that are filled up hold anything.
    """
    fold, width = arch.fold, scaled.shape[1]
    if fold == 1 and not arch.refine:
        return head[top:bottom, :width]
    inputs = arch.refine_inputs if arch.refine else arch.choices
    out = empty(bottom - top, width, -(-inputs // multiple) * multiple)
    near = np.array(arch.refine_indices, np.int64)
    kernels = native()
    (unfold_numpy if kernels is None else kernels.unfold)(head, scaled, mean, near, fold, arch.choices, top, out)
    return out


def unfold_numpy(head: Array, scaled: Array, mean: Array, near: npt.NDArray[np.int64], fold: int, choices: int, top: int,
                 out: Array) -> None:  # fmt: skip
    """The truth of the unfolding: the logits of pixel (a, b) of a cell are its channels (a · fold + b) · choices …"""
    height, width, inputs = out.shape
    y, x = np.arange(top, top + height), np.arange(width)
    cells = head[y[:, None] // fold, x[None] // fold, : fold * fold * choices]
    pixel = (y % fold)[:, None] * fold + (x % fold)[None]
    pick = pixel[..., None] * choices + np.arange(choices)
    out[..., :choices] = np.take_along_axis(cells, pick, 2)
    if inputs > choices:
        gray = scaled[top : top + height]
        out[..., choices] = gray
        out[..., choices + 1 : choices + 1 + len(near)] = gray[..., None] - mean[top : top + height][..., near]


def attend(logits: Array, change: Array | None, mean: Array, deviation: Array, k: Array, r: Array, constants: Array,
           attention: Array, threshold: Array, fused: bool = True) -> None:  # fmt: skip
    """AST of logits + change into ``threshold``, and the attention where there is room for it.

    fused : products and sums are rounded together where the processor can; without, every processor gives the same.
    """
    kernels = native()
    if kernels is not None and len(k) + len(constants) <= 8:
        kept = attention if attention.size else None
        kernel = kernels.attend
        if not fused:
            kernel, change = kernels.attend_exactly, np.zeros_like(logits) if change is None else change
        kernel(logits, change, mean, deviation, k / r, np.float32(1) - k, constants, kept, threshold)
        return
    logits = logits[..., : len(k) + len(constants)] if change is None else logits + change
    weights, threshold[:] = attend_numpy(logits, mean, deviation, k, r, constants)
    if attention.size:
        attention[:] = weights


def attend_numpy(
    logits: Array, mean: Array, deviation: Array, k: Array, r: Array, constants: Array
) -> tuple[Array, Array]:
    """The truth of AST: softmax over the choices, then the weighted sum of Sauvola thresholds and constants."""
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    surfaces = mean * (1 + k * (deviation / r - 1))
    count = len(k)
    return weights, (weights[..., :count] * surfaces).sum(-1) + weights[..., count:] @ constants
