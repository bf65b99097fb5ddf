"""From torch to a model of the runtime: averaged weights, normalisation folded in, checked before it is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ..core.arrays import Gray
from ..errors import RunFailed, UsageError
from ..net.inputs import PageInputs
from ..net.model import Model, describe
from ..page.margins import Margins, clear
from ..page.numbers import PageNumbers
from ..page.reading import Reading
from . import fast
from .network import EPSILON, SauvolaNet, module_name
from .record import together

LARGEST = 1536  # side of what is checked of a page: torch's own operations take up to 1 kB of memory for a pixel


def to_model(net: SauvolaNet, name: str, scaling: dict[str, Any], margins: Margins | None, training: dict[str, Any],
             source: str = "", licence: str = "", copyright: str = "", reading: Reading | None = None) -> Model:  # fmt: skip
    """The network as a model of the runtime; BatchNorm's running numbers are folded into weights and biases."""
    weights: dict[str, np.ndarray] = {}
    with torch.no_grad():
        for layer in net.architecture.convolutions():
            conv = net.convs[module_name(layer)]
            weight: torch.Tensor = conv.weight
            bias: torch.Tensor = conv.beta
            if layer.normalised and net.architecture.norm == "batch":
                gain = conv.gamma / torch.sqrt(conv.variance + EPSILON)
                weight, bias = weight * gain[:, None, None, None], bias - conv.mean * gain
            weights[f"{layer.name}.weight"] = weight.cpu().numpy().copy()
            weights[f"{layer.name}.bias"] = bias.cpu().numpy().copy()
        k, r = ([float(v) for v in values] for values in (net.sauvola.k, net.sauvola.r))
        alpha = float(net.alpha)
    count = sum(w.size for w in weights.values()) + len(k) + len(r) + 1
    about = describe(
        name, net.architecture, k, r, alpha, scaling, margins, reading, count, licence, copyright, source, training
    )
    return Model(about, weights)


def mean_of(model: Model, others: list[Model]) -> Model:
    """The model with every number the mean of its own and the other models'.

    With the model that its training began with, that is half the way back, which keeps more of what it knew and most of
    what it learnt. With other runs that began there too the mean is often better than each of them.
    """
    for other in others:
        if model.architecture != other.architecture or any(
            model.about[n] != other.about[n] for n in ("scaling", "margins", "reading")
        ):
            raise UsageError(
                f"{model.name} and {other.name} differ in architecture, scaling, margins or reading and have no mean"
            )
    all_of_them = [model, *others]
    own = [n for n in model.weights if n.endswith((".weight", ".bias"))]  # ranges of inputs are those of other weights
    weights = {n: np.stack([m.weights[n] for m in all_of_them]).mean(0) for n in own}
    about = {n: np.mean([m.about[n] for m in all_of_them], axis=0).tolist() for n in ("k", "r", "alpha")}
    training = {**model.about["training"], "mean_with": [other.name for other in others]}
    training["digests"] = {**training.get("digests", {}), "mean_of": [m.digest for m in all_of_them]}
    for other in others:
        training["partition"] = together(
            training.get("partition", "unknown"), other.about["training"].get("partition", "unknown")
        )
    kept = {n: v for n, v in model.about.items() if n not in ("file", "sha256")}  # of other weights
    return Model({**kept, **about, "bits": 32, "training": training}, weights)


def threshold_in_torch(net: SauvolaNet, page: PageInputs) -> npt.NDArray[np.float32]:
    """T of a page by torch's own operations, on the scaled gray; its sides are multiples of the network's cells."""
    was, fast.USE = fast.USE, False
    training = net.training
    net.eval()
    try:
        with torch.no_grad():
            device = net.raw_alpha.device
            whole = (slice(0, page.gray.shape[0]), slice(0, page.gray.shape[1]))
            inputs = page.inputs(whole, None)._asdict()
            tensors = {name: torch.from_numpy(array)[None].to(device) for name, array in inputs.items()}
            threshold: npt.NDArray[np.float32] = net(**tensors)[0][0].cpu().numpy()
            return threshold
    finally:
        fast.USE = was
        net.train(training)


def difference(net: SauvolaNet, model: Model, gray: Gray) -> float:
    """The largest difference of T between torch and the runtime on a page; more than 1e-4 is a RunFailed.

    Of a large page that is in its middle: a scan at 600 dpi would need more memory than most machines have.
    """
    multiple = net.architecture.multiple
    top, left = (max(n - LARGEST, 0) // 2 for n in gray.shape)
    gray = gray[top : top + LARGEST, left : left + LARGEST]
    gray = np.pad(gray, [(0, max(multiple - n, 0)) for n in gray.shape], mode="symmetric")  # a text line may be lower
    height, width = (n - n % multiple for n in gray.shape)
    gray = np.ascontiguousarray(gray[:height, :width])
    numbers = PageNumbers.of(gray)
    page = model.inputs(gray, numbers)
    in_torch = page.scale.to_gray(threshold_in_torch(net, page))
    expected = clear(in_torch, (slice(0, height), slice(0, width)), model.bed(gray, page.scale))
    found = page.scale.largest_difference(model.surface(gray, numbers), expected) * page.scale.gain
    if not found <= 1e-4:
        raise RunFailed(f"the runtime's threshold differs from torch's by {found:.1e}; the model was not written")
    return found
