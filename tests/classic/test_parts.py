"""The parts that methods are built of, against peers and arrays worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sauvolanet.classic import edges, howe, isauvola, sauvola_ms, sauvola_swt, shared, su
from sauvolanet.core import components
from sauvolanet.core.arrays import Gray, Ink
from sauvolanet.core.kernels import native


def test_nearest_label_by_steps_in_eight_directions() -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    rng = np.random.default_rng(2)
    labels = np.where(rng.random((40, 50)) < 0.01, rng.integers(1, 5, (40, 50)), 0).astype(np.uint8)
    steps = np.stack([ndimage.distance_transform_cdt(labels != k, "chessboard") for k in range(1, 5)])
    np.testing.assert_array_equal(sauvola_ms.nearest(labels), steps.argmin(0) + 1)
    assert not sauvola_ms.nearest(np.zeros((3, 4), np.uint8)).any()


def test_edge_of_a_step_is_one_pixel_wide() -> None:
    page = np.full((20, 30), 200, np.uint8)
    page[:, 14:] = 40
    found = edges.Gradient(page, 1.0).edges(0.1, 0.3)
    assert set(np.nonzero(found)[1]) <= {13, 14}
    assert (found[2:-2].sum(1) == 1).all()


def test_thinning_one_round() -> None:
    bar = np.zeros((7, 9), bool)
    bar[2:5, 1:8] = True
    thin = edges.thin_once(bar)
    assert thin[3, 2:7].all()
    assert not thin[2].any()
    assert not thin[4, 2:].any()


def stripes(width: int) -> Gray:
    page = np.full((60, 90), 220, np.uint8)
    for left in range(10, 80, 20):
        page[5:55, left : left + width] = 30
    return page


def test_stroke_width_transform_measures_bars() -> None:
    for width in (4, 7):
        widths = sauvola_swt.stroke_widths(stripes(width))
        assert abs(int(np.median(widths[20:40, 10 : 10 + width])) - width) <= 1
        assert (widths[20:40, 10 + width + 3 : 27] == 0).all()


def test_stroke_width_of_edges() -> None:
    marks = np.zeros((4, 40), bool)
    marks[:, [5, 11, 17, 30]] = True
    assert edges.stroke_width(marks) == 6
    assert edges.stroke_width(np.zeros((4, 40), bool)) == 3


def test_stroke_width_is_that_of_bars_and_not_their_distance() -> None:
    for width in (4, 7):
        assert abs(edges.stroke_width(edges.Gradient(stripes(width), 1.0).automatic()) - width) <= 1


def noise(shape: tuple[int, int], seed: int = 0) -> tuple[Gray, Ink, Ink]:
    """A page of noise and two random masks."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, shape, dtype=np.uint8), rng.random(shape) < 0.4, rng.random(shape) < 0.02


@pytest.mark.parametrize("shape", [(67, 90), (90, 33), (3, 40), (40, 3), (1, 1)])
@pytest.mark.parametrize("turned", [False, True])
def test_compiled_parts_give_what_numpy_gives(
    shape: tuple[int, int], turned: bool, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gray, mask, seeds = (array.T if turned else array for array in noise(shape))

    def parts() -> list[object]:
        gradient = edges.Gradient(gray, 1.3, threads=2)
        return [
            shared.local_contrast(gray, 2, 0.3), gradient.gx, gradient.gy, gradient.magnitude, gradient.ridge,
            components.touching(mask, seeds), edges.thin_once(mask), edges.thin_once(mask, threads=3),
            edges.stroke_width(mask),
        ]  # fmt: skip

    compiled = parts()
    monkeypatch.setenv("SAUVOLANET_NO_NATIVE", "1")
    for ours, truth in zip(compiled, parts(), strict=True):
        np.testing.assert_array_equal(ours, truth)


@pytest.mark.parametrize("window", [3, 21, 183])
@pytest.mark.parametrize("shape", [(40, 50), (7, 300), (60, 5), (4, 1)])
def test_threshold_from_edges(shape: tuple[int, int], window: int, level: str) -> None:
    kernels = native()
    assert kernels is not None
    gray, ink, marks = noise(shape)
    marks |= ink & (gray < 90)
    found = np.empty(shape, bool)
    kernels.below_edges(gray, marks, window, 4, 0, 3, found)
    kernels.below_edges(gray, marks, window, 4, 3, shape[0], found)
    np.testing.assert_array_equal(found, su.below_edges_numpy(gray, marks, window, 4))
    first, second = np.empty(shape, bool), np.empty(shape, bool)
    kernels.settle(gray, marks, ink, 0, 1, first)
    kernels.settle(gray, marks, first, 1, 0, second)
    kernels.drop_lone(second, first)
    np.testing.assert_array_equal(first, su.clean_numpy(ink, gray, marks))


def test_threshold_from_edges_by_hand() -> None:
    """Edge pixels 10 and 30: mean 20, deviation 10, so gray up to 25 is ink where both lie in the window."""
    gray = np.array([[10, 25, 26, 30, 24]], np.uint8)
    marks = np.array([[1, 0, 0, 1, 0]], bool)
    assert su.below_edges_numpy(gray, marks, 7, 2).astype(int).tolist() == [[1, 1, 0, 0, 0]]
    assert su.below_edges_numpy(gray, marks, 7, 1).astype(int).tolist() == [[1, 1, 0, 0, 1]]


def test_isauvola_does_not_trust_small_parts_of_high_contrast() -> None:
    page = np.full((60, 90), 200, np.uint8)
    page[20:40, 10:50] = 60
    page[30, 80] = 60
    assert isauvola.ink_isauvola(page, opening=0)[30, 80]
    kept = isauvola.ink_isauvola(page)
    assert kept[30, 12]
    assert not kept[30, 80]


def test_compiled_cut_is_that_of_pymaxflow(level: str) -> None:
    pytest.importorskip("maxflow")
    rng = np.random.default_rng(5)
    for shape in ((30, 40), (1, 9), (9, 1), (2, 2)):
        laplacian = np.round(rng.normal(0, 12, shape) * 2).astype(np.float32) / 2
        down, side = rng.random((shape[0] - 1, shape[1])) < 0.8, rng.random((shape[0], shape[1] - 1)) < 0.8
        costs = np.array([5.0, 20.0, 80.0, 640.0])
        pairs = zip(
            howe.cheapest_cuts(laplacian, down, side, costs),
            howe.cuts_maxflow(laplacian, down, side, costs),
            strict=True,
        )
        for ours, truth in pairs:
            np.testing.assert_array_equal(ours, truth)


def test_the_stable_candidate_lies_in_the_valley() -> None:
    rng = np.random.default_rng(1)
    order = rng.permutation(8000)
    results, bits = [], np.zeros(8000, bool)
    for change in (900, 800, 500, 100, 5, 5, 5, 100, 600, 900, 900):
        results.append(np.packbits(bits))
        bits = bits.copy()
        bits[order[:change]] ^= True
        order = np.roll(order, -change)
    assert howe.most_stable(results) in (5, 6)
