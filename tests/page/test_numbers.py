"""Page-wide numbers: thresholds, margins, few words, light on dark."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sauvolanet.page.numbers import PageNumbers
from sauvolanet.score.datasets import find, read_gray


def test_numbers_of_a_page_worked_out_by_hand() -> None:
    numbers = PageNumbers.of(np.array([[10, 10, 20, 200]], np.uint8))
    assert numbers.extremes() == (10, 200)
    assert numbers.percentile(50) == 10
    assert numbers.percentile(75) == 20
    assert numbers.otsu() == 21
    assert numbers.inverted().extremes() == (55, 245)
    assert PageNumbers.of(np.full((3, 3), 7, np.uint8)).otsu() == 0
    assert numbers.body.extremes() == (10, 200)  # too small a page to have margins


@pytest.mark.parametrize("times", [1, 10**8])
def test_otsus_threshold_does_not_depend_on_the_number_of_pixels(times: int) -> None:
    counts = np.zeros(256, np.int64)
    counts[[10, 100, 200]] = 2 * times, times, 2 * times
    # between the classes n0 n1 (m1 - m0)²: 2 · 3 (166.67 - 10)² = 147267 or 3 · 2 (200 - 40)² = 153600
    assert PageNumbers(counts).otsu() == 101


def test_the_margins_of_a_page_are_a_25th_of_each_side() -> None:
    page = np.full((100, 50), 200, np.uint8)
    page[:4] = page[-4:] = 3
    page[:, :2] = page[:, -2:] = 5
    page[4, 2] = 90
    numbers = PageNumbers.of(page)
    assert numbers.extremes() == (3, 200) and numbers.body.extremes() == (90, 200)
    assert numbers.body.histogram.sum() == 92 * 46
    assert numbers.inverted().body.extremes() == (55, 165)


def test_white_on_black_is_noticed() -> None:
    page = np.full((100, 100), 20, np.uint8)
    page[40:60:4, 20:80] = 230
    assert PageNumbers.of(page).light_on_dark(page)
    assert not PageNumbers.of(255 - page).light_on_dark(255 - page)


def test_a_sheet_on_a_dark_desk_is_not_white_on_black() -> None:
    desk = np.full((200, 200), 20, np.uint8)
    desk[60:150, 50:140] = 230
    desk[70:140:8, 60:130] = 30
    assert not PageNumbers.of(desk).light_on_dark(desk)


def test_few_words_are_the_ink_of_their_page() -> None:
    """Their level, found by hand: of 40 pixels at 40 and 20 at 50 on 100,000 of paper the median is 40."""
    counts = np.zeros(256, np.int64)
    counts[[40, 50, 229, 230, 231]] = 40, 20, 30_000, 40_000, 30_000
    numbers = PageNumbers(counts)
    assert numbers.sparse_ink(0.5, 8) == numbers.sparse_ink(0.1, 8) == 40 and not numbers.blank
    assert numbers.sparse_ink(0.05, 8) is None  # there is more of it than that
    counts[[40, 50]], counts[[200, 205]] = 0, (40, 20)
    pale = PageNumbers(counts)
    assert pale.sparse_ink(0.5, 8) == 200 and pale.blank  # words, if there is something else; alone they are dust
    counts[[200, 205]] = 0
    assert PageNumbers(counts).sparse_ink(0.5, 8) is None and PageNumbers(counts).blank
    for ink, found in ((203, None), (199, 199)):  # the paper has 220 as well: darker by 17 and 21, twice ten is wanted
        uneven = np.zeros(256, np.int64)
        uneven[[ink, 220, 230]] = 450, 150, 100_000
        assert PageNumbers(uneven).sparse_ink(0.5, 8) == found


@pytest.mark.slow
def test_no_page_of_the_sets_is_blank_or_inverted(data: Path) -> None:
    for page in find(data / "documents"):
        gray = read_gray(page)
        numbers = PageNumbers.of(gray)
        assert not numbers.blank, page
        assert numbers.body.sparse_ink(0.5, 8) is None, page  # of no set the scale of a page with few words
        assert not numbers.light_on_dark(gray), page
