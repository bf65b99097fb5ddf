"""Rules of a page: found, counted, taken out; what is no rule stays."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sauvolanet import binarize, synth, threshold
from sauvolanet.core.arrays import Ink
from sauvolanet.page.lines import MOST, Rule, Rules, find


def blank(height: int = 200, width: int = 400) -> Ink:
    return np.zeros((height, width), bool)


def text(height: int, width: int, seed: int = 1) -> Ink:
    return synth.page(seed, kind="print", height=height, width=width)[1]


def drawn(shape: tuple[int, int], row: float, thick: int, slope: float = 0.0, bend: float = 0.0) -> Ink:
    """A rule across the page; bend : rows by which its middle is lower than its ends."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    u = x / shape[1] - 0.5
    middle = row + slope * (x - shape[1] / 2) + bend * (1 - 4 * u**2)
    return np.abs(y - np.rint(middle)) <= thick // 2


def counts(ink: Ink) -> tuple[int, int]:
    rules = find(ink)
    return len(rules.horizontal), len(rules.vertical)


def test_a_rule_across_and_one_down() -> None:
    page = blank()
    page[100:103, 20:380] = True
    page[10:190, 50:52] = True
    rules = find(page)
    assert [(r.first, r.last, r.thickness) for r in rules.horizontal] == [(20, 380, 3)]
    assert [(r.first, r.last, r.thickness) for r in rules.vertical] == [(10, 190, 2)]
    assert (rules.horizontal[0].middle == 101).all()
    assert not rules.without(page).any()


@pytest.mark.parametrize(("slope", "bend"), [(0.0, 0.0), (0.05, 0.0), (-0.03, 3.0), (0.0, -4.0)])
@pytest.mark.parametrize("thick", [3, 7])
def test_askew_and_bent_rules_go(slope: float, bend: float, thick: int) -> None:
    rule = drawn((300, 700), 150, thick, slope, bend)
    for page in (rule, rule.T):
        rules = find(page)
        assert [len(rules.horizontal), len(rules.vertical)] == ([1, 0] if page is rule else [0, 1])
        assert rules.without(page).sum() <= 0.01 * page.sum()


def test_a_line_of_one_pixel() -> None:
    page = drawn((300, 700), 150, 1, 0.02)
    assert counts(page) == (1, 0) and find(page).without(page).sum() <= 0.01 * page.sum()


def test_gaps_do_not_end_a_rule() -> None:
    page = blank()
    page[100:102, 20:380] = True
    page[:, 150:162] = page[:, 300:306] = False
    assert counts(page) == (1, 0) and not find(page).without(page).any()


def test_no_rule() -> None:
    """Too short for its letters, too thick, dotted, dashed, wavy, or an area."""
    letters = blank(400, 600)
    for x in range(20, 580, 25):
        letters[20:60, x : x + 6] = True  # letters 40 high
    word = letters.copy()
    word[70:73, 20:230] = True  # under a word or two: five letters long
    assert counts(word) == (0, 0)
    word[70:73, 20:380] = True
    assert counts(word) == (1, 0)
    bar, dots, dashes, wave, area = (blank(400, 600) for _ in range(5))
    bar[100:130, 20:580] = True
    dots[200:204].reshape(4, 60, 10)[:, :, :4] = True
    dashes[200:203].reshape(3, 20, 30)[:, :, :20] = True
    x = np.arange(600)
    wave[200 + np.rint(8 * np.sin(x / 20)).astype(int)[None] + np.arange(4)[:, None], x] = True
    area[50:350, 50:550] = True
    for page in (bar, dots, dashes, wave, area):
        assert counts(page) == (0, 0), page.sum()


def test_a_pattern_of_dashes_is_no_rules() -> None:
    """Each of them alone would be one."""
    page = blank(4 * (MOST + 1), 160)
    page[2::4, 20:140] = True
    assert counts(page) == (0, 0)
    assert counts(page[:100]) == (25, 0)


def test_crossing_strokes_stay_whole() -> None:
    """Strokes straight and aslant through a rule come out as if it had never been there; one that stands on it ends."""
    strokes = blank()
    y, x = np.mgrid[:200, :400]
    strokes |= (np.abs(x - 100) <= 2) & (np.abs(y - 100) < 30)
    strokes |= (np.abs(x - 200 - (y - 100)) <= 3) & (np.abs(y - 100) < 30)
    page = strokes | drawn(page_shape := strokes.shape, 100, 3)
    left = find(page).without(page)
    assert page_shape == left.shape
    assert (left & ~strokes).sum() <= 6 and (strokes & ~left).sum() <= 6
    standing = blank()
    standing[70:99, 300:305] = True
    left = find(page := standing | drawn(standing.shape, 100, 3)).without(page)
    assert np.array_equal(left, standing)


def test_crossing_rules_leave_nothing() -> None:
    page = blank(480, 480)
    page[39::80] = page[40::80] = True
    page[:, 39::80] = page[:, 40::80] = True
    assert counts(page) == (6, 6)
    assert not find(page).without(page).any()


def test_short_rules_between_rules() -> None:
    """A small table: its columns are shorter than eight letters, and end on its rules."""
    page = blank(300, 600)
    for x in range(30, 570, 20):
        page[60:84, x : x + 4] = True  # letters 24 high
    page[40:42, 20:580] = page[120:122, 20:580] = True
    page[40:122, 20:22] = page[40:122, 578:580] = True
    loose = page.copy()
    loose[180:262, 300:302] = True
    assert counts(page) == (2, 2)
    assert counts(loose) == (2, 2)


def test_only_the_rules_change() -> None:
    ink = text(400, 800)
    page = ink | drawn(ink.shape, 130, 3, 0.01) | drawn(ink.shape[::-1], 400, 3).T
    rules = find(page)
    left = rules.without(page)
    assert not (left & ~page).any()
    allowed = np.zeros_like(page)
    for rule, there in [(r, allowed) for r in rules.horizontal] + [(r, allowed.T) for r in rules.vertical]:
        rows, columns = rule.places(rule.thickness // 2 + rule.slack)
        there[rows, columns] = True
    assert np.array_equal(left[~allowed], page[~allowed])
    assert (left & ink).sum() > 0.97 * ink.sum() and (left & ~ink).sum() < 0.15 * (page & ~ink).sum()
    assert np.array_equal(Rules().without(page), page)


def test_text_has_no_rules() -> None:
    for seed in range(4):
        assert counts(text(500, 900, seed)) == (0, 0)


@pytest.mark.parametrize("shape", [(1, 1), (1, 900), (900, 1), (7, 7), (20, 500), (64, 64)])
def test_any_size_of_page(shape: tuple[int, int]) -> None:
    for page in (np.zeros(shape, bool), np.ones(shape, bool), np.indices(shape).sum(0) % 2 == 0):
        left = find(page).without(page)
        assert left.shape == shape and not (left & ~page).any()


def test_a_rule_at_the_side_of_the_page() -> None:
    page = blank()
    page[0:2] = page[198:] = True
    assert counts(page) == (2, 0) and not find(page).without(page).any()
    assert Rule(0, np.zeros(4), 3).strip(page, 2).sum() == 8


ORIGINAL = {"model": "original"}


@pytest.mark.parametrize(
    "options",
    [{"method": "otsu"}, {"method": "gatos"}, ORIGINAL, {**ORIGINAL, "strength": 0.7}, {**ORIGINAL, "strength": -0.7}],
)
def test_the_verb_drops_lines(options: dict[str, object]) -> None:
    """Of the models the authors' keeps every rule by itself."""
    gray, truth = synth.page(3, kind="print", height=300, width=600)
    rule = drawn(gray.shape, 150, 3, 0.01)
    gray = np.where(rule, np.uint8(40), gray)
    kept, dropped = binarize(gray, **options), binarize(gray, lines="drop", **options)
    alone = rule & ~truth
    assert "strength" in options or not (dropped & ~kept).any()
    assert kept[alone].mean() > 0.8 and dropped[alone].mean() < 0.15
    assert dropped[truth].sum() > 0.93 * kept[truth].sum()
    assert np.array_equal(dropped, binarize(gray, lines="drop", threads=3, **options))
    if options.get("method") != "gatos":
        assert np.array_equal(dropped, gray < threshold(gray, lines="drop", **options))


def test_strength_grows_without_the_rules() -> None:
    gray, _ = synth.page(3, kind="print", height=300, width=600)
    gray = np.where(drawn(gray.shape, 150, 3), np.uint8(40), gray)
    steps = [binarize(gray, lines="drop", strength=s) for s in (-1, -0.4, 0, 0.4, 1)]
    assert all((lighter <= heavier).all() for lighter, heavier in itertools.pairwise(steps))
