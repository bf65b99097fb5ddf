"""Optimizers: Adam as in the paper, and that of the second network: orthogonalised momentum for the convolutions, AdamW for everything else.

Muon (Jordan et al. 2024): the momentum of a weight matrix is replaced by the nearest matrix whose singular values are
all one, by a Newton–Schulz iteration, so that rare directions of the gradient learn as fast as common ones. The update
is scaled to the size of AdamW's (Liu et al. 2025, arXiv:2502.16982), so both parts share one learning rate. torch's
own Muon takes matrices only; a convolution is one matrix, outputs × everything else.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import UnknownName

MOMENTUM = 0.95
COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of the quintic iteration; steep at zero, singular values end in 0.7 … 1.2
ITERATIONS = 5


def orthogonal(matrix: Tensor) -> Tensor:
    """The matrix with its singular values brought near one."""
    a, b, c = COEFFICIENTS
    tall = matrix.shape[0] > matrix.shape[1]
    x: Tensor = matrix.T if tall else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(ITERATIONS):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x.T if tall else x


class Muon(torch.optim.Optimizer):
    """Orthogonalised momentum (Nesterov's) with decoupled weight decay, for parameters of two or more dimensions."""

    def __init__(self, parameters: list[torch.nn.Parameter], rate: float, weight_decay: float) -> None:
        super().__init__(parameters, {"lr": rate, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # for matrices as small as these, waking another thread takes ten times the work
        try:
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self._update(p, p.grad, group["lr"], group["weight_decay"])
        finally:
            torch.set_num_threads(threads)

    def _update(self, p: Tensor, grad: Tensor, rate: float, weight_decay: float) -> None:
        momentum = self.state[p].setdefault("momentum", torch.zeros_like(p))
        momentum.lerp_(grad, 1 - MOMENTUM)
        update = orthogonal(grad.lerp(momentum, MOMENTUM).flatten(1))
        p.mul_(1 - rate * weight_decay)
        p.add_(update.view_as(p), alpha=-rate * 0.2 * max(update.shape) ** 0.5)


def make(kind: str, parameters: list[torch.nn.Parameter], rate: float, epsilon: float, weight_decay: float
         ) -> list[torch.optim.Optimizer]:  # fmt: skip
    """The optimizers of a run: one that has all parameters (``adam``), or two that share them (``muon``)."""
    if kind not in KINDS:
        raise UnknownName("optimizer", kind, KINDS)
    matrices = [p for p in parameters if kind == "muon" and p.ndim > 1]
    others = [p for p in parameters if kind == "adam" or p.ndim <= 1]
    adam = torch.optim.AdamW(others, lr=rate, eps=epsilon, weight_decay=weight_decay, fused=True)
    return [adam, Muon(matrices, rate, weight_decay)] if matrices else [adam]


KINDS = ("adam", "muon")
