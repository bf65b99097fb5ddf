"""Connected components: against scipy, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sauvolanet.core import components
from sauvolanet.core.components import despeckle, letter_height


@pytest.mark.parametrize("share", [0.05, 0.4, 0.6, 0.95])
@pytest.mark.parametrize("diagonal", [True, False])
def test_components_are_those_of_scipy(share: float, diagonal: bool, level: str) -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    mask = np.random.default_rng(7).random((61, 83)) < share
    labels, _ = ndimage.label(mask, np.ones((3, 3)) if diagonal else None)
    runs = components.runs_of(mask, diagonal)
    assert runs.component.tolist() == components.link_numpy(runs.row, runs.first, runs.last, int(diagonal)).tolist()
    theirs = labels[runs.row, runs.first]
    assert len(set(zip(theirs.tolist(), runs.component.tolist(), strict=True))) == len(set(theirs.tolist()))
    np.testing.assert_array_equal(runs.sizes(), np.bincount(labels.ravel())[theirs])
    np.testing.assert_array_equal(runs.paint(np.ones(len(runs.row), bool), mask.shape), mask)


@pytest.mark.parametrize("shape", [(1, 1), (1, 50), (50, 1), (33, 47), (9, 8), (7, 16)])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_runs_are_those_of_numpy(shape: tuple[int, int], share: float, level: str) -> None:
    mask = np.random.default_rng(3).random(shape) < share
    for one in (mask, mask.T, mask[::-1], mask[:, ::2]):
        for ours, truth in zip(components.runs_of(one), components.runs_numpy(one), strict=False):
            np.testing.assert_array_equal(ours, truth)


def by_component(mask: np.ndarray) -> components.Runs:
    runs = components.runs_of(mask, diagonal=False)
    order = np.argsort(runs.component, kind="stable")
    return components.Runs(*(part[order] for part in runs))


def test_gaps_that_a_component_encloses() -> None:
    rows = ["#######", "#.#..#.", "#.##.##", "#...#.#", "####.##"]
    runs = by_component(np.array([[letter == "#" for letter in row] for row in rows]))
    closed = [(row, last) for row, last, shut in zip(runs.row, runs.last, runs.enclosed(), strict=True) if shut]
    assert closed == []  # the gap of the lowest row is open, and all others lead there, one by a diagonal step
    rows[4] = "#######"
    runs = by_component(np.array([[letter == "#" for letter in row] for row in rows]))
    closed = [(row, last) for row, last, shut in zip(runs.row, runs.last, runs.enclosed(), strict=True) if shut]
    assert closed == [(1, 1), (1, 3), (2, 1), (2, 4), (3, 1), (3, 5)]


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 40), st.sampled_from([0.0, 0.3, 0.6, 0.7, 0.9, 1.0])
)
def test_what_is_enclosed_is_that_of_numpy(seed: int, height: int, width: int, share: float) -> None:
    runs = by_component(np.random.default_rng(seed).random((height, width)) < share)
    np.testing.assert_array_equal(runs.enclosed(), components.enclosed_numpy(runs))


@pytest.mark.parametrize("share", [0.0, 0.6, 0.8, 1.0])
def test_every_level_finds_what_is_enclosed(share: float, level: str) -> None:
    runs = by_component(np.random.default_rng(5).random((83, 61)) < share)
    np.testing.assert_array_equal(runs.enclosed(), components.enclosed_numpy(runs))
    assert runs.enclosed().any() == (0 < share < 1)


def test_touching_keeps_whole_components() -> None:
    mask = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 1]], bool)
    seeds = np.array([[0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]], bool)
    assert components.touching(mask, seeds).astype(int).tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert not components.touching(np.zeros((3, 3), bool), np.ones((3, 3), bool)).any()


@pytest.mark.parametrize("shape", [(1, 1), (1, 50), (50, 1), (33, 47)])
def test_touching_gives_what_numpy_gives(shape: tuple[int, int], level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(9)
    masks = [rng.random(shape) < share for share in (0.0, 0.3, 0.5, 1.0)]
    seeds = rng.random(shape) < 0.05
    compiled = [components.touching(mask.T, seeds.T) for mask in masks]
    monkeypatch.setenv("SAUVOLANET_NO_NATIVE", "1")
    for mask, ours in zip(masks, compiled, strict=True):
        np.testing.assert_array_equal(ours, components.touching(mask.T, seeds.T))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 60), st.sampled_from([0.0, 0.02, 0.3, 0.5, 1.0]))
def test_the_height_of_letters_is_that_of_scipys_boxes(seed: int, height: int, width: int, share: float) -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    ink = np.random.default_rng(seed).random((height, width)) < share
    boxes = ndimage.find_objects(ndimage.label(ink, np.ones((3, 3)))[0])
    heights = sorted(rows.stop - rows.start for rows, _ in boxes)
    each = [h for h in heights for _ in range(h)]  # as often as it is high
    assert letter_height(ink) == (each[(len(each) - 1) // 2] if each else 0)


@given(ink=arrays(bool, st.tuples(st.integers(1, 25), st.integers(1, 25))), largest=st.integers(0, 9))
@settings(deadline=None)
def test_despeckle_agrees_with_scipy(ink: np.ndarray, largest: int) -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    labels, _ = ndimage.label(ink, np.ones((3, 3)))
    sizes = np.bincount(labels.ravel())
    assert np.array_equal(despeckle(ink, largest), ink & (sizes[labels] > largest))
