"""Any array or PIL image becomes gray: 2-D uint8, 0 black, in its own contiguous memory.

Alpha counts as paper (the page is laid on white), 16 bits are rescaled and not clipped, EXIF orientation is applied,
colour is weighed as ITU-R 601 does: ``(299 R + 587 G + 114 B) / 1000``, the rule of PIL's and OpenCV's ``L``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .errors import UnreadablePage, UsageError
from .windows import Gray, histogram

if TYPE_CHECKING:
    from PIL.Image import Image

DARK_PERCENT, LIGHT_PERCENT = 0.1, 99.9  # percentiles that are a page's levels, whatever a few specks are like
RIM = 25  # one part in so many of each side is the page's rim, where scanners show their bed
BLANK_RANGE = 6  # gray levels; the faintest page of the 13 sets has more
# gray levels by which a few words on a page are darker than its paper, at least; on one that is else blank more: dust
# and the traces of JPEG are no words
SPARSE_CONTRAST, LONE_CONTRAST = 8, 32


def to_gray(image: Any) -> Gray:
    """The page as gray: (H, W) uint8, 0 = black, a new or read-only-safe contiguous array.

    image : PIL image, or array (H, W), (H, W, 1), (H, W, 2) gray + alpha, (H, W, 3) RGB or (H, W, 4) RGBA.
        uint8 as it is; bool False = black; uint16 and other unsigned integers over their type's range;
        float 0 … 1 (what resampling puts a little outside is clipped; NaN, and values above 2, are errors);
        signed integers must lie in 0 … 255.
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
            return _to_eight_bits(wide)
        if image.mode == "I":  # PIL's 32-bit mode holds 16-bit PGM, and 8 bits after convert("I")
            values = np.asarray(image)
            if values.min() < 0 or values.max() > 65535:
                raise UnreadablePage("the image has more than 16 bits a pixel; make it 16")
            return _to_eight_bits(values.astype(np.uint8 if values.max() <= 255 else np.uint16))
        if image.mode == "F":
            values = np.asarray(image)  # the file does not say which level is white
            return _to_eight_bits(values / next((white for white in (1, 255) if values.max() <= white), 65535))
        if image.mode == "LAB":
            return np.ascontiguousarray(image.getchannel(0), dtype=np.uint8)  # L*, which PIL cannot convert
        if image.mode == "La":  # premultiplied; PIL knows no other way out of it
            image = image.convert("LA")
        if image.mode in ("RGBA", "LA", "PA", "RGBa") or "transparency" in image.info:
            return _from_array(np.asarray(image.convert("RGBA")))
        return np.ascontiguousarray(image.convert("L"), dtype=np.uint8)
    except (OSError, SyntaxError, ValueError) as problem:
        raise UnreadablePage(f"the image cannot be decoded: {problem}") from None


def enlarged(gray: Gray, times: int) -> Gray:
    """The page with that many times the rows and columns (bicubic)."""
    if times == 1:
        return gray
    from PIL import Image

    size = (gray.shape[1] * times, gray.shape[0] * times)
    return np.asarray(Image.fromarray(gray).resize(size, Image.Resampling.BICUBIC))


@dataclass(frozen=True)
class PageNumbers:
    """What is known of the whole page: its histogram, and what follows from it. Computed once, before any tiling.

    inside : the histogram of the page without its rim, where it is known.
    """

    histogram: npt.NDArray[np.int64]
    inside: npt.NDArray[np.int64] | None = None

    @classmethod
    def of(cls, gray: Gray) -> PageNumbers:
        whole = histogram(gray)
        high, wide = (n // RIM for n in gray.shape)
        middle = gray[high : len(gray) - high]
        rim = [gray[:high], gray[len(gray) - high :], middle[:, :wide], middle[:, gray.shape[1] - wide :]]
        return cls(whole, whole - np.sum([histogram(part) for part in rim], axis=0))

    @property
    def inner(self) -> PageNumbers:
        """The numbers of the page without its rim."""
        return self if self.inside is None else PageNumbers(self.inside)

    def map(self, change: Callable[[npt.NDArray[np.int64]], npt.NDArray[Any]]) -> PageNumbers:
        """The numbers of a page whose histograms are so changed; fractions are rounded."""
        both = (self.histogram, self.inner.histogram)
        return PageNumbers(*(np.rint(change(h)).astype(np.int64) for h in both))

    def inverted(self) -> PageNumbers:
        """The numbers of ``255 − gray``."""
        return self.map(lambda h: h[::-1])

    def percentile(self, percent: float) -> float:
        """The smallest gray level with at least this share of the pixels at or below it."""
        cumulative = self.histogram.cumsum()
        return float(np.searchsorted(cumulative, max(percent / 100 * cumulative[-1], 1)))

    def extremes(self) -> tuple[int, int]:
        """The darkest and the lightest gray level that occur."""
        present = np.flatnonzero(self.histogram)
        return int(present[0]), int(present[-1])

    def levels(self) -> tuple[float, float]:
        """Dark and light level of the page, robust against a few specks: percentiles 0.1 and 99.9."""
        return self.percentile(DARK_PERCENT), self.percentile(LIGHT_PERCENT)

    @property
    def blank(self) -> bool:
        """Nothing on it: the levels between which 99.8 % of the pixels lie differ by no more than sensor noise.

        A page number may be less than the rest; it is something.
        """
        low, high = self.levels()
        return high - low < BLANK_RANGE and self.inner.sparse_ink(DARK_PERCENT, LONE_CONTRAST) is None

    def sparse_ink(self, percent: float, contrast: int = SPARSE_CONTRAST) -> float | None:
        """The gray of the ink, if there is some but on less than ``percent`` of the page; else None.

        That percentile is then a level of the paper. The ink is what Otsu's threshold sets apart, and darker by
        ``contrast`` and by twice what the paper itself varies.
        """
        dark = self.histogram[: self.otsu()]
        if not 0 < dark.sum() < percent / 100 * self.histogram.sum():
            return None
        level, paper = PageNumbers(dark).percentile(50), self.percentile(percent)
        return level if paper - level >= max(contrast, 2 * (self.percentile(50) - paper)) else None

    def otsu(self) -> int:
        """Otsu's threshold: ink is ``gray < threshold``; 0 on a page of one gray level."""
        levels = np.arange(256)
        weight = self.histogram.cumsum()
        total = (self.histogram * levels).cumsum()
        rest = weight[-1] - weight
        # Python's integers: products of pixels and gray levels of 190 million pixels are more than 64 bits
        apart = (total.astype(object) * int(weight[-1]) - int(total[-1]) * weight.astype(object)).astype(float)
        with np.errstate(divide="ignore", invalid="ignore"):
            between = apart**2 / (weight * rest.astype(float))
        between[~np.isfinite(between)] = -1
        best = int(between.argmax())
        return best + 1 if between[best] > 0 else 0

    def light_on_dark(self, gray: Gray) -> bool:
        """Whether the page is light writing on a dark ground.

        Its darker class (Otsu) must be most of the page and most of the page's rim, and be really dark; and the lighter
        class must be strokes, not an area such as a sheet of paper photographed on a dark desk.
        """
        cut = self.otsu()
        dark = int(self.histogram[:cut].sum())
        if dark <= 0.7 * self.histogram.sum() or self.percentile(50) >= 96:
            return False
        rim = np.concatenate([gray[0], gray[-1], gray[:, 0], gray[:, -1]])
        return bool((rim < cut).mean() > 0.7) and _share_in_areas(gray >= cut) < 0.5


Strip = tuple[tuple[slice, slice], npt.NDArray[np.bool_]]


def bed(gray: Gray, level: float) -> list[Strip]:
    """Where the scanner's bed shows: what is darker than ``level`` all the way from a side of the page, within its rim.

    Each strip is where it lies (rows, columns), and which of its pixels are the bed.
    """
    if level <= 0:
        return []
    found = []
    for axis, length in enumerate(gray.shape):
        rim = length // RIM
        for part, way in ((slice(0, rim), 1), (slice(length - rim, length), -1)):
            place = (part, slice(0, gray.shape[1])) if axis == 0 else (slice(0, gray.shape[0]), part)
            inward = (slice(None, None, way), slice(None)) if axis == 0 else (slice(None), slice(None, None, way))
            dark = np.logical_and.accumulate(gray[place][inward] < level, axis=axis)[inward]
            if dark.any():
                found.append((place, dark))
    return found


def _share_in_areas(mask: npt.NDArray[np.bool_]) -> float:
    """How much of a mask lies in squares of a thirty-second of the short side that it fills to four fifths."""
    side = max(min(mask.shape) // 32, 4)
    height, width = (n - n % side for n in mask.shape)
    if not height or not width:
        return 0.0
    squares = mask[:height, :width].reshape(height // side, side, width // side, side).mean((1, 3))
    return float(squares[squares >= 0.8].sum() / max(squares.sum(), 1e-9))
