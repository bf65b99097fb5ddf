"""A network in 8 bits: the same on every processor, and several times as fast.

What enters a convolution becomes bytes 0 … 127, channel by channel, and its weights −127 … 127, output by output. Sums of
their products are exact in any order, and what follows is one product and one sum in single precision, so ink does not
depend on the processor. `net/quantise.py` makes such a model of one in single precision.

    byte = ⌊min(max(x · gain + zero, 0), 127) + ½⌋        zero: the byte of 0, beyond the page too
    y = Σ weight · (byte − zero) · times + bias           y ≥ 0, and a byte of the next convolution, where it is normalised

The first convolution has weights of 14 bits, 128 times one weight plus another: it reads gray and means, which are nearly
the same all over flat paper, so what rounding does to its weights does not even out but makes strokes heavier or lighter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..core.bands import run_bands
from ..core.kernels import native
from ..page.margins import Region
from .architecture import Architecture, Convolution
from .buffers import Array, empty, empty_bytes
from .inputs import PageInputs, Statistics
from .run import Network, Norms, Tile, TileResult, groups

Bytes = npt.NDArray[np.uint8]

FIRST = "down0.0"  # the convolution with finer weights
FINER = 128  # steps of such a weight for one of the others
_MOST = 127  # of a byte, and of a weight
_LEAST = 1e-3  # range of a channel that is nearly always 0
_SMALL = 20_000_000  # products and sums that one thread has done before another has begun
_FEW = 1_000_000  # bytes, likewise


@dataclass(frozen=True)
class Layer8:
    """One convolution in 8 bits; inputs are filled up to a multiple of 4, outputs of 8."""

    layer: Convolution
    gain: Array  # of its inputs, see the module's text
    zero: Array
    weight: Array  # (outputs, inputs, side, side), whole numbers
    packed: npt.NDArray[np.int8]  # finer weights: the first of each, then the second
    start: npt.NDArray[np.int32]  # of the sums, minus what bytes of 0 add, likewise
    times: Array  # of its outputs
    bias: Array
    next_gain: Array | None  # the same of those that become bytes of the next convolution

    @classmethod
    def of(cls, layer: Convolution, weights: Mapping[str, Array], next_gain: Array | None) -> Layer8:
        gain, zero = scale_of(weights[f"{layer.name}.low"], weights[f"{layer.name}.high"])
        weight = weights[f"{layer.name}.weight"] / gain[:, None, None]
        largest = np.abs(weight).max((1, 2, 3))
        finer = FINER if layer.name == FIRST else 1
        times = (np.where(largest > 0, largest, 1) / (_MOST * finer)).astype(np.float32)
        weight = np.rint(weight / times[:, None, None, None]).astype(np.float32)
        bias = weights[f"{layer.name}.bias"]
        if next_gain is not None:
            times, bias = times * next_gain, bias * next_gain
        more, behind = -layer.inputs % 4, -layer.outputs % 8
        weight = np.pad(weight, ((0, behind), (0, more), (0, 0), (0, 0)))
        gain, zero = (np.pad(values, (0, more)) for values in (gain, zero))
        parts = parts_of(weight)
        packed = np.concatenate([pack(part) for part in parts])
        start = np.concatenate([-(part * zero[:, None, None]).sum((1, 2, 3)) for part in parts]).astype(np.int32)
        times, bias = (np.pad(values, (0, behind)).astype(np.float32) for values in (times, bias))
        return cls(layer, gain, zero, weight, packed, start, times, bias, next_gain)


def fits(arch: Architecture) -> bool:
    """Whether a network can run in 8 bits."""
    return arch.norm == "batch" and arch.kind == "u"


def scale_of(low: Array, high: Array) -> tuple[Array, Array]:
    """Gain and zero of a range of values; 0 lies in every range."""
    low, high = np.minimum(low, 0), np.maximum(high, np.float32(_LEAST))
    gain = (_MOST / (high - low)).astype(np.float32)
    return gain, np.rint(-low * gain).astype(np.float32)


def parts_of(weight: Array) -> list[Array]:
    """Whole numbers −127 … 127 that the weights are: themselves, or two, the first of which counts 128 times."""
    if np.abs(weight).max(initial=0) <= _MOST:
        return [weight]
    first = np.rint(weight / FINER)
    return [first, weight - FINER * first]


def pack(weight: Array) -> npt.NDArray[np.int8]:
    """Weights in the order the kernel reads them: group by group of the outputs, tap by tap, four inputs at a time, the
    four of each output side by side."""
    outputs, inputs, rows, columns = weight.shape
    order = weight.reshape(outputs, inputs // 4, 4, rows, columns).transpose(3, 4, 1, 0, 2).astype(np.int8)
    return np.concatenate([order[..., a:b, :].reshape(-1) for a, b in pairwise(groups(outputs))])


def following(arch: Architecture) -> dict[str, str]:
    """The convolution whose inputs the outputs of each normalised one become."""
    names = [layer.name for layer in arch.convolutions()]
    chain = [n for n in names if not n.startswith(("reduce", "view", "refine"))]
    after = dict(pairwise(chain)) | dict(pairwise(arch.refinement)) | dict(pairwise(n for n in names if "view" in n))
    for depth in range(len(arch.widths) - 1):
        after[f"up{depth}"] = f"reduce{depth - 1}" if depth else "head"
    if len(arch.widths) > 1:
        deepest = len(arch.widths) - 1
        after[f"down{deepest}.{len(arch.widths[-1]) - 1}"] = f"reduce{deepest - 1}"
    return after


def layers_of(arch: Architecture, weights: Mapping[str, Array]) -> dict[str, Layer8]:
    """All convolutions of a network in 8 bits; weights with the ranges of their inputs."""
    after, made = following(arch), {}
    for layer in arch.convolutions():
        gain = None
        if layer.normalised:
            following_one = after[layer.name]
            gain = scale_of(weights[f"{following_one}.low"], weights[f"{following_one}.high"])[0][: layer.outputs]
        made[layer.name] = Layer8.of(layer, weights, gain)
    return made


def quantise_numpy(x: Array, gain: Array, zero: Array) -> Bytes:
    """The truth of the bytes of (H, W, C) values."""
    found: Bytes = np.floor(np.clip(x * gain + zero, 0, _MOST) + np.float32(0.5)).astype(np.uint8)
    return found


def convolve8_numpy(x: Bytes, layer: Layer8) -> Array:
    """The truth of the convolution of bytes (H, W, C): its sums times `times` plus `bias`."""
    reach, dilation = layer.layer.side // 2 * layer.layer.dilation, layer.layer.dilation
    height, width, channels = x.shape
    whole = np.pad(x - layer.zero[:channels], ((reach, reach), (reach, reach), (0, 0)))
    total = np.zeros((height, width, len(layer.bias)), np.float32)
    for weight in parts_of(layer.weight):
        sums = np.zeros_like(total)  # whole numbers below 2²⁴: exact
        for a in range(layer.layer.side):
            for b in range(layer.layer.side):
                part = whole[a * dilation : a * dilation + height, b * dilation : b * dilation + width]
                sums += part @ weight[:, :channels, a, b].T
        total = total * np.float32(FINER) + sums
    return total * layer.times + layer.bias


@dataclass(frozen=True)
class Network8(Network):
    """A network in 8 bits. Without the compiled core its convolutions are numpy's, and its bytes numbers in between."""

    eights: Mapping[str, Layer8]

    logit_multiple = 4
    fused_sums = False  # products and sums of the attention are rounded one by one, as every processor can

    def convolved(self, name: str, x: Array, threads: int | None, first: int = 0, last: int | None = None) -> Array:
        """The truth of a convolution: values in, values out."""
        layer = self.eights[name]
        channels = layer.layer.inputs
        out = convolve8_numpy(quantise_numpy(x[..., :channels], layer.gain[:channels], layer.zero[:channels]), layer)
        if layer.next_gain is None:
            return out
        count, one, none = len(layer.next_gain), np.ones(1, np.float32), np.zeros(1, np.float32)
        out[..., :count] = quantise_numpy(out[..., :count], one, none) * (1 / layer.next_gain)
        return out

    # -- the same with bytes between the convolutions ---------------------------------------------------------------

    def tiles(self, page: PageInputs, threads: int | None, largest: int | None = None,
              keep: bool = False) -> Iterator[TileResult]:  # fmt: skip
        if keep or not self.at_once:
            yield from super().tiles(page, threads, largest, keep)
            return
        view, nothing = self.view(page, threads), np.empty((0, 0, 0), np.float32)
        for tile in self.cut(page, largest):
            seen = self.in_view(page, view, tile.read)
            last = self._before_head(self._first(page, tile.read, threads), seen, threads)
            yield TileResult(tile.core, self._thresholds(page, last, tile, threads), nothing, nothing, nothing)

    @property
    def at_once(self) -> bool:
        """Whether one kernel goes from the page to the first convolution, and one from the head to the thresholds."""
        arch, choices = self.architecture, self.architecture.choices
        readable = 3 * choices + 8 <= len(self.eights["head"].bias)  # eight numbers for each pixel of a cell
        shape = arch.fold == 2 and arch.head == 1 and len(arch.refinement) == 2 and choices <= 8
        return shape and readable and native() is not None

    def view(self, page: PageInputs, threads: int | None) -> Array | None:
        if page.view is None or native() is None:
            return super().view(page, threads)
        names = [f"view{i}" for i in range(len(self.architecture.view))]
        cells = page.view.cells
        more = len(self.eights[names[0]].gain) - cells.shape[2]
        x = self._bytes(names[0], np.pad(cells, ((0, 0), (0, 0), (0, more))), threads)
        for name, following_one in pairwise(names):
            x = self._to_bytes(name, x, threads, self._reach(following_one))
        return self._to_values(names[-1], x, threads)[..., : self.architecture.view[-1]]

    def head(self, page: PageInputs, measured: Statistics, threads: int | None, norms: Norms | None = None,
             view: Array | None = None, until: str = "") -> Array:  # fmt: skip
        if native() is None:
            return super().head(page, measured, threads, norms, view, until)
        features = page.features(measured, threads, len(self.eights[FIRST].gain))
        x = self._before_head(self._bytes(FIRST, features, threads), view, threads)
        return self._to_values("head", x, threads)

    def _before_head(self, x: Bytes, view: Array | None, threads: int | None) -> Bytes:
        """What the head reads, from what the first convolution reads."""
        arch, kept = self.architecture, list[Bytes]()
        deepest = len(arch.widths) - 1
        for depth, widths in enumerate(arch.widths):
            names = [f"down{depth}.{i}" for i in range(len(widths))]
            if depth:
                kept.append(x)
                x = self._pooled(names[0], x, view if depth == deepest else None, threads)
            for name, following_one in pairwise(names):
                x = self._to_bytes(name, x, threads, self._reach(following_one))
            x = self._to_bytes(names[-1], x, threads, 0)  # read by pooling, a sum, or a convolution of one tap
        for depth in range(deepest - 1, -1, -1):
            small = self._to_values(f"reduce{depth}", x, threads)
            x = self._added(f"up{depth}", kept.pop(), small, depth, threads)
            x = self._to_bytes(f"up{depth}", x, threads, 0 if depth else self._reach("head"))
        return x

    def refined(self, logits: Array, first: int, last: int) -> Array:
        if native() is None:
            return super().refined(logits, first, last)
        names = self.architecture.refinement
        x, more = self._bytes(names[0], logits, 1), len(names)
        for name in names[:-1]:
            more -= 1
            x = self._to_bytes(name, x, 1, 1, max(first - more, 0), min(last + more, len(logits)))
        return self._to_values(names[-1], x, 1, first, last)

    def _first(self, page: PageInputs, region: Region, threads: int | None) -> Bytes:
        """What the first convolution reads of a region: its features, see `features`, as bytes."""
        arch, layer, kernels = self.architecture, self.eights[FIRST], native()
        assert kernels is not None
        high, wide = (part.stop - part.start for part in region)
        cells = [-(-n // arch.multiple) * arch.multiple // arch.fold for n in (high, wide)]
        out, inner = _room((cells[0], cells[1]), layer.zero, self._reach(FIRST))
        at = arch.feature_channels()
        run_bands(cells[0], threads, lambda a, b: kernels.first_bytes(
            page.gray, np.array(arch.windows), *page.scale.numbers, page.numbers, at["gray"], at["mean"], at["deviation"],
            at["numbers"], layer.gain, layer.zero, region[0].start, region[1].start, high, wide, a, b, inner))  # fmt: skip
        return out

    def _thresholds(self, page: PageInputs, x: Bytes, tile: Tile, threads: int | None) -> Array:
        """The thresholds of a tile's core, see `decide`, from what the head reads of the tile."""
        arch, kernels = self.architecture, native()
        assert kernels is not None
        layers = [self.eights[name] for name in ("head", *arch.refinement)]
        head, first, last = ((one.packed, one.start, one.times, one.bias) for one in layers)
        choices = self.k / self.r, np.float32(1) - self.k, np.array(arch.constants, np.float32)
        top, left = tile.core[0].start, tile.core[1].start
        out = empty(*(part.stop - part.start for part in tile.core))
        run_bands(len(out), threads, lambda a, b: kernels.thresholds8(
            page.gray, np.array(arch.windows), *page.scale.numbers, x, tile.read[0].start, tile.read[1].start, *head,
            np.array(arch.refine_indices), layers[1].gain, layers[1].zero, *first, *last, *choices, top, left, top + a,
            top + b, out), pieces=2)  # fmt: skip
        return out

    def _reach(self, name: str) -> int:
        layer = self.eights[name].layer
        return layer.side // 2 * layer.dilation

    def _bytes(self, name: str, x: Array, threads: int | None) -> Bytes:
        """Values (H, W, C), filled up to a multiple of 4, as what a convolution reads: bytes, and around them those of 0."""
        layer = self.eights[name]
        out, inner = _room(x.shape, layer.zero, self._reach(name))
        kernels = native()
        assert kernels is not None
        run_bands(len(x), threads if x.size > _FEW else 1, lambda a, b: kernels.quantise(
            x[a:b], layer.gain, layer.zero, inner[a:b]), pieces=4)  # fmt: skip
        return out

    def _pooled(self, name: str, x: Bytes, view: Array | None, threads: int | None) -> Bytes:
        """The maximum of each two by two cells, and behind it what the view says, as what a convolution reads."""
        layer, kernels = self.eights[name], native()
        assert kernels is not None
        channels = x.shape[2]
        out, inner = _room((x.shape[0] // 2, x.shape[1] // 2), layer.zero, self._reach(name))
        run_bands(len(inner), threads if x.size > _FEW else 1, lambda a, b: kernels.pool8(
            x, inner[..., :channels], a, b))  # fmt: skip
        if view is not None:
            behind = slice(channels, channels + view.shape[2])
            seen = np.empty(view.shape, np.uint8)
            kernels.quantise(np.ascontiguousarray(view), layer.gain[behind], layer.zero[behind], seen)
            inner[..., behind] = seen
        return out

    def _added(self, name: str, skip: Bytes, small: Array, depth: int, threads: int | None) -> Bytes:
        """skip + small, each cell of small taken twice in both directions, as what a convolution reads."""
        layer, kernels = self.eights[name], native()
        assert kernels is not None
        scale = 1 / self.eights[f"down{depth + 1}.0"].gain[: skip.shape[2]]
        out, inner = _room(skip.shape, layer.zero, self._reach(name))
        run_bands(len(small), threads if skip.size > _FEW else 1, lambda a, b: kernels.add_enlarged8(
            skip, scale, small, layer.gain, layer.zero, inner, a, b))  # fmt: skip
        return out

    def _to_bytes(self, name: str, x: Bytes, threads: int | None, around: int, first: int = 0,
                  last: int | None = None) -> Bytes:  # fmt: skip
        """A normalised convolution, with so many cells of 0 around it."""
        reach, layer = self._reach(name), self.eights[name]
        shape = (x.shape[0] - 2 * reach, x.shape[1] - 2 * reach)
        out, inner = _room(shape, np.zeros(len(layer.bias), np.float32), around)
        self._convolve(layer, x, inner, None, threads, first, last)
        return out

    def _to_values(self, name: str, x: Bytes, threads: int | None, first: int = 0, last: int | None = None) -> Array:
        """A convolution that nothing follows."""
        reach, layer = self._reach(name), self.eights[name]
        out = empty(x.shape[0] - 2 * reach, x.shape[1] - 2 * reach, len(layer.bias))
        self._convolve(layer, x, None, out, threads, first, last)
        return out

    def _convolve(self, layer: Layer8, x: Bytes, small: Bytes | None, values: Array | None, threads: int | None, first: int,
                  last: int | None) -> None:  # fmt: skip
        kernels = native()
        assert kernels is not None
        side, dilation = layer.layer.side, layer.layer.dilation
        last = len(x) - (side - 1) * dilation if last is None else last
        products = (last - first) * x.shape[1] * layer.weight.size
        run_bands(last - first, threads if products > _SMALL else 1, lambda a, b: kernels.convolve8(
            x, layer.packed, layer.start, layer.times, layer.bias, small, values, first + a, first + b, side, dilation),
            least=8, pieces=4)  # fmt: skip


def _room(shape: tuple[int, ...], zero: Array, around: int) -> tuple[Bytes, Bytes]:
    """Bytes with a frame of those of 0, so many cells wide; and what the frame holds, of that height and width, not filled
    yet."""
    height, width = shape[:2]
    out = empty_bytes(height + 2 * around, width + 2 * around, len(zero))
    inner = out[around : around + height, around : around + width]
    if around:
        frame = zero.astype(np.uint8)
        out[:around], out[-around:], out[:, :around], out[:, -around:] = frame, frame, frame, frame
    return out, inner
