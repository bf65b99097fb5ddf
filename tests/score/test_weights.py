"""Weights of the pseudo-F-measure: against the DIBCO tool's files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sauvolanet.errors import BadData
from sauvolanet.score import weights as metric_weights

from .conftest import strokes


def test_generated_weights_are_those_of_the_dibco_tool(pair: tuple[np.ndarray, np.ndarray], reference: Path) -> None:
    truth = pair[1]
    for kind, ours in zip("RP", metric_weights.generate(truth), strict=True):
        official = metric_weights.read(reference / f"GroundTruth_{kind}Weights.dat", truth.shape)
        assert np.abs(ours - official).max() < 1e-6  # the files hold six decimals


@pytest.mark.parametrize("seed", range(4))
def test_weights_live_where_they_should(seed: int) -> None:
    truth = strokes((90, 70), seed, 1.5)
    recall, precision = metric_weights.generate(truth)
    assert not recall[~truth].any() and not precision[truth].any()
    assert np.isfinite(recall).all() and np.isfinite(precision).all()
    assert recall.min() >= 0 and precision.min() >= 0 and precision.max() <= 2


@pytest.mark.parametrize(("text", "message"), [("0.5 0.5", "holds 2 weights"), ("a b c d", "numbers only")])
def test_bad_weight_file(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a_RWeights.dat"
    path.write_text(text)
    with pytest.raises(BadData, match=message):
        metric_weights.read(path, (2, 2))
    with pytest.raises(BadData, match="cannot be read"):
        metric_weights.read(tmp_path / "none.dat", (2, 2))


def test_weight_file_with_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "a_RWeights.dat"
    path.write_text("0,500000  1,000000  0,000000  0,250000  ")
    assert metric_weights.read(path, (2, 2)).tolist() == [[0.5, 1.0], [0.0, 0.25]]
