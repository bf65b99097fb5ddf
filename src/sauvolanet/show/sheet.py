"""Comparison sheets: several results of one page side by side, with scores and coloured errors where truth is given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import Gray, Ink
from ..errors import UsageError
from ..score.metrics import score

if TYPE_CHECKING:
    from PIL.Image import Image

FALSE_INK, MISSED_INK = (214, 39, 40), (31, 119, 230)  # red where there should be paper, blue where ink lacks
_GAP, _LINE = 10, 22


def coloured(ink: Ink, truth: Ink) -> npt.NDArray[np.uint8]:
    """(H, W, 3) uint8: right ink black, false ink red, missed ink blue on white; masks bool, True = ink.

    >>> coloured(np.array([[True, False]]), np.array([[False, True]])).tolist()
    [[[214, 39, 40], [31, 119, 230]]]
    """
    palette = np.array([(255, 255, 255), MISSED_INK, FALSE_INK, (0, 0, 0)], np.uint8)
    return palette[2 * ink.astype(np.uint8) + truth]


def sheet(
    gray: Gray,
    results: Mapping[str, Ink],
    truth: Ink | None = None,
    *,
    title: str = "",
    width: int = 480,
    columns: int = 0,
) -> Image:
    """One picture: the page, the truth where it is given, and every result under its name.

    gray : (H, W) uint8. results : ink by name, bool (H, W), True = ink. truth : ink somebody drew; then each result is
    scored and its errors are coloured. width : of a panel, in pixels. columns : panels in a row; 0 chooses.
    """
    from PIL import Image, ImageDraw, ImageFont

    for name, mask in {**results, **({} if truth is None else {"truth": truth})}.items():
        if mask.shape != gray.shape:
            raise UsageError(
                f"{name}: {mask.shape[1]}×{mask.shape[0]} pixels, the page has {gray.shape[1]}×{gray.shape[0]}"
            )
    panels = [("page", gray)]
    if truth is not None:
        panels.append(("truth", _page(truth)))
    for name, ink in results.items():
        if truth is None:
            panels.append((name, _page(ink)))
        else:
            found = score(ink, truth, metrics=("fm", "psnr", "drd"))
            psnr = "inf" if found["psnr"] is None else f"{found['psnr']:.2f}"
            panels.append((f"{name}: FM {found['fm']:.2f}, PSNR {psnr}, DRD {found['drd']:.2f}", coloured(ink, truth)))
    height = max(1, round(gray.shape[0] * width / gray.shape[1]))
    columns = columns or _columns(len(panels), width, height + _LINE)
    lines = -(-len(panels) // columns)
    font = ImageFont.load_default(14)
    head = _LINE if title or truth is not None else 0
    size = (columns * (width + _GAP) + _GAP, head + lines * (height + _LINE + _GAP) + _GAP)
    picture = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(picture)
    draw.text((_GAP, 6), title, "black", font)
    if truth is not None:
        x = size[0] - _GAP
        for text, colour in (("missed ink", MISSED_INK), ("false ink", FALSE_INK)):
            x -= int(draw.textlength(text, font)) + 30
            draw.rectangle((x, 8, x + 14, 20), fill=colour)
            draw.text((x + 19, 5), text, "black", font)
    for i, (name, panel) in enumerate(panels):
        x, y = _GAP + i % columns * (width + _GAP), head + _GAP // 2 + i // columns * (height + _LINE + _GAP)
        draw.text((x, y), _fitted(name, draw, font, width), "black", font)
        whole = Image.fromarray(panel).convert("RGB")
        small = whole.resize(
            (width, height), Image.Resampling.LANCZOS if width < whole.width else Image.Resampling.NEAREST
        )
        picture.paste(small, (x, y + _LINE))
        draw.rectangle((x - 1, y + _LINE - 1, x + width, y + _LINE + height), outline=(170, 170, 170))
    return picture


def _page(ink: Ink) -> Gray:
    return np.where(ink, 0, 255).astype(np.uint8)


def _columns(count: int, width: int, height: int) -> int:
    """As many as make the sheet about as wide as a screen, 3 to 2."""
    return min(count, max(1, round(math.sqrt(1.5 * count * height / width))))


def _fitted(text: str, draw: Any, font: Any, width: int) -> str:
    """The text, shortened until it fits."""
    if draw.textlength(text, font) <= width:
        return text
    while text and draw.textlength(text + "…", font) > width:
        text = text[:-1]
    return text + "…"
