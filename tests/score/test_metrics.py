"""Oracles: doxapy, scikit-image, scipy, the DIBCO tool's own weights, and arrays worked out by hand."""

from __future__ import annotations

from pathlib import Path

import doxapy
import numpy as np
import pytest
from scipy import ndimage

from sauvolanet.core.kernels import native
from sauvolanet.core.thinning import skeleton
from sauvolanet.errors import UnknownName, UsageError
from sauvolanet.score import loops, metrics
from sauvolanet.score import weights as metric_weights
from sauvolanet.score.metrics import score

from .conftest import strokes

PERFECT = {"fm": 100, "precision": 100, "recall": 100, "pfm": 100, "pfm_weighted": 100, "psnr": None, "drd": 0,
           "nrm": 0, "mpm": 0, "accuracy": 100, "mcc": 1}  # fmt: skip


def mask(*rows: str) -> np.ndarray:
    return np.array([[c == "#" for c in row] for row in rows])


def test_counts_by_hand() -> None:
    truth = mask("##..", "##..")  # 4 ink, 4 paper
    prediction = mask("#.#.", "#...")  # 2 right, 1 false, 2 missed, 3 paper right
    result = score(prediction, truth)
    assert result["precision"] == pytest.approx(100 * 2 / 3)
    assert result["recall"] == pytest.approx(50)
    assert result["fm"] == pytest.approx(100 * 4 / 7)
    assert result["accuracy"] == pytest.approx(62.5)
    assert result["psnr"] == pytest.approx(10 * np.log10(8 / 3))
    assert result["nrm"] == pytest.approx((2 / 4 + 1 / 4) / 2)
    assert result["mcc"] == pytest.approx((2 * 3 - 1 * 2) / np.sqrt(3 * 4 * 4 * 5))


def test_skeleton_pseudo_fm_by_hand() -> None:
    truth = mask(".......", ".#####.", ".#####.", ".#####.", ".......")
    assert (skeleton(truth) == mask(".......", ".......", "..###..", ".......", ".......")).all()
    prediction = mask(".......", ".......", "..##...", ".......", "......#")
    precision, recall = 2 / 3, 2 / 3
    assert metrics.pfm(prediction, truth) == pytest.approx(100 * 2 * precision * recall / (precision + recall))


def test_drd_by_hand() -> None:
    truth = np.zeros((8, 16), bool)
    truth[0, 0] = True  # the left block is mixed, the right one uniform
    prediction = truth.copy()
    prediction[4, 4] = True  # false ink among paper only: all weights, which sum to 1
    assert metrics.drd(prediction, truth) == pytest.approx(1)
    corner = truth.copy()
    corner[7, 15] = True  # neighbours outside the page do not count
    inside = [1 / np.hypot(y, x) for y in range(3) for x in range(3) if y or x]
    everywhere = [1 / np.hypot(y, x) for y in range(-2, 3) for x in range(-2, 3) if y or x]
    assert metrics.drd(corner, truth) == pytest.approx(sum(inside) / sum(everywhere))


@pytest.mark.parametrize("shape", [(40, 41), (64, 64), (23, 90)])
def test_doxapy_agrees(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(shape[0])
    truth = strokes(shape, shape[1])
    prediction = truth ^ (rng.random(shape) < 0.1)
    peer = doxapy.calculate_performance(*(np.where(m, 0, 255).astype(np.uint8) for m in (truth, prediction)))
    ours = score(prediction, truth)
    for name, other in (("fm", "fm"), ("accuracy", "accuracy"), ("psnr", "psnr"), ("nrm", "nrm"), ("mcc", "mcc")):
        assert ours[name] == pytest.approx(peer[other])
    # doxapy 0.9.2 looks at 7×7 pixels of each block (it gives 2.209 where the DIBCO tool gives 1.952): the sums agree
    rows, columns = shape[0] // 8, shape[1] // 8
    ink = truth[: rows * 8, : columns * 8].reshape(rows, 8, columns, 8)
    mixed = (ink.any((1, 3)) & ~ink.all((1, 3))).sum()
    ink = ink[:, :7, :, :7]
    its_mixed = (ink.any((1, 3)) & ~ink.all((1, 3))).sum()
    assert ours["drd"] * mixed == pytest.approx(peer["drdm"] * its_mixed, rel=1e-5)  # its weights have six decimals


def test_mpm_uses_the_euclidean_distance_to_the_contour() -> None:
    truth = strokes((60, 83), 3)
    prediction = truth ^ (np.random.default_rng(4).random(truth.shape) < 0.05)
    edge = truth & ~ndimage.binary_erosion(truth)  # outside the page counts as paper
    distance = ndimage.distance_transform_edt(~edge)
    assert (metric_weights.contour(truth) == edge).all()
    expected = distance[prediction ^ truth].sum() / distance.sum() / 2
    assert metrics.mpm(prediction, truth) == pytest.approx(expected)


@pytest.mark.parametrize("truth", [np.zeros((9, 9), bool), np.ones((9, 9), bool), strokes((30, 40), 1)])
def test_equal_masks_are_perfect(truth: np.ndarray) -> None:
    assert score(truth, truth.copy()) == PERFECT


def test_blank_prediction() -> None:
    truth = strokes((32, 40), 5)
    result = score(np.zeros_like(truth), truth)
    assert all(result[name] == 0 for name in ("fm", "precision", "recall", "pfm", "pfm_weighted", "mcc"))
    assert result["nrm"] == 0.5
    assert result["psnr"] == pytest.approx(10 * np.log10(truth.size / truth.sum()))
    assert np.isfinite(result["drd"]) and result["mpm"] > 0


def test_blank_truth() -> None:
    prediction = strokes((32, 40), 6)
    result = score(prediction, np.zeros_like(prediction))
    assert all(result[name] == 0 for name in ("fm", "precision", "recall", "pfm", "pfm_weighted", "mcc"))
    assert result["mpm"] is None
    assert np.isfinite(result["drd"]) and result["drd"] > 0  # counts one block
    assert result["accuracy"] == pytest.approx(100 - 100 * prediction.mean())


def test_all_ink_truth_has_results() -> None:
    prediction = strokes((32, 40), 7)
    result = score(prediction, np.ones_like(prediction))
    assert result["precision"] == 100 and 0 < result["fm"] < 100 and 0 < result["pfm_weighted"] < 100


def test_one_pixel_page() -> None:
    assert score(np.array([[True]]), np.array([[True]])) == PERFECT
    assert score(np.array([[False]]), np.array([[True]]))["fm"] == 0


@pytest.mark.parametrize(
    ("prediction", "truth"),
    [
        (np.zeros((3, 3), bool), np.zeros((3, 4), bool)),
        (np.zeros((3, 3), np.uint8), np.zeros((3, 3), bool)),
        (np.zeros((0, 3), bool), np.zeros((0, 3), bool)),
    ],
)
def test_bad_masks(prediction: np.ndarray, truth: np.ndarray) -> None:
    with pytest.raises(UsageError):
        score(prediction, truth)


def test_unknown_metric_and_unfitting_weights() -> None:
    truth = strokes((16, 16), 8)
    with pytest.raises(UnknownName, match="psnr"):
        score(truth, truth, metrics=["psrn"])
    with pytest.raises(UsageError, match="weights"):
        metrics.pfm_weighted(~truth, truth, (np.ones((2, 2)), np.ones((2, 2))))


@pytest.mark.parametrize("shape", [(40, 900), (1, 700), (700, 1), (1, 1)])
def test_chessboard_distance(shape: tuple[int, int], level: str) -> None:
    seeds = np.random.default_rng(2).random(shape) < 0.0001
    seeds[0, 0] = True
    expected = np.minimum(ndimage.distance_transform_cdt(~seeds, "chessboard"), 255)
    for kernels in (native(), loops):
        found = np.empty(shape, np.uint8)
        kernels.chessboard(seeds, found)
        np.testing.assert_array_equal(found, expected)
        kernels.chessboard(np.zeros(shape, bool), found)
        assert (found == 255).all()


def test_reference_scores(pair: tuple[np.ndarray, np.ndarray], reference: Path) -> None:
    prediction, truth = pair
    read = [metric_weights.read(reference / f"GroundTruth_{kind}Weights.dat", truth.shape) for kind in "RP"]
    expected = {"fm": 93.204, "recall": 91.381, "precision": 95.102, "accuracy": 97.671, "psnr": 16.329, "nrm": 0.048,
                "mcc": 0.918, "drd": 1.952, "pfm_weighted": 93.393}  # fmt: skip
    for weights in ((read[0], read[1]), None):
        result = score(prediction, truth, weights=weights)
        assert {name: result[name] for name in expected} == pytest.approx(expected, abs=0.001)
        assert metrics.pseudo_rates(prediction, truth, weights) == pytest.approx((93.998, 92.795), abs=0.001)


@pytest.mark.parametrize("shape", [(48, 52), (1, 1), (1, 40), (40, 2)])
def test_plain_python_gives_the_same(shape: tuple[int, int], level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = strokes(shape, 9)
    prediction = truth ^ (np.random.default_rng(1).random(shape) < 0.05)
    compiled = score(prediction, truth), score(prediction.T, truth.T), *metric_weights.generate(truth)
    monkeypatch.setenv("SAUVOLANET_NO_NATIVE", "1")
    assert compiled[:2] == (score(prediction, truth), score(prediction.T, truth.T))
    np.testing.assert_array_equal(compiled[2:], metric_weights.generate(truth))
