"""Which pages a run trains on, chooses by, and is scored on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sauvolanet.errors import UnknownName, UsageError
from sauvolanet.train.loop import Run
from sauvolanet.train.settings import Settings
from sauvolanet.train.split import split


def test_a_weight_is_of_a_set_that_there_is(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="set_weights: 'mime'; did you mean mine"):
        Run(replace(tiny, set_weights={"mime": 2.0, "PHIBD": 0.3}), pairs, tmp_path).train()


@pytest.mark.parametrize("other", ["train", "validate"])
def test_test_pages_are_used_for_nothing_else(other: str, tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    name = getattr(tiny, other)
    with pytest.raises(UsageError, match="test pages are in training or validation too"):
        Run(replace(tiny, test=name), pairs, tmp_path).train()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["dibco2016", "H-DIBCO2016", "2016", "Test"])
def test_a_left_out_set_may_go_by_any_of_its_names(name: str, tiny: Settings, copied: Path) -> None:
    (copied / "other").rename(copied / "DIBCO2016")
    everything = replace(tiny, train=(), validate=())
    assert {p.set for p in split(everything, copied)[0]} == {"mine", "DIBCO2016"}
    assert {p.set for p in split(replace(everything, leave_out=(name,)), copied)[0]} == {"mine"}


@pytest.mark.parametrize("name", ["mien", "DIBCO2011"])
def test_what_is_not_there_cannot_be_left_out(name: str, tiny: Settings, pairs: Path) -> None:
    with pytest.raises(UnknownName, match=name):
        split(replace(tiny, leave_out=(name,)), pairs)


def test_training_and_validation_may_not_share_pages(tiny: Settings, pairs: Path) -> None:
    with pytest.raises(UsageError, match="both in training and in validation"):
        split(replace(tiny, validate=("mine",)), pairs)
