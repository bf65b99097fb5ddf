"""Letters on dark bars and boxes, light or darker ones, come out as letters; pictures, frames and bold letters stay as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sauvolanet import Binarizer, binarize, synth
from sauvolanet.core.arrays import Gray, Ink
from sauvolanet.page.dark_areas import MOST_AREAS, Area, areas, turned
from sauvolanet.page.gray import to_gray
from sauvolanet.page.numbers import PageNumbers
from sauvolanet.score import datasets


def letters(height: int, width: int, high: int, stroke: int) -> Ink:
    """Rows of the letter H, three strokes each."""
    mask = np.zeros((height, width), bool)
    wide = high * 3 // 4
    for y in range(high // 2, height - high, 2 * high):
        for x in range(high // 2, width - high, wide + high // 3):
            mask[y : y + high, [*range(x, x + stroke), *range(x + wide - stroke, x + wide)]] = True
            middle = y + (high - stroke) // 2
            mask[middle : middle + stroke, x : x + wide] = True
    return mask


def page_with(place: tuple[slice, slice], light: Ink, paper: int = 230, dark: int = 40) -> Gray:
    """Print on paper, and on it a dark place with light letters."""
    page = np.where(letters(600, 500, 16, 3), np.uint8(30), np.uint8(paper))
    page[place[0].start - 6 : place[0].stop + 6, place[1].start - 6 : place[1].stop + 6] = paper
    page[place] = np.where(light, np.uint8(paper), np.uint8(dark))
    return page


def found(page: Gray) -> list[Area]:
    return areas(page, PageNumbers.of(page))


BAR = (slice(100, 140), slice(60, 440))
BOX = (slice(200, 420), slice(80, 330))


@pytest.mark.parametrize(("paper", "dark"), [(230, 20), (250, 90), (170, 30)])
@pytest.mark.parametrize(("place", "high"), [(BAR, 20), (BOX, 12), (BOX, 40)])
def test_letters_become_dark(place: tuple[slice, slice], high: int, paper: int, dark: int) -> None:
    light = letters(place[0].stop - place[0].start, place[1].stop - place[1].start, high, max(high // 7, 2))
    page = page_with(place, light, paper, dark)
    (area,) = found(page)
    assert (area.ground, area.letters) == (dark, paper)
    out = turned(page, [area])
    assert np.array_equal(out[place] == dark, light)
    assert np.array_equal(out[place] == paper, ~light)
    beside = np.ones(page.shape, bool)
    beside[place[0].start - 2 : place[0].stop + 2, place[1].start - 2 : place[1].stop + 2] = False
    assert np.array_equal(out[beside], page[beside])


@pytest.mark.parametrize(("paper", "ground", "letter"), [(230, 110, 40), (240, 100, 35), (160, 80, 45)])
def test_darker_letters_on_a_dark_box(paper: int, ground: int, letter: int) -> None:
    """Lit until its ground is as light as the paper: each gray times paper / ground, cut off."""
    mask = letters(220, 250, 16, 3)
    page = page_of_box(paper, ground, letter)
    (area,) = found(page)
    assert (area.ground, area.letters, area.paper) == (ground, letter, paper)
    out = turned(page, [area])
    assert np.array_equal(out[BOX] == letter * paper // ground, mask)
    assert np.array_equal(out[BOX] == paper, ~mask)
    page[BOX][~mask] = round(0.7 * paper)  # read as it is
    assert not found(page)
    page[BOX][~mask] = letter + 10  # as good as dark all over
    assert not found(page)
    result = binarize(page_of_box(paper, ground, letter), method="otsu")
    assert np.array_equal(result[BOX], mask)


def page_of_box(paper: int, ground: int, letter: int) -> Gray:
    page = page_with(BOX, np.zeros((220, 250), bool), paper, ground)
    page[BOX][letters(220, 250, 16, 3)] = letter
    return page


def test_a_bar_askew() -> None:
    page = page_with(BAR, letters(40, 380, 20, 3))
    askew = np.asarray(Image.fromarray(page).rotate(3, Image.Resampling.BICUBIC, fillcolor=230))
    assert len(found(askew)) == 1


def test_what_is_no_reversed_area() -> None:
    nothing = np.zeros((220, 250), bool)
    frame = ~nothing
    frame[:10] = frame[-10:] = frame[:, :10] = frame[:, -10:] = False
    two = nothing.copy()
    two[60:100, 40:50] = two[60:100, 180:190] = True  # two light stripes far apart
    for light in (nothing, frame, two, ~letters(220, 250, 40, 6)):
        assert not found(page_with(BOX, light))
    headline = np.full((600, 500), 230, np.uint8)
    for x in range(40, 420, 90):
        headline[100:200, x : x + 80] = np.where(np.indices((100, 80)).sum(0) % 60 < 45, 30, 230)
    assert not found(headline)
    desk = np.full((600, 500), 30, np.uint8)
    desk[80:520, 60:440] = np.where(letters(440, 380, 16, 3), 30, 220)
    assert not found(desk)


def test_a_pattern_of_boxes_has_none() -> None:
    """Each of them alone would be one."""
    box = np.full((28, 68), 230, np.uint8)
    box[4:24, 4:64] = np.where(letters(20, 60, 10, 2), 230, 40)
    rows = MOST_AREAS // 6 + 1
    assert not found(np.tile(box, (rows, 6)))
    assert len(found(np.tile(box, (15, 6)))) == 90


def test_pictures_are_none() -> None:
    for kind in ("picture", "photo"):
        for seed in range(4):
            assert not found(synth.page(seed, kind=kind, height=500, width=400)[0])
    shades = np.random.default_rng(1).normal(0, 1, (220, 250))
    for _ in range(12):  # blurred: soft spots of every shade
        shades = (shades + np.roll(shades, 1, 0) + np.roll(shades, 1, 1) + np.roll(shades, -1, 1)) / 4
    page = page_with(BOX, np.zeros((220, 250), bool))
    page[BOX] = np.clip(60 + 90 * shades / shades.std(), 0, 255)
    assert not found(page)
    page[BOX] = np.where(np.indices((220, 250)) % 5 < 2, 220, 30).max(0)  # a screen
    assert not found(page)


@pytest.mark.parametrize("options", [{"method": "otsu"}, {"method": "sauvola"}, {}])
def test_the_verb_reads_them(options: dict[str, str]) -> None:
    light = letters(220, 250, 24, 4)
    page = page_with(BOX, light)
    result = Binarizer(**options).run(page, keep_surface=True)
    assert result.prepared.areas == 1 and result.surface is not None
    assert np.array_equal(result.ink, result.prepared.gray < result.surface)
    both = (result.ink[BOX] & light).sum()
    assert both > 0.85 * light.sum() and both > 0.85 * result.ink[BOX].sum()
    assert np.array_equal(result.ink, binarize(page, threads=3, **options))
    as_is = Binarizer(invert="no", **options).run(page)
    assert as_is.prepared.areas == 0 and np.array_equal(as_is.prepared.gray, page)


@pytest.mark.parametrize("shape", [(1, 1), (3, 900), (900, 3), (40, 40)])
def test_any_size_of_page(shape: tuple[int, int]) -> None:
    for level in (0, 255):
        assert found(np.full(shape, level, np.uint8)) == []
    assert found(np.random.default_rng(2).integers(0, 256, shape, np.uint8)) == []


@pytest.mark.parametrize("name", datasets.GROUPS["wide-train"])
def test_none_on_the_pages_of_the_sets(name: str, data: Path) -> None:
    for page in datasets.find(data / "documents" / name):
        with Image.open(page.image) as image:
            assert not found(to_gray(image)), page.id
