"""Networks from settings and from models: untrained, or with the weights of a model put in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from ..net.model import Model
from .network import SauvolaNet, module_name
from .patches import Batch
from .settings import Settings


def build(settings: Settings) -> SauvolaNet:
    """The untrained network of the settings."""
    s = settings
    k, r = (list(v) if isinstance(v, tuple) else v for v in (s.k, s.r))
    net = SauvolaNet(s.architecture, k=k, r=r, alpha=s.alpha, train_k=s.train_k, train_r=s.train_r,
                     train_alpha=s.train_alpha, positive=s.positive)  # fmt: skip
    for conv in net.convs.values() if s.frozen else ():
        conv.freeze()
    return net


def tensors(batch: Batch[np.ndarray], device: torch.device | None = None) -> Batch[torch.Tensor]:
    """A batch as torch reads it."""
    return Batch(*(torch.from_numpy(array).to(device) for array in batch))


def calibrate(net: SauvolaNet, batch: Batch[np.ndarray]) -> None:
    """After `from_model`: give every folded normalisation the statistics of a batch, so that nothing changes."""
    layers = [conv for conv in net.convs.values() if conv.norm == "batch"]
    for conv in layers:
        conv.calibrating = True
    with torch.no_grad():
        net(**tensors(batch).inputs)
    for conv in layers:
        conv.calibrating = False


def from_model(net: SauvolaNet, model: Model) -> None:
    """Put a model's weights into a network; a folded normalisation still has to be calibrated.

    α, k and r are those that the network was built with: `like_model` takes them from the model.
    """
    state = net.state_dict()
    for layer in net.architecture.convolutions():
        key = f"convs.{module_name(layer)}"
        state[f"{key}.weight"] = torch.from_numpy(model.weights[f"{layer.name}.weight"])
        state[f"{key}.beta"] = torch.from_numpy(model.weights[f"{layer.name}.bias"])
    net.load_state_dict(state)


def folded(s: Settings, model: Model) -> SauvolaNet:
    """The network of a model as it runs: a normalisation that is folded in changes nothing any more."""
    net = build(replace(like_model(s, model), frozen=True))
    from_model(net, model)
    return net


def like_model(s: Settings, model: Model) -> Settings:
    """The settings with the network, the scaling, the margins, the reading, α, k and r of a model, to begin with its weights."""
    k, r = (tuple(model.about[name]) for name in ("k", "r"))
    return replace(s, architecture=model.architecture, scaling=model.about["scaling"], margins=model.margins,
                   reading=model.reading, alpha=model.about["alpha"], k=k, r=r)  # fmt: skip
