"""What a network reads: the compiled statistics and features against numpy, and the memory they live in."""

from __future__ import annotations

import numpy as np
import pytest

from sauvolanet.core.windows import mean_deviation_numpy
from sauvolanet.net.architecture import Architecture
from sauvolanet.net.inputs import (
    Scale,
    features,
    features_numpy,
    number_features,
    page_scale,
    statistics,
    thresholds,
    to_gray_numpy,
)
from sauvolanet.net.run import attend_numpy
from sauvolanet.page.margins import Margins
from sauvolanet.page.numbers import PageNumbers

WINDOWS = [(7,), (7, 15, 31, 63, 127), (7, 15, 23, 31, 39, 47, 55, 63), tuple(range(3, 23, 2)), (9, 201), (401,)]


def test_what_is_black_in_the_margins_does_not_scale_the_page() -> None:
    page = np.full((100, 100), 200, np.uint8)
    page[40:60, 40:60] = 120
    clean = PageNumbers.of(page)
    page[:, :3] = 0
    numbers = PageNumbers.of(page)
    scaling, margins = {"kind": "percentile", "low": 0.5, "high": 99.0, "least": 16.0}, Margins()
    scale = page_scale(numbers, scaling, margins)
    assert scale == page_scale(clean, scaling, margins) == Scale(120, 1 / 80, 120)
    one, other = (number_features(n, scale, margins) for n in (numbers, clean))
    assert np.array_equal(one, other)
    assert page_scale(numbers, scaling, None) == Scale(0, 1 / 200)
    assert (scale.clamp(page)[:, :3] == 120).all() and np.array_equal(scale.clamp(page)[:, 3:], page[:, 3:])
    # a threshold that is not above the darkest gray that the network reads is paper, also where the page is black
    assert scale.to_gray(np.array([-0.2, 0.0, 0.5], np.float32)).tolist() == [0, 0, 160]


@pytest.mark.parametrize("floor", [0, 90])
def test_thresholds_on_the_gray_s_own_scale(floor: int, level: str) -> None:
    rng = np.random.default_rng(floor)
    scaled = rng.normal(0.5, 0.5, (37, 101)).astype(np.float32)
    scaled[0, 0] = 0  # on the floor
    scale = Scale(90, 1 / 110, floor)
    truth = np.empty_like(scaled)
    to_gray_numpy(scaled, np.float32(110), np.float32(90), floor, truth)
    assert np.array_equal(scale.to_gray(scaled, 2), truth)


@pytest.mark.parametrize("windows", WINDOWS, ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (2, 9), (40, 13), (33, 1200)], ids=str)
def test_statistics_of_a_region_are_those_of_the_page(
    windows: tuple[int, ...], shape: tuple[int, int], level: str
) -> None:
    gray = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
    gray[: shape[0] // 2] = 255  # the largest sums
    scale = Scale(20.0, 1 / 200)
    for rows, columns in (
        (slice(0, shape[0]), slice(0, shape[1])),
        (slice(shape[0] // 3, shape[0]), slice(shape[1] // 2, shape[1])),
    ):
        for threads in (1, 2):
            mean, deviation = statistics(gray, windows, scale, (rows, columns), threads)
            for i, window in enumerate(windows):
                m, d = (v[rows, columns] for v in mean_deviation_numpy(gray, window))
                assert np.abs(mean[..., i] - (m - 20) / 200).max() < 1e-6
                assert np.abs(deviation[..., i] - np.maximum(d / 200, 1e-3)).max() < 2e-6


@pytest.mark.parametrize("constants", [(), (-0.2, 1.0)], ids=str)
@pytest.mark.parametrize("windows", [(7,), (3, 201), (7, 15, 31), (7, 15, 23, 31, 39, 63)], ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (2, 9), (40, 13), (33, 1200)], ids=str)
def test_thresholds_of_a_region_without_keeping_the_statistics(
    windows: tuple[int, ...], constants: tuple[float, ...], shape: tuple[int, int], level: str
) -> None:
    rng = np.random.default_rng(7)
    gray = rng.integers(0, 256, shape, np.uint8)
    arch = Architecture(windows=windows, constants=constants)
    k, r = rng.uniform(0, 1, (2, len(windows))).astype(np.float32) + np.float32(0.1)
    region = (slice(shape[0] // 3, shape[0]), slice(shape[1] // 4, shape[1] - shape[1] // 5))
    mean, deviation = statistics(gray, windows, Scale(20.0, 1 / 200), region, 1)
    logits = rng.normal(0, 4, (*mean.shape[:2], 8)).astype(np.float32)
    logits[..., arch.choices :] = np.nan  # nobody's choice
    _, expected = attend_numpy(logits[..., : arch.choices], mean, deviation, k, r, np.asarray(constants, np.float32))
    for threads in (1, 3):
        found = thresholds(gray, arch, k, r, Scale(20.0, 1 / 200), region, logits, threads)
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("fold", [1, 2])
@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (17, 31), (40, 64)], ids=str)
@pytest.mark.parametrize(
    "names", [("gray",), ("gray", "mean", "deviation", "numbers"), ("deviation", "numbers", "mean"), ("mean",)], ids=str
)
@pytest.mark.parametrize("windows", WINDOWS[:4], ids=str)
def test_features_in_any_order(
    windows: tuple[int, ...], names: tuple[str, ...], shape: tuple[int, int], fold: int, level: str
) -> None:
    arch = Architecture(
        kind="u", widths=((8,), (8,)), dilations=((1,), (1,)), features=names, fold=fold, windows=windows
    )
    rng = np.random.default_rng(2)
    scaled = rng.random(shape, np.float32)
    mean, deviation = rng.random((2, *shape, len(windows)), np.float32)
    numbers = np.array([0.4, 0.1], np.float32)
    for threads in (1, 2):
        made = features(arch, scaled, mean, deviation, numbers, threads)
        truth = np.full_like(made, np.nan)
        features_numpy(arch, scaled, mean, deviation, numbers, truth)
        assert np.array_equal(made, truth)
