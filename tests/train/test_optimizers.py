"""Orthogonalised momentum: what it makes of a matrix, and that a run with it resumes like any other."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from sauvolanet.errors import UnknownName  # noqa: E402
from sauvolanet.train.optimizers import Muon, make, orthogonal  # noqa: E402


@pytest.mark.parametrize("shape", [(16, 144), (48, 48), (28, 16)])
def test_singular_values_come_near_one_and_directions_stay(shape: tuple[int, int]) -> None:
    matrix = torch.randn(*shape, generator=torch.Generator().manual_seed(1))
    u, _, v = torch.linalg.svd(matrix, full_matrices=False)
    result = orthogonal(matrix)
    values = torch.linalg.svdvals(result)
    assert values.min() > 0.6 and values.max() < 1.3
    assert torch.allclose(u.T @ result @ v.T, torch.diag((u.T @ result @ v.T).diag()), atol=1e-4)


def test_a_step_has_the_size_of_adams_whatever_the_gradient() -> None:
    for scale in (1e-6, 1e3):
        weight = torch.nn.Parameter(torch.zeros(16, 8, 3, 3))
        weight.grad = scale * torch.randn(16, 8, 3, 3, generator=torch.Generator().manual_seed(2))
        Muon([weight], rate=0.01, weight_decay=0.0).step()
        assert 0.2 * 0.01 * 0.7 < weight.square().mean().sqrt() < 0.2 * 0.01 * 1.3 * (72 / 16) ** 0.5


def test_matrices_go_to_muon_and_the_rest_to_adam() -> None:
    weight, bias = torch.nn.Parameter(torch.zeros(8, 3, 3, 3)), torch.nn.Parameter(torch.zeros(8))
    adam, muon = make("muon", [weight, bias], 1e-3, 1e-8, 0.0)
    assert adam.param_groups[0]["params"] == [bias] and muon.param_groups[0]["params"] == [weight]
    assert len(make("adam", [weight, bias], 1e-3, 1e-8, 0.0)) == 1
    with pytest.raises(UnknownName, match="muon"):
        make("muom", [weight], 1e-3, 1e-8, 0.0)
