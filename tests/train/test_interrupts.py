"""Ctrl-C and SIGTERM wait for the end of a step, so that a stopped run goes on as if it had not been stopped."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
import torch

from sauvolanet.cli import main
from sauvolanet.train.interrupts import Interrupts, Stopped
from sauvolanet.train.loop import Run
from sauvolanet.train.settings import Settings

from .conftest import assert_same_weights


def interrupt(monkeypatch: pytest.MonkeyPatch, step: int, *signals: int) -> None:
    """Send signals in the middle of a step: the weights have moved, the average has not."""
    average = Run.update_average

    def interrupted(self: Run) -> None:
        if self.step == step:
            for number in signals:
                os.kill(os.getpid(), number)
        average(self)

    monkeypatch.setattr(Run, "update_average", interrupted)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_interrupted_in_a_step_goes_on_to_the_same_weights(
    number: int, tiny: Settings, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Run(tiny, pairs, tmp_path / "whole").train()
    with monkeypatch.context() as patch:
        interrupt(patch, 8, number)
        with pytest.raises(Stopped):
            Run(tiny, pairs, tmp_path / "stopped").train()
    again = Run(tiny, pairs, tmp_path / "stopped")
    assert again.step == 9
    again.train()
    assert_same_weights(tmp_path / "whole", tmp_path / "stopped")


def test_a_second_ctrl_c_leaves_at_once(
    tiny: Settings, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(monkeypatch, 8, signal.SIGINT, signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) as raised:
        Run(tiny, pairs, tmp_path).train()
    assert raised.type is KeyboardInterrupt
    assert Run(tiny, pairs, tmp_path).step == 6  # the last checkpoint of the schedule


def test_the_command_says_where_it_stopped(
    pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupt(monkeypatch, 3, signal.SIGINT)
    command = ["train", "--data", str(pairs), "--preset", "paper", "--train", "mine"]
    assert main([*command, "--set", "patch=32", "--set", "batch=1", "--out", str(tmp_path)]) == 130
    assert "stopped at step 4; the same command goes on" in capsys.readouterr().err
    assert torch.load(tmp_path / "checkpoint.pt", weights_only=True)["step"] == 4


def test_signals_are_given_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupts(patient=True) as signals:
        for _ in range(2):  # torchrun repeats what the terminal sent
            os.kill(os.getpid(), signal.SIGINT)
        assert signals.asked
    assert signal.getsignal(signal.SIGINT) is before


def test_a_thread_cannot_ask_for_signals_and_does_not() -> None:
    opened = []

    def work() -> None:
        with Interrupts() as signals:
            opened.append(signals.asked)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert opened == [False]
