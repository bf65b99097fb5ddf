"""The models in the package: each has a card, a licence and what it was trained on; the second network stays small."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import sauvolanet
from sauvolanet.net import load, shipped
from sauvolanet.pipeline import DEFAULT_MODEL
from sauvolanet.train import recipe
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
    assert model.reading == PRESETS["swift"].reading
    assert model.about["scaling"] == PRESETS["swift"].scaling
    assert model.margins == PRESETS["swift"].margins
    assert model.about["parameters"] <= 250_000
    assert model.about["macs_per_pixel"] <= 4_500


def test_the_default_is_trained_on_all_sets_and_the_other_on_none_of_the_test_sets() -> None:
    assert load(DEFAULT_MODEL).about["training"]["partition"] == "all"
    assert not {"DIBCO2011", "DIBCO2014", "DIBCO2016"} & set(load("swift-heldout").about["training"]["train"])


@pytest.mark.parametrize("name", [n for n in shipped() if n != "original"])
def test_a_trained_model_names_its_recipe_or_says_that_no_command_makes_it(name: str) -> None:
    about = load(name).about
    if about["recipe"] is None:
        assert about["recipe_sha256"] is None
        assert "no command makes it" in (MODELS / f"{name}.md").read_text(encoding="utf-8")
    else:
        assert about["recipe"] in recipe.shipped()
        assert recipe.read(about["recipe"]).digest == about["recipe_sha256"]


def test_the_recipes_are_those_of_shipped_models() -> None:
    recipes = {name: recipe.read(name) for name in recipe.shipped()}
    assert recipes.keys() <= set(shipped())
    for name, one in recipes.items():
        assert one.name == one.export["name"] == name
        assert one.stages[0].start == recipe.NOTHING
    swift, heldout = recipes["swift"], recipes["swift-heldout"]
    (*before, last), (*common, thin) = swift.stages, heldout.stages
    assert before == common  # so that what judges the one judges the other
    assert (last.settings.train, last.settings.hold_out) == (("all",), False)
    of_data = {
        name: getattr(thin.settings, name) for name in ("train", "hold_out", "set_weights", "steps", "validate_every")
    }
    assert replace(last.settings, **of_data) == thin.settings
