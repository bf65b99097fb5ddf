"""Agreement with doxapy and scikit-image on real pages, where the definitions are the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sauvolanet.classic import METHODS
from sauvolanet.classic.shared import high_contrast
from sauvolanet.core.arrays import Gray, Ink
from sauvolanet.core.windows import box_sum, mean_deviation

R = 128 / 255
SAME = {
    "otsu": {},
    "bernsen": {},
    "niblack": {"window": 75, "k": 0.2},
    "sauvola": {"window": 75, "k": 0.2, "r": R},
    "wolf": {"window": 75, "k": 0.2},
    "nick": {"window": 75, "k": -0.2},
    "bataineh": {},
    "wan": {"window": 75, "k": 0.2, "r": R},
    "isauvola": {"window": 75, "k": 0.2, "r": R, "opening": 0},
    # doxapy reads the mask instead of the background, which makes its distance 0.48 of the mean under rough ink
    "gatos": {"window": 75, "k": 0.2, "r": R, "q": 0.48, "p2": 1.0},
}


def ours(name: str, gray: Gray, options: dict[str, float]) -> Ink:
    result = METHODS[name].function(gray, **options)
    return gray < result if METHODS[name].surface else result


@pytest.mark.parametrize("name", SAME)
def test_agrees_with_doxapy(name: str, crops: list[Gray], doxa: Callable[..., Ink]) -> None:
    pages = [c[:300, :300].copy() for c in crops[:2]] if name == "gatos" else crops  # doxapy takes 7 µs a pixel there
    for gray in pages:
        agreement = (ours(name, gray, SAME[name]) == doxa(name.upper(), gray)).mean()
        assert agreement >= 0.999


def test_singh_follows_the_publication(crops: list[Gray], doxa: Callable[..., Ink]) -> None:
    """In doxapy the term of the pixel's own distance from the mean vanishes, which leaves Bradley's formula."""
    for gray in crops:
        mean = mean_deviation(gray, 75)[0].astype(float)
        d = np.minimum(gray - mean, 254) / 255
        found = ours("trsingh", gray, {"window": 75, "k": 0.2})
        assert (found == (gray < mean * (1 + 0.2 * (d / (1 - d) - 1)))).mean() >= 0.99999
        assert (ours("bradley", gray, {"window": 75, "t": 20}) == doxa("TRSINGH", gray)).mean() >= 0.9999


def test_what_doxapy_calls_su(crops: list[Gray], doxa: Callable[..., Ink]) -> None:
    """It is the authors' method of 2010 in a window of 9 pixels, without the deviation: the mean is the threshold."""
    for gray in crops:
        edges = high_contrast(gray, 1)
        count, total = (box_sum(np.where(edges, values, 0).astype(np.int64), 9) for values in (1, gray))
        assert (((count >= 9) & (gray * count <= total)) == doxa("SU", gray)).mean() >= 0.9999


@pytest.mark.parametrize("window", [15, 51])
def test_agrees_with_scikit_image(window: int, crops: list[Gray]) -> None:
    filters = pytest.importorskip("skimage.filters")
    for gray in crops:
        half = window // 2
        inner = (slice(half, -half), slice(half, -half))  # it mirrors the page at its border
        pairs = [
            (METHODS["sauvola"].function(gray, window=window), filters.threshold_sauvola(gray, window, r=127.5)),
            (METHODS["niblack"].function(gray, window=window), filters.threshold_niblack(gray, window, k=0.2)),
        ]
        for mine, theirs in pairs:
            np.testing.assert_allclose(mine[inner], theirs[inner], atol=0.01)
        assert ((gray < METHODS["otsu"].function(gray)) == (gray <= filters.threshold_otsu(gray))).mean() >= 0.999


def test_canny_is_close_to_opencv(crops: list[Gray]) -> None:
    """Nearly all strong edges of a different implementation lie on or beside ours."""
    cv2 = pytest.importorskip("cv2")
    from sauvolanet.classic.edges import Gradient
    from sauvolanet.core.windows import window_extreme

    gray = crops[0]
    edges = Gradient(gray, 1.0).edges(0.1, 0.3)
    theirs = cv2.Canny(cv2.GaussianBlur(gray, (0, 0), 1.4), 40, 120, L2gradient=True) > 0
    near = window_extreme(edges.view(np.uint8), 3, np.maximum).view(bool)
    assert edges.any()
    assert (near & theirs).sum() > 0.9 * theirs.sum()
