"""Networks from settings and from models: untrained, or with the weights of a model put in."""

from __future__ import annotations

from dataclasses import replace

import torch

from ..net.model import Model
from .network import SauvolaNet
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


def calibrate(net: SauvolaNet, batch: Batch) -> None:
    """After `from_model`: give every folded normalisation the statistics of a batch, so that nothing changes."""
    gray, mean, deviation, seen, *_ = (torch.from_numpy(v) for v in vars(batch).values())
    layers = [conv for conv in net.convs.values() if conv.norm == "batch"]
    for conv in layers:
        conv.calibrating = True
    with torch.no_grad():
        net(gray, mean, deviation, seen)
    for conv in layers:
        conv.calibrating = False


def from_model(net: SauvolaNet, model: Model) -> None:
    """Put a model's weights into a network; a folded normalisation still has to be calibrated.

    α, k and r are those that the network was built with: `like_model` takes them from the model.
    """
    state = net.state_dict()
    for layer, *_ in net.architecture.convolutions():
        key = f"convs.{layer.replace('.', '_')}"
        state[f"{key}.weight"] = torch.from_numpy(model.weights[f"{layer}.weight"])
        state[f"{key}.beta"] = torch.from_numpy(model.weights[f"{layer}.bias"])
    net.load_state_dict(state)


def folded(s: Settings, model: Model) -> SauvolaNet:
    """The network of a model as it runs: a normalisation that is folded in changes nothing any more."""
    net = build(replace(like_model(s, model), frozen=True))
    from_model(net, model)
    return net


def like_model(s: Settings, model: Model) -> Settings:
    """The settings with the network, the scaling, α, k and r of a model, to begin with its weights."""
    k, r = (tuple(model.about[name]) for name in ("k", "r"))
    return replace(
        s, architecture=model.architecture, scaling=model.about["scaling"], alpha=model.about["alpha"], k=k, r=r
    )
