"""A model as one ONNX file, for programs that do not run Python: gray in, threshold and attention out.

    gray       (1, 1, H, W) uint8, 0 black, dark writing on light paper
    threshold  (1, 1, H, W) float32 on the scale of the gray; ink is gray < threshold, a blank page has none
    attention  (1, choices, H, W) float32: the weight of each window, then of each constant; sums to 1

The graph holds everything between: the page's histogram and what follows from it, exact window sums, the network and
the Sauvola layer. It has no tiles, so memory grows with the page. Needs the extra ``onnx``.

Two rules no graph holds: the reading (`sauvolanet.page.reading`: even light, half the size for thick strokes), so a
model with a reading wants gray that is even already, and the veto of strips along the page's sides, which needs the
ink of the whole page.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..core.arrays import Gray
from ..core.atomic import atomic
from ..errors import MissingExtra, RunFailed
from ..page.margins import Margins
from ..page.numbers import BLANK_RANGE, DARK_PERCENT, LIGHT_PERCENT, LONE_CONTRAST, MARGIN_PART, PageNumbers
from .architecture import VIEW_CELL, Convolution
from .eight import Layer8, Network8
from .inputs import MINIMUM_VARIANCE, habit_features
from .model import Model
from .view import CELLS, STEP, reach

OPSET, IR_VERSION = 17, 9  # of 2022, so that older engines read it
TOLERANCE = 0.0255  # gray levels, 1e-4 of the range: what engines may differ by in the threshold
PIXELS = 1e-4  # share of the pixels whose ink may differ, in 8 bits


class _Graph:
    """Collects nodes and constants; every call returns the name of its result."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def node(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        from onnx import helper

        name = name or f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, values: Any, kind: type = np.float32, name: str = "") -> str:
        from onnx import numpy_helper

        name = name or f"constant{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(np.asarray(values, kind), name)
        return name

    def cast(self, x: str, kind: type) -> str:
        from onnx import helper

        return self.node("Cast", x, to=helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def file(
        self, inputs: dict[str, tuple[type, list[Any]]], outputs: dict[str, list[Any]], about: dict[str, str]
    ) -> bytes:
        """The finished file; inputs and outputs with their shapes."""
        from onnx import checker, helper

        def value(name: str, kind: type, shape: list[Any]) -> Any:
            return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), shape)

        takes = [value(name, kind, shape) for name, (kind, shape) in inputs.items()]
        gives = [value(name, np.float32, shape) for name, shape in outputs.items()]
        graph = helper.make_graph(self.nodes, "sauvolanet", takes, gives, list(self.constants.values()))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION,
                                  producer_name="sauvolanet")  # fmt: skip
        helper.set_model_props(model, about)
        checker.check_model(model, full_check=True)
        return model.SerializeToString()  # type: ignore[no-any-return]


def attention_graph(model: Model) -> bytes:
    """The network alone, for comparison with other engines: features (1, C, H / fold, W / fold) in, attention out.

    A network with a refinement also takes ``seen`` (1, 1 + windows, H, W): gray and gray − mean; one with a view takes
    ``view`` (1, N, H / multiple, W / multiple): the page's map. H and W are multiples of the architecture's.
    """
    graph, arch = _Graph(), model.architecture
    inputs: dict[str, tuple[type, list[Any]]] = {
        "features": (np.float32, [1, arch.inputs, "cell_rows", "cell_columns"])
    }
    if arch.refine:
        inputs["seen"] = (np.float32, [1, arch.refine_inputs - arch.choices, "height", "width"])
    if arch.view:
        inputs["view"] = (np.float32, [1, arch.view[-1], "view_rows", "view_columns"])
    _attention(graph, model, "features", "seen", "view", None, plain=True)
    return graph.file(inputs, {"attention": [1, arch.choices, "height", "width"]}, {})


def standalone_graph(model: Model) -> bytes:
    """The whole way from gray to threshold and attention; see the module's text."""
    graph, arch = _Graph(), model.architecture
    size = graph.node("Gather", graph.node("Shape", "gray"), graph.constant([2, 3], np.int64))
    low, gain, blank, numbers, cut = _page_numbers(graph, model, size)
    back = graph.cast(graph.node("Reciprocal", gain), np.float32)
    low, gain = graph.cast(low, np.float32), graph.cast(gain, np.float32)

    def scaled(x: str) -> str:
        return graph.node("Mul", graph.node("Sub", x, low), gain)

    levels = graph.cast("gray", np.float32)
    if model.margins is not None:  # nothing is darker than the page's dark level
        levels = graph.node("Max", levels, low)
    gray = scaled(levels)
    means, deviations = _statistics(graph, arch.windows, levels)
    floor = graph.constant(MINIMUM_VARIANCE**0.5)
    means = [scaled(mean) for mean in means]
    deviations = [graph.node("Max", graph.node("Mul", deviation, gain), floor) for deviation in deviations]
    mean, deviation = (graph.node("Concat", *parts, axis=1) for parts in (means, deviations))

    seen = ""
    if arch.refine:
        near = [graph.node("Sub", gray, means[arch.windows.index(window)]) for window in arch.refine_windows]
        seen = graph.node("Concat", gray, *near, axis=1)
    features = _features(graph, model, gray, mean, deviation, numbers, size)
    view = _view(graph, model, size, cut, low, gain, numbers) if arch.view else ""
    attention = _attention(graph, model, features, seen, view, size)

    k, r = (graph.constant(np.reshape(model.about[name], (1, -1, 1, 1))) for name in ("k", "r"))
    one = graph.constant(1)
    share = graph.node("Mul", k, graph.node("Sub", graph.node("Div", deviation, r), one))
    choices = graph.node("Mul", mean, graph.node("Add", share, one))
    if arch.constants:
        constants = graph.constant(np.reshape(arch.constants, (1, -1, 1, 1)))
        whole = graph.node("Concat", graph.constant([1, len(arch.constants)], np.int64), size, axis=0)
        choices = graph.node("Concat", choices, graph.node("Expand", constants, whole), axis=1)
    total = graph.node("ReduceSum", graph.node("Mul", attention, choices), graph.constant([1], np.int64), keepdims=1)
    surface = graph.node("Add", graph.node("Mul", total, back), low)
    paper = blank
    if model.margins is not None:
        paper = graph.node("Or", paper, graph.node("LessOrEqual", surface, low))
        paper = graph.node("Or", paper, _bed(graph, model.margins, size, low, back))
    graph.node("Where", paper, graph.constant(0), surface, name="threshold")

    about = {
        n: str(model.about[n]) for n in ("name", "licence", "copyright", "source", "windows", "constants", "sha256")
    }
    return graph.file({"gray": (np.uint8, [1, 1, "height", "width"])},
                      {"threshold": [1, 1, "height", "width"], "attention": [1, arch.choices, "height", "width"]},
                      {**about, "input": "gray: 0 black; dark writing on light paper", "ink": "gray < threshold"})  # fmt: skip


def _page_numbers(graph: _Graph, model: Model, size: str) -> tuple[str, str, str, str, str]:
    """Low and gain of the page's scale (float64), whether it is blank, the page-wide numbers, and Otsu's threshold."""
    node, constant = graph.node, graph.constant
    first, last = constant(0, np.int64), constant(255, np.int64)

    def counts(page: str) -> tuple[str, str, str]:
        """The histogram, its running sum and its sum."""
        flat = node("Reshape", graph.cast(page, np.int64), constant([-1], np.int64))
        ones = node("Expand", constant(1, np.int64), node("Shape", flat))
        histogram = node("ScatterElements", constant(np.zeros(256), np.int64), flat, ones, axis=0, reduction="add")
        histogram = graph.cast(histogram, np.float64)
        below = node("CumSum", histogram, first)
        return histogram, below, node("Gather", below, last)

    def percentile(percent: float) -> str:
        asked = node("Max", node("Mul", count, constant(percent / 100, np.float64)), one)
        return levels_below(asked)

    def levels_below(asked: str) -> str:
        """The level at which so many pixels are reached."""
        return node("ReduceSum", graph.cast(node("Less", below, asked), np.float64), keepdims=0)

    def otsu() -> tuple[str, str]:
        """Otsu's level as PageNumbers.otsu finds it, and the pixels below it."""
        level = constant(np.arange(256), np.float64)
        share = node("Div", below, count)
        total = node("Div", node("CumSum", node("Mul", histogram, level), first), count)
        apart = node("Sub", total, node("Mul", node("Gather", total, last), share))
        both = node("Mul", share, node("Sub", one, share))
        some = node("Greater", both, zero)
        between = node("Div", node("Mul", apart, apart), node("Where", some, both, one))
        between = node("Where", some, between, constant(-1, np.float64))
        best = node("ArgMax", between, axis=0, keepdims=1)
        found = node("Greater", node("Gather", between, best), zero)
        cut = node("Where", found, node("Add", graph.cast(best, np.float64), one), zero)
        return cut, node("ReduceSum", node("Where", node("Less", level, cut), histogram, zero), keepdims=1)

    def sparse_ink(percent: float, contrast: int) -> tuple[str, str]:
        """The level of the ink of a page with less of it than that, and whether it is one: PageNumbers.sparse_ink."""
        level = levels_below(node("Max", node("Mul", dark, constant(0.5, np.float64)), one))
        few = node("Less", dark, node("Mul", count, constant(percent / 100, np.float64)))
        paper, two = percentile(percent), constant(2, np.float64)
        varies = node("Mul", node("Sub", percentile(50), paper), two)
        least = node("Max", varies, constant(contrast, np.float64))
        far = node("GreaterOrEqual", node("Sub", paper, level), least)
        return level, node("And", node("And", node("Greater", dark, zero), few), far)

    zero, one = constant(0, np.float64), constant(1, np.float64)
    histogram, below, count = whole = counts("gray")
    contrast = node("Sub", percentile(LIGHT_PERCENT), percentile(DARK_PERCENT))
    blank = node("Less", contrast, constant(BLANK_RANGE, np.float64))
    margin = node("Div", size, constant(MARGIN_PART, np.int64))
    body = node("Slice", "gray", margin, node("Sub", size, margin), constant([2, 3], np.int64))
    histogram, below, count = counts(body)
    cut, dark = otsu()
    blank = node("And", blank, node("Not", sparse_ink(DARK_PERCENT, LONE_CONTRAST)[1]))
    scaling, margins = model.about["scaling"], model.margins
    if margins is None:
        histogram, below, count = whole
    extremes = scaling["kind"] == "minmax"
    lowest, highest = (0.0, 100.0) if extremes else (scaling["low"], scaling["high"])
    low = percentile(lowest)
    if margins is not None:
        level, there = sparse_ink(lowest, margins.sparse_contrast)
        low = node("Where", there, level, low)
    span = node("Sub", percentile(highest), low)
    if extremes:
        span = node("Add", span, constant(0.1, np.float64))
    else:
        span = node("Max", span, constant(scaling["least"], np.float64))
    gain = node("Reciprocal", span)
    if margins is None:
        cut, dark = otsu()
    scaled = node("Mul", node("Sub", cut, low), gain)
    numbers = graph.cast(node("Concat", scaled, node("Div", dark, count), axis=0), np.float32)
    return low, gain, blank, node("Reshape", numbers, constant([1, 2, 1, 1], np.int64)), graph.cast(cut, np.float32)


def _bed(graph: _Graph, margins: Margins, size: str, low: str, span: str) -> str:
    """Where the scanner's bed shows, as `Margins.bed` finds it."""
    node, zero, one = graph.node, graph.constant(0, np.int64), graph.constant(1, np.int64)
    level = node("Sub", low, node("Mul", span, graph.constant(margins.bed_contrast)))
    light = graph.cast(node("GreaterOrEqual", graph.cast("gray", np.float32), level), np.int64)
    found = []
    for axis in (2, 3):
        length = node("Gather", size, graph.constant(axis - 2, np.int64))
        deep = node("Div", length, graph.constant(margins.part, np.int64))
        count = node("Range", zero, length, one)
        shape = graph.constant([1, 1, -1, 1] if axis == 2 else [1, 1, 1, -1], np.int64)
        for reverse in (0, 1):
            passed = node("CumSum", light, graph.constant(axis, np.int64), reverse=reverse)
            from_side = node("Sub", node("Sub", length, one), count) if reverse else count
            near = node("Reshape", node("Less", from_side, deep), shape)
            found.append(node("And", near, node("Equal", passed, zero)))
    first, *others = found
    for other in others:
        first = node("Or", first, other)
    return first


def _statistics(graph: _Graph, windows: tuple[int, ...], gray: str) -> tuple[list[str], list[str]]:
    """Mean and deviation of the gray (float32) in each window, from exact sums for windows up to 181.

    Sums of whole numbers below 2²⁴ are exact in single precision in any order, so convolutions with ones make them: of
    the gray, of its square's upper and lower byte, and of 1 for the number of pixels inside the page. With m near the
    mean, Σ(g − m)² = q − m · (2 s − m n) is exact in 32-bit integers, and nothing is left to cancel.
    """
    node, constant = graph.node, graph.constant
    square = node("Mul", gray, gray)
    upper = node("Floor", node("Mul", square, constant(1 / 256)))
    lower = node("Sub", square, node("Mul", upper, constant(256)))
    one = node("Expand", constant(1), node("Shape", gray))
    planes = node("Concat", gray, upper, lower, one, axis=0)
    means, deviations = [], []
    for window in windows:
        half = window // 2
        across = node("Conv", planes, constant(np.ones((1, 1, 1, window))), pads=[0, half, 0, half])
        sums = node("Conv", across, constant(np.ones((1, 1, window, 1))), pads=[half, 0, half, 0])
        total, upper, lower, count = (node("Gather", sums, constant([i], np.int64)) for i in range(4))
        mean = node("Div", total, count)
        near = node("Floor", mean)
        rest = node("Sub", total, node("Mul", near, count))
        q, s, m, n = (graph.cast(x, np.int32) for x in (upper, total, near, count))
        q = node("Add", node("Mul", q, constant(256, np.int32)), graph.cast(lower, np.int32))
        twice = node("Sub", node("Add", s, s), node("Mul", m, n))
        around = graph.cast(node("Sub", q, node("Mul", m, twice)), np.float32)
        variance = node("Div", node("Sub", around, node("Div", node("Mul", rest, rest), count)), count)
        means.append(mean)
        deviations.append(node("Sqrt", node("Max", variance, constant(0))))
    return means, deviations


def _features(graph: _Graph, model: Model, gray: str, mean: str, deviation: str, numbers: str, size: str) -> str:
    """What the attention sees; beyond the page its last row and column go on."""
    node, arch = graph.node, model.architecture
    if arch.multiple > 1:
        multiple = graph.constant(arch.multiple, np.int64)
        more = node("Mod", node("Sub", multiple, node("Mod", size, multiple)), multiple)
        pads = node("Concat", graph.constant([0] * 6, np.int64), more, axis=0)
        gray, mean, deviation = (node("Pad", x, pads, mode="edge") for x in (gray, mean, deviation))
    if arch.fold > 1:
        gray = node("SpaceToDepth", gray, blocksize=arch.fold)
        mean, deviation = (node("AveragePool", x, kernel_shape=[arch.fold] * 2, strides=[arch.fold] * 2)
                           for x in (mean, deviation))  # fmt: skip
    parts = {"gray": gray, "mean": mean, "deviation": deviation}
    if "numbers" in arch.features:
        first, last = graph.constant([2], np.int64), graph.constant([4], np.int64)
        cells = node("Slice", node("Shape", gray), first, last)
        whole = node("Concat", graph.constant([1, 2], np.int64), cells, axis=0)
        parts["numbers"] = node("Expand", numbers, whole)
        unknown = graph.constant(np.reshape(habit_features(None), (1, 2, 1, 1)))  # in use the network finds the habit
        parts["habit"] = node("Expand", unknown, whole)
    return node("Concat", *(parts[name] for name in arch.features), axis=1)


def _view(graph: _Graph, model: Model, size: str, cut: str, low: str, gain: str, numbers: str) -> str:
    """The page's map at the cells of the deepest level, as net/view.py makes it: sums and samples are products of matrices."""
    node, constant, arch = graph.node, graph.constant, model.architecture
    size = graph.cast(size, np.float32)
    longest = node("ReduceMax", size, keepdims=0)
    side = node("Mul", node("Ceil", node("Div", longest, constant(CELLS * STEP))), constant(STEP))
    side = node("Max", side, constant(VIEW_CELL))
    each = node("Div", side, constant(STEP))
    far, around, one = constant([2**31 - 1] * 2, np.int64), reach(arch), constant(1)
    told = node(
        "Slice", "gray", constant([0, 0], np.int64), far, constant([2, 3], np.int64), constant([STEP] * 2, np.int64)
    )
    told = graph.cast(told, np.float32)
    dark = graph.cast(node("Less", told, cut), np.float32)
    planes = node("Concat", node("Expand", one, node("Shape", told)), told, node("Mul", told, told), dark,
                  node("Mul", dark, told), axis=1)  # fmt: skip

    def count(x: str) -> str:
        return graph.cast(x, np.int64)

    def indices(number: str, column: bool) -> str:
        """0, 1, … as a column or a row."""
        found = graph.cast(node("Range", constant(0, np.int64), count(number), constant(1, np.int64)), np.float32)
        return node("Reshape", found, constant([-1, 1] if column else [1, -1], np.int64))

    members, samples = [], []
    for axis in (0, 1):
        length = node("Gather", size, constant(axis, np.int64))
        cells = node("Ceil", node("Div", length, side))
        at = node("Floor", node("Div", indices(node("Ceil", node("Div", length, constant(STEP))), False), each))
        members.append(graph.cast(node("Equal", at, indices(cells, True)), np.float32))
        deep = node("Ceil", node("Div", length, constant(arch.multiple)))
        centre = node("Mul", node("Add", indices(deep, True), constant(0.5)), constant(arch.multiple))
        place = node("Add", node("Div", centre, side), constant(around - 0.5))
        number = node("Add", cells, constant(2 * around))
        place = node("Min", place, node("Sub", number, one))
        apart = node("Abs", node("Sub", place, indices(number, False)))
        samples.append(node("Max", node("Sub", one, apart), constant(0)))

    def both(x: str, matrices: list[str]) -> str:
        return node("MatMul", node("MatMul", matrices[0], x), node("Transpose", matrices[1], perm=[1, 0]))

    sums = node("Split", both(planes, members), axis=1, name="sums0")
    graph.nodes[-1].output.extend(f"sums{i}" for i in range(1, 5))
    pixels, total, squares, darks, dark_total = (sums, *(f"sums{i}" for i in range(1, 5)))
    mean = node("Div", total, pixels)
    variance = node("Max", node("Sub", node("Div", squares, pixels), node("Mul", mean, mean)), constant(0))
    some = node("Greater", darks, constant(0))
    level = node("Div", dark_total, node("Where", some, darks, one))
    flat = constant([-1], np.int64)
    weight, grays = (node("Reshape", x, flat) for x in (darks, level))
    order = node("TopK", grays, node("Shape", grays), largest=0, axis=0, name="grays")
    graph.nodes[-1].output.append("order")
    passed = node("CumSum", node("Gather", weight, "order"), constant(0, np.int64))
    whole = node("ReduceSum", weight, keepdims=0)
    before = node(
        "ReduceSum", graph.cast(node("Less", passed, node("Mul", whole, constant(0.5))), np.int64), keepdims=0
    )
    stroke = node("Gather", order, before)
    stroke = node("Where", node("Greater", whole, constant(0)), stroke, constant(255))

    def scaled(x: str) -> str:
        return node("Mul", node("Sub", x, low), gain)

    stroke = node("Reshape", scaled(stroke), constant([1, 1, 1, 1], np.int64))
    habit = constant(np.reshape(habit_features(None), (1, 2, 1, 1)))  # in use the network finds the habit
    known = node("Concat", numbers, habit, stroke, axis=1)
    cells = node("Shape", mean)
    known = node("Mul", known, node("Expand", one, cells))
    seen = node("Concat", node("Expand", one, cells), scaled(mean), node("Mul", node("Sqrt", variance), gain),
                node("Div", darks, pixels), scaled(node("Where", some, level, mean)), known, axis=1)  # fmt: skip
    seen = node("Mul", seen, node("Div", pixels, node("Mul", each, each)))
    x = node("Pad", seen, constant([0, 0, around, around] * 2, np.int64))
    for layer in arch.convolutions():
        if layer.name.startswith("view"):
            x = _convolution(graph, model, layer, x)
            x = node("Relu", x) if layer.normalised else x
    return both(x, samples)


def _convolution(graph: _Graph, model: Model, layer: Convolution, x: str) -> str:
    """The plain convolution of a layer; in 8 bits, where it is normalised, what becomes of its bytes."""
    if isinstance(model.network, Network8):
        return _convolution8(graph, model.network.eights[layer.name], x)
    weight, bias = (
        graph.constant(model.weights[f"{layer.name}.{part}"], name=f"{layer.name}.{part}")
        for part in ("weight", "bias")
    )
    pad = layer.side // 2 * layer.dilation
    return graph.node(
        "Conv", x, weight, bias, dilations=[layer.dilation] * 2, pads=[pad] * 4, kernel_shape=[layer.side] * 2
    )


def _convolution8(graph: _Graph, eight: Layer8, x: str) -> str:
    """See net/eight.py. Whole numbers in single precision: their sums are exact, so engines agree with the runtime."""
    node, constant, layer = graph.node, graph.constant, eight.layer

    def each(values: Any, count: int) -> str:
        return constant(np.reshape(values[:count], (1, -1, 1, 1)))

    def rounded(x: str) -> str:
        return node("Floor", node("Add", node("Clip", x, constant(0), constant(127)), constant(0.5)))

    gain, zero = each(eight.gain, layer.inputs), each(eight.zero, layer.inputs)
    x = node("Sub", rounded(node("Add", node("Mul", x, gain), zero)), zero)
    weight = constant(eight.weight[: layer.outputs, : layer.inputs], name=f"{layer.name}.weight")
    pad = layer.side // 2 * layer.dilation
    x = node("Conv", x, weight, dilations=[layer.dilation] * 2, pads=[pad] * 4, kernel_shape=[layer.side] * 2)
    # rounding changes nothing, and keeps engines from drawing the next numbers into the weights
    x = node("Mul", node("Round", x), each(eight.times, layer.outputs))
    x = node("Add", x, each(eight.bias, layer.outputs))
    return x if eight.next_gain is None else node("Mul", rounded(x), each(1 / eight.next_gain, layer.outputs))


def _attention(graph: _Graph, model: Model, features: str, seen: str, view: str, size: str | None,
               plain: bool = False) -> str:  # fmt: skip
    """The network: attention from features, cut to the page's size before the refinement.

    view : the page's map, for a network that has one. plain : normalise as exporters do, with the operator that engines
    have for it.
    """
    node, arch = graph.node, model.architecture
    layers = {layer.name: layer for layer in arch.convolutions()}

    def convolution(name: str, x: str) -> str:
        layer = layers[name]
        x = _convolution(graph, model, layer, x)
        if not layer.normalised:
            return x
        if arch.norm == "instance" and plain:
            scale, shift = graph.constant(np.ones(layer.outputs)), graph.constant(np.zeros(layer.outputs))
            x = node("InstanceNormalization", x, scale, shift, epsilon=1e-10)
        elif arch.norm == "instance":
            x = node("Sub", x, page_mean(x))
            variance = node("Max", page_mean(node("Mul", x, x)), graph.constant(1e-10))
            x = node("Div", x, node("Sqrt", variance))
        return node("Relu", x)

    def page_mean(x: str) -> str:
        """The mean of rows, then of their means: engines add in single precision, and a page has millions of pixels."""
        return node("ReduceMean", node("ReduceMean", x, axes=[3]), axes=[2])

    x, kept = features, []
    for depth, widths in enumerate(arch.widths):
        if depth:
            kept.append(x)
            x = node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
        if arch.view and depth == len(arch.widths) - 1:
            x = node("Concat", x, view, axis=1)
        for i in range(len(widths)):
            x = convolution(f"down{depth}.{i}", x)
    for depth in range(len(arch.widths) - 2, -1, -1):
        x = node("Resize", convolution(f"reduce{depth}", x), "", graph.constant([1, 1, 2, 2]), mode="nearest",
                 coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
        x = convolution(f"up{depth}", node("Add", kept.pop(), x))
    x = convolution("head", x)
    if arch.fold > 1:
        x = node("DepthToSpace", x, blocksize=arch.fold, mode="DCR")
    if size is not None and arch.multiple > 1:
        x = node("Slice", x, graph.constant([0, 0], np.int64), size, graph.constant([2, 3], np.int64))
    if arch.refine:
        change = node("Concat", x, seen, axis=1)
        for name in arch.refinement:
            change = convolution(name, change)
        x = node("Add", x, change)
    return node("Softmax", x, axis=1, name="attention")


def write_standalone(model: Model, path: str | os.PathLike[str], gray: Gray) -> str:
    """Write the model as one ONNX file, if on that page it gives what the runtime gives; how well it does is returned.

    A threshold that differs by more than `TOLERANCE` is a RunFailed. In 8 bits the last bit of a window's mean can move a
    byte, and a byte the threshold where two choices are near each other; there the ink of all but `PIXELS` must agree.
    """
    try:
        import onnx  # noqa: F401
        import onnxruntime
    except ImportError:
        raise MissingExtra("onnx", "export --standalone") from None
    data = standalone_graph(model)
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    surface, attention = session.run(["threshold", "attention"], {"gray": gray[None, None]})
    numbers = PageNumbers.of(gray)
    _, expected, threshold = model.explain(gray, numbers)
    expected_surface = np.zeros_like(threshold) if numbers.blank else threshold
    apart = model.scale(numbers).largest_difference(surface[0, 0], expected_surface)
    weights = float(np.abs(attention[0].transpose(1, 2, 0) - expected).max())
    found = f"threshold within {apart:.1e} gray levels of the runtime's"
    good = apart <= TOLERANCE and weights <= 1e-3
    if not good and isinstance(model.network, Network8):
        others = np.count_nonzero((gray < surface[0, 0]) != (gray < expected_surface))
        found = f"ink as the runtime's but for {others} of {gray.size:,} pixels"
        good = bool(others <= PIXELS * gray.size)
    if not good:
        raise RunFailed(f"the graph does not give what the runtime gives ({found}, attention within {weights:.1e}); "
                        "nothing was written")  # fmt: skip
    with atomic(path) as file:
        file.write(data)
    return found
