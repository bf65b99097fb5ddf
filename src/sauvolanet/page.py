"""Any array or PIL image becomes gray: 2-D uint8, 0 black, in its own contiguous memory.

Alpha counts as paper (the page is laid on white), 16 bits are rescaled and not clipped, EXIF orientation is applied,
colour is weighed as ITU-R 601 does: ``(299 R + 587 G + 114 B) / 1000``, the rule of PIL's and OpenCV's ``L``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .errors import UnreadablePage, UsageError
from .windows import Gray

if TYPE_CHECKING:
    from PIL.Image import Image


def to_gray(image: Any) -> Gray:
    """The page as gray: (H, W) uint8, 0 = black, a new or read-only-safe contiguous array.

    image : PIL image, or array (H, W), (H, W, 1), (H, W, 2) gray + alpha, (H, W, 3) RGB or (H, W, 4) RGBA.
        uint8 as it is; bool False = black; uint16 and other unsigned integers over their type's range;
        float 0 … 1 (values outside are clipped, NaN is an error); signed integers must lie in 0 … 255.
    """
    if hasattr(image, "getexif") and hasattr(image, "convert"):
        return _from_pil(image)
    array = np.asarray(image)
    if array.dtype == object or array.dtype.kind not in "buif":
        raise UsageError(f"a page must be numbers, not {array.dtype}")
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (1, 2, 3, 4)):
        raise UsageError(f"a page has shape (H, W) or (H, W, 1 to 4), not {array.shape}")
    if 0 in array.shape:
        raise UnreadablePage("the page has no pixels")
    return _from_array(_to_eight_bits(array))


def _to_eight_bits(array: npt.NDArray[Any]) -> Gray:
    kind = array.dtype.kind
    if array.dtype == np.uint8:
        return array
    if kind == "b":
        return array.astype(np.uint8) * np.uint8(255)
    if kind == "f":
        if np.isnan(array).any():
            raise UsageError("the page contains NaN")
        return np.rint(np.clip(array, 0, 1) * 255).astype(np.uint8)
    if kind == "u":
        top = np.iinfo(array.dtype).max
        return np.rint(array * (255 / top)).astype(np.uint8)
    if array.min() < 0 or array.max() > 255:
        raise UsageError(f"a page of {array.dtype} must hold values from 0 to 255; use uint16 for 16-bit pages")
    return array.astype(np.uint8)


def _from_array(array: Gray) -> Gray:
    if array.ndim == 2:
        return np.ascontiguousarray(array)
    channels = array.shape[2]
    if channels <= 2:
        gray = array[..., 0]
    else:
        wide = array[..., :3].astype(np.uint32)
        # the fixed-point form that PIL uses, so arrays and images agree to the last gray level
        gray = ((wide[..., 0] * 19595 + wide[..., 1] * 38470 + wide[..., 2] * 7471 + 0x8000) >> 16).astype(np.uint8)
    if channels in (2, 4):
        gray = _on_white(gray, array[..., -1])
    return np.ascontiguousarray(gray)


def _on_white(gray: Gray, alpha: Gray) -> Gray:
    weight = alpha.astype(np.uint32)
    return ((gray * weight + 255 * (255 - weight) + 127) // 255).astype(np.uint8)


def _from_pil(image: Image) -> Gray:
    from PIL import ImageOps

    try:
        image = ImageOps.exif_transpose(image)
        if image.width == 0 or image.height == 0:
            raise UnreadablePage("the page has no pixels")
        if image.mode.startswith("I;16"):
            return _to_eight_bits(np.asarray(image).astype(np.uint16))
        if image.mode == "I":  # PIL's 32-bit mode holds 16-bit PNG and PGM
            wide = np.asarray(image)
            return _to_eight_bits(np.clip(wide, 0, 65535).astype(np.uint16))
        if image.mode == "F":
            values = np.asarray(image)
            return _to_eight_bits(values if values.max() <= 1 else values / 255)
        if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
            return _from_array(np.asarray(image.convert("RGBA")))
        return np.ascontiguousarray(image.convert("L"), dtype=np.uint8)
    except (OSError, SyntaxError, ValueError) as problem:
        raise UnreadablePage(f"the image cannot be decoded: {problem}") from None
