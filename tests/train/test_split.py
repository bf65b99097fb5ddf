"""Which pages a run trains on, chooses by, and is scored on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sauvolanet.errors import BadData, UnknownName, UsageError
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


def test_the_sets_may_stand_beside_other_data(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    (tmp_path / "documents").symlink_to(pairs)
    assert [p.id for p in split(tiny, tmp_path)[0]] == [p.id for p in split(tiny, pairs)[0]]


@pytest.fixture
def kinds(pairs: Path, tmp_path: Path) -> Path:
    """Data with pages 8 to 13 of Nabuco beside the sets."""
    folder = tmp_path / "all" / "kinds" / "Nabuco"
    folder.mkdir(parents=True)
    (tmp_path / "all" / "documents").symlink_to(pairs)
    for i in range(6):
        for suffix in (".png", ".gt.png"):
            (folder / f"{i + 8:03d}{suffix}").write_bytes((pairs / "mine" / f"p{i}{suffix}").read_bytes())
    return tmp_path / "all"


def test_pages_of_the_panel_are_never_trained_on(tiny: Settings, kinds: Path) -> None:
    training, _ = split(replace(tiny, kinds=("Nabuco",), set_weights={"Nabuco": 0.5}), kinds)
    assert [p.id for p in training if p.set == "Nabuco"] == ["008", "009"]
    assert {p.set for p in training} == {"mine", "Nabuco"}
    with pytest.raises(UsageError, match="Office is kept for judging"):
        replace(tiny, kinds=("Office",))
    with pytest.raises(UnknownName, match="did you mean Nabuco"):
        replace(tiny, kinds=("nabuko",))
    with pytest.raises(BadData, match="no folder 'kinds/Bleedthrough'"):
        split(replace(tiny, kinds=("Bleedthrough",)), kinds)


def test_a_set_that_a_setting_adds_too_is_named(tiny: Settings, kinds: Path, copied: Path) -> None:
    (copied / "other").rename(copied / "Nabuco")
    (kinds / "documents").unlink()
    (kinds / "documents").symlink_to(copied)
    with pytest.raises(UsageError, match="has a set Nabuco"):
        split(replace(tiny, train=(), validate=(), kinds=("Nabuco",)), kinds)
