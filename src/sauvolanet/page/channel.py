"""Which channel of a colour page shows its writing: gray, unless there is writing that gray nearly loses.

Yellow ink is dark in blue and hardly seen in gray. The page is looked at in a reduced copy: thin strokes, much darker
than the paper beside them in one of red, green and blue and not half as dark in gray, are what gray loses. Areas wider
than strokes (highlighter, pictures, tinted boxes) are no strokes, and what is pale in every channel (stamps, lines of
squared paper, show-through) is no writing; neither decides.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.arrays import Gray
from ..core.windows import window_extreme

Colour = npt.NDArray[np.uint8]  # (H, W, 3), red, green and blue
Values = npt.NDArray[np.float32]

RGB = ("red", "green", "blue")
SHORT = 600  # pixels that the short side of the reduced copy has, or up to half as many more or less

_STROKE = 11  # pixels of the reduced copy: dark places less wide are strokes
_DARK = 0.35  # strokes of writing are darker than the paper by this share of its gray, in their best channel
_FAINT = 0.63  # gray loses strokes of which it shows at most this share of that …
_FAINT_BLUE = 0.5  # … and this where blue shows them best, in which all that is brown with age looks dark
_KEPT = 0.75  # a channel shows a stroke that has this share of the darkness it has in the best
_NEAR = 5  # pixels across: the darkest of a stroke and its soft edge are compared, not pixel with pixel
_SHADOW = 0.6  # paper is at least this share of the usual paper level; what is on darker ground does not count
_SHARE = 4e-4  # of the page's pixels must be lost strokes: a word or two on a page
_DIMMEST = 64  # gray of the darkest paper on which colours are believed
_MOST = 2.0  # times that a channel is brightened at most, to bring the paper's tint to white


def reduction(height: int, width: int) -> int:
    """How many pixels in each direction become one of the reduced copy."""
    return max(round(min(height, width) / SHORT), 1)


def tint_tables(small: Colour) -> npt.NDArray[np.uint8]:
    """(3, 256) uint8: what each level of red, green and blue becomes when the paper is made neutral.

    small : the reduced page. The paper's colour is the median of its lighter half.
    """
    some = small[::3, ::3].reshape(-1, 3)
    light = some.mean(1)
    paper = np.maximum(np.median(some[light >= np.median(light)], axis=0), 1)
    factors = np.minimum(paper.max() / paper, _MOST)
    tables: npt.NDArray[np.uint8] = np.minimum(np.rint(factors[:, None] * np.arange(256)), 255).astype(np.uint8)
    return tables


def darkest(colour: Colour, tables: npt.NDArray[np.uint8]) -> Gray:
    """(H, W) uint8: the darkest of red, green and blue, the paper made neutral by the tables."""
    least: Gray = tables[0][colour[..., 0]]
    for channel in (1, 2):
        np.minimum(least, tables[channel][colour[..., channel]], out=least)
    return least


def choose(small: Colour, gray: Gray) -> str:
    """The channel to take: gray, min, red, green or blue. small : the reduced page; gray : the same in gray."""
    least = _SHARE * gray.size
    white = float(np.median(gray[::3, ::3]))
    planes = [table[small[..., i]] for i, table in enumerate(tint_tables(small))]
    dark = np.minimum.reduce(planes)
    apart = np.maximum.reduce(planes) - dark
    if white < _DIMMEST or np.count_nonzero(apart > _DARK / 2 * white) < least:
        return "gray"
    ground = _closed(gray)
    lit = ground >= _SHADOW * white

    def depth(channel: Gray) -> Values:
        return np.where(lit, (_closed(channel).astype(np.float32) - channel) / ground, 0).astype(np.float32)

    shown = {"min": depth(dark)}
    shown |= {name: depth(np.ascontiguousarray(small[..., i])) for i, name in enumerate(RGB)}
    in_gray = depth(gray)
    best = np.maximum.reduce([shown[name] for name in RGB])
    most, most_gray = _around(best), _around(in_gray)
    faint = np.where(shown["blue"] == best, np.float32(_FAINT_BLUE), np.float32(_FAINT))
    lost = (best >= _DARK) & (most_gray <= faint * most)
    if np.count_nonzero(lost) < least:
        return "gray"
    seen = in_gray >= _DARK  # what gray shows is not to be lost in its turn

    def worth(name: str) -> int:
        gained = np.count_nonzero(lost & (shown[name] >= _KEPT * best))
        return int(gained) - int(np.count_nonzero(seen & (_around(shown[name]) < _KEPT * most_gray)))

    chosen = max(shown, key=worth)
    return chosen if worth(chosen) >= least else "gray"


def _closed(channel: Gray) -> Gray:
    """The channel with its dark strokes filled with the paper around them."""
    return window_extreme(window_extreme(channel, _STROKE, np.maximum), _STROKE, np.minimum)


def _around(depth: Values) -> Values:
    return window_extreme(depth, _NEAR, np.maximum)
