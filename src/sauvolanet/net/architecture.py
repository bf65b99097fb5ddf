"""The description of a network, shared by the trainer and the runtime: one code path for every network.

A network is a chain of stages. Each *level* is a list of 3×3 convolutions with normalisation and ReLU; between levels
the page is halved by maximum pooling; on the way up a 1×1 convolution brings the deeper level to the width above, it is
enlarged (nearest), added, and convolved once more. A 3×3 or 1×1 *head* gives one logit per choice and pixel; with
``fold`` 2 the whole U works on 2×2 pixels folded into channels and the head unfolds them. An optional *refinement* of
3×3 convolutions at full resolution corrects the logits. The attention is the softmax of the logits over the
choices: the Sauvola threshold of each window, and the constants.

With a *view* the network also sees the whole page once, as a coarse picture (`net/view.py`): a chain of 3×3 convolutions
with growing dilations makes a few numbers of every place of it, which the deepest level reads beside its own.

The paper's PWA is the case of one level, no folding, instance normalisation, no constants and no view.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from ..errors import BadModel

LANES = 8  # a convolution has a multiple of so many filters: kernels compute these together
FEATURES = ("gray", "mean", "deviation", "numbers", "habit")
PAGE_NUMBERS = 2  # how many page-wide numbers the feature "numbers" has: Otsu's level, share of ink by Otsu
VIEW_CELL = 16  # pixels along a cell of the view, at least
VIEW_INPUTS = 10  # numbers of each cell: see net/view.py


class Convolution(NamedTuple):
    """One convolution of a network."""

    name: str
    inputs: int
    outputs: int
    side: int
    dilation: int
    normalised: bool  # whether normalisation and ReLU follow
    span: int  # page pixels along the side of one of its pixels, so its cost per page pixel is its weights / span²

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """That of its weights."""
        return (self.outputs, self.inputs, self.side, self.side)


@dataclass(frozen=True)
class Architecture:
    """What a network looks like; see the module's text. Stored under ``architecture`` in a model's JSON."""

    kind: str = "chain"  # "chain" (one level) or "u"
    widths: tuple[tuple[int, ...], ...] = ((8, 16, 24, 32, 40, 48),)  # filters of each convolution, per level
    dilations: tuple[tuple[int, ...], ...] = ((1, 2, 2, 2, 2, 2),)
    norm: str = "instance"  # "instance" (statistics of the page) or "batch" (folded into the weights)
    features: tuple[str, ...] = ("gray",)  # what the attention sees: see FEATURES
    fold: int = 1  # 1, or 2: two by two pixels become channels
    head: int = 3  # side of the head's convolution
    refine: tuple[int, ...] = ()  # filters of the refinement's convolutions before its last; () = no refinement
    view: tuple[int, ...] = ()  # filters of the convolutions that see the whole page; () = no view

    windows: tuple[int, ...] = field(default=(7, 15, 23, 31, 39, 47, 55, 63))
    constants: tuple[
        float, ...
    ] = ()  # extra choices: constant thresholds on the scaled gray, below all of it = paper, above = ink

    def __post_init__(self) -> None:
        if isinstance(self.refine, int):  # one width, as it was written when there was one such convolution
            object.__setattr__(self, "refine", (self.refine,) if self.refine else ())
        shape = [len(level) for level in self.widths]
        if (
            self.kind not in ("chain", "u")
            or (self.kind == "chain") != (len(self.widths) == 1)
            or shape != [len(level) for level in self.dilations]
            or self.norm not in ("instance", "batch")
            or not self.features
            or not set(self.features) <= set(FEATURES)
            or len(set(self.features)) < len(self.features)
            or "numbers habit" not in " ".join((*self.features, "numbers habit" * ("habit" not in self.features)))
            or self.fold not in (1, 2)
            or self.head not in (1, 3)
            or any(not isinstance(w, int) or w < 3 or w % 2 == 0 for w in self.windows)
            or not all(isinstance(c, (int, float)) for c in self.constants)
            or len(self.windows) < (3 if self.refine else 1)
            or any(n < 1 for level in self.dilations for n in level)
            or any(n < 1 or n % LANES for level in (*self.widths, self.refine, self.view) for n in level)
            or (self.view and (self.norm != "batch" or len(self.view) < 2))
        ):
            raise BadModel("the description of the network contradicts itself")

    @property
    def choices(self) -> int:
        """Number of thresholds the attention chooses between."""
        return len(self.windows) + len(self.constants)

    @property
    def inputs(self) -> int:
        """Channels of the first convolution."""
        return sum(self._counts[name] for name in self.features)

    def feature_channels(self) -> dict[str, int]:
        """First channel of each kind of feature, −1 for those that the network does not see."""
        before, found = 0, dict.fromkeys(FEATURES, -1)
        for name in self.features:
            found[name] = before
            before += self._counts[name]
        return found

    @property
    def _counts(self) -> dict[str, int]:
        windows = len(self.windows)
        return {"gray": self.fold**2, "mean": windows, "deviation": windows, "numbers": PAGE_NUMBERS, "habit": 2}

    @property
    def is_told_habit(self) -> bool:
        """Whether the network can be told the habit of the truth."""
        return bool(self.view) or "habit" in self.features

    @property
    def sees_windows(self) -> bool:
        """Whether any convolution reads the window statistics."""
        return bool(self.refine) or "mean" in self.features or "deviation" in self.features

    @property
    def refine_inputs(self) -> int:
        """Channels of the refinement: the logits, gray, and gray − mean of three windows."""
        return self.choices + 1 + len(self.refine_windows)

    @property
    def refine_windows(self) -> tuple[int, ...]:
        """Windows whose mean the refinement sees: the two smallest and the one in the middle."""
        return (self.windows[0], self.windows[1], self.windows[len(self.windows) // 2 + 1])

    @property
    def refine_indices(self) -> list[int]:
        """The same as places among the windows; none without a refinement."""
        return [self.windows.index(w) for w in self.refine_windows] if self.refine else []

    @property
    def multiple(self) -> int:
        """Height and width are padded to a multiple of this."""
        return self.fold << (len(self.widths) - 1)

    def convolutions(self) -> list[Convolution]:
        """Every convolution, from the features to the logits."""
        found, width = [], VIEW_INPUTS
        for i, (out, dilation) in enumerate(zip(self.view, self.view_dilations, strict=True)):
            last = i == len(self.view) - 1
            found.append(Convolution(f"view{i}", width, out, 3, dilation, not last, VIEW_CELL))
            width = out
        span, width = self.fold, self.inputs
        for depth, (widths, dilations) in enumerate(zip(self.widths, self.dilations, strict=True)):
            if self.view and depth == len(self.widths) - 1:
                width += self.view[-1]
            for i, (out, dilation) in enumerate(zip(widths, dilations, strict=True)):
                found.append(Convolution(f"down{depth}.{i}", width, out, 3, dilation, True, span))
                width = out
            span *= 2
        span //= 2
        for depth in range(len(self.widths) - 2, -1, -1):
            above = self.widths[depth][-1]
            found.append(Convolution(f"reduce{depth}", width, above, 1, 1, False, span))
            span //= 2
            found.append(Convolution(f"up{depth}", above, above, 3, 1, True, span))
            width = above
        found.append(Convolution("head", width, self.choices * self.fold**2, self.head, 1, False, self.fold))
        if self.refine:
            width = self.refine_inputs
            for name, out in zip(self.refinement, (*self.refine, self.choices), strict=True):
                found.append(Convolution(name, width, out, 3, 1, name != self.refinement[-1], 1))
                width = out
        return found

    @property
    def refinement(self) -> list[str]:
        """The names of the refinement's convolutions."""
        return [f"refine{i}" for i in range(len(self.refine) + 1)] if self.refine else []

    @property
    def view_dilations(self) -> list[int]:
        """Of the view's convolutions: 1, 2, 4, …, and 1 for the last."""
        return [*(2**i for i in range(len(self.view) - 1)), 1] if self.view else []

    @property
    def macs_per_pixel(self) -> float:
        """Multiply-adds of all convolutions per page pixel; those of the view at its smallest cells, so at their most."""
        return sum(math.prod(layer.shape) / layer.span**2 for layer in self.convolutions())

    def to_json(self) -> dict[str, Any]:
        """The part of a model's JSON named ``architecture``; windows and constants stand beside it there."""
        data = asdict(self)
        del data["windows"], data["constants"]
        if not self.view:  # models that were described before there was one keep their digest
            del data["view"]
        return data


def architecture_from_json(data: dict[str, Any], windows: list[int], constants: list[float]) -> Architecture:
    """The description in a model's JSON; unknown keys are errors."""
    known = set(Architecture.__dataclass_fields__) - {"windows", "constants"}
    if odd := sorted({"view", *data} ^ known):
        raise BadModel(f"the model's architecture has missing or unknown keys: {', '.join(odd)}")
    deep = {"widths", "dilations"}
    values: dict[str, Any] = {
        k: tuple(map(tuple, v)) if k in deep else tuple(v) if isinstance(v, list) else v for k, v in data.items()
    }
    return Architecture(**values, windows=tuple(windows), constants=tuple(constants))


PAPER = Architecture()
