"""Sheets to look at: which part of a page they show, and how large."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

TOOL = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "sheets.py"))
SIDE, TIMES, GAP, LINE = (TOOL[name] for name in ("SIDE", "TIMES", "GAP", "LINE"))


def test_a_part_with_writing_is_shown_and_small_pages_whole() -> None:
    page = np.zeros((700, 900), bool)
    page[500:520, 600:604] = True
    rows, columns = TOOL["busiest"](page, SIDE)
    assert rows.start <= 500 and rows.stop >= 520 and columns.start <= 600 and columns.stop >= 604
    assert rows.stop - rows.start == columns.stop - columns.start == SIDE
    assert TOOL["busiest"](page[480:530, 590:620], SIDE) == (slice(0, 50), slice(0, 30))


def test_the_bar_has_light_letters_in_dark_paper() -> None:
    case = TOOL["reversed_bar"](0)
    bar = TOOL["BAR"]
    letters = case.truth[bar]
    assert 0.05 < letters.mean() < 0.3 and case.where.sum() == letters.size
    assert case.image[bar][letters].min() > case.image[bar][~letters].mean()


def test_a_sheet_has_scan_otsu_and_model_three_times_as_large() -> None:
    case = TOOL["reversed_bar"](1)
    sheet = TOOL["sheet"](case, "swift")
    assert sheet.size == (3 * (TIMES * SIDE + GAP) + GAP, TIMES * SIDE + LINE + 2 * GAP)
    rows, columns = TOOL["busiest"](case.truth & case.where, SIDE)
    scan = np.asarray(sheet)[GAP + LINE :, GAP:, 0]
    shown = case.image[rows, columns]
    assert np.array_equal(scan[1 : TIMES * SIDE : TIMES, 1 : TIMES * SIDE : TIMES], shown)
    ink = np.asarray(sheet)[GAP + LINE + 1 : GAP + LINE + TIMES * SIDE, 2 * (TIMES * SIDE + GAP) + GAP + 1 :][:, :TIMES]
    assert set(np.unique(ink)) <= {0, 255}


def test_colours_are_looked_for() -> None:
    image = np.array([[(200, 200, 190), (200, 190, 40), (20, 20, 20)]], np.uint8)
    assert TOOL["coloured"](image).tolist() == [[False, True, False]]


@pytest.mark.slow
def test_ten_pages_of_ten_kinds(data: Path) -> None:
    cases = list(TOOL["cases"](data, 13))
    assert len({case.kind for case in cases}) == 10
    assert all(case.truth is None or case.truth.shape == case.image.shape[:2] for case in cases)


def test_no_page_before_the_first(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["sheets.py", "--data", ".", "--nth", "-1"])
    with pytest.raises(SystemExit):
        TOOL["main"]()
    assert "--nth must be at least 0" in capsys.readouterr().err
