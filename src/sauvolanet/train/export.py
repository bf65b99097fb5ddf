"""From torch to a model of the runtime: averaged weights, normalisation folded in, checked before it is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..net.model import Model, describe
from .network import EPSILON, SauvolaNet


def to_model(net: SauvolaNet, name: str, scaling: dict[str, Any], training: dict[str, Any]) -> Model:
    """The network as a model of the runtime; BatchNorm's running numbers are folded into weights and biases."""
    weights: dict[str, np.ndarray] = {}
    with torch.no_grad():
        for layer, *_, normalised, _ in net.architecture.convolutions():
            conv = net.convs[layer.replace(".", "_")]
            weight, bias = conv.weight, conv.beta
            if normalised and net.architecture.norm == "batch":
                gain = conv.gamma / torch.sqrt(conv.variance + EPSILON)
                weight, bias = weight * gain[:, None, None, None], bias - conv.mean * gain
            weights[f"{layer}.weight"] = weight.numpy().copy()
            weights[f"{layer}.bias"] = bias.numpy().copy()
        k, r = ([float(v) for v in values] for values in (net.sauvola.k, net.sauvola.r))
        alpha = float(net.alpha)
    count = sum(w.size for w in weights.values()) + len(k) + len(r) + 1
    about = describe(name, net.architecture, k, r, alpha, scaling, count, "MIT", "Copyright (c) 2026 the sauvolanet maintainers",
                     "trained from scratch by the sauvolanet maintainers", training)  # fmt: skip
    return Model(about, weights)
