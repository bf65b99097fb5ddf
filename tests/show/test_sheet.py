"""Comparison sheets: what they show, and the command."""

import numpy as np
import pytest
from PIL import Image

from sauvolanet.cli import main
from sauvolanet.errors import UsageError
from sauvolanet.show.sheet import FALSE_INK, MISSED_INK, coloured, sheet


@pytest.fixture
def page():
    gray = np.full((40, 60), 220, np.uint8)
    gray[10:20, 10:40] = 30
    return gray


def test_colours_of_the_four_cases():
    ink, truth = np.array([[1, 1, 0, 0]], bool), np.array([[1, 0, 1, 0]], bool)
    assert coloured(ink, truth).tolist() == [[[0, 0, 0], [*FALSE_INK], [*MISSED_INK], [255, 255, 255]]]


def test_errors_are_seen_in_the_sheet(page):
    truth = page < 100
    ink = truth.copy()
    ink[30:35, 30:50] = True
    with_truth = np.asarray(sheet(page, {"mine": ink}, truth, width=120))
    without = np.asarray(sheet(page, {"mine": ink}, width=120))
    assert (with_truth == FALSE_INK).all(2).sum() >= 4 * 5 * 20  # enlarged twice
    assert not (without == FALSE_INK).all(2).any()


def test_every_result_has_a_panel(page):
    results = {f"m{i}": page < 100 for i in range(7)}
    narrow, wide = sheet(page, results, width=60, columns=1), sheet(page, results, width=60, columns=8)
    assert narrow.width < wide.width and narrow.height > 6 * wide.height


def test_a_result_of_another_size(page):
    with pytest.raises(UsageError, match="mine: 3×2 pixels, the page has 60×40"):
        sheet(page, {"mine": np.zeros((2, 3), bool)})


def test_command(page, tmp_path, capsys):
    source, truth, target = tmp_path / "page.png", tmp_path / "truth.png", tmp_path / "sheet.png"
    Image.fromarray(page).save(source)
    Image.fromarray(np.where(page < 100, 0, 255).astype(np.uint8)).save(truth)
    argv = ["compare", str(source), "-o", str(target), "--width", "100"]
    assert main([*argv, "--methods", "otsu", "nick", "--models", "--truth", str(truth)]) == 0
    assert capsys.readouterr().out.strip() == str(target)
    with Image.open(target) as picture:
        assert picture.width >= 100


@pytest.mark.parametrize(
    ("argv", "code", "says"),
    [
        (["--methods", "otzu"], 2, "did you mean otsu"),
        (["--methods", "--models"], 2, "nothing to compare"),
        (["--width", "1"], 2, "--width"),
        (["--truth", "other.png"], 4, "3×3 pixels"),
        (["-o", "./page.png"], 2, "./page.png would replace an input"),
        (["-o", "other.png", "--truth", "other.png"], 2, "other.png would replace an input"),
    ],
)
def test_command_errors(page, tmp_path, capsys, monkeypatch, argv, code, says):
    monkeypatch.chdir(tmp_path)
    Image.fromarray(page).save("page.png")
    Image.fromarray(page[:3, :3]).save("other.png")
    assert main(["compare", "page.png", "-o", "sheet.png", *argv]) == code
    assert says in capsys.readouterr().err.splitlines()[-1]
