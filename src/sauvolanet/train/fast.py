"""The network's heavy steps on the compiled kernels, as torch autograd functions.

On two cores torch's own convolutions of so few channels reach a quarter of the machine; these reach most of it.
Tensors are (N, H, W, C) float32, contiguous, on the CPU. `USE` switches them off; the plain torch version in
network.py defines the truth, and is what runs on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..core.bands import run_bands
from ..core.kernels import native
from ..net.architecture import Architecture
from ..net.run import pack

USE = True
THREADS: int | None = None


def usable(x: Tensor, outputs: int) -> bool:
    """Whether the kernels can serve: they are there, float32 on the CPU, and a multiple of eight output channels."""
    return USE and native() is not None and x.device.type == "cpu" and x.dtype == torch.float32 and outputs % 8 == 0


def apply(step: type[torch.autograd.Function], *inputs: Any) -> Any:
    """A step of ours as a part of torch's graph."""
    return step.apply(*inputs)  # type: ignore[no-untyped-call]


def _over_batch(count: int, work: Callable[[ModuleType, int], Any]) -> None:
    """Run work(kernels, n) for every patch of the batch; threads take the next one as they become free."""
    kernels = native()
    assert kernels is not None  # see `usable`
    run_bands(count, THREADS, lambda first, last: [work(kernels, n) for n in range(first, last)], least=1, pieces=count)


def _array(x: Tensor) -> np.ndarray:
    return x.detach().contiguous().numpy()


def _convolve(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, dilation: int, relu: bool = False) -> np.ndarray:
    out = np.empty((*x.shape[:3], weight.shape[0]), np.float32)
    packed = pack(weight)
    size = weight.shape[2]
    _over_batch(
        len(x), lambda kernels, n: kernels.convolve(x[n], packed, bias, out[n], 0, x.shape[1], size, dilation, relu)
    )
    return out


def _gradients(
    x: np.ndarray, grad: np.ndarray, weight: np.ndarray, dilation: int, need_input: bool
) -> tuple[Any, np.ndarray]:
    size = weight.shape[2]
    cin, cout = x.shape[3], grad.shape[3]
    totals = np.zeros((len(x), size * size, cin, cout), np.float32)
    _over_batch(len(x), lambda kernels, n: kernels.weight_gradient(x[n], grad[n], totals[n], size, dilation))
    for_weight = totals.sum(0).reshape(size, size, cin, cout).transpose(3, 2, 0, 1)
    if not need_input:
        return None, for_weight
    turned = weight.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1]
    extra = -cin % 8  # the kernel makes outputs in eights
    if extra:
        turned = np.concatenate([turned, np.zeros((extra, *turned.shape[1:]), np.float32)])
    for_input = _convolve(grad, turned, np.zeros(cin + extra, np.float32), dilation)
    return np.ascontiguousarray(for_input[..., :cin]), for_weight


def _wide(z: np.ndarray) -> np.ndarray:
    """Few channels seen as twice as many of half as many pixels: the compiler fills its lanes only from sixteen on."""
    batch, height, width, channels = z.shape
    return z.reshape(batch, height, width // 2, 2 * channels) if channels < 16 and width % 2 == 0 else z


class Convolution(torch.autograd.Function):
    """A convolution with bias, zero padding, any dilation; ReLU may follow."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, dilation: int, relu: bool) -> Tensor:
        out = torch.from_numpy(_convolve(_array(x), _array(weight), _array(bias), dilation, relu))
        ctx.save_for_backward(x, weight, out if relu else None)
        ctx.dilation = dilation
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, weight, out = ctx.saved_tensors
        g = _array(grad if out is None else torch.ops.aten.threshold_backward(grad, out, 0))
        for_input, for_weight = _gradients(_array(x), g, _array(weight), ctx.dilation, ctx.needs_input_grad[0])
        wide = _wide(g)
        sums = np.zeros((len(g), wide.shape[3]))
        _over_batch(len(g), lambda kernels, n: kernels.channel_sums(wide[n], sums[n]))
        for_bias = sums.sum(0).reshape(-1, g.shape[3]).sum(0).astype(np.float32)
        return (None if for_input is None else torch.from_numpy(for_input),
                torch.from_numpy(np.ascontiguousarray(for_weight)), torch.from_numpy(for_bias), None, None)  # fmt: skip


class ConvolutionNormReLU(torch.autograd.Function):
    """max(γ · (z − mean) / deviation + β, 0) with z the convolution of x, no bias.

    Statistics over the batch, or over each patch (``instance``). Also returns mean and variance for the running values.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, gamma: Tensor, beta: Tensor, dilation: int, instance: bool,
                epsilon: float) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        a, w = _array(x), _array(weight)
        z = _convolve(a, w, np.zeros(w.shape[0], np.float32), dilation)
        batch, height, width, channels = z.shape
        wide = _wide(z)
        copies = wide.shape[3] // channels
        sums = np.zeros((batch, 2, wide.shape[3]))
        _over_batch(batch, lambda kernels, n: kernels.pixel_moments(wide[n], sums[n]))
        sums = sums.reshape(batch, 2, copies, channels).sum(2)
        if not instance:
            sums = np.broadcast_to(sums.sum(0, keepdims=True) / batch, sums.shape)
        mean = sums[:, 0] / (height * width)
        variance = np.maximum(sums[:, 1] / (height * width) - mean**2, 0)
        inverse = 1 / np.sqrt(variance + epsilon)
        g, b = _array(gamma), _array(beta)
        scale = np.tile((inverse * g).astype(np.float32), copies)
        shift = np.tile((b - mean * inverse * g).astype(np.float32), copies)
        y = np.empty_like(wide)
        _over_batch(batch, lambda kernels, n: kernels.normalise(wide[n], scale[n], shift[n], y[n]))
        out = torch.from_numpy(y.reshape(z.shape))
        ctx.save_for_backward(x, weight, gamma, out)
        ctx.kept = (z, mean.astype(np.float32), inverse.astype(np.float32), dilation, instance)
        means, variances = (
            torch.from_numpy(mean[0].astype(np.float32)),
            torch.from_numpy(variance[0].astype(np.float32)),
        )
        ctx.mark_non_differentiable(means, variances)
        return out, means, variances

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *_: Any) -> Any:
        x, weight, gamma, out = ctx.saved_tensors
        z, mean, inverse, dilation, instance = ctx.kept
        batch, height, width, channels = z.shape
        wide, g, y = _wide(z), _wide(_array(grad)), _wide(_array(out))
        copies = wide.shape[3] // channels
        m, i = np.tile(mean, copies), np.tile(inverse, copies)
        sums = np.zeros((batch, 2, wide.shape[3]))
        _over_batch(batch, lambda kernels, n: kernels.normalise_sums(wide[n], y[n], g[n], m[n], i[n], sums[n]))
        sums = sums.reshape(batch, 2, copies, channels).sum(2)
        for_beta, for_gamma = sums.sum(0).astype(np.float32)
        if not instance:
            sums = np.broadcast_to(sums.sum(0, keepdims=True) / batch, sums.shape)
        means = np.tile((sums / (height * width)).astype(np.float32), copies)
        scale = np.tile(inverse * _array(gamma), copies)
        for_z = np.empty_like(wide)
        _over_batch(batch, lambda kernels, n: kernels.normalise_gradient(wide[n], y[n], g[n], m[n], i[n], scale[n],
                                                        means[n, 0], means[n, 1], for_z[n]))  # fmt: skip
        for_z = for_z.reshape(z.shape)
        for_input, for_weight = _gradients(_array(x), for_z, _array(weight), dilation, ctx.needs_input_grad[0])
        return (None if for_input is None else torch.from_numpy(for_input),
                torch.from_numpy(np.ascontiguousarray(for_weight)), torch.from_numpy(for_gamma),
                torch.from_numpy(for_beta), None, None, None)  # fmt: skip


class Unfold(torch.autograd.Function):
    """The head's output at full resolution, and behind the logits what the refinement sees besides."""

    @staticmethod
    def forward(ctx: Any, head: Tensor, gray: Tensor, mean: Tensor, arch: Architecture) -> Tensor:
        h, g, m = _array(head), _array(gray), _array(mean)
        near = np.array(arch.refine_indices, np.int64)
        out = np.empty((*g.shape, arch.refine_inputs if arch.refine else arch.choices), np.float32)
        _over_batch(
            len(g), lambda kernels, n: kernels.unfold(h[n], g[n], m[n], near, arch.fold, arch.choices, 0, out[n])
        )
        ctx.kept = (h.shape, arch)
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        shape, arch = ctx.kept
        g, out = _array(grad), np.zeros(shape, np.float32)
        _over_batch(len(g), lambda kernels, n: kernels.unfold_gradient(g[n], arch.fold, arch.choices, out[n]))
        return torch.from_numpy(out), None, None, None


class Attend(torch.autograd.Function):
    """AST: the softmax of logits + change weighs the Sauvola thresholds and the constants.

    Both may have more channels than there are choices; change may be None.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, change: Tensor | None, mean: Tensor, deviation: Tensor, k: Tensor, r: Tensor,
                constants: Tensor) -> Tensor:  # fmt: skip
        m, d, ks, rs, cs = (_array(t) for t in (mean, deviation, k, r, constants))
        a = _array(logits)
        b = None if change is None else _array(change)
        attention = np.empty((*a.shape[:3], len(ks) + len(cs)), np.float32)
        threshold = np.empty(a.shape[:3], np.float32)
        choices = ks / rs, np.float32(1) - ks, cs
        _over_batch(len(a), lambda kernels, n: kernels.attend(a[n], None if b is None else b[n], m[n], d[n], *choices,
                                                              attention[n], threshold[n]))  # fmt: skip
        ctx.kept = (m, d, (ks, rs, cs), attention, threshold, a.shape, None if b is None else b.shape)
        return torch.from_numpy(threshold)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        m, d, rest, attention, threshold, shape, shape_change = ctx.kept
        g = _array(grad)
        for_logits = np.zeros(shape, np.float32)
        for_change = None if shape_change is None else np.zeros(shape_change, np.float32)
        for_k, for_r = np.zeros((2, len(g), len(rest[0])))
        _over_batch(len(g), lambda kernels, n: kernels.attend_gradient(attention[n], m[n], d[n], *rest, threshold[n], g[n],
                                                      for_logits[n], None if for_change is None else for_change[n],
                                                                       for_k[n], for_r[n]))  # fmt: skip
        as_tensor = [torch.from_numpy(v.sum(0).astype(np.float32)) for v in (for_k, for_r)]
        change = None if for_change is None else torch.from_numpy(for_change)
        return torch.from_numpy(for_logits), change, None, None, *as_tensor, None


class AddEnlarged(torch.autograd.Function):
    """skip + small, each cell of small taken twice in both directions."""

    @staticmethod
    def forward(ctx: Any, skip: Tensor, small: Tensor) -> Tensor:
        a, b = _array(skip), _array(small)
        out = np.empty_like(a)
        _over_batch(len(a), lambda kernels, n: kernels.add_enlarged(a[n], b[n], out[n], 0, b.shape[1]))
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        g = _array(grad)
        batch, height, width, channels = g.shape
        for_small = np.empty((batch, height // 2, width // 2, channels), np.float32)
        _over_batch(batch, lambda kernels, n: kernels.sum_cells(g[n], for_small[n]))
        return grad, torch.from_numpy(for_small)
