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
from ..page.numbers import PageNumbers
from . import page_graph
from .architecture import VIEW_CELL, Convolution
from .eight import FINER, Layer8, Network8, parts_of
from .graph import Graph
from .inputs import MINIMUM_VARIANCE, habit_features
from .model import Model
from .view import CELLS, STEP, reach

TOLERANCE = 0.0255  # gray levels, 1e-4 of the range: what engines may differ by in the threshold
PIXELS = 1e-4  # share of the pixels whose ink may differ, in 8 bits


def attention_graph(model: Model) -> bytes:
    """The network alone, for comparison with other engines: features (1, C, H / fold, W / fold) in, attention out.

    A network with a refinement also takes ``seen`` (1, 1 + windows, H, W): gray and gray − mean; one with a view takes
    ``view`` (1, N, H / multiple, W / multiple): the page's map. H and W are multiples of the architecture's.
    """
    graph, arch = Graph(), model.architecture
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
    graph, arch = Graph(), model.architecture
    size = graph.node("Gather", graph.node("Shape", "gray"), graph.constant([2, 3], np.int64))
    low, gain, blank, numbers, cut = page_graph.page_numbers(graph, model, size)
    back = graph.cast(graph.node("Reciprocal", gain), np.float32)
    low, gain = graph.cast(low, np.float32), graph.cast(gain, np.float32)

    def scaled(x: str) -> str:
        return graph.node("Mul", graph.node("Sub", x, low), gain)

    levels = graph.cast("gray", np.float32)
    if model.margins is not None:  # nothing is darker than the page's dark level
        levels = graph.node("Max", levels, low)
    gray = scaled(levels)
    means, deviations = page_graph.statistics(graph, arch.windows, levels)
    floor = graph.constant(MINIMUM_VARIANCE**0.5)
    means = [scaled(mean) for mean in means]
    deviations = [graph.node("Max", graph.node("Mul", deviation, gain), floor) for deviation in deviations]
    mean, deviation = (graph.node("Concat", *parts, axis=1) for parts in (means, deviations))

    seen = ""
    if arch.refine:
        near = [graph.node("Sub", gray, means[arch.windows.index(window)]) for window in arch.refine_windows]
        seen = graph.node("Concat", gray, *near, axis=1)
    features = page_graph.features(graph, model, gray, mean, deviation, numbers, size)
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
        paper = graph.node("Or", paper, page_graph.bed(graph, model.margins, size, low, back))
    graph.node("Where", paper, graph.constant(0), surface, name="threshold")

    about = {
        n: str(model.about[n]) for n in ("name", "licence", "copyright", "source", "windows", "constants", "sha256")
    }
    return graph.file({"gray": (np.uint8, [1, 1, "height", "width"])},
                      {"threshold": [1, 1, "height", "width"], "attention": [1, arch.choices, "height", "width"]},
                      {**about, "input": "gray: 0 black; dark writing on light paper", "ink": "gray < threshold"})  # fmt: skip


def _view(graph: Graph, model: Model, size: str, cut: str, low: str, gain: str, numbers: str) -> str:
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


def _convolution(graph: Graph, model: Model, layer: Convolution, x: str) -> str:
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


def _convolution8(graph: Graph, eight: Layer8, x: str) -> str:
    """See net/eight.py. Whole numbers in single precision: their sums are exact, so engines agree with the runtime."""
    node, constant, layer = graph.node, graph.constant, eight.layer

    def each(values: Any, count: int) -> str:
        return constant(np.reshape(values[:count], (1, -1, 1, 1)))

    def rounded(x: str) -> str:
        return node("Floor", node("Add", node("Clip", x, constant(0), constant(127)), constant(0.5)))

    def convolved(x: str, part: Any, name: str) -> str:
        weight = constant(part[: layer.outputs, : layer.inputs], name=name)
        pad = layer.side // 2 * layer.dilation
        made = node("Conv", x, weight, dilations=[layer.dilation] * 2, pads=[pad] * 4, kernel_shape=[layer.side] * 2)
        # rounding changes nothing, and keeps engines from drawing the next numbers into the weights
        return node("Round", made)

    gain, zero = each(eight.gain, layer.inputs), each(eight.zero, layer.inputs)
    given = node("Sub", rounded(node("Add", node("Mul", x, gain), zero)), zero)
    first, *finer = parts_of(eight.weight)
    x = convolved(given, first, f"{layer.name}.weight")
    for part in finer:
        x = node("Add", node("Mul", x, constant(FINER)), convolved(given, part, f"{layer.name}.finer"))
    x = node("Mul", x, each(eight.times, layer.outputs))
    x = node("Add", x, each(eight.bias, layer.outputs))
    return x if eight.next_gain is None else node("Mul", rounded(x), each(1 / eight.next_gain, layer.outputs))


def _attention(graph: Graph, model: Model, features: str, seen: str, view: str, size: str | None,
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
