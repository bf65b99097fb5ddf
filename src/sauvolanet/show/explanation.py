"""How a model decided, as one picture (the paper's Figure 3); the steps themselves are `sauvolanet.explain`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..api import Explanation
from ..core.arrays import Gray, Ink, Surface

if TYPE_CHECKING:
    from PIL.Image import Image

Colour = tuple[int, int, int]

# the paper's eight colours, from the smallest window to the largest, on a scale from 0 to 1
_PAPER_COLOURS = ((0, 0, 0.5), (0, 0.0647, 1), (0, 0.645, 1), (0.2498, 1, 0.7179), (0.7179, 1, 0.2498), (1, 0.7269, 0),
                  (1, 0.1895, 0), (0.5, 0, 0))  # fmt: skip
_PAPER_VETO, _INK_VETO = (232, 232, 232), (32, 32, 32)


def choice_colours(result: Explanation) -> list[Colour]:
    """One colour per choice: the paper's scale for the windows, light and dark for the constants."""
    return [*window_colours(len(result.windows)), *(_PAPER_VETO if c < 0.5 else _INK_VETO for c in result.constants)]


def preferred_colours(result: Explanation) -> npt.NDArray[np.uint8]:
    """(H, W, 3) uint8: the colour of the choice with the largest weight at each pixel."""
    chosen: npt.NDArray[np.uint8] = np.array(choice_colours(result), np.uint8)[result.attention.argmax(0)]
    return chosen


def window_colours(count: int) -> list[Colour]:
    """Colours from the paper's scale, spread over ``count`` windows."""
    scale = np.array(_PAPER_COLOURS)
    at = np.linspace(0, len(scale) - 1, count) if count > 1 else np.array([3.5])
    mixed = np.stack([np.interp(at, np.arange(len(scale)), scale[:, c]) for c in range(3)], 1)
    return [tuple(int(v) for v in row) for row in np.rint(mixed * 255)]  # type: ignore[misc]


def picture(result: Explanation, truth: Ink | None = None, width: int = 420) -> Image:
    """One picture: input, each window's threshold and its result, attention with legend, threshold, output.

    truth : ink somebody drew (True = ink), shown beside the input. width : of a panel, in pixels.
    """
    from PIL import Image

    def panel(array: npt.NDArray[Any]) -> Image.Image:
        whole = Image.fromarray(np.ascontiguousarray(array))
        height = max(1, round(whole.height * width / whole.width))
        return whole.resize(
            (width, height), Image.Resampling.LANCZOS if width < whole.width else Image.Resampling.NEAREST
        )

    def as_gray(surface: Surface) -> Gray:
        return np.clip(np.rint(surface), 0, 255).astype(np.uint8)

    def as_page(ink: Ink) -> Gray:
        return np.where(ink, 0, 255).astype(np.uint8)

    preferred = preferred_colours(result)
    zone = _busiest(result.ink, preferred.shape[1] // 5, preferred.shape[0] // 5)
    left = [("Input", panel(result.gray), None)]
    if truth is not None:
        left.append(("Truth", panel(as_page(truth)), None))
    if result.view is not None:
        left.append(
            ("Where writing is expected, seeing the page as a whole", panel(as_gray(255 * (1 - result.view))), None)
        )
    left += [
        ("Window attention: the choice with the largest weight", panel(_boxed(preferred, zone)), None),
        ("Attention, marked zone enlarged five times", panel(preferred[zone]), None),
        ("Adaptive threshold T", panel(as_gray(result.threshold)), None),
        (f"Output of {result.model}", panel(as_page(result.ink)), None),
    ]
    middle, right = [], []
    for name, colour, surface in zip(result.choices, choice_colours(result), result.surfaces, strict=False):
        middle.append((f"Threshold of {name}", panel(as_gray(surface)), colour))
        right.append((f"Its result, {name}", panel(as_page(result.gray < surface)), colour))
    legend = list(zip(result.choices, choice_colours(result), strict=True))
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
        for title, panel, colour in column:
            start = x
            if colour:
                draw.rectangle((x, y + 2, x + 14, y + 16), fill=colour, outline="black")
                start += 20
            draw.text((start, y), title, "black", font)
            sheet.paste(panel.convert("RGB"), (x, y + line))
            draw.rectangle((x - 1, y + line - 1, x + panel.width, y + line + panel.height), outline=(170, 170, 170))
            y += panel.height + line + gap
    x = gap
    for name, colour in legend:
        draw.rectangle((x, height - line, x + 14, height - line + 14), fill=colour, outline="black")
        draw.text((x + 18, height - line - 2), name, "black", font)
        x += 26 + int(draw.textlength(name, font))
    return sheet
