"""A run survives: killed, interrupted, shared by two processes, given bad data."""

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
from sauvolanet.errors import BadData, OutputError, RunFailed, UsageError
from sauvolanet.page import PageNumbers
from sauvolanet.synth import page
from sauvolanet.train.loop import Run, schedule, split
from sauvolanet.train.settings import PRESETS, Settings, held_out_pages, settings_from_json, with_changes

from .conftest import weights_of


def test_a_stopped_run_goes_on_to_the_same_weights(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    Run(tiny, pairs, tmp_path / "whole").train()
    Run(tiny, pairs, tmp_path / "parts").train(stop_after=15)  # its checkpoint is of step 12
    again = Run(tiny, pairs, tmp_path / "parts")
    assert again.step == 12
    again.train()
    whole, parts = weights_of(tmp_path / "whole"), weights_of(tmp_path / "parts")
    assert whole.keys() == parts.keys()
    for name, value in whole.items():
        assert np.array_equal(value, parts[name]), name
    assert (tmp_path / "parts" / "log.csv").read_text().count("\n") == 3


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
    whole, killed = weights_of(tmp_path / "whole"), weights_of(tmp_path / "killed")
    assert all(np.array_equal(value, killed[name]) for name, value in whole.items())


@pytest.mark.slow
def test_two_processes_share_a_step(pairs: Path, tmp_path: Path) -> None:
    arguments = ["-m", "sauvolanet", "train", "--data", str(pairs), "--preset", "paper", "--train", "mine", "--steps", "3",
                 "--set", "patch=64", "--set", "batch=4", "--set", "validate_every=100"]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, *arguments, "--out", str(tmp_path / "one")], check=True, capture_output=True)
    subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *arguments,
                    "--out", str(tmp_path / "two")], check=True, capture_output=True, env=environment)  # fmt: skip
    one, two = weights_of(tmp_path / "one"), weights_of(tmp_path / "two")
    for name in [n for n in one if n.startswith("net.")]:  # instance normalisation: the mean gradient is the same
        assert np.allclose(one[name], two[name], atol=2e-4), name


@pytest.mark.slow
def test_from_synthetic_pages_to_a_model_that_binarizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, run, model = (str(tmp_path / n) for n in ("data", "run", "model"))
    assert (
        main(["synth", "-o", f"{data}/mine", "--pages", "10", "--kind", "letter", "--height", "320", "--width", "320"])
        == 0
    )
    common = ["--data", data, "--preset", "swift", "--train", "mine", "--set", "hold_out=false", "--set", "patch=128",
              "--set", "synthetic=0.0", "--set", "batch=4", "--set", "warmup=10", "--set", "average=0.9"]  # fmt: skip
    scores = {}
    for steps in ("1", "90"):
        assert main(["train", *common, "--steps", steps, "--out", run + steps]) == 0
        assert main(["export", run + steps, "-o", model + steps]) == 0
        capsys.readouterr()
        assert main(["evaluate", "--data", data, "--datasets", "mine", "--model", model + steps, "--json"]) == 0
        scores[steps] = json.loads(capsys.readouterr().out)["datasets"]["mine"]["fm"]
    assert scores["90"] > 85
    assert scores["90"] > scores["1"] + 3


def test_fine_tuning_begins_where_the_model_is(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    first = Run(tiny, pairs, tmp_path / "first")
    first.train()
    model = first.model("first")
    second = Run(replace(tiny, rate=0.0, weight_decay=0.0, steps=1), pairs, tmp_path / "second")
    second.start_from(model)
    second.train()
    gray, _ = page(300, kind="letter", height=160, width=192)
    numbers = PageNumbers.of(gray)
    apart = np.abs(second.model("second").surface(gray, numbers) - model.surface(gray, numbers))
    assert np.median(apart) < 1  # gray levels; the running statistics have moved by one small batch
    with pytest.raises(UsageError, match="another architecture"):
        Run(PRESETS["paper"], pairs, tmp_path / "third").start_from(model)


def test_ctrl_c_saves_and_leaves(tiny: Settings, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Run._step

    def interrupted(self: Run, *args: object) -> float:
        if self.step == 3:
            raise KeyboardInterrupt
        return steps(self, *args)

    monkeypatch.setattr(Run, "_step", interrupted)
    arguments = [
        "train",
        "--data",
        str(pairs),
        "--preset",
        "paper",
        "--train",
        "mine",
        "--set",
        "patch=32",
        "--set",
        "batch=1",
    ]
    assert main([*arguments, "--out", str(tmp_path / "run")]) == 130
    assert torch.load(tmp_path / "run" / "checkpoint.pt", weights_only=True)["step"] == 3


def test_nan_loss_stops_and_keeps_the_last_checkpoint(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    run = Run(tiny, pairs, tmp_path / "run")
    run.train(stop_after=6)
    run.net.convs["head"].weight.data.fill_(float("nan"))
    with pytest.raises(RunFailed, match="not a number at step 6"):
        run.train()
    assert all(np.isfinite(v).all() for v in weights_of(tmp_path / "run").values())


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


def test_one_page_is_enough_to_train(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "mine"
    folder.mkdir(parents=True)
    for name in ("p0.png", "p0.gt.png"):
        (folder / name).write_bytes((pairs / "mine" / name).read_bytes())
    Run(replace(tiny, validate=()), tmp_path / "data", tmp_path / "run").train(stop_after=2)


def test_training_and_validation_may_not_share_pages(tiny: Settings, pairs: Path) -> None:
    with pytest.raises(UsageError, match="both in training and in validation"):
        split(replace(tiny, validate=("mine",)), pairs)


def test_the_rate_warms_up_stays_and_falls(tiny: Settings) -> None:
    s = replace(tiny, steps=100, warmup=10, decay=0.5)
    factors = [schedule(i, s) for i in range(100)]
    assert factors[0] == pytest.approx(0.1)
    assert factors[20] == factors[49] == 1
    assert factors[75] == pytest.approx(0.5)
    assert 0 < factors[99] < 0.001


def test_settings_survive_json_and_take_changes() -> None:
    for s in PRESETS.values():
        assert settings_from_json(json.loads(json.dumps(s.to_json()))) == s
    changed = with_changes(PRESETS["swift"], {"rate": "1e-3", "architecture.refine": "8", "leave_out": "DIBCO2018"})
    assert (changed.rate, changed.architecture.refine, changed.leave_out) == (1e-3, 8, ("DIBCO2018",))
    with pytest.raises(UsageError, match="did you mean"):
        with_changes(PRESETS["swift"], {"rat": "1"})
    with pytest.raises(UsageError, match="must be like"):
        with_changes(PRESETS["swift"], {"batch": "many"})


def test_no_test_set_is_in_the_validation_list() -> None:
    assert not {name for name, _ in held_out_pages()} & {"DIBCO2011", "DIBCO2014", "DIBCO2016"}


def test_workers_end_with_a_killed_parent(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    code = (
        "import sys, time; from sauvolanet.train.feed import Feed; from sauvolanet.train.patches import Patches, load_sheets\n"
        "from sauvolanet.train.settings import PRESETS; from sauvolanet import datasets\n"
        "sheets = load_sheets(datasets.find(sys.argv[1], ['mine']), False, 256)\n"
        "feed = Feed(Patches(sheets, PRESETS['paper']), [range(1)], 0); feed.get(0)\n"
        "print(*(p.pid for p in feed.processes), flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, str(pairs)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    workers = [int(pid) for pid in parent.stdout.readline().split()]
    parent.kill()
    parent.communicate()
    assert len(workers) == 2
    for _ in range(300):
        if not any(_alive(pid) for pid in workers):
            return
        time.sleep(0.1)
    raise AssertionError("workers outlive their parent")


def _alive(pid: int) -> bool:
    """Whether a process runs (one that has ended and waits for its parent does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
