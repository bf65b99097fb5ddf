"""From torch to a model of the runtime: averaged weights, normalisation folded in, checked before it is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ..errors import RunFailed, UsageError
from ..net.features import features, page_numbers, page_scale, shown, statistics
from ..net.model import Model, describe
from ..net.run import without_bed
from ..page import PageNumbers, bed
from ..windows import Gray
from . import fast
from .network import EPSILON, SauvolaNet
from .record import together

LARGEST = 1536  # side of what is checked of a page: torch's own operations take up to 1 kB of memory for a pixel


def to_model(net: SauvolaNet, name: str, scaling: dict[str, Any], training: dict[str, Any], source: str = "",
             licence: str = "", copyright: str = "") -> Model:  # fmt: skip
    """The network as a model of the runtime; BatchNorm's running numbers are folded into weights and biases."""
    weights: dict[str, np.ndarray] = {}
    with torch.no_grad():
        for layer, *_, normalised, _ in net.architecture.convolutions():
            conv = net.convs[layer.replace(".", "_")]
            weight: torch.Tensor = conv.weight
            bias: torch.Tensor = conv.beta
            if normalised and net.architecture.norm == "batch":
                gain = conv.gamma / torch.sqrt(conv.variance + EPSILON)
                weight, bias = weight * gain[:, None, None, None], bias - conv.mean * gain
            weights[f"{layer}.weight"] = weight.cpu().numpy().copy()
            weights[f"{layer}.bias"] = bias.cpu().numpy().copy()
        k, r = ([float(v) for v in values] for values in (net.sauvola.k, net.sauvola.r))
        alpha = float(net.alpha)
    count = sum(w.size for w in weights.values()) + len(k) + len(r) + 1
    about = describe(name, net.architecture, k, r, alpha, scaling, count, licence, copyright, source, training)
    return Model(about, weights)


def mean_of(model: Model, others: list[Model]) -> Model:
    """The model with every number the mean of its own and the other models'.

    With the model that its training began with, that is half the way back, which keeps more of what it knew and most of
    what it learnt. With other runs that began there too the mean is often better than each of them.
    """
    for other in others:
        if model.architecture != other.architecture or model.about["scaling"] != other.about["scaling"]:
            raise UsageError(f"{model.name} and {other.name} differ in architecture or scaling and have no mean")
    all_of_them = [model, *others]
    weights = {n: np.stack([m.weights[n] for m in all_of_them]).mean(0) for n in model.weights}
    about = {n: np.mean([m.about[n] for m in all_of_them], axis=0).tolist() for n in ("k", "r", "alpha")}
    training = {**model.about["training"], "mean_with": [other.name for other in others]}
    for other in others:
        training["partition"] = together(
            training.get("partition", "unknown"), other.about["training"].get("partition", "unknown")
        )
    return Model({**model.about, **about, "training": training}, weights)


def threshold_in_torch(net: SauvolaNet, gray: Gray, scaling: dict[str, Any]) -> npt.NDArray[np.float32]:
    """T of a page by torch's own operations, on the scaled gray; the page is cut to a multiple of the network's cells."""
    multiple = net.architecture.multiple
    height, width = (n - n % multiple for n in gray.shape)
    gray = np.ascontiguousarray(gray[:height, :width])
    numbers = PageNumbers.of(gray)
    scale = page_scale(numbers, scaling)
    gray = shown(gray, scale)
    region = (slice(0, height), slice(0, width))
    mean, deviation = statistics(gray, net.architecture.windows, scale, region, None)
    scaled = (gray - np.float32(scale.low)) * np.float32(scale.gain)
    seen = features(net.architecture, scaled, mean, deviation, page_numbers(numbers, scaling))
    was, fast.USE = fast.USE, False
    training = net.training
    net.eval()
    try:
        with torch.no_grad():
            device = net.raw_alpha.device
            inputs = (torch.from_numpy(v)[None].to(device) for v in (scaled, mean, deviation, seen))
            return net(*inputs)[0].cpu().numpy()
    finally:
        fast.USE = was
        net.train(training)


def difference(net: SauvolaNet, model: Model, gray: Gray) -> float:
    """The largest difference of T between torch and the runtime on a page; more than 1e-4 is a RunFailed.

    Of a large page that is in its middle: a scan at 600 dpi would need more memory than most machines have.
    """
    least = net.architecture.multiple
    top, left = (max(n - LARGEST, 0) // 2 for n in gray.shape)
    gray = gray[top : top + LARGEST, left : left + LARGEST]
    gray = np.pad(gray, [(0, max(least - n, 0)) for n in gray.shape], mode="symmetric")  # one text line may be lower
    expected = threshold_in_torch(net, gray, model.about["scaling"])
    gray = np.ascontiguousarray(gray[: expected.shape[0], : expected.shape[1]])
    numbers = PageNumbers.of(gray)
    scale = model.scale(numbers)
    whole = (slice(0, gray.shape[0]), slice(0, gray.shape[1]))
    expected = without_bed(scale.to_gray(expected), whole, bed(gray, scale.bed))
    apart = scale.apart(model.surface(gray, numbers), expected) * scale.gain
    if not apart <= 1e-4:
        raise RunFailed(f"the runtime's threshold differs from torch's by {apart:.1e}; the model was not written")
    return apart
