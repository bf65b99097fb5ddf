"""The networks of Table 3: trained where asked, found again, never trained by 'all'; a stopped training goes on."""

import json
import shutil
import time
from dataclasses import replace

import pytest

from sauvolanet import net, paper
from sauvolanet.errors import UnknownName, UsageError
from sauvolanet.paper import Work, make, table3
from sauvolanet.paper import networks as module
from sauvolanet.paper.claims import claims, rising
from sauvolanet.paper.networks import COUNTS, Recipe, networks, recipe
from sauvolanet.train import settings

TEST = ("DIBCO2011", "DIBCO2014", "DIBCO2016")


@pytest.fixture
def trained(monkeypatch) -> list[str]:
    """Names of the networks that were trained; their scores grow with the number of windows."""
    names: list[str] = []

    def train(work, name, how, settings, test):
        names.append(name)
        value = 80.0 + len(settings.architecture.windows)
        sets = TEST if test == ["test"] else test
        return [{"dataset": s, "page": "p", "status": "done", "fm": value, "pfm": 1.0, "psnr": 1.0, "drd": 1.0} for s in sets]  # fmt: skip

    monkeypatch.setattr(module, "train_network", train)
    return names


def of_networks(section):
    return [row for row in section.rows if row[1].startswith("network")]


def test_rows_of_the_stated_partition_say_so(small, tmp_path, trained):
    rows = of_networks(table3(Work(small, tmp_path, networks="stated", preset="better", steps=50)))
    assert len(trained) == len(rows) == len(COUNTS)
    assert {row[1] for row in rows} == {"network, stated partition, 50 steps of better; the three test sets"}
    assert [row[2].ours for row in rows] == [80.0 + count for count in COUNTS]
    assert {row[-1] for row in rows} == {""}  # not a mean over 13 sets
    section = table3(Work(small, tmp_path))
    assert of_networks(section) == rows  # found without being asked for
    assert "the stated partition (DIBCO2009, DIBCO2010, DIBCO2012, Bickley, Synchromedia)" in section.notes[1]
    assert "50 steps of preset better (a step: 8 patches of 256×256 pixels), equal for every row" in section.notes[1]
    assert "and scored on the three test sets" in section.notes[1]
    (claim,) = (row for row in claims(Work(small, tmp_path)).rows if row[0].startswith("The more windows"))
    assert claim[1] == "holds" and "stated partition, 50 steps of better; the three test sets" in claim[2]
    assert len(trained) == len(COUNTS)


def test_whether_a_curve_rises() -> None:
    assert rising([1.0, 2.0, 3.0]) == "holds" and rising([3.0, 2.0, 1.0]) == "does not hold"
    assert rising([1.0, 2.0, 2.0, 4.0]) == "holds from one row to the next in 2 of 3 cases"


def test_without_a_wish_the_longest_is_shown_and_left_out_comes_first(small, tmp_path, trained):
    assert recipe(Work(small, tmp_path)) is None
    shown = [
        Recipe("stated", "paper", 20), Recipe("stated", "authors", 100), Recipe("stated", "better", 30),
        Recipe("leave-one-out", "paper", 10),
    ]  # fmt: skip
    for how, expected in zip(shown, (0, 1, 1, 3), strict=True):
        assert networks(Work(small, tmp_path, networks=how.kind), how, 2)
        assert recipe(Work(small, tmp_path)) == shown[expected]
    asked = Work(small, tmp_path, networks="stated", preset="better", steps=30)
    assert recipe(asked) == shown[2]
    assert len(trained) == 3 + 5  # the last is a network for each set


def test_a_preset_that_cannot_be_used_is_told_at_once(small, tmp_path):
    for preset, says in (("papre", "unknown preset"), ("swift", "preset swift has others")):
        with pytest.raises(UsageError, match=says):
            table3(Work(small, tmp_path, networks="stated", preset=preset))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_only_table3_trains(small, tmp_path, trained, monkeypatch):
    monkeypatch.setattr(paper, "MAKERS", {"table3": table3, "claims": claims})
    wish = {"networks": "stated", "preset": "better", "steps": 50}
    section, _ = make("all", Work(small, tmp_path, **wish))
    make("claims", Work(small, tmp_path, **wish))
    assert not trained and {row[2].ours for row in of_networks(section)} == {None}
    make("table3", Work(small, tmp_path, **wish))
    count = len(trained)
    section, _ = make("all", Work(small, tmp_path, **wish))
    assert None not in {row[2].ours for row in of_networks(section)} and len(trained) == count


def test_a_cell_is_that_of_its_settings(small, tmp_path, trained, monkeypatch):
    work = Work(small, tmp_path, networks="stated", steps=50)
    how = recipe(work)
    networks(work, how, 2)
    other = replace(settings.PRESETS["paper"], rate=2e-3)  # the name of the preset is the same
    monkeypatch.setitem(settings.PRESETS, "paper", other)
    assert networks(Work(small, tmp_path), how, 2) is None
    assert recipe(Work(small, tmp_path)) is None
    with pytest.raises(UnknownName, match="preset"):
        networks(work, Recipe("stated", "papre", 50), 2)


@pytest.fixture
def tiny(small, tmp_path, monkeypatch):
    """Two sets, and a preset whose steps take a moment."""
    pytest.importorskip("torch")
    few = replace(settings.PRESETS["paper"], batch=2, patch=32, checkpoint_every=1)
    monkeypatch.setitem(settings.PRESETS, "paper", few)
    for name in ("DIBCO2009", "DIBCO2011"):
        shutil.copytree(small / name, tmp_path / "two" / name)
    return tmp_path / "two"


@pytest.mark.slow
def test_networks_are_trained_and_scored(tiny, tmp_path):
    how = Recipe("leave-one-out", "paper", 2)
    found = networks(Work(tiny, tmp_path, networks="leave-one-out"), how, 2)
    assert set(found) == {"DIBCO2009", "DIBCO2011"} and all(len(rows) == 2 for rows in found.values())
    run = next((tmp_path / "runs").iterdir())
    about = json.loads((run / "model.json").read_text())
    assert about["windows"] == [7, 15] and about["training"]["steps"] == 2
    idle = Work(tiny, tmp_path)  # networks="none" trains nothing, and shows what is there
    assert networks(idle, how, 2) == found
    assert networks(idle, how, 3) is None


@pytest.mark.slow
def test_a_stopped_training_goes_on_to_the_same_numbers(tiny, tmp_path, monkeypatch):
    from sauvolanet.train.loop import Run, read_checkpoint

    monkeypatch.setattr(module, "PIECE", 3)
    how = Recipe("leave-one-out", "paper", 7)
    whole = Work(tiny, tmp_path / "whole", networks="leave-one-out")
    expected = networks(whole, how, 2)
    stopped = Work(tiny, tmp_path / "stopped", networks="leave-one-out", deadline=time.monotonic() + 1000)
    train = Run.train

    def train_and_be_late(self, **limits):
        train(self, **limits)
        stopped.deadline = time.monotonic() - 1

    monkeypatch.setattr(Run, "train", train_and_be_late)
    assert networks(stopped, how, 2) is None
    (folder,) = (tmp_path / "stopped" / "runs").iterdir()
    assert read_checkpoint(folder)["step"] == 3 and not (folder / "model.json").exists()
    monkeypatch.setattr(Run, "train", train)
    assert networks(Work(tiny, tmp_path / "stopped", networks="leave-one-out"), how, 2) == expected
    for run in (whole.out / "runs").iterdir():
        one, two = (net.load(str(out / "runs" / run.name / "model")) for out in (whole.out, stopped.out))
        assert one.digest == two.digest
