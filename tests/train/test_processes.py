"""A step shared: by processes, by parts of a batch, on another device."""

from __future__ import annotations

import csv
import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from sauvolanet.cli import main
from sauvolanet.errors import UsageError
from sauvolanet.train.loop import Run
from sauvolanet.train.processes import Processes
from sauvolanet.train.settings import PRESETS, Settings

from .conftest import SMALL, weights_of


@pytest.mark.slow
def test_two_processes_share_a_step(pairs: Path, tmp_path: Path) -> None:
    arguments = ["-m", "sauvolanet", "train", "--data", str(pairs), "--preset", "paper", "--train", "mine", "--steps", "3",
                 "--set", "patch=64", "--set", "batch=4", "--set", "validate_every=100"]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, *arguments, "--out", str(tmp_path / "one")], check=True, capture_output=True)
    shared = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
                             *arguments, "--out", str(tmp_path / "two")], check=True, capture_output=True, env=environment)  # fmt: skip
    assert b"FutureWarning" not in shared.stderr
    one, two = weights_of(tmp_path / "one"), weights_of(tmp_path / "two")
    for name in [n for n in one if n.startswith("net.")]:  # instance normalisation: the mean gradient is the same
        assert np.allclose(one[name], two[name], atol=2e-4), name
    logs = [list(csv.DictReader((tmp_path / run / "log.csv").read_text().splitlines())) for run in ("one", "two")]
    losses = [float(log[-1]["loss"]) for log in logs]
    assert losses[0] == pytest.approx(losses[1], abs=2e-4)


def test_the_first_process_decides_the_length(
    tiny: Settings, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tiny, pairs, tmp_path)
    run.processes = Processes(1, 2)
    monkeypatch.setattr(torch.distributed, "broadcast", lambda tensor, source: tensor.fill_(77 + source))
    run.fit_length(1.0, [0.1] * 40)
    assert run.settings.steps == 77


def test_all_processes_stop_when_one_is_asked(
    tiny: Settings, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tiny, pairs, tmp_path)
    run.processes = Processes(1, 2)
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda tensor: tensor.add_(1))
    assert run.processes.total(False, run.device)
    run.save()
    assert not list(tmp_path.iterdir())  # the first process writes


def test_everything_of_a_run_moves_to_its_device(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    run = Run(tiny, pairs, tmp_path)
    run.train(stop_after=1)
    run.move(torch.device("meta"))  # a device that every machine has
    tensors = [*run.net.state_dict().values(), *run.average.state_dict().values()]
    tensors += [v for o in run.optimizers for state in o.state.values() for v in state.values()]
    assert {v.device.type for v in tensors} == {"meta"}


def test_a_batch_must_fall_into_equal_parts(tiny: Settings, pairs: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="batch of 4 cannot be walked through in 3"):
        Run(replace(tiny, accumulate=3), pairs, tmp_path)


def test_a_batch_in_two_parts_has_the_same_gradient(pairs: Path, tmp_path: Path) -> None:
    s = replace(PRESETS["paper"], train=("mine",), validate=(), patch=32, batch=4, steps=3)
    for parts in (1, 2):
        Run(replace(s, accumulate=parts), pairs, tmp_path / str(parts)).train()
    one, two = (weights_of(tmp_path / n) for n in "12")
    for name in [n for n in one if n.startswith("net.")]:  # instance normalisation: patches do not see each other
        assert np.allclose(one[name], two[name], atol=2e-4), name


def test_the_documented_torchrun_command_runs(copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    [line] = [line for line in text.splitlines() if line.strip().startswith("torchrun")]
    (copied / "other").rename(copied / "watch")
    copied.rename(tmp_path / "pages")
    monkeypatch.chdir(tmp_path)
    command = shlex.split(line.partition("-m sauvolanet ")[2])
    assert main([*command, "--steps", "1", *SMALL]) == 0
    assert (tmp_path / command[command.index("--out") + 1] / "checkpoint.pt").exists()
