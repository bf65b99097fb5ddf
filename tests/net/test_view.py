"""The whole page in view: sums of cells by hand, samples that depend on their place alone, tiles that change nothing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sauvolanet.net.architecture import VIEW_INPUTS, Architecture
from sauvolanet.net.inputs import PageInputs
from sauvolanet.net.model import Model, describe
from sauvolanet.net.run import halo_of
from sauvolanet.net.view import STEP, View, cell_side, cell_sums, cell_sums_numpy, reach, sampled, seen, stroke_gray
from sauvolanet.page.numbers import PageNumbers
from sauvolanet.synth import page

ARCH = Architecture(kind="u", widths=((8,), (8,)), dilations=((1,), (1,)), norm="batch", fold=2, head=1,
                    features=("gray", "mean"), windows=(7, 15, 31), constants=(0.0, 1.0), view=(8, 8, 8))  # fmt: skip
SCALING = {"kind": "percentile", "low": 0.5, "high": 99.0, "least": 16.0}


def model() -> Model:
    rng = np.random.default_rng(7)
    weights = {}
    for layer in ARCH.convolutions():
        weights[f"{layer.name}.weight"] = rng.normal(0, 0.2, layer.shape).astype(np.float32)
        weights[f"{layer.name}.bias"] = rng.normal(0, 0.2, layer.outputs).astype(np.float32)
    about = describe("seeing", ARCH, [0.2] * 3, [0.5] * 3, 8.0, SCALING, None, None, 1, "", "", "", {})
    return Model(about, weights)


@pytest.mark.parametrize(("shape", "side"), [((100, 200), 16), ((2560, 100), 16), ((2561, 9), 18), ((6400, 4000), 40)])
def test_at_most_160_cells_of_at_least_16_pixels(shape: tuple[int, int], side: int) -> None:
    assert cell_side(shape) == side
    assert side % STEP == 0 and max(shape) / side <= 160


def test_sums_of_cells_by_hand() -> None:
    gray = np.full((16, 18), 200, np.uint8)  # 8 × 8 pixels of it tell in the first cell, 8 in the second
    gray[:4, :4] = 50
    sums = cell_sums(gray, 100, 16)
    assert sums.shape == (1, 2, 5)
    assert sums[0, 0].tolist() == [64, 60 * 200 + 4 * 50, 60 * 200**2 + 4 * 50**2, 4, 4 * 50]
    assert sums[0, 1].tolist() == [8, 8 * 200, 8 * 200**2, 0, 0]
    assert stroke_gray(sums) == 50


@pytest.mark.parametrize("side", [16, 18, 32, 34])
@pytest.mark.parametrize("shape", [(1, 1), (33, 70), (300, 217)])
def test_sums_of_cells_are_those_of_numpy(shape: tuple[int, int], side: int, level: str) -> None:
    gray = np.random.default_rng(side).integers(0, 256, shape, dtype=np.uint8)
    for one in (gray, np.full_like(gray, 255), gray.T):
        for cut in (0, 100, 256):
            np.testing.assert_array_equal(cell_sums(one, cut, side, 3), cell_sums_numpy(one, cut, side))


@pytest.mark.parametrize("low", [210, 255])
def test_sums_of_large_cells_are_exact(low: int, level: str) -> None:
    """Cells of a page 71,000 pixels long: the squares of a white one add up to more than 31 bits."""
    gray = np.random.default_rng(low).integers(low, 256, (444, 444), dtype=np.uint8)
    tell = gray[::STEP, ::STEP].astype(np.int64)
    dark = tell[tell < 230]
    expected = np.array([tell.size, tell.sum(), (tell**2).sum(), dark.size, dark.sum()]).astype(np.float32)
    for sums in (cell_sums(gray, 230, 444), cell_sums_numpy(gray, 230, 444)):
        np.testing.assert_array_equal(sums, expected[None, None])


def test_strokes_are_as_dark_as_the_middle_of_them() -> None:
    sums = np.zeros((1, 4, 5), np.float32)
    sums[0, :, 3] = 1, 5, 2, 0  # dark pixels of four cells
    sums[0, :, 4] = 10, 5 * 60, 2 * 90, 0  # at gray 10, 60, 90 and none
    assert stroke_gray(sums) == 60
    assert stroke_gray(sums * 0) == 255


def test_what_is_seen_of_a_cell_by_hand() -> None:
    gray = np.full((16, 16), 200, np.uint8)
    gray[:4, :4] = 50
    numbers = np.array([0.4, 0.1, 1, 0.5, 0.2], np.float32)
    found = seen(cell_sums(gray, 100, 16), 64, 50, 1 / 150, numbers)[0, 0]
    mean = (60 * 200 + 4 * 50) / 64
    deviation = np.sqrt((60 * 200**2 + 4 * 50**2) / 64 - mean**2)
    assert found == pytest.approx([1, (mean - 50) / 150, deviation / 150, 4 / 64, 0, *numbers], abs=1e-5)
    assert len(found) == VIEW_INPUTS


def test_what_rounding_leaves_of_nothing_has_no_gray() -> None:
    """Sums may be differences of running totals: 1e-13 dark pixels whose grays add up to 1e-5 are no dark pixels."""
    sums = np.zeros((1, 2, 5), np.float32)
    sums[0, 0] = 64, 64 * 200, 64 * 200**2, 1e-13, 1e-5
    sums[0, 1] = 1e-9, 1e-4, 1e-2, 0, 0  # and such a cell does not lie on the page
    found = seen(sums, 64, 50, 1 / 150, np.zeros(5, np.float32))
    assert found[0, 0] == pytest.approx([1, 1, 0, 0, 1, 0, 0, 0, 0, 0], abs=1e-5)
    assert not found[0, 1].any()


def test_around_the_page_lie_zeros_as_far_as_the_convolutions_see() -> None:
    gray, _ = page(1, kind="letter", height=160, width=96)
    view = PageInputs.of(gray, PageNumbers.of(gray), ARCH, SCALING, None).view
    assert view is not None
    around = reach(ARCH)
    assert around == 1 + 2 + 1 + 1
    assert view.cells.shape == (10 + 2 * around, 6 + 2 * around, VIEW_INPUTS)
    assert (view.cells[around:-around, around:-around, 0] == 1).all()
    assert view.cells[..., 0].sum() == 60 and not view.cells[:around].any() and not view.cells[:, :around].any()


def test_a_map_is_linear_between_the_centres_of_cells() -> None:
    view = View(np.zeros((6, 7, VIEW_INPUTS), np.float32), 16, (1, 2))
    rows, columns = np.indices((6, 7), np.float32)
    places = np.stack([rows, columns], 2)
    found = sampled(places, view, (slice(16, 48), slice(0, 64)), 8)
    # square i of 8 pixels has its centre at pixel 8 i + 4; cell j, counted without those around, at 16 j + 8
    assert np.allclose(found[:, 0, 0], 1 + (16 + 8 * np.arange(4) + 4 - 8) / 16)
    assert np.allclose(found[0, :, 1], 2 + (8 * np.arange(8) + 4 - 8) / 16)
    part = sampled(places, view, (slice(32, 48), slice(16, 64)), 8)
    assert np.array_equal(part, found[2:, 2:])


def test_a_place_has_the_same_value_in_every_region() -> None:
    view = View(np.zeros((40, 50, VIEW_INPUTS), np.float32), 36, (5, 5))  # the middle of a cell is that of a square
    values = np.random.default_rng(0).normal(0, 1, (40, 50, 2)).astype(np.float32)
    whole = sampled(values, view, (slice(0, 640), slice(0, 800)), 4)
    for top, left in itertools.product(range(0, 640, 64), range(0, 800, 64)):
        part = sampled(values, view, (slice(top, 640), slice(left, 800)), 4)
        assert np.array_equal(part, whole[top // 4 :, left // 4 :])


def test_a_mirrored_or_turned_page_is_seen_mirrored_or_turned() -> None:
    gray, _ = page(2, kind="print", height=64, width=96)

    def of(gray: np.ndarray) -> View:
        found = PageInputs.of(np.ascontiguousarray(gray), PageNumbers.of(gray), ARCH, SCALING, None).view
        assert found is not None
        return found

    # squares of STEP pixels of one gray, so that the pixels that tell are the same from either side
    gray = gray[::2, ::2].repeat(2, 0).repeat(2, 1)
    for turned, view in ((gray[::-1], of(gray).mirrored(0, 64)), (gray[:, ::-1], of(gray).mirrored(1, 96)),
                         (gray.T, of(gray).transposed())):  # fmt: skip
        assert np.allclose(view.cells, of(turned).cells, atol=1e-6)
        assert view.origin == of(turned).origin


def test_a_told_habit_stands_at_every_cell_of_the_page() -> None:
    gray, _ = page(2, kind="print", height=64, width=96)
    pages = [PageInputs.of(gray, PageNumbers.of(gray), ARCH, SCALING, None, habit).view for habit in (None, 0.6)]
    assert pages[0] is not None and pages[1] is not None
    assert np.array_equal(pages[0].told((1.0, np.float32(4 * (0.6 - 0.5)))).cells, pages[1].cells)
    assert not np.array_equal(pages[0].cells, pages[1].cells)


@pytest.mark.parametrize("shape", [(97, 203), (16, 40), (1, 1), (300, 33)])
def test_tiles_and_threads_change_nothing(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    gray = rng.integers(0, 256, shape, dtype=np.uint8)
    one, numbers = model(), PageNumbers.of(gray)
    whole = one.surface(gray, numbers, 1)
    assert np.array_equal(one.surface(gray, numbers, 2, largest=900), whole)


def test_what_lies_far_away_on_the_page_counts() -> None:
    gray = np.full((640, 64), 220, np.uint8)
    gray[10:14, 8:40] = 60
    other = gray.copy()
    other[64:80] = 90  # the first rows see it in the view alone
    assert 16 + halo_of(ARCH) + max(ARCH.windows) // 2 <= 64
    one, numbers = model(), PageNumbers.of(gray)
    before, after = (one.surface(g, numbers)[:16] for g in (gray, other))
    assert not np.array_equal(before, after)
    assert one.in_view(gray, numbers).shape == gray.shape  # type: ignore[union-attr]
