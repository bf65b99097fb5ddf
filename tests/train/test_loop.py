"""A run survives: killed, given bad data; and it does what its options say."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from sauvolanet.cli import main
from sauvolanet.cli.train import without_folders
from sauvolanet.errors import BadData, OutputError, RunFailed, UsageError
from sauvolanet.net import load
from sauvolanet.net.architecture import PAPER
from sauvolanet.page.numbers import PageNumbers
from sauvolanet.score.datasets import find
from sauvolanet.score.evaluation import evaluate
from sauvolanet.synth import page
from sauvolanet.train import loop, record
from sauvolanet.train.build import like_model
from sauvolanet.train.loop import Run
from sauvolanet.train.schedule import fitted_steps, measured, schedule
from sauvolanet.train.settings import PRESETS, Settings, settings_from_json

from .conftest import SMALL, TINY, assert_same_weights, weights_of


def test_a_stopped_run_goes_on_to_the_same_weights(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    Run(tiny, pairs, tmp_path / "whole").train()
    Run(tiny, pairs, tmp_path / "parts").train(stop_after=15)  # its checkpoint is of step 12
    again = Run(tiny, pairs, tmp_path / "parts")
    assert again.step == 12
    again.train()
    assert_same_weights(tmp_path / "whole", tmp_path / "parts")
    assert (tmp_path / "parts" / "log.csv").read_text().count("\n") == 3


@pytest.mark.slow
def test_a_taught_run_knows_its_teacher(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    settings = replace(tiny, teacher="swift-heldout", steps=6, validate_every=6, checkpoint_every=2)
    Run(settings, pairs, tmp_path / "whole").train()
    Run(settings, pairs, tmp_path / "parts").train(stop_after=3)
    Run(settings, pairs, tmp_path / "parts").train()
    assert_same_weights(tmp_path / "whole", tmp_path / "parts")
    told = loop.open_run(tmp_path / "whole").model("mine").about["training"]
    assert told["teacher"] == "swift-heldout" and told["partition"] == "unknown"
    longer = Run(replace(settings, steps=8), pairs, tmp_path / "parts")
    assert longer.teacher is not None
    longer.teacher["digest"] = "of other weights"
    with pytest.raises(UsageError, match="another swift-heldout taught"):
        longer.train()


@pytest.mark.slow
def test_killed_at_any_moment_it_resumes_to_the_same_weights(pairs: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sauvolanet", "train", "--data", str(pairs), "--preset", "swift", "--train", "mine",
               "--validate", "other", "--steps", "40", "--set", "hold_out=false", "--set", "patch=64", "--set", "batch=2",
               "--set", "checkpoint_every=4", "--set", "validate_every=20", "--set", "warmup=4"]  # fmt: skip
    subprocess.run([*command, "--out", str(tmp_path / "whole")], check=True, capture_output=True)
    for _ in range(2):  # twice: killed, and killed again after it went on
        process = subprocess.Popen([*command, "--out", str(tmp_path / "killed")], stderr=subprocess.DEVNULL)
        checkpoint = tmp_path / "killed" / "checkpoint.pt"
        before = checkpoint.stat().st_mtime if checkpoint.exists() else 0
        while process.poll() is None and not (checkpoint.exists() and checkpoint.stat().st_mtime > before):
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run([*command, "--out", str(tmp_path / "killed")], check=True, capture_output=True)
    assert_same_weights(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.slow
def test_from_synthetic_pages_to_a_model_that_binarizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, run, model = (str(tmp_path / n) for n in ("data", "run", "model"))
    assert (
        main(["synth", "-o", f"{data}/mine", "--pages", "10", "--kind", "bleed", "--height", "320", "--width", "320"])
        == 0
    )
    common = ["--data", data, "--preset", "swift", "--train", "mine", "--set", "hold_out=false", "--set", "patch=128",
              "--set", "synthetic=0.0", "--set", "batch=4", "--set", "warmup=10", "--set", "average=0.9"]  # fmt: skip
    scores = {}
    for steps in ("1", "200"):
        assert main(["train", *common, "--steps", steps, "--out", run + steps]) == 0
        assert main(["export", run + steps, "-o", model + steps]) == 0
        capsys.readouterr()
        assert main(["evaluate", "--data", data, "--datasets", "mine", "--model", model + steps, "--json"]) == 0
        scores[steps] = json.loads(capsys.readouterr().out)["datasets"]["mine"]["fm"]
    assert scores["200"] > 85
    assert scores["200"] > scores["1"] + 10


@pytest.mark.slow
def test_fine_tuning_begins_where_the_model_is(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    first = Run(tiny, pairs, tmp_path / "first")
    first.train()
    model = first.model("first")
    still = replace(like_model(tiny, model), rate=0.0, weight_decay=0.0, steps=1)
    second = Run(still, pairs, tmp_path / "second")
    second.start_from(model)
    second.train()
    gray, _ = page(300, kind="letter", height=160, width=192)
    numbers = PageNumbers.of(gray)
    apart = np.abs(second.model("second").surface(gray, numbers) - model.surface(gray, numbers))
    assert np.median(apart) < 1  # gray levels; the running statistics have moved by one small batch
    frozen = Run(replace(still, frozen=True), pairs, tmp_path / "frozen")
    with pytest.raises(UsageError, match="--init"):
        frozen.train()
    frozen.start_from(model)
    frozen.train()
    assert np.array_equal(frozen.model("frozen").surface(gray, numbers), model.surface(gray, numbers))
    with pytest.raises(UsageError, match="another architecture"):
        Run(PRESETS["paper"], pairs, tmp_path / "third").start_from(model)


@pytest.mark.parametrize(("changes", "alpha"), [([], 5.176), (["--set", "alpha=6.0"], 6.0)])
def test_alpha_is_the_models_unless_it_is_set(changes: list[str], alpha: float, pairs: Path, tmp_path: Path) -> None:
    command = [
        "train",
        "--data",
        str(pairs),
        "--preset",
        "paper",
        "--init",
        "original",
        "--train",
        "mine",
        "--steps",
        "1",
    ]
    assert main([*command, *SMALL, *changes, "--out", str(tmp_path)]) == 0
    told = json.loads((tmp_path / "manifest.json").read_text())["settings"]
    assert told["alpha"] == pytest.approx(alpha, abs=1e-3)
    model = loop.open_run(tmp_path).model("mine")
    assert model.about["alpha"] == pytest.approx(alpha, abs=1e-3)
    assert model.about["k"] == pytest.approx(load("original").about["k"], abs=0.01)  # one step away


def test_test_sets_are_scored_once_at_the_end(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    job = Run(replace(tiny, validate=(), test=("other",)), pairs, tmp_path / "run")
    job.train(stop_after=1)
    assert not (tmp_path / "run" / "test.json").exists()
    job.train()
    scores = json.loads((tmp_path / "run" / "test.json").read_text())
    assert set(scores) == {"fm", "other"} and 0 <= scores["fm"] <= 100
    assert job.a_page() is not None and Run(tiny, "", tmp_path / "other").a_page() is None
    (tmp_path / "empty").mkdir()
    job.data = tmp_path / "empty"
    assert job.a_page() is None  # the pages are gone, the folder is not


def test_a_run_of_another_length_says_so(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    first = Run(replace(tiny, steps=6), pairs, tmp_path / "run", "first command")
    first.train(stop_after=2)
    first.save()
    longer = Run(replace(tiny, steps=4), pairs, tmp_path / "run", "second command")
    longer.train()
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert longer.command == manifest["command"] == "first command; from step 2 on: second command"
    assert manifest["settings"]["steps"] == 4


def test_a_set_must_weigh_something(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="every set has the weight 0"):
        Run(replace(tiny, set_weights={"mine": 0.0}), pairs, tmp_path).train()


@pytest.mark.parametrize("minutes", [0, -1, float("nan"), float("inf")])
def test_a_run_of_no_minutes(minutes: float, tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"{minutes:g} minutes"):
        Run(tiny, pairs, tmp_path / "run").train(minutes=minutes)


def test_a_run_killed_in_its_last_validation_ends_it(
    tiny: Settings, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise SystemError

    ends_at_2 = replace(tiny, steps=2, test=("other",), validate=())
    for place, name in (
        (Run, "log_validation"),
        (record, "write_test"),
    ):  # before the last row of the log, and after it
        with monkeypatch.context() as patch, pytest.raises(SystemError):
            patch.setattr(place, name, killed)
            Run(ends_at_2, pairs, tmp_path).train()
    assert not (tmp_path / "test.json").exists()
    again = Run(ends_at_2, pairs, tmp_path)
    again.train()
    assert again.step == 2 and [row["step"] for row in again.history] == [2]
    before = (tmp_path / "test.json").read_bytes()
    monkeypatch.setattr(loop, "validate", killed)
    Run(ends_at_2, pairs, tmp_path).train()  # nothing is left to do
    assert (tmp_path / "test.json").read_bytes() == before


def test_a_run_does_not_go_on_with_another_first_model(pairs: Path, tmp_path: Path) -> None:
    s = replace(PRESETS["paper"], train=("mine",), validate=(), patch=32, batch=1, steps=1)
    scratch = Run(s, pairs, tmp_path / "scratch")
    scratch.train()
    with pytest.raises(UsageError, match="began with no model, not original"):
        Run(s, pairs, tmp_path / "scratch").start_from(load("original"))
    tuned = Run(s, pairs, tmp_path / "tuned")
    tuned.start_from(load("original"))
    tuned.train()
    again = Run(s, pairs, tmp_path / "tuned")
    again.start_from(load("original"))
    with pytest.raises(UsageError, match="began with original, not scratch"):
        again.start_from(scratch.model("scratch"))


def test_a_run_cannot_become_shorter_than_it_is(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    Run(replace(tiny, steps=3), pairs, tmp_path).train()
    with pytest.raises(UsageError, match="has made 3 steps; for 2 use another"):
        Run(replace(tiny, steps=2), pairs, tmp_path)


def test_a_damaged_manifest_is_named(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    Run(tiny, pairs, tmp_path).train(stop_after=6)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(BadData, match=r"manifest\.json: damaged"):
        Run(tiny, pairs, tmp_path).train()


@pytest.mark.parametrize(("command", "told"), [("a/b", "b"), ("--out=a/b", "--out=b"), ("teacher=a/b", "teacher=b"), ("--steps=2", "--steps=2")])  # fmt: skip
def test_the_recorded_command_keeps_its_options(command: str, told: str) -> None:
    assert without_folders(command) == told


def test_another_programs_checkpoint_is_no_run(tmp_path: Path) -> None:
    torch.save({"model": 1}, tmp_path / "checkpoint.pt")
    with pytest.raises(BadData, match="not the checkpoint of a run"):
        loop.open_run(tmp_path)


def test_a_model_does_not_take_the_name_of_a_shipped_one(
    tiny: Settings, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Run(replace(tiny, steps=1), pairs, "run").train()
    assert main(["export", "run", "-o", "swift"]) == 2
    assert "name of a shipped model" in capsys.readouterr().err
    assert not list(tmp_path.glob("swift*"))
    assert main(["export", "run", "-o", "./swift"]) == 0
    assert load("./swift").architecture == TINY != load("swift").architecture


def test_a_file_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["export", str(tmp_path / "file"), "-o", str(tmp_path / "model")]) == 4
    assert f"{tmp_path / 'file'}: no checkpoint.pt there" in capsys.readouterr().err


def test_a_run_whose_folder_is_a_file(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="file is not a folder"):
        Run(tiny, pairs, tmp_path / "file").train()


def test_nan_loss_stops_and_keeps_the_last_checkpoint(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    run = Run(tiny, pairs, tmp_path / "run")
    run.train(stop_after=6)
    run.net.convs["head"].weight.data.fill_(float("nan"))
    with pytest.raises(RunFailed, match="not a number at step 6; the checkpoint in"):
        run.train()
    assert all(np.isfinite(v).all() for v in weights_of(tmp_path / "run").values())
    run = Run(tiny, pairs, tmp_path / "new")
    run.net.convs["head"].weight.data.fill_(float("nan"))
    with pytest.raises(RunFailed, match="not a number at step 0; a smaller"):  # there is no checkpoint yet
        run.train()


def test_a_full_disk_keeps_the_last_checkpoint(
    tiny: Settings, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tiny, pairs, tmp_path / "run")
    run.train(stop_after=6)
    before = (tmp_path / "run" / "checkpoint.pt").read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        run.train()
    assert (tmp_path / "run" / "checkpoint.pt").read_bytes() == before
    assert not list((tmp_path / "run").glob(".*"))


def test_minutes_are_counted_without_compilation() -> None:
    times = [30.0] * 10 + [0.5] * 30
    assert fitted_steps(10, 40, sum(times), times) == 40 + (600 - 315) * 2
    assert fitted_steps(1, 40, sum(times), times) == 41  # time is up already
    assert fitted_steps(10, 2, 160, [100.0, 60.0]) == 2 + 7  # so slow that a quarter of the time was up
    assert measured(10, [100.0, 60.0]) and not measured(10, [100.0, 40.0]) and not measured(10, [200.0])
    assert measured(10, [0.1] * 40) and not measured(10, [0.1] * 39)


@pytest.mark.slow
def test_minutes_fix_the_length_and_shorten_the_warm_up(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", "--data", str(pairs), "--preset", "swift", "--train", "mine", "--minutes", "0.01", *SMALL]
    command += ["--set", "warmup=5000", "--out", str(tmp_path)]
    assert main(command) == 0
    state = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    steps = state["settings"]["steps"]
    assert state["fitted"] and state["step"] == steps < 9_000  # the preset's
    assert state["settings"]["warmup"] == steps // 10
    told = json.loads((tmp_path / "manifest.json").read_text())["settings"]
    assert (told["steps"], told["warmup"]) == (steps, steps // 10)
    ended = f"has made all of its {steps} steps; --steps makes it longer"
    assert ended not in capsys.readouterr().err
    assert main([*command, "--minutes", "30"]) == 0  # the run is done, and known by its settings
    assert ended in capsys.readouterr().err
    assert torch.load(tmp_path / "checkpoint.pt", weights_only=True)["step"] == steps
    assert main([*command, "--steps", str(steps + 2)]) == 0  # it may be made longer all the same
    assert torch.load(tmp_path / "checkpoint.pt", weights_only=True)["step"] == steps + 2


def test_a_bad_validation_page_is_named_and_skipped(
    tiny: Settings, copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copied / "other" / "p0.png").write_bytes(b"half a page")
    run = Run(replace(tiny, validate_every=1), copied, tmp_path / "run")
    run.train(stop_after=1)
    assert "skipped other p0" in capsys.readouterr().err
    assert run.history[0]["other"] > 0
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["validation_pages"] == ["other/p1"]


def test_validation_scores_as_evaluate_does(copied: Path) -> None:
    gray = 200 + np.random.default_rng(1).integers(0, 4, (160, 200))  # a blank page, as sensors see it
    Image.fromarray(gray.astype(np.uint8)).save(copied / "other" / "blank.png")
    Image.new("1", (200, 160), 1).save(copied / "other" / "blank.gt.png")
    pages = find(copied)
    scores = loop.validate(load("original"), pages)
    expected = evaluate(copied, model="original", metrics=("fm",))["datasets"]
    assert scores == {"fm": pytest.approx(scores["mine"] / 2 + scores["other"] / 2)} | {
        name: expected[name]["fm"] for name in ("mine", "other")
    }
    pages[0].image.unlink()
    with pytest.raises(BadData, match=pages[0].image.name):
        loop.validate(load("original"), pages[:2])
    assert loop.validate(load("original"), []) == {}


def test_a_failing_validation_does_not_cost_the_run(
    tiny: Settings, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(loop, "validate", fail)
    with pytest.raises(MemoryError):
        Run(replace(tiny, validate_every=2), pairs, tmp_path).train()
    assert Run(replace(tiny, validate_every=2), pairs, tmp_path).step == 2


def test_a_stale_manifest_is_replaced(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"data_sha256": "of other pages"}')
    Run(tiny, pairs, tmp_path).train(stop_after=1)
    assert len(json.loads((tmp_path / "manifest.json").read_text())["train_pages"]) == 8


def test_a_run_does_not_go_on_with_other_pages(tiny: Settings, copied: Path, tmp_path: Path) -> None:
    Run(tiny, copied, tmp_path / "run").train(stop_after=6)
    (copied / "mine" / "p0.png").write_bytes((copied / "mine" / "p1.png").read_bytes())
    with pytest.raises(BadData, match="training pages are not those"):
        Run(tiny, copied, tmp_path / "run").train()


def test_a_run_takes_the_network_of_its_first_model(pairs: Path, tmp_path: Path) -> None:
    command = ["train", "--data", str(pairs), "--preset", "swift", "--train", "mine", "--steps", "2", *SMALL]
    command += ["--init", "original"]
    assert main([*command, "--out", str(tmp_path / "run")]) == 0
    state = torch.load(tmp_path / "run" / "checkpoint.pt", weights_only=True)
    settings = settings_from_json(state["settings"])
    assert settings.architecture == PAPER and settings.scaling == {"kind": "minmax"}
    assert all(np.isfinite(v).all() for v in weights_of(tmp_path / "run").values())  # two of its k are zero
    assert main([*command, "--set", "architecture.refine=[8]", "--out", str(tmp_path / "other")]) == 2


@pytest.mark.slow
def test_a_model_says_how_it_was_made(pairs: Path, tmp_path: Path) -> None:
    run, exported = str(tmp_path / "run"), str(tmp_path / "mine")
    command = ["train", "--data", str(pairs), "--preset", "paper", "--train", "mine", "other", "--leave-out", "OTHER"]
    command += ["--steps", "1", "--init", "original", *SMALL]
    assert main([*command, "--out", run]) == 0
    small = ["--page", str(pairs / "mine" / "p0.png")]
    assert main(["export", run, "-o", exported, *small]) == 0
    about = load(exported).about
    assert (about["licence"], about["copyright"]) == ("", "")
    assert about["source"] == "trained with sauvolanet, starting from original"
    told = {n: about["training"][n] for n in ("partition", "train", "validate")}
    assert told == {"partition": "unknown", "train": ["mine"], "validate": ["other"]}
    assert main(["export", run, "-o", f"{exported}-1.2", *small]) == 0
    assert load(f"{exported}-1.2").name == "mine-1.2"  # no suffix that is taken off
    terms = ["--source", "our letters", "--licence", "MIT", "--copyright", "Copyright (c) a lab"]
    assert main(["export", run, "-o", exported, *small, *terms]) == 0
    about = load(exported).about
    assert [about[n] for n in ("source", "licence", "copyright")] == terms[1::2]


def test_other_settings_do_not_continue_a_run(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    Run(tiny, pairs, tmp_path / "run").train(stop_after=6)
    with pytest.raises(UsageError, match=r"other settings \(rate\)"):
        Run(replace(tiny, rate=1e-4), pairs, tmp_path / "run")


def test_a_damaged_checkpoint_is_named(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    (tmp_path / "checkpoint.pt").write_bytes(b"PK\3\4 half a file")
    with pytest.raises(BadData, match="damaged"):
        Run(tiny, pairs, tmp_path)


def test_unusable_pages_are_skipped_and_named(
    tiny: Settings, pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data" / "mine"
    folder.mkdir(parents=True)
    for file in (pairs / "mine").glob("p[01].*"):
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "cut.png").write_bytes((pairs / "mine" / "p2.png").read_bytes()[:500])
    (folder / "cut.gt.png").write_bytes((pairs / "mine" / "p2.gt.png").read_bytes())
    Image.new("L", (50, 60), 255).save(folder / "small.png")
    Image.new("1", (50, 61), 1).save(folder / "small.gt.png")
    Run(replace(tiny, validate=()), tmp_path / "data", tmp_path / "run").train(stop_after=1)
    told = capsys.readouterr().err
    assert "skipped mine cut" in told
    assert "skipped mine small" in told


def test_a_truth_that_may_be_inverted_is_named(
    tiny: Settings, copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """White on black, or 0 for ink and 1 for paper: readable, and every pixel of it would be learnt."""
    for name, change in (("p0", lambda truth: 255 - truth), ("p1", lambda truth: truth // 255)):
        path = copied / "mine" / f"{name}.gt.png"
        Image.fromarray(change(np.asarray(Image.open(path).convert("L")))).save(path)
    Run(replace(tiny, validate=()), copied, tmp_path / "run").train(stop_after=1)
    told = [line for line in capsys.readouterr().err.splitlines() if "is the truth inverted?" in line]
    assert [line.split(":")[0] for line in told] == ["doubtful mine p0", "doubtful mine p1"]
    assert "100% of the page is ink" in told[1]


def test_one_page_is_enough_to_train(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "mine"
    folder.mkdir(parents=True)
    for name in ("p0.png", "p0.gt.png"):
        (folder / name).write_bytes((pairs / "mine" / name).read_bytes())
    run = Run(replace(tiny, validate=()), tmp_path / "data", tmp_path / "run")
    before = {name: value.clone() for name, value in run.net.named_parameters()}
    run.train(stop_after=2)
    after = dict(run.net.named_parameters())
    assert run.step == 2
    assert all(value.isfinite().all() for value in after.values())
    assert not any(value.equal(before[name]) for name, value in after.items() if value.requires_grad)  # all have learnt


def test_the_rate_warms_up_stays_and_falls(tiny: Settings) -> None:
    s = replace(tiny, steps=100, warmup=10, decay=0.5)
    factors = [schedule(i, s) for i in range(100)]
    assert factors[0] == pytest.approx(0.1)
    assert factors[20] == factors[49] == 1
    assert factors[75] == pytest.approx(0.5)
    assert 0 < factors[99] < 0.001
