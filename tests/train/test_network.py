"""The network in torch: against the paper's counts, against the compiled kernels, against the runtime."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from sauvolanet.core.windows import mean_deviation_numpy
from sauvolanet.errors import UsageError
from sauvolanet.net import load
from sauvolanet.net.architecture import PAPER, VIEW_INPUTS, Architecture
from sauvolanet.net.inputs import PageInputs
from sauvolanet.page.margins import Margins
from sauvolanet.synth import page
from sauvolanet.train import export, fast
from sauvolanet.train.build import build, folded, from_model, like_model
from sauvolanet.train.export import difference, mean_of, threshold_in_torch, to_model
from sauvolanet.train.loss import LOSSES, hinge
from sauvolanet.train.network import SauvolaNet, window_statistics
from sauvolanet.train.settings import PRESETS

from .conftest import TINY

SWIFT = PRESETS["swift"].scaling, PRESETS["swift"].margins


def test_the_papers_network_has_as_many_numbers_as_the_authors_file() -> None:
    assert sum(p.numel() for p in SauvolaNet(PAPER).parameters()) == 44_041


@pytest.mark.parametrize("count", range(1, 9))
def test_any_number_of_windows(count: int) -> None:
    arch = Architecture(windows=PAPER.windows[:count], widths=((8, 16),), dilations=((1, 2),))
    gray = torch.rand(1, 32, 40)
    mean, deviation = window_statistics(gray, arch.windows)
    assert SauvolaNet(arch)(gray, mean, deviation, gray[..., None])[0].shape == gray.shape


def test_window_statistics_are_those_of_the_integer_sums() -> None:
    gray = np.random.default_rng(0).integers(0, 256, (40, 31), dtype=np.uint8)
    mean, deviation = window_statistics(torch.from_numpy(gray / 255.0)[None], (7, 63))
    for i, window in enumerate((7, 63)):
        m, d = mean_deviation_numpy(gray, window)
        assert np.allclose(mean[0, ..., i].numpy() * 255, m, atol=1e-3)
        assert np.allclose(deviation[0, ..., i].numpy() * 255, d, atol=1e-3)


@pytest.mark.parametrize(
    ("arch", "frozen"),
    [(TINY, False), (TINY, True), (Architecture(widths=((8, 16),), dilations=((1, 2),), windows=(7, 15)), False)],
)
def test_compiled_steps_have_the_values_and_gradients_of_torch(
    arch: Architecture, frozen: bool, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    net = SauvolaNet(arch).double().float()
    for conv in net.convs.values() if frozen else ():
        conv.freeze()
        torch.nn.init.normal_(conv.beta, std=0.3)
    if arch.refine:
        torch.nn.init.normal_(net.convs[arch.refinement[-1]].weight, std=0.3)
    gray = torch.rand(3, 32, 32)
    mean, deviation = window_statistics(gray, arch.windows)
    features = torch.rand(3, 32 // arch.fold, 32 // arch.fold, arch.inputs)
    view, place = torch.rand(3, 12, 12, VIEW_INPUTS), torch.rand(3, 4) + 0.5
    results = {}
    for use in (True, False):
        monkeypatch.setattr(fast, "USE", use)
        net.zero_grad()
        threshold, writing = net(gray, mean, deviation, features, view, place)
        ((threshold * gray).sum() + (0 if writing is None else writing.square().sum())).backward()
        results[use] = {
            "T": threshold.detach(),
            **{n: p.grad.clone() for n, p in net.named_parameters() if p.grad is not None},
        }
    assert results[True].keys() == results[False].keys()
    for name, value in results[False].items():
        assert torch.allclose(results[True][name], value, rtol=2e-3, atol=2e-3 * value.abs().max().item()), name


def test_frozen_parameters_have_no_gradient() -> None:
    net = SauvolaNet(PAPER, train_k=False)
    assert not net.sauvola.raw_k.requires_grad
    assert net.sauvola.raw_r.requires_grad


def test_original_in_torch_and_in_the_runtime_agree() -> None:
    model = load("original")
    net = build(like_model(PRESETS["paper"], model))
    from_model(net, model)
    gray, _ = page(3, kind="manuscript", height=160, width=200)
    assert difference(net, model, gray) < 1e-4


def test_export_folds_the_normalisation() -> None:
    torch.manual_seed(1)
    net = SauvolaNet(TINY)
    for conv in net.convs.values():
        if conv.norm == "batch":
            conv.mean.normal_()
            conv.variance.uniform_(0.5, 2)
            conv.gamma.data.uniform_(0.5, 1.5)
    model = to_model(net, "tiny", *SWIFT, {})
    gray, _ = page(4, kind="print", height=160, width=200)
    assert difference(net, model, gray) < 1e-4


def test_mean_of_models() -> None:
    one, other, third, more = (
        to_model(SauvolaNet(TINY, k=k), name, {"kind": "minmax"}, None, {"partition": partition})
        for k, name, partition in ((0.1, "a", "wide"), (0.3, "b", "wide"), (0.5, "c", "wide"), (0.3, "d", "all"))
    )
    middle = mean_of(one, [other])
    assert middle.about["k"] == pytest.approx([0.2] * len(TINY.windows))
    digests = {"mean_of": [one.digest, other.digest]}
    assert middle.about["training"] == {"partition": "wide", "mean_with": ["b"], "digests": digests}
    assert middle.name == "a" and middle.digest not in digests["mean_of"]
    three = mean_of(one, [other, third])
    assert three.about["k"] == pytest.approx([0.3] * len(TINY.windows))
    assert three.about["training"]["mean_with"] == ["b", "c"]
    for name, weight in three.weights.items():
        np.testing.assert_allclose(weight, np.mean([m.weights[name] for m in (one, other, third)], 0), atol=1e-7)
    assert mean_of(one, [more]).about["training"]["partition"] == "all"  # a part of it has seen the test sets
    assert mean_of(more, [one, other]).about["training"]["partition"] == "all"
    gray, _ = page(3, kind="letter", height=64, width=96)
    assert difference(folded(replace(PRESETS["swift"], architecture=TINY, k=0.1, r=0.5), middle), middle, gray) < 1e-5
    for name, weight in middle.weights.items():
        np.testing.assert_allclose(weight, (one.weights[name] + other.weights[name]) / 2)
    strangers = [to_model(SauvolaNet(PAPER), "c", {"kind": "minmax"}, None, {}), to_model(SauvolaNet(TINY), "d", {}, None, {}),
                 to_model(SauvolaNet(TINY), "e", {"kind": "minmax"}, Margins(), {})]  # fmt: skip
    for stranger in strangers:
        with pytest.raises(UsageError, match="no mean"):
            mean_of(one, [other, stranger])


def test_export_fetches_the_weights_from_their_device(monkeypatch: pytest.MonkeyPatch) -> None:
    fetch, numpy = torch.Tensor.cpu, torch.Tensor.numpy
    fetched: list[torch.Tensor] = []

    def cpu(tensor: torch.Tensor) -> torch.Tensor:
        fetched.append(fetch(tensor))
        return fetched[-1]

    def refuse(tensor: torch.Tensor) -> np.ndarray:
        assert any(tensor is other for other in fetched), "numpy() of a tensor that may be on a GPU"
        return numpy(tensor)

    net = SauvolaNet(TINY)
    gray, _ = page(4, kind="print", height=64, width=64)
    monkeypatch.setattr(torch.Tensor, "cpu", cpu)
    monkeypatch.setattr(torch.Tensor, "numpy", refuse)
    assert difference(net, to_model(net, "tiny", *SWIFT, {}), gray) < 1e-4


def test_a_page_lower_than_the_networks_cells_checks_a_model_too() -> None:
    net = SauvolaNet(PRESETS["swift"].architecture)
    gray, _ = page(4, kind="print", height=12, width=64)
    assert difference(net, to_model(net, "line", *SWIFT, {}), gray) < 1e-4


def test_of_a_large_page_the_middle_checks_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole scan at 600 dpi would take 30 GB."""
    seen: list[np.ndarray] = []

    def watched(net: SauvolaNet, page: PageInputs) -> np.ndarray:
        seen.append(page.gray)
        return threshold_in_torch(net, page)

    monkeypatch.setattr(export, "LARGEST", 64)
    monkeypatch.setattr(export, "threshold_in_torch", watched)
    net = SauvolaNet(TINY)
    gray, _ = page(4, kind="print", height=160, width=50)
    assert difference(net, to_model(net, "tiny", {"kind": "minmax"}, None, {}), gray) < 1e-4
    assert np.array_equal(seen[0], gray[48:112, :48])  # whole cells


def test_the_hinge_loss_of_a_mixture_is_the_mixture_of_the_losses() -> None:
    """By hand: D − T = 0.25 and α = 2 lose 0.5 where it is paper and 1.5 where it is ink."""
    gray, threshold = torch.tensor([[[0.75]]]), torch.tensor([[[0.5]]])
    lost = [float(hinge(gray, threshold, torch.tensor([[[t]]]), torch.tensor(2.0), torch.ones(1, 1, 1)))
            for t in (0.0, 1.0, 0.25)]  # fmt: skip
    assert lost == pytest.approx([0.5, 1.5, 0.75])


@pytest.mark.parametrize("loss", LOSSES)
def test_what_does_not_count_changes_no_loss(loss: str) -> None:
    numbers = torch.Generator().manual_seed(1)
    gray, threshold = (torch.rand(2, 8, 8, generator=numbers) for _ in range(2))
    truth, weight = torch.rand(2, 8, 8, generator=numbers) < 0.3, torch.ones(2, 8, 8)
    weight[:, :2] = 0

    def lost(truth: torch.Tensor) -> float:
        return float(LOSSES[loss](gray, threshold, truth, torch.tensor(4.0), weight))

    other_rim, other_page = truth.clone(), truth.clone()
    other_rim[:, :2] ^= True
    other_page[:, 2:] ^= True
    assert lost(other_rim) == lost(truth) != lost(other_page)
