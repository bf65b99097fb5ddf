"""Window statistics against the numpy truth and against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sauvolanet.core import windows

RNG = np.random.default_rng(4)


def noise(height: int, width: int) -> windows.Gray:
    return RNG.integers(0, 256, (height, width), dtype=np.uint8)


@pytest.mark.parametrize(("shape", "window"), [
    ((37, 53), 7), ((5, 9), 31), ((300, 260), 255), ((300, 260), 257), ((64, 1), 3), ((1, 64), 5), ((1, 1), 3),
    ((40, 6000), 255), ((120, 130), 2001),
])  # fmt: skip
@pytest.mark.parametrize("kind", ["noise", "white", "edge"])
def test_kernel_is_the_truth(shape: tuple[int, int], window: int, kind: str, level: str) -> None:
    gray = noise(*shape)
    if kind == "white":
        gray[:] = 255
    if kind == "edge":
        gray = (gray > 200).astype(np.uint8) + np.uint8(254)
    for ours, truth in zip(
        windows.mean_deviation(gray, window, 2), windows.mean_deviation_numpy(gray, window), strict=True
    ):
        np.testing.assert_array_equal(ours, truth)


def test_truth_is_the_definition() -> None:
    gray = noise(12, 14)
    mean, deviation = windows.mean_deviation_numpy(gray, 5)
    for y, x in ((0, 0), (6, 7), (11, 13), (3, 0)):
        part = gray[max(y - 2, 0) : y + 3, max(x - 2, 0) : x + 3].astype(float)
        assert mean[y, x] == pytest.approx(part.mean(), rel=1e-6)
        assert deviation[y, x] == pytest.approx(part.std(), rel=1e-5)


@pytest.mark.parametrize("value", [0, 1, 97, 255])
@pytest.mark.parametrize("window", [3, 501, 901])
def test_constant_pages_have_no_deviation(value: int, window: int) -> None:
    mean, deviation = windows.mean_deviation(np.full((520, 610), value, np.uint8), window)
    assert (mean == value).all()
    assert (deviation == 0).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 70), st.integers(1, 70), st.integers(1, 40), st.integers(1, 5))
def test_threads_change_nothing(height: int, width: int, half: int, threads: int) -> None:
    gray = noise(height, width)
    one = windows.mean_deviation(gray, 2 * half + 1, 1)
    for a, b in zip(one, windows.mean_deviation(gray, 2 * half + 1, threads), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("shape", "window"), [((37, 53), 7), ((5, 9), 31), ((600, 90), 501), ((1, 1), 3), ((300, 7), 3)]
)
def test_extremes_are_those_of_the_window(shape: tuple[int, int], window: int) -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    gray = noise(*shape)
    for pick, peer in ((np.minimum, ndimage.minimum_filter), (np.maximum, ndimage.maximum_filter)):
        ours = windows.window_extreme(gray, window, pick, threads=2)
        np.testing.assert_array_equal(ours, peer(gray, window, mode="nearest"))


@pytest.mark.parametrize("window", [7, 257])
def test_any_stride_gives_the_same(window: int, level: str) -> None:
    page = noise(90, 140)
    for gray in (page[:, ::2], page[::-3], page.T, page[4:77, 5:90], page[:, ::-1]):
        for ours, truth in zip(
            windows.mean_deviation(gray, window), windows.mean_deviation_numpy(gray, window), strict=True
        ):
            np.testing.assert_array_equal(ours, truth)
        for threads in (1, 3):
            np.testing.assert_array_equal(windows.histogram(gray, threads), np.bincount(gray.ravel(), minlength=256))


def test_below_any_surface(level: str) -> None:
    gray, surface = noise(70, 90), RNG.uniform(0, 255, (70, 90)).astype(np.float32)
    surface[::2] = gray[::2]  # equal is not below
    for one, other in ((gray, surface), (gray.T, surface.T), (gray[:, 3:40], surface[:, 3:40])):
        ink = np.empty(one.shape, bool)
        windows.below(one, other, ink, threads=2)
        np.testing.assert_array_equal(ink, one < other)


@pytest.mark.slow
def test_a_large_page(level: str) -> None:
    gray = noise(4000, 3000)
    for ours, truth in zip(windows.mean_deviation(gray, 25, 2), windows.mean_deviation_numpy(gray, 25), strict=True):
        np.testing.assert_array_equal(ours, truth)


@pytest.mark.parametrize("compiled", [True, False])
def test_local_threshold_fused_equals_surface(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not compiled:
        monkeypatch.setenv("SAUVOLANET_NO_NATIVE", "1")
    gray = noise(90, 140)[:, ::2]

    def formula(rows: slice, mean: windows.Surface, deviation: windows.Surface) -> windows.Surface:
        return mean - deviation * np.float32(0.3)

    surface = windows.local_threshold(gray, 9, formula, 2)
    assert surface.dtype == np.float32
    np.testing.assert_array_equal(windows.local_threshold(gray, 9, formula, 3, ink=True), gray < surface)
    mean, deviation = windows.mean_deviation_numpy(gray, 9)
    np.testing.assert_array_equal(surface, formula(slice(None), mean, deviation))
