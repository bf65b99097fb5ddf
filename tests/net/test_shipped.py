"""The models in the package: each has a card, a licence and what it was trained on; the second network stays small."""

from __future__ import annotations

from pathlib import Path

import pytest

import sauvolanet
from sauvolanet.binarize import DEFAULT_MODEL
from sauvolanet.net import load, shipped
from sauvolanet.train.settings import PRESETS

MODELS = Path(sauvolanet.__file__).parent / "models"


@pytest.mark.parametrize("name", shipped())
def test_a_model_says_what_it_is(name: str) -> None:
    model = load(name)
    assert model.name == name
    assert model.about["licence"] == "MIT" and model.about["copyright"]
    assert f"{model.about['parameters']:,} numbers" in (MODELS / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [n for n in shipped() if n.startswith("swift")])
def test_the_second_network_is_the_one_the_preset_trains(name: str) -> None:
    model = load(name)
    assert model.architecture == PRESETS["swift"].architecture
    assert model.about["scaling"] == PRESETS["swift"].scaling
    assert model.about["parameters"] <= 100_000
    assert model.about["macs_per_pixel"] < load("original").about["macs_per_pixel"] / 6


def test_the_default_is_trained_on_all_sets_and_the_other_on_none_of_the_test_sets() -> None:
    assert load(DEFAULT_MODEL).about["training"]["partition"] == "all"
    assert not {"DIBCO2011", "DIBCO2014", "DIBCO2016"} & set(load("swift-heldout").about["training"]["train"])
