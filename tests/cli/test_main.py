"""What holds for every command: its help, and streams that are full, closed or strict, told in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sauvolanet import cli

COMMAND = [sys.executable, "-m", "sauvolanet"]


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """Where the command is run: a folder of pages, of which one has truth."""
    page = np.full((60, 80), 255, np.uint8)
    page[10:20, 10:60] = 0
    (tmp_path / "scans").mkdir()
    for name in ("a.png", "a.gt.png", "b.png"):
        Image.fromarray(page).save(tmp_path / "scans" / name)
    return tmp_path


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "arguments",
    [
        "methods --json",
        "binarize scans -o ink --method otsu --json",
        "binarize scans -o ink --method otsu --dry-run",
        "evaluate --data scans --method otsu --metrics fm --csv",
    ],
)
def test_a_full_disk_behind_standard_output_is_5(here: Path, arguments: str, unbuffered: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*COMMAND, *arguments.split()], cwd=here, stdout=full, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "PYTHONUNBUFFERED": unbuffered})  # fmt: skip
    assert done.stderr.splitlines()[-1] == "sauvolanet: cannot write the output: No space left on device"
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr
    assert done.returncode == 5


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_without_standard_error_the_work_is_done(here: Path, jobs: str) -> None:
    arguments = ["binarize", "scans", "-o", "ink", "--method", "otsu", "--jobs", jobs]
    done = subprocess.run([*COMMAND, *arguments], cwd=here, stdout=subprocess.PIPE, preexec_fn=lambda: os.close(2))
    assert done.returncode == 0
    assert {path.name for path in (here / "ink").glob("*.png")} == {"a.png", "a.gt.png", "b.png"}


def test_without_a_reader_of_standard_error_the_work_is_done(here: Path) -> None:
    """As with `2>&1 | head -1`, which reads a line and goes."""
    arguments = ["compare", "scans/a.png", "-o", "sheet.png", "--models", "--methods", "otsu", "nick"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*COMMAND, *arguments], cwd=here, stdout=writer, stderr=writer,
                          env={**os.environ, "PYTHONUNBUFFERED": ""})  # fmt: skip
    os.close(writer)
    assert done.returncode == 0
    assert (here / "sheet.png").exists()


def test_output_that_nobody_reads_to_its_end_is_not_0(here: Path) -> None:
    """What comes after the line that nobody read may be the other file that was asked for."""
    arguments = ["explain", "scans/a.png", "-o", "explained.png", "--arrays", "arrays.npz"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*COMMAND, *arguments], cwd=here, stdout=writer, stderr=subprocess.PIPE,
                          env={**os.environ, "PYTHONUNBUFFERED": "1"})  # fmt: skip
    os.close(writer)
    assert (done.returncode, done.stderr) == (130, b"")
    assert not (here / "arrays.npz").exists()


def test_a_name_that_is_no_text_can_be_shown(here: Path) -> None:
    try:
        (here / "scans" / "a.png").rename(here / "scans" / os.fsdecode(b"\xff.png"))
    except OSError:
        pytest.skip("names of files are text here")
    arguments = ["binarize", "scans", "-o", "ink", "--method", "otsu", "--dry-run"]
    done = subprocess.run([*COMMAND, *arguments], cwd=here, capture_output=True, text=True,
                          env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"})  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert r"scans/\udcff.png -> \udcff.png" in done.stdout


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for command in cli.COMMANDS:
        with pytest.raises(SystemExit) as stop:
            cli.main([command, "--help"])
        assert stop.value.code == 0
        assert command in capsys.readouterr().out


def test_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["binarise"]) == 2
    assert capsys.readouterr().err == "sauvolanet: unknown command 'binarise'; did you mean binarize?\n"
    assert cli.main([]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [("binarize scans -o ink --method swift", "swift is a model: --model swift"),
     ("binarize scans -o ink --model otsu", "otsu is a method: --method otsu"),
     ("compare scans/a.png -o sheet.png --methods otsu swift", "swift is a model: --models swift"),
     ("compare scans/a.png -o sheet.png --models nick", "nick is a method: --methods nick"),
     ("evaluate --data scans --method original", "original is a model: --model original"),
     ("binarize scans -o ink --method swifd", "unknown method 'swifd'"),
     ("explain scans/a.png -o x.png --model otsu", "unknown model 'otsu'")],
)  # fmt: skip
def test_a_model_is_no_method(
    here: Path, arguments: str, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(here)
    assert cli.main(arguments.split()) == 2
    assert capsys.readouterr().err.startswith(f"sauvolanet: {told}")


def test_interrupted_while_a_command_is_loaded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.importlib, "import_module", interrupt)
    assert cli.main(["binarize", "scans"]) == 130
    assert capsys.readouterr().err == "sauvolanet: interrupted\n"
