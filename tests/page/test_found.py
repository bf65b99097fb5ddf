"""What a page tells, on pages made by hand: every number is known from how the page was drawn."""

from __future__ import annotations

import numpy as np
import pytest

from sauvolanet import Binarizer
from sauvolanet.core.arrays import Gray, Ink
from sauvolanet.page.found import Found, find
from sauvolanet.page.numbers import PageNumbers
from sauvolanet.page.prepared import Prepared

PAPER, INK = 210, 40


def writing(height: int = 900, width: int = 700, paper: int = PAPER, ink: int = INK) -> Gray:
    """A page of strokes, 4 pixels wide and 20 high, 10 apart, in lines 40 apart; 60 pixels of margin."""
    page = np.full((height, width), paper, np.uint8)
    for top in range(60, height - 80, 40):
        for left in range(60, width - 64, 14):
            page[top : top + 20, left : left + 4] = ink
    return page


def photograph(height: int, width: int) -> Gray:
    """Waves of many lengths: no level is the usual one, neighbours are alike."""
    y, x = np.mgrid[:height, :width] / 100
    waves = [np.sin(a * x + b * y + a) for a, b in ((3, 1), (-2, 5), (7, 4), (5, -8), (11, 2), (-6, 13), (17, -9))]
    return np.clip(120 + 45 * np.sum(waves, axis=0) / np.sqrt(len(waves)), 0, 255).astype(np.uint8)


def found(gray: Gray, ink: Ink | None = None) -> Found:
    prepared = Prepared(gray, PageNumbers.of(gray), False, False, "gray", 1)
    return find(prepared, gray < 128 if ink is None else ink)


def test_a_page_of_writing() -> None:
    page = writing()
    page[300:303, 60:640] = INK  # two rules across, one down
    page[700:703, 60:640] = INK
    page[100:860, 52:55] = INK
    told = found(page)
    assert (told.paper_level, told.ink_level) == (PAPER, INK)
    assert told.ink_share == pytest.approx((page == INK).mean(), abs=1e-5)
    assert told.lines == 3
    # a stroke of 4 × 20 has 48 pixels of edge: 2 · 1.27 · 80 / 48 = 4.2; the rules change little
    assert told.stroke_width == pytest.approx(4.2, abs=0.3)
    assert (told.reading_size, told.inverted, told.picture_share, told.look) == (1.0, False, 0.0, ())


@pytest.mark.parametrize("method", ["otsu", None])
def test_the_pipeline_tells_it_whatever_makes_the_ink(method: str | None) -> None:
    page = writing()
    page[300:303, 60:640] = INK
    result = Binarizer(method=method).run(page)
    assert result.found is result.found  # measured once
    assert result.found == find(result.prepared, result.ink)
    assert result.found.look == () and result.found.lines == 1
    assert Binarizer(method=method, lines="drop").run(page).found.lines == 1  # found, and taken out
    black = Binarizer(method=method).run(255 - page).found
    assert black.inverted and (black.paper_level, black.ink_level) == (PAPER, INK)
    twice = Binarizer(method=method, enlarge=2).run(page).found  # in pixels of the result
    assert twice.stroke_width == pytest.approx(2 * result.found.stroke_width, rel=0.1)


def test_of_the_rules_of_a_table_the_long_ones_count() -> None:
    """Two long rules and, from one to the other, two as short as four letters are high: kept or dropped, two are told."""
    page = np.full((300, 600), PAPER, np.uint8)
    for left in range(30, 570, 20):
        page[60:84, left : left + 4] = INK
    page[40:42, 20:580] = page[140:142, 20:580] = INK
    page[40:142, 20:22] = page[40:142, 578:580] = INK
    kept, dropped = (Binarizer(method="otsu", lines=lines).run(page) for lines in ("keep", "drop"))
    assert kept.ink[50:130, 578:580].all() and not dropped.ink[50:130, 578:580].any()
    assert kept.found.lines == dropped.found.lines == 2


def test_thick_strokes_are_read_at_half_their_size() -> None:
    page = np.kron(writing(400, 400), np.ones((4, 4), np.uint8))  # strokes of 16 pixels
    assert Binarizer().run(page).found.reading_size == 0.5


def test_blank_and_full() -> None:
    empty = np.full((500, 400), PAPER, np.uint8)
    told = found(empty)
    assert told.look == ("nearly blank",) and told.ink_level is None and told.ink_share == 0
    assert Binarizer().run(empty).found == told
    empty[200:220, 200:220] = INK  # 400 of 200,000 pixels
    assert found(empty).look == ("nearly blank",)
    empty[:] = INK
    empty[:240] = PAPER
    assert found(empty).look == ("much ink",)
    assert found(np.full((90, 90), INK, np.uint8)).ink_level == INK


@pytest.mark.parametrize(("contrast", "look"), [(23, ("very low contrast",)), (24, ())])
def test_low_contrast(contrast: int, look: tuple[str, ...]) -> None:
    page = writing(ink=PAPER - contrast)
    assert found(page, page < PAPER).look == look


def test_specks() -> None:
    page = writing()
    free = np.ones(page.shape, bool)
    free[60:840, 60:660] = False
    places = np.flatnonzero(free[::5, ::5])  # each apart from the others and from the writing
    rows, columns = np.unravel_index(places, free[::5, ::5].shape)
    page[5 * rows, 5 * columns] = INK
    told = found(page)
    pieces = (page[60:840, 60:660] == INK).sum() // 80
    assert len(places) > 5 * pieces and told.look == ("many specks",)
    assert found(writing()).look == ()


def test_a_picture_and_what_is_none() -> None:
    page = writing()
    ink = page < 128
    page[300:700, 150:550] = photograph(400, 400)
    ink[300:700, 150:550] = False
    told = found(page, ink)
    assert told.look == ("picture lost",)
    area = 400 * 400 / page.size
    assert area / 2 < told.picture_share < 1.1 * area
    assert "picture lost" in found(photograph(900, 700), np.zeros((900, 700), bool)).look
    shadow = (writing() * np.linspace(1, 0.25, 700)).astype(np.uint8)  # light falls off
    stain = writing()
    stain[300:700, 150:550] = stain[300:700, 150:550] * 0.7
    bed = writing()
    bed[:, 640:] = bed[:80] = 5
    for page in (shadow, stain, bed):
        assert found(page, writing() < 128).picture_share == 0


@pytest.mark.parametrize("shape", [(1, 1), (1, 500), (500, 1), (7, 9), (20, 1500), (1500, 20)])
def test_pages_of_any_shape(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    for page in (np.full(shape, 200, np.uint8), rng.integers(0, 256, shape, np.uint8), np.zeros(shape, np.uint8)):
        told = Binarizer(method="otsu", invert="no").run(page).found
        assert 0 <= told.ink_share <= 1 and 0 <= told.picture_share <= 1 and told.lines >= 0
        assert told.to_json()["look"] == list(told.look)
