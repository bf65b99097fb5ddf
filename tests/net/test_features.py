"""What a network reads: the compiled statistics and features against numpy, and the memory they live in."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from sauvolanet.net import buffers
from sauvolanet.net.architecture import Architecture
from sauvolanet.net.features import (
    Scale,
    features,
    features_numpy,
    page_numbers,
    page_scale,
    shown,
    statistics,
    thresholds,
)
from sauvolanet.net.run import attend_numpy
from sauvolanet.page import PageNumbers
from sauvolanet.windows import mean_deviation_numpy

pytest.importorskip("numba", reason="numba is not installed")

WINDOWS = [(7,), (7, 15, 31, 63, 127), (7, 15, 23, 31, 39, 47, 55, 63), tuple(range(3, 23, 2)), (9, 201), (401,)]


def test_what_is_black_at_the_rim_does_not_scale_the_page() -> None:
    page = np.full((100, 100), 200, np.uint8)
    page[40:60, 40:60] = 120
    clean = PageNumbers.of(page)
    page[:, :3] = 0
    numbers = PageNumbers.of(page)
    scaling = {"kind": "inner", "low": 0.5, "high": 99.0, "least": 16.0}
    scale = page_scale(numbers, scaling)
    assert scale == page_scale(clean, scaling) == Scale(120, 1 / 80, 120)
    assert np.array_equal(page_numbers(numbers, scaling), page_numbers(clean, scaling))
    assert page_scale(numbers, {**scaling, "kind": "percentile"}) == Scale(0, 1 / 200)
    assert (shown(page, scale)[:, :3] == 120).all() and np.array_equal(shown(page, scale)[:, 3:], page[:, 3:])
    # a threshold that is not above the darkest gray that was shown is paper, also where the page is black
    assert scale.to_gray(np.array([-0.2, 0.0, 0.5], np.float32)).tolist() == [0, 0, 160]


@pytest.mark.parametrize("windows", WINDOWS, ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (2, 9), (40, 13), (33, 1200)], ids=str)
def test_statistics_of_a_region_are_those_of_the_page(windows: tuple[int, ...], shape: tuple[int, int]) -> None:
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
    windows: tuple[int, ...], constants: tuple[float, ...], shape: tuple[int, int]
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
    windows: tuple[int, ...], names: tuple[str, ...], shape: tuple[int, int], fold: int
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


def test_memory_comes_back_only_when_no_view_is_left() -> None:
    gc.collect()
    buffers._idle.clear()
    first = buffers.empty(100, 1000)
    view = first[10:20]
    view[:] = 7
    del first
    second = buffers.empty(100, 1000)
    second[:] = 1
    assert (view == 7).all() and not np.shares_memory(view, second)
    where = second.__array_interface__["data"][0]
    del second
    assert buffers.empty(100, 1000).__array_interface__["data"][0] == where


def test_idle_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    buffers._idle.clear()
    monkeypatch.setattr(buffers, "KEEP", 1_000_000)
    arrays = [buffers.empty(100_000) for _ in range(5)]
    del arrays
    assert 0 < sum(raw.nbytes for raw in buffers._idle.values()) <= 1_000_000
