"""How a model decided: every step as an array, and all of them as one picture (the paper's Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .binarize import Binarizer
from .components import despeckle as drop_specks
from .errors import UsageError
from .windows import Gray, Ink, Surface

if TYPE_CHECKING:
    from PIL.Image import Image

Colour = tuple[int, int, int]

# the paper's eight colours, from the smallest window to the largest, on a scale from 0 to 1
_PAPER_COLOURS = ((0, 0, 0.5), (0, 0.0647, 1), (0, 0.645, 1), (0.2498, 1, 0.7179), (0.7179, 1, 0.2498), (1, 0.7269, 0),
                  (1, 0.1895, 0), (0.5, 0, 0))  # fmt: skip
_PAPER_VETO, _INK_VETO = (232, 232, 232), (32, 32, 32)


@dataclass(frozen=True)
class Explanation:
    """The steps of a model on one page; surfaces and threshold on the 0–255 scale of the gray.

    gray : (H, W) uint8. windows : their sides. constants : the extra choices, thresholds as shares of the page's range.
    surfaces : (windows, H, W) float32, each window's Sauvola threshold. attention : (windows + constants, H, W)
    float32, sums to 1. threshold : (H, W) float32. ink : (H, W) bool, True = ink: ``gray < threshold``, despeckled.
    """

    model: str
    gray: Gray
    windows: tuple[int, ...]
    constants: tuple[float, ...]
    surfaces: npt.NDArray[np.float32]
    attention: npt.NDArray[np.float32]
    threshold: Surface
    ink: Ink

    @property
    def choices(self) -> list[str]:
        """Names of what the attention chooses between, in its order."""
        return [f"window {w}" for w in self.windows] + [
            f"always {'paper' if c < 0.5 else 'ink'}" for c in self.constants
        ]

    @property
    def colours(self) -> list[Colour]:
        """One colour per choice: the paper's scale for the windows, light and dark for the constants."""
        return [*window_colours(len(self.windows)), *(_PAPER_VETO if c < 0.5 else _INK_VETO for c in self.constants)]

    def preferred(self) -> npt.NDArray[np.uint8]:
        """(H, W, 3) uint8: the colour of the choice with the largest weight at each pixel."""
        chosen: npt.NDArray[np.uint8] = np.array(self.colours, np.uint8)[self.attention.argmax(0)]
        return chosen


def window_colours(count: int) -> list[Colour]:
    """Colours from the paper's scale, spread over ``count`` windows."""
    scale = np.array(_PAPER_COLOURS)
    at = np.linspace(0, len(scale) - 1, count) if count > 1 else np.array([3.5])
    mixed = np.stack([np.interp(at, np.arange(len(scale)), scale[:, c]) for c in range(3)], 1)
    return [tuple(int(v) for v in row) for row in np.rint(mixed * 255)]  # type: ignore[misc]


def explain(image: Any, *, model: str | None = None, **options: Any) -> Explanation:
    """Intermediate results of a model on a page; options as in `binarize`, without a classic method."""
    binarizer = Binarizer(model=model, **options)
    if binarizer.model is None:
        raise UsageError(f"{binarizer.name} is a classic method; explain shows the steps of a model")
    gray, numbers = binarizer.prepare(image)
    surfaces, attention, threshold = binarizer.model.explain(gray, numbers, binarizer.threads)
    if numbers.blank:
        threshold = np.zeros_like(threshold)
    elif binarizer.strength or binarizer.quality != "fast":
        threshold = binarizer.surface(gray, numbers)
    else:
        threshold = binarizer.without_edges(gray, threshold)
    ink = gray < threshold
    if binarizer.despeckle:
        ink = drop_specks(ink, binarizer.despeckle)
    arch = binarizer.model.architecture
    return Explanation(binarizer.name, gray, arch.windows, arch.constants, np.ascontiguousarray(surfaces.transpose(2, 0, 1)),
                       np.ascontiguousarray(attention.transpose(2, 0, 1)), threshold, ink)  # fmt: skip


def picture(result: Explanation, truth: Ink | None = None, width: int = 420) -> Image:
    """One picture: input, each window's threshold and its result, attention with legend, threshold, output.

    truth : ink somebody drew (True = ink), shown beside the input. width : of a panel, in pixels.
    """
    from PIL import Image

    def panel(array: npt.NDArray[Any]) -> Image.Image:
        shown = Image.fromarray(np.ascontiguousarray(array))
        height = max(1, round(shown.height * width / shown.width))
        return shown.resize(
            (width, height), Image.Resampling.LANCZOS if width < shown.width else Image.Resampling.NEAREST
        )

    def as_gray(surface: Surface) -> Gray:
        return np.clip(np.rint(surface), 0, 255).astype(np.uint8)

    def as_page(ink: Ink) -> Gray:
        return np.where(ink, 0, 255).astype(np.uint8)

    preferred = result.preferred()
    zone = _busiest(result.ink, preferred.shape[1] // 5, preferred.shape[0] // 5)
    left = [("Input", panel(result.gray), None)]
    if truth is not None:
        left.append(("Truth", panel(as_page(truth)), None))
    left += [
        ("Window attention: the choice with the largest weight", panel(_boxed(preferred, zone)), None),
        ("Attention, marked zone enlarged five times", panel(preferred[zone]), None),
        ("Adaptive threshold T", panel(as_gray(result.threshold)), None),
        (f"Output of {result.model}", panel(as_page(result.ink)), None),
    ]
    middle, right = [], []
    for name, colour, surface in zip(result.choices, result.colours, result.surfaces, strict=False):
        middle.append((f"Threshold of {name}", panel(as_gray(surface)), colour))
        right.append((f"Its result, {name}", panel(as_page(result.gray < surface)), colour))
    legend = list(zip(result.choices, result.colours, strict=True))
    return _columns([left, middle, right], legend, width)


def _busiest(ink: Ink, width: int, height: int) -> tuple[slice, slice]:
    """The fifth of the page, in both directions, with the most ink among a grid of candidates."""
    width, height = max(width, 1), max(height, 1)
    spots = [(y, x) for y in range(0, ink.shape[0] - height + 1, max(height // 2, 1))
             for x in range(0, ink.shape[1] - width + 1, max(width // 2, 1))]  # fmt: skip
    y, x = max(spots, key=lambda s: int(ink[s[0] : s[0] + height, s[1] : s[1] + width].sum()))
    return slice(y, y + height), slice(x, x + width)


def _boxed(picture: npt.NDArray[np.uint8], zone: tuple[slice, slice]) -> npt.NDArray[np.uint8]:
    out = picture.copy()
    thick = max(2, picture.shape[1] // 300)
    rows, columns = zone
    inner = picture[rows.start + thick : rows.stop - thick, columns.start + thick : columns.stop - thick].copy()
    out[zone] = (220, 0, 0)
    out[rows.start + thick : rows.stop - thick, columns.start + thick : columns.stop - thick] = inner
    return out


def _columns(
    columns: Sequence[Sequence[tuple[str, Image, Colour | None]]], legend: list[tuple[str, Colour]], width: int
) -> Image:
    from PIL import Image, ImageDraw, ImageFont

    gap, line = 12, 22
    font = ImageFont.load_default(14)
    height = max(sum(p.height + line + gap for _, p, _ in column) for column in columns) + gap + line
    sheet = Image.new("RGB", (len(columns) * (width + gap) + gap, height), "white")
    draw = ImageDraw.Draw(sheet)
    for i, column in enumerate(columns):
        x, y = gap + i * (width + gap), gap
        for title, shown, colour in column:
            start = x
            if colour:
                draw.rectangle((x, y + 2, x + 14, y + 16), fill=colour, outline="black")
                start += 20
            draw.text((start, y), title, "black", font)
            sheet.paste(shown.convert("RGB"), (x, y + line))
            draw.rectangle((x - 1, y + line - 1, x + shown.width, y + line + shown.height), outline=(170, 170, 170))
            y += shown.height + line + gap
    x = gap
    for name, colour in legend:
        draw.rectangle((x, height - line, x + 14, height - line + 14), fill=colour, outline="black")
        draw.text((x + 18, height - line - 2), name, "black", font)
        x += 26 + int(draw.textlength(name, font))
    return sheet
