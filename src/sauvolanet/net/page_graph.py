"""The page before the network as nodes of an ONNX graph: its numbers, its sides, window statistics, features.

Each function does what its namesake of the runtime does (`page.numbers`, `page.margins`, `net.inputs`), and a test
holds the graph to it.
"""

from __future__ import annotations

import numpy as np

from ..page.margins import Margins
from ..page.numbers import BLANK_RANGE, DARK_PERCENT, LIGHT_PERCENT, LONE_CONTRAST, MARGIN_PART
from .graph import Graph
from .inputs import habit_features
from .model import Model


def page_numbers(graph: Graph, model: Model, size: str) -> tuple[str, str, str, str, str]:
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


def bed(graph: Graph, margins: Margins, size: str, low: str, span: str) -> str:
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


def statistics(graph: Graph, windows: tuple[int, ...], gray: str) -> tuple[list[str], list[str]]:
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


def features(graph: Graph, model: Model, gray: str, mean: str, deviation: str, numbers: str, size: str) -> str:
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
