"""The optimizer of the second network: orthogonalised momentum for the convolutions, AdamW for everything else.

Muon (Jordan et al. 2024): the momentum of a weight matrix is replaced by the nearest matrix whose singular values are
all one, by a Newton–Schulz iteration, so that rare directions of the gradient learn as fast as common ones. The update
is scaled to the size of AdamW's (Liu et al. 2025, arXiv:2502.16982), so both parts share one learning rate. torch's
own Muon takes matrices only; a convolution is one matrix, outputs × everything else.
"""

from __future__ import annotations

import torch
from torch import Tensor

MOMENTUM = 0.95
COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of the quintic iteration; steep at zero, singular values end in 0.7 … 1.2
ITERATIONS = 5


def orthogonal(matrix: Tensor) -> Tensor:
    """The matrix with its singular values brought near one."""
    a, b, c = COEFFICIENTS
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(ITERATIONS):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x.T if tall else x


class Muon(torch.optim.AdamW):
    """AdamW whose parameters of two or more dimensions follow orthogonalised momentum instead."""

    def __init__(self, parameters: list[torch.nn.Parameter], rate: float, epsilon: float, weight_decay: float) -> None:
        matrices = [p for p in parameters if p.ndim > 1]
        others = [p for p in parameters if p.ndim <= 1]
        super().__init__(others, lr=rate, eps=epsilon, weight_decay=weight_decay, fused=True)
        self.add_param_group({"params": matrices, "orthogonal": True})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        adam, muon = self.param_groups
        for p in muon["params"]:
            if p.grad is None:
                continue
            state = self.state[p]
            momentum = state.setdefault("momentum", torch.zeros_like(p))
            momentum.lerp_(p.grad, 1 - MOMENTUM)
            update = orthogonal(p.grad.lerp(momentum, MOMENTUM).flatten(1))
            p.mul_(1 - muon["lr"] * muon["weight_decay"])
            p.add_(update.view_as(p), alpha=-muon["lr"] * 0.2 * max(update.shape) ** 0.5)
        self.param_groups = [adam]
        try:
            super().step()
        finally:
            self.param_groups = [adam, muon]


def adam(parameters: list[torch.nn.Parameter], rate: float, epsilon: float, weight_decay: float) -> torch.optim.AdamW:
    """Adam, or AdamW with a weight decay."""
    return torch.optim.AdamW(parameters, lr=rate, eps=epsilon, weight_decay=weight_decay, fused=True)


OPTIMIZERS = {"adam": adam, "muon": Muon}
