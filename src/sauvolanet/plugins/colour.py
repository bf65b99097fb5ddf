"""Whether a page holds a colour picture that a 1-bit page would lose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from PIL.Image import Image

SMALL = 512  # pixels of the longer side at which the page is looked at: strokes blur away, pictures stay
FAR = 24  # levels of Cb or Cr from what the paper's tint would give at that lightness
AREA = 0.02  # share of the page


def has_colour_picture(image: Image) -> bool:
    """True if coloured areas cover more than 2 % of the page.

    The page is reduced to at most 512 pixels; the paper's tint is the median of Cb and Cr. A tint fades with the light,
    so at each pixel it is scaled by the pixel's lightness over the page's median lightness, at most 1. A pixel further
    than 24 levels from that is coloured, and a coloured pixel counts where all of its 3×3 neighbourhood is coloured:
    coloured ink, stamps' outlines and single lines do not count.
    """
    if image.mode in ("1", "L", "I", "F") or image.mode.startswith("I;16"):
        return False
    small = image.convert("RGB")
    small.thumbnail((SMALL, SMALL))
    light, blue, red = (np.asarray(channel, np.float32) for channel in small.convert("YCbCr").split())
    scale = np.minimum(light / max(float(np.median(light)), 1), 1)
    far = np.zeros(light.shape, bool)
    for chroma in (blue - 128, red - 128):
        far |= np.abs(chroma - np.median(chroma) * scale) > FAR
    for axis in (0, 1):  # erosion by 3×3; that it wraps at the borders does not matter for a share of the page
        far = far & np.roll(far, 1, axis) & np.roll(far, -1, axis)
    return bool(far.mean() > AREA)
