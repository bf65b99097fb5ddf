"""Any array or PIL image becomes gray: 2-D uint8, 0 black, in its own contiguous memory.

Alpha counts as paper (the page is laid on white), 16 bits are rescaled and not clipped, EXIF orientation is applied,
colour is weighed as ITU-R 601 does: ``(299 R + 587 G + 114 B) / 1000``, the rule of PIL's and OpenCV's ``L``. Where
asked for, another channel of a colour page is its gray; see `channel`.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import Gray, Values
from ..errors import UnreadablePage, UsageError
from .channel import RGB, Colour, choose, darkest, reduction, tint_tables

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True)
class GrayPage:
    """A page made gray: (H, W) uint8, 0 = black, contiguous; and which channel of the page that is."""

    gray: Gray
    channel: str = "gray"


def to_gray(image: Any) -> Gray:
    """The page as gray: (H, W) uint8, 0 = black, a new or read-only-safe contiguous array; see `gray_page`."""
    return gray_page(image).gray


def gray_page(image: Any, channel: str = "gray") -> GrayPage:
    """The page as gray, which is one of its channels; a `GrayPage` stays what it is.

    image : PIL image, or array (H, W), (H, W, 1), (H, W, 2) gray + alpha, (H, W, 3) RGB or (H, W, 4) RGBA.
        uint8 as it is; bool False = black; uint16 and other unsigned integers over their type's range;
        float 0 … 1 (what resampling puts a little outside is clipped; NaN, and values above 2, are errors);
        signed integers must lie in 0 … 255.
    channel : gray, red, green, blue, min (the darkest of these three, the paper made neutral), or auto, which looks at
        the page. A page without colours is gray whatever is asked for.
    """
    if isinstance(image, GrayPage):
        return image
    if hasattr(image, "getexif") and hasattr(image, "convert"):
        return _from_pil(image, channel)
    array = np.asarray(image)
    if array.dtype.kind not in "buif":
        if not array.ndim:
            kind = "None" if image is None else type(image).__name__
            what = "a file name" if isinstance(image, (str, PathLike)) else kind
            raise UsageError(f"a page is an array or a PIL image, not {what}; PIL.Image.open opens a file, and "
                             "binarize_many takes files")  # fmt: skip
        raise UsageError(f"a page must be numbers, not {array.dtype}")
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (1, 2, 3, 4)):
        raise UsageError(f"a page has shape (H, W) or (H, W, 1 to 4), not {array.shape}")
    if 0 in array.shape:
        raise UnreadablePage("the page has no pixels")
    return _from_array(_to_eight_bits(array), channel)


def _to_eight_bits(array: npt.NDArray[Any]) -> Gray:
    kind = array.dtype.kind
    if array.dtype == np.uint8:
        return array
    if kind == "b":
        return array.astype(np.uint8) * np.uint8(255)
    if kind == "f":
        if np.isnan(array).any():
            raise UsageError("the page contains NaN")
        if array.max() > 2:  # it would become a white page
            raise UsageError(f"a page of {array.dtype} must hold values from 0 to 1; divide by its white, such as 255")
        rounded: Gray = np.rint(np.clip(array, 0, 1) * 255).astype(np.uint8)
        return rounded
    if kind == "u":
        scale = 255 / np.iinfo(array.dtype).max
        gray = np.empty(array.shape, np.uint8)
        for top in range(0, len(array), 64):  # rows at a time: floats of the whole page would be eight times its size
            gray[top : top + 64] = np.rint(array[top : top + 64] * scale)
        return gray
    if array.min() < 0 or array.max() > 255:
        raise UsageError(f"a page of {array.dtype} must hold values from 0 to 255; use uint16 for 16-bit pages")
    return array.astype(np.uint8)


def _from_array(array: Gray, channel: str) -> GrayPage:
    if array.ndim == 2:
        return GrayPage(np.ascontiguousarray(array))
    colours, alpha = array[..., :3], array[..., -1] if array.shape[2] in (2, 4) else None
    if array.shape[2] <= 2:
        gray, channel = array[..., 0], "gray"
    else:
        small = _reduced(colours, alpha) if channel in ("auto", "min") else colours
        if channel == "auto":
            channel = choose(small, _weighed(small))
        if channel in RGB:
            gray = colours[..., RGB.index(channel)]
        else:
            gray = darkest(colours, tint_tables(small)) if channel == "min" else _weighed(colours)
    if alpha is not None:
        gray = _on_white(gray, alpha)
    return GrayPage(np.ascontiguousarray(gray), channel)


def _weighed(colour: Colour) -> Gray:
    wide = colour.astype(np.uint32)
    # the fixed-point form that PIL uses, so arrays and images agree to the last gray level
    weighed: Gray = ((wide[..., 0] * 19595 + wide[..., 1] * 38470 + wide[..., 2] * 7471 + 0x8000) >> 16).astype(
        np.uint8
    )
    return weighed


def _reduced(colours: Colour, alpha: Gray | None = None) -> Colour:
    """The reduced copy of a page that is looked at, as `PIL.Image.Image.reduce` makes it."""
    from PIL import Image

    times = reduction(*colours.shape[:2])
    parts = []
    for top in range(0, len(colours), 64 * times):  # rows at a time: an image of the whole page takes as much again
        rows = slice(top, top + 64 * times)
        part = colours[rows] if alpha is None else _on_white(colours[rows], alpha[rows, :, None])
        parts.append(np.asarray(Image.fromarray(np.ascontiguousarray(part)).reduce(times)))
    return np.concatenate(parts)


def _on_white(gray: Gray, alpha: Gray) -> Gray:
    weight = alpha.astype(np.uint32)
    return ((gray * weight + 255 * (255 - weight) + 127) // 255).astype(np.uint8)


def _from_pil(image: Image, channel: str) -> GrayPage:
    from PIL import ImageOps

    try:
        tiff_tags = getattr(image, "tag_v2", {})
        image = ImageOps.exif_transpose(image)
        if image.width == 0 or image.height == 0:
            raise UnreadablePage("the page has no pixels")
        if image.mode.startswith("I;16"):
            wide = np.asarray(image).astype(np.uint16)
            if tiff_tags.get(258) == (12,):  # PIL gives 12 bits as they are stored
                wide = wide * 16 + wide // 256
            if tiff_tags.get(262) == 0:  # and does not mind that 0 is white
                wide = 65535 - wide
            return GrayPage(_to_eight_bits(wide))
        if image.mode == "I":  # PIL's 32-bit mode holds 16-bit PGM, and 8 bits after convert("I")
            values = np.asarray(image)
            if values.min() < 0 or values.max() > 65535:
                raise UnreadablePage("the image has more than 16 bits a pixel; make it 16")
            return GrayPage(_to_eight_bits(values.astype(np.uint8 if values.max() <= 255 else np.uint16)))
        if image.mode == "F":
            values = np.asarray(image)  # the file does not say which level is white
            white = next((white for white in (1, 255) if values.max() <= white), 65535)
            return GrayPage(_to_eight_bits(values / white))
        if image.mode == "LAB":
            return GrayPage(np.ascontiguousarray(image.getchannel(0), dtype=np.uint8))  # L*, which PIL cannot convert
        if image.mode == "La":  # premultiplied; PIL knows no other way out of it
            image = image.convert("LA")
        if image.mode in ("RGBA", "LA", "PA", "RGBa") or "transparency" in image.info:
            return _from_array(np.asarray(image.convert("RGBA")), channel if _has_colours(image) else "gray")
        return _from_colours(image, channel if _has_colours(image) else "gray")
    except (OSError, SyntaxError, ValueError) as problem:
        raise UnreadablePage(f"the image cannot be decoded: {problem}") from None


def _has_colours(image: Image) -> bool:
    """Whether an image of this mode, or with this palette, can hold anything but gray."""
    if image.mode in ("P", "PA"):
        palette = np.array(image.getpalette("RGB")).reshape(-1, 3)
        return bool((palette != palette[:, :1]).any())
    return image.mode not in ("1", "L", "LA")


def _from_colours(image: Image, channel: str) -> GrayPage:
    if channel != "gray":
        colours = image if image.mode == "RGB" else image.convert("RGB")
        if channel in RGB:
            return GrayPage(np.ascontiguousarray(colours.getchannel(RGB.index(channel))), channel)
        small = np.asarray(colours.reduce(reduction(image.height, image.width)))
        if channel == "min" or (channel := choose(small, _weighed(small))) != "gray":
            return _from_array(np.asarray(colours), channel)
    return GrayPage(np.ascontiguousarray(image.convert("L"), dtype=np.uint8))


def resized(values: Values, shape: tuple[int, int]) -> Values:
    """The values at another size: gray that grows bicubic, gray that shrinks and a surface linear, so that a surface stays between
    its neighbours; in shrinking bicubic is slower and no better."""
    if values.shape == shape:
        return values
    from PIL import Image

    grows = values.dtype == np.uint8 and shape[0] > values.shape[0]
    how = Image.Resampling.BICUBIC if grows else Image.Resampling.BILINEAR
    result: Values = np.asarray(Image.fromarray(values).resize(shape[::-1], how))
    return result
