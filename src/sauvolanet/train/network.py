"""SauvolaNet in torch: Multi-Window Sauvola, Pixelwise Window Attention, Adaptive Sauvola Threshold.

Read beside section 3 of the paper. Arrays are (N, H, W, …) throughout; gray is scaled so that the page lies in 0 … 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..net.architecture import Architecture, Convolution
from . import fast


class SauvolaLayer(nn.Module):
    """MWS: the Sauvola threshold of each window, S = m · (1 + k · (s / r − 1)), k and r trained per window.

    k, r : initial values, one for all windows or one per window. train_k, train_r : freeze either for ablations.
    positive : "clamp" keeps k ≥ 0 and r > 0 by clamping after each step, as the authors did; "softplus" stores a
        number whose softplus is the parameter, so that its gradient never dies at zero.
    """

    raw_k: nn.Parameter
    raw_r: nn.Parameter

    def __init__(self, windows: tuple[int, ...], k: float | list[float] = 0.2, r: float | list[float] = 0.5,
                 train_k: bool = True, train_r: bool = True, positive: str = "clamp") -> None:  # fmt: skip
        super().__init__()
        self.windows, self.positive = windows, positive
        for name, value, trained in (("k", k, train_k), ("r", r, train_r)):
            values = torch.as_tensor(value, dtype=torch.float32).expand(len(windows)).clone()
            if positive == "softplus":
                values = torch.log(torch.expm1(values.clamp(min=1e-4)))
            self.register_parameter(f"raw_{name}", nn.Parameter(values, requires_grad=trained))

    @property
    def k(self) -> Tensor:
        return F.softplus(self.raw_k) if self.positive == "softplus" else self.raw_k

    @property
    def r(self) -> Tensor:
        return F.softplus(self.raw_r) if self.positive == "softplus" else self.raw_r

    @torch.no_grad()
    def clamp(self) -> None:
        """After an optimizer step: k ≥ 0 and r > 0 where they are stored as they are."""
        if self.positive == "clamp":
            self.raw_k.clamp_(min=0)
            self.raw_r.clamp_(min=1e-4)

    def forward(self, mean: Tensor, deviation: Tensor) -> Tensor:
        """S (N, H, W, windows) from the window statistics of the scaled gray, same shape."""
        return mean * (1 + self.k * (deviation / self.r - 1))


def window_statistics(gray: Tensor, windows: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Mean and deviation of the scaled gray (N, H, W) in each window: (N, H, W, windows), by integral images.

    O(1) per pixel and window, float64 sums, only pixels inside the page count, variance floored at 1e-6. The trainer
    computes the same numbers from the uint8 page in compiled code; this is the differentiable layer for others to use.
    """
    wide = gray.double()
    tables = [F.pad(v.cumsum(1).cumsum(2), (1, 0, 1, 0)) for v in (wide, wide * wide)]
    height, width = gray.shape[1:]
    results = []
    for window in windows:
        half = window // 2
        top = torch.arange(height).sub(half).clamp(min=0)
        bottom = torch.arange(height).add(half + 1).clamp(max=height)
        left = torch.arange(width).sub(half).clamp(min=0)
        right = torch.arange(width).add(half + 1).clamp(max=width)
        count = (bottom - top)[:, None] * (right - left)[None, :]
        m, q = (
            ((t[:, bottom] - t[:, top])[:, :, right] - (t[:, bottom] - t[:, top])[:, :, left]) / count for t in tables
        )
        results.append((m, (q - m * m).clamp(min=1e-6).sqrt()))
    return torch.stack([m for m, _ in results], -1).float(), torch.stack([d for _, d in results], -1).float()


class Conv(nn.Module):
    """A convolution, alone or followed by normalisation and ReLU."""

    mean: Tensor
    variance: Tensor

    def __init__(self, layer: Convolution, norm: str | None) -> None:
        super().__init__()
        self.side, self.dilation, self.norm = layer.side, layer.dilation, norm
        self.calibrating = False
        self.frozen = False  # the normalisation is folded into weight and beta, as in a model that runs
        self.weight = nn.Parameter(torch.empty(layer.shape))
        nn.init.kaiming_normal_(self.weight, nonlinearity="relu" if norm else "linear")
        # beta is the bias; instance normalisation removes it again, but the authors' file has it
        self.beta = nn.Parameter(torch.zeros(layer.outputs), requires_grad=norm != "instance")
        if norm == "batch":
            self.gamma = nn.Parameter(torch.ones(layer.outputs))
            self.register_buffer("mean", torch.zeros(layer.outputs))
            self.register_buffer("variance", torch.ones(layer.outputs))

    def forward(self, x: Tensor) -> Tensor:
        outputs = self.weight.shape[0]
        if self.norm is None:
            return self.padded(x)[..., :outputs] if fast.usable(x, 8) else self._plain(x, self.beta)
        if self.frozen:
            return self.padded(x, relu=True) if fast.usable(x, outputs) else F.relu(self._plain(x, self.beta))
        if self.calibrating:
            return self._calibrate(x)
        instance = self.norm == "instance"
        if not instance and not self.training:
            scale = self.gamma / torch.sqrt(self.variance + EPSILON)
            return F.relu(self._plain(x) * scale + (self.beta - self.mean * scale))
        if fast.usable(x, outputs):
            epsilon = EPSILON if not instance else INSTANCE_EPSILON
            gamma, beta = (
                (torch.ones_like(self.beta), torch.zeros_like(self.beta)) if instance else (self.gamma, self.beta)
            )
            y: Tensor
            y, mean, variance = fast.apply(
                fast.ConvolutionNormReLU, x, self.weight, gamma, beta, self.dilation, instance, epsilon
            )
            if not instance:
                self._remember(mean, variance)
            return y
        z = self._plain(x)
        over = (1, 2) if instance else (0, 1, 2)
        mean = z.mean(over, keepdim=True)
        variance = (z - mean).square().mean(over, keepdim=True)
        if not instance:
            self._remember(mean.detach().flatten(), variance.detach().flatten())
            return F.relu((z - mean) / torch.sqrt(variance + EPSILON) * self.gamma + self.beta)
        return F.relu((z - mean) / torch.sqrt(variance + INSTANCE_EPSILON))

    def padded(self, x: Tensor, relu: bool = False) -> Tensor:
        """The convolution without norm by the compiled kernel, as many outputs of zero added as fill its lanes."""
        extra = -self.weight.shape[0] % 8
        weight = F.pad(self.weight, (0, 0, 0, 0, 0, 0, 0, extra))
        made: Tensor = fast.apply(fast.Convolution, x, weight, F.pad(self.beta, (0, extra)), self.dilation, relu)
        return made

    def freeze(self) -> None:
        """From now on a normalisation over the batch is that of a model that runs: folded into weight and beta."""
        if self.norm == "batch":
            self.frozen = True
            self.gamma.requires_grad_(False)
            self.variance.fill_(1 - EPSILON)

    def _plain(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        reach = self.side // 2 * self.dilation
        y = F.conv2d(x.permute(0, 3, 1, 2), self.weight, bias, padding=reach, dilation=self.dilation)
        return y.permute(0, 2, 3, 1).contiguous()

    @torch.no_grad()
    def _calibrate(self, x: Tensor) -> Tensor:
        """Weights with a folded normalisation get one that changes nothing on this batch; only ``beta`` is a bias yet."""
        z = self._plain(x)
        y = F.relu(z + self.beta)
        self.mean.copy_(z.mean((0, 1, 2)))
        self.variance.copy_(z.var((0, 1, 2), correction=0))
        self.gamma.copy_(torch.sqrt(self.variance + EPSILON))
        self.beta.add_(self.mean)
        return y

    @torch.no_grad()
    def _remember(self, mean: Tensor, variance: Tensor) -> None:
        self.mean.lerp_(mean, MOMENTUM)
        self.variance.lerp_(variance, MOMENTUM)


EPSILON = 1e-5
INSTANCE_EPSILON = 1e-10  # the authors floor the deviation at 1e-5
MOMENTUM = 0.02


def module_name(layer: Convolution) -> str:
    """The layer's name as torch allows it."""
    return layer.name.replace(".", "_")


class SauvolaNet(nn.Module):
    """MWS, attention and AST as described by an `Architecture`."""

    constants: Tensor

    def __init__(self, architecture: Architecture, *, k: float | list[float] = 0.2, r: float | list[float] = 0.5,
                 alpha: float = 16.0, train_k: bool = True, train_r: bool = True, train_alpha: bool = False,
                 positive: str = "clamp") -> None:  # fmt: skip
        super().__init__()
        self.architecture = architecture
        self.sauvola = SauvolaLayer(architecture.windows, k, r, train_k, train_r, positive)
        self.raw_alpha = nn.Parameter(torch.tensor(math.log(alpha)), requires_grad=train_alpha)
        self.register_buffer("constants", torch.tensor(architecture.constants, dtype=torch.float32))
        self.convs: Mapping[str, Conv] = nn.ModuleDict({  # type: ignore[assignment]  # torch has no ModuleDict[Conv]
            module_name(layer): Conv(layer, architecture.norm if layer.normalised else None)
            for layer in architecture.convolutions()
        })  # fmt: skip
        if architecture.refine:
            nn.init.zeros_(self.convs[architecture.refinement[-1]].weight)

    @property
    def alpha(self) -> Tensor:
        """The loss's α: how steep the decision is around the threshold."""
        return self.raw_alpha.exp()

    def _in_view(self, view: Tensor, place: Tensor, rows: int, columns: int) -> Tensor:
        """The map of the view (N, rows, columns, numbers) at the cells of the deepest level.

        view : (N, cells, cells, inputs). place : (N, 4), in cells: the centre of the first row and column, and how far
        the next one is. Linear between the centres of cells.
        """
        for i in range(len(self.architecture.view)):
            view = self.convs[f"view{i}"](view)

        def weights(first: Tensor, step: Tensor, count: int, cells: int) -> Tensor:
            at = (first[:, None] + step[:, None] * torch.arange(count, device=view.device) - 0.5).clamp(0, cells - 1)
            return F.relu(1 - (at[:, :, None] - torch.arange(cells, device=view.device)).abs())

        across = weights(place[:, 1], place[:, 3], columns, view.shape[2])
        down = weights(place[:, 0], place[:, 2], rows, view.shape[1])
        return torch.einsum("nry,nyxc,nsx->nrsc", down, view, across)

    def _before_head(self, x: Tensor, view: Tensor | None) -> Tensor:
        """What the head sees: (N, H / fold, W / fold, width); x are the features, view what the deepest level sees too."""
        arch = self.architecture
        kept = []
        for depth, widths in enumerate(arch.widths):
            if depth:
                kept.append(x)
                x = F.max_pool2d(x.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1)
            if view is not None and depth == len(arch.widths) - 1:
                x = torch.cat([x, view], 3)
            for i in range(len(widths)):
                x = self.convs[f"down{depth}_{i}"](x)
        for depth in range(len(arch.widths) - 2, -1, -1):
            small = self.convs[f"reduce{depth}"](x)
            skip = kept.pop()
            n, h, w, c = skip.shape
            if fast.usable(skip, c):
                x = fast.apply(fast.AddEnlarged, skip, small)
            else:
                x = (skip.reshape(n, h // 2, 2, w // 2, 2, c) + small[:, :, None, :, None, :]).view(n, h, w, c)
            x = self.convs[f"up{depth}"](x)
        return x

    def _logits(self, x: Tensor, gray: Tensor, mean: Tensor) -> Tensor:
        """PWA before its softmax: (N, H, W, choices)."""
        arch = self.architecture
        logits: Tensor = self.convs["head"](x)
        if arch.fold > 1:
            n, h, w, _ = logits.shape
            f = arch.fold
            logits = (
                logits.view(n, h, w, f, f, arch.choices)
                .permute(0, 1, 3, 2, 4, 5)
                .reshape(n, h * f, w * f, arch.choices)
            )
        if arch.refine:
            near = [mean[..., i] for i in arch.refine_indices]
            seen = torch.stack([gray, *(gray - m for m in near)], -1)
            change = torch.cat([logits, seen], -1)
            for name in arch.refinement:
                change = self.convs[name](change)
            logits = logits + change
        return logits

    def forward(self, gray: Tensor, mean: Tensor, deviation: Tensor, features: Tensor, view: Tensor | None = None,
                place: Tensor | None = None) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """T (N, H, W): the adaptive threshold on the scaled gray; ink is gray < T. And of a network with a view the
        logit (N, H / cell, W / cell) that there is writing at all.

        gray (N, H, W) scaled; mean, deviation (N, H, W, windows) of the scaled gray; features as net.inputs makes
        them, (N, H / fold, W / fold, inputs); view and place : see `_in_view`, not used by a network without one.
        """
        arch = self.architecture
        if not arch.view or view is None or place is None:
            return self._threshold(self._before_head(features, None), gray, mean, deviation), None
        cells = (n // arch.multiple for n in gray.shape[1:])
        seen = self._in_view(view, place, *cells)
        return self._threshold(self._before_head(features, seen), gray, mean, deviation), seen[..., 0]

    def _threshold(self, x: Tensor, gray: Tensor, mean: Tensor, deviation: Tensor) -> Tensor:
        """T from what the head sees."""
        arch, k, r = self.architecture, self.sauvola.k, self.sauvola.r
        if fast.usable(x, 8) and arch.choices <= 8:
            logits, change = self.convs["head"].padded(x), None
            if arch.fold > 1 or arch.refine:
                logits = fast.apply(fast.Unfold, logits, gray, mean, arch)
            if arch.refine:
                *first, last = (self.convs[name] for name in arch.refinement)
                change = logits
                for conv in first:
                    change = conv(change)
                change = last.padded(change)
            made: Tensor = fast.apply(fast.Attend, logits, change, mean, deviation, k, r, self.constants)
            return made
        attention = self._logits(x, gray, mean).softmax(-1)
        surfaces = self.sauvola(mean, deviation)
        constants = self.constants.expand(*surfaces.shape[:3], -1)
        return (attention * torch.cat([surfaces, constants], -1)).sum(-1)
