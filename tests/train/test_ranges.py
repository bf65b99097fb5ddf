"""A run's model in 8 bits: how much of a page's ink that changes is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sauvolanet.api import Binarizer
from sauvolanet.cli import main
from sauvolanet.net import Model, load
from sauvolanet.net.quantise import quantised
from sauvolanet.synth import page
from sauvolanet.train.loop import Run
from sauvolanet.train.ranges import MOST, told_of_rounding
from sauvolanet.train.settings import Settings

GRAY, _ = page(3, kind="letter", height=150, width=190)


def test_much_is_told_with_what_to_do() -> None:
    rounded = load("swift")
    single = Model({**rounded.about, "bits": 32}, rounded.weights)
    spoilt = quantised(single, [np.full((64, 64), 200, np.uint8)])  # flat paper shows nearly no range
    for model in (rounded, spoilt):
        share = (Binarizer(model=single)(GRAY) != Binarizer(model=model)(GRAY)).mean()
        told = told_of_rounding(single, model, GRAY)
        assert f"changes {share:.2%} of" in told and ("--single" in told) == (share > MOST)
    assert share > MOST  # of the spoilt one
    assert told_of_rounding(single, single, GRAY) == "not rounded"


def test_an_export_tells(
    tiny: Settings, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Run(replace(tiny, steps=1), pairs, "run").train()
    for single, told in ([], "rounding changes"), (["--single"], "not rounded"):
        assert main(["export", "run", "-o", "model", *single]) == 0
        assert told in capsys.readouterr().out
