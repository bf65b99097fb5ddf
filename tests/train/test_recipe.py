"""Recipes: what makes no sense is named, and one walked in parts ends where one walked at once does."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sauvolanet.cli import main
from sauvolanet.errors import BadData, UnknownName, UsageError
from sauvolanet.net import load
from sauvolanet.train.recipe import read
from sauvolanet.train.walk import walk

from .conftest import assert_same_weights

NETWORK = """
architecture.widths = [[8], [8]]
architecture.dilations = [[1], [1]]
architecture.windows = [7, 15, 31]
k = [0.1, 0.2, 0.2]
"""
RECIPE = f"""
name = "small"
title = "A small network for tests"
hours = 0.1

[[stage]]
name = "first"
start = "nothing"
preset = "swift"
steps = 6
seed = 1
data = {{ sets = ["mine"], validate = ["other"], hold_out = false, shares = {{ mine = 2 }} }}
[stage.settings]
patch = 64
batch = 2
checkpoint_every = 2
validate_every = 6
{NETWORK}

[[stage]]
name = "second"
start = "first"
preset = "swift"
steps = 6
seed = 2
data = {{ sets = ["mine"], hold_out = false, shares = {{}} }}
settings = {{ patch = 64, batch = 2, checkpoint_every = 2, validate_every = 6, rate = 1e-3, teacher = "first" }}

[mean]
of = ["first", "second"]

[export]
name = "small"
licence = "MIT"
copyright = "Copyright (c) a lab"
"""
MORE = """
name = "more"
title = "The small network, trained further"
hours = 0.1
after = "small.toml"

[[stage]]
name = "third"
start = "second"
preset = "swift"
steps = 4
seed = 3
data = { sets = ["mine"], hold_out = false, shares = {} }
settings = { patch = 64, batch = 2, checkpoint_every = 2, validate_every = 4, rate = 1e-3 }

[export]
name = "more"
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(RECIPE)
    return path


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [("hours = 0.1", "hours = 0.1\nhour = 1", "key of the recipe: 'hour'; did you mean hours"),
     ("hours = 0.1", "", "the recipe lacks hours"), ("hours = 0.1", "hours = 'one'", "hours must be a number"),
     ("hours = 0.1", "hours = -1", "hours must be above 0"), ("hours = 0.1", "hours = ", "not a recipe"),
     ('start = "first"', 'start = "third"', "start must be 'nothing' or an earlier stage"),
     ('start = "nothing"', 'start = "first"', "start must be 'nothing' or an earlier stage"),
     ('name = "second"', 'name = "first"', "stage first: the name is taken"),
     ('name = "second"', 'name = "a/b"', "a name is of letters"), ('preset = "swift"', 'preset = "swfit"', "did you mean swift"),
     ("steps = 6", "steps = 0", "stage first: setting steps"), ("steps = 6", "steps = 1.5", "steps must be a whole number"),
     ("patch = 64\n", "patch = 64\npath = 1\n", "did you mean patch"), ("patch = 64\n", "patch = 65\n", "stage first: setting patch"),
     ("patch = 64\n", "patch = 64\nseed = 3\n", "setting seed is said in stage first"),
     ("patch = 64\n", "patch = 64\nfrozen = true\n", "needs an earlier stage to start from"),
     ("patch = 64\n", "patch = 64\ntrain = ['mine']\n", "setting train is said in stage first, data"),
     ("rate = 1e-3", "architecture.fold = 1", "stage second starts from first and has its network"),
     ("rate = 1e-3", "reading = 'null'", "stage second starts from first and has its network"),
     ('teacher = "first"', 'teacher = "swift"', "teacher must be an earlier stage"),
     ("mine = 2", "DIBCO2011 = 2", "a share for DIBCO2011, a set of the catalogue that the stage does not train on"),
     ("mine = 2", "Composed = 2", "a share for Composed"), ('sets = ["mine"]', 'sets = ["mine"], kinds = ["Office"]', "Office is kept"),
     ('sets = ["mine"]', 'sets = ["mine"], set = 1', "key of stage first, data: 'set'"), ('sets = ["mine"]', "sets = []", "must name sets"),
     ('of = ["first", "second"]', 'of = ["first", "third"]', "stage in mean: 'third'"),
     ('of = ["first", "second"]', 'of = ["second"]', "two or more stages"),
     ('start = "first"', 'start = "nothing"', "the stages have different networks"),
     ('[mean]\nof = ["first", "second"]', "[expect]\nfm = 'good'", "expect: fm must be a number"),
     ('licence = "MIT"', "licence = 1", "licence must be text")],
)  # fmt: skip
def test_a_recipe_that_makes_no_sense_is_named(old: str, new: str, told: str, small: Path) -> None:
    assert old in RECIPE
    small.write_text(RECIPE.replace(old, new, 1))
    with pytest.raises(BadData, match=told.replace("(", r"\(")) as problem:
        read(str(small))
    assert str(small) in str(problem.value) and "\n" not in str(problem.value)


def test_a_stage_that_the_model_does_not_need(small: Path) -> None:
    lone = RECIPE.replace('start = "first"', 'start = "nothing"').replace(', teacher = "first"', "")
    small.write_text(lone.replace('[mean]\nof = ["first", "second"]', ""))
    with pytest.raises(BadData, match="stage first is of no use"):
        read(str(small))


def test_at_most_four_stages(small: Path) -> None:
    more = "".join(RECIPE[RECIPE.index("[[stage]]\nname = \"second\"") : RECIPE.index("[mean]")].replace(
        "second", f"stage{n}") for n in range(3))  # fmt: skip
    small.write_text(RECIPE.replace("[mean]", more + "[mean]"))
    with pytest.raises(BadData, match="1 to 4 stages, this one has 5"):
        read(str(small))


def test_a_recipe_after_another(small: Path) -> None:
    more = small.with_name("more.toml")
    more.write_text(MORE)
    first, recipe = read(str(small)), read(str(more))
    assert recipe.stages[:-1] == first.stages and recipe.after == first
    assert [(stage.name, stage.recipe) for stage in recipe.stages] == [
        ("first", "small"), ("second", "small"), ("third", "more")]  # fmt: skip
    more.write_text(MORE.replace('"small.toml"', '"small.toml"\nuntil = "first"').replace('"second"', '"first"'))
    assert [stage.name for stage in read(str(more)).stages] == ["first", "third"]
    more.write_text(MORE.replace('"small.toml"', '"small.toml"\nuntil = "frist"'))
    with pytest.raises(BadData, match="stage in until: 'frist'; did you mean first"):
        read(str(more))
    more.write_text(MORE.replace("small.toml", "more.toml"))
    with pytest.raises(BadData, match="comes after itself"):
        read(str(more))
    more.write_text(MORE.replace("small.toml", "none.toml"))
    with pytest.raises(BadData, match=r"none\.toml"):
        read(str(more))


def test_the_digest_is_of_what_decides_about_the_weights(small: Path) -> None:
    first = read(str(small))
    digests = {first.digest}
    for old, new in (
        ("seed = 2", "seed = 3"),
        ("rate = 1e-3", "rate = 2e-3"),
        ("mine = 2", "mine = 3"),
        (', teacher = "first"', ""),
    ):
        small.write_text(RECIPE.replace(old, new))
        digests.add(read(str(small)).digest)
    assert len(digests) == 5
    small.write_text(
        RECIPE.replace("hours = 0.1", "hours = 3 # measured").replace("[export]", "[expect]\nfm = 92.1\n[export]")
    )
    assert read(str(small)).digest == first.digest and read(str(small)).expect == {"fm": 92.1}


def test_recipes_are_known_by_name_or_path(tmp_path: Path) -> None:
    assert read("swift-heldout").stages[0].settings.kinds == ("Bleedthrough", "Nabuco")
    with pytest.raises(UnknownName, match="did you mean swift"):
        read("swiftt")
    with pytest.raises(BadData, match="No such file"):
        read(str(tmp_path / "none.toml"))


def test_the_documented_recipe_makes_sense(small: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"^```toml\n(.*?)^```", text, re.M | re.S)
    small.write_text(shown)
    recipe = read(str(small))
    assert recipe.mean == ("first", "second") and recipe.stages[1].settings.rate == 1e-3


@pytest.mark.parametrize("option", [["--preset", "swift"], ["--set", "rate=1"], ["--train", "mine"], ["--steps", "1"],
                                    ["--seed", "1"], ["--init", "swift"], ["--minutes", "1"], ["--validate"]])  # fmt: skip
def test_a_recipe_leaves_nothing_to_change(
    option: list[str], small: Path, pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    command = ["train", "--recipe", str(small), "--data", str(pairs), "--out", str(run)]
    assert main([*command, *option]) == 2
    assert f"{option[0]} would change the recipe" in capsys.readouterr().err
    assert not run.exists()


def model_of(run: Path) -> dict[str, np.ndarray]:
    model = load(str(run / "small.json"))
    return {**model.weights, **{n: np.asarray(model.about[n]) for n in ("k", "r", "alpha")}}


@pytest.mark.slow
def test_killed_at_any_moment_a_recipe_ends_with_the_same_weights(small: Path, pairs: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sauvolanet", "train", "--recipe", str(small), "--data", str(pairs), "--out"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    done = subprocess.run([*command, str(whole)], check=True, capture_output=True, text=True)
    assert "stage 1 of 2, first: step 0 of 6" in done.stderr and "stage 2 of 2, second" in done.stderr
    assert done.stdout == f"{whole / 'small.json'}\n"
    for stage in ("first", "second"):  # killed in either
        process = subprocess.Popen([*command, str(killed)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while process.poll() is None and not (killed / stage / "checkpoint.pt").exists():
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not (killed / "small.json").exists()
    again = subprocess.run([*command, str(killed)], check=True, capture_output=True, text=True)
    assert "stage 1 of 2, first: all 6 steps were made before" in again.stderr
    for stage in ("first", "second"):
        assert_same_weights(whole / stage, killed / stage)
    one, other = model_of(whole), model_of(killed)
    assert one.keys() == other.keys() and all(np.array_equal(one[n], other[n]) for n in one)
    assert (whole / "small.npz").read_bytes() == (killed / "small.npz").read_bytes()

    about = load(str(whole / "small.json")).about
    assert (about["recipe"], about["recipe_sha256"]) == ("small", read(str(small)).digest)
    assert (about["licence"], about["copyright"]) == ("MIT", "Copyright (c) a lab")
    stages = [load(str(whole / stage / "model.json")) for stage in ("first", "second")]
    first, second = (stage.digest for stage in stages)
    assert about["training"]["digests"] == {"start": first, "teacher": first, "mean_of": [second, first]}
    mean = np.stack([stage.weights["head.weight"] for stage in stages]).mean(0)
    np.testing.assert_allclose(one["head.weight"], mean, atol=1e-6)

    # what is done stays done; another recipe or other data are not mixed with it
    before = (whole / "second" / "checkpoint.pt").stat().st_mtime_ns
    assert walk(read(str(small)), pairs, whole, output=tmp_path / "copy") == tmp_path / "copy.json"
    assert (whole / "second" / "checkpoint.pt").stat().st_mtime_ns == before
    assert load(str(tmp_path / "copy")).digest == load(str(whole / "small")).digest
    # a recipe that comes after this one goes on in its folder, or makes its stages itself
    more = tmp_path / "more.toml"
    more.write_text(MORE)
    alone = tmp_path / "alone"
    walk(read(str(more)), pairs, alone)
    shutil.copytree(whole, tmp_path / "further")
    walk(read(str(more)), pairs, tmp_path / "further")
    assert (alone / "more.npz").read_bytes() == (tmp_path / "further" / "more.npz").read_bytes()
    assert (alone / "second" / "model.npz").read_bytes() == (whole / "second" / "model.npz").read_bytes()
    assert load(str(tmp_path / "further" / "more")).about["training"]["digests"]["start"] == second
    with pytest.raises(UsageError, match="but of recipe more"):
        walk(read(str(small)), pairs, alone)

    other_pages = tmp_path / "other-pages"
    other_pages.mkdir()
    for name in ("mine", "other"):
        (other_pages / name).mkdir()
        for file in (pairs / name).iterdir():
            source = pairs / name / file.name.replace("p3", "p4")
            (other_pages / name / file.name).write_bytes(source.read_bytes())
    with pytest.raises(BadData, match="not those that the run"):
        walk(read(str(small)), other_pages, whole)
    small.write_text(RECIPE.replace("rate = 1e-3", "rate = 2e-3"))
    with pytest.raises(UsageError, match="an earlier form of it"):
        walk(read(str(small)), pairs, whole)
    assert json.loads((whole / "recipe.json").read_text())["recipe"] == "small"
