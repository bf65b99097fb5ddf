"""Pages with nothing to read, or hardly anything: sensible ink, and the same whatever the threads and tiles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from sauvolanet import Binarizer, synth
from sauvolanet.net import run

PAPER, INK = 225, 40
Make = Callable[[], Image.Image]


def blank() -> Image.Image:
    noise = np.random.default_rng(0).integers(-2, 3, (400, 300))
    return Image.fromarray((PAPER + noise).astype(np.uint8))


def one_letter() -> Image.Image:
    page = Image.new("L", (500, 700), PAPER)
    ImageDraw.Draw(page).text((200, 300), "g", INK, ImageFont.load_default(60))
    return page


def picture() -> Image.Image:
    """Soft shapes of every shade and nothing else, as a photograph that fills the page."""
    y, x = np.mgrid[:450, :350] / 60
    shades = 120 + 60 * np.sin(x + np.cos(y)) + 50 * np.cos(1.7 * y - np.sin(2 * x))
    return Image.fromarray((shades + np.random.default_rng(1).normal(0, 3, x.shape)).clip(0, 255).astype(np.uint8))


def one_bit() -> Image.Image:
    return Image.fromarray(~synth.page(1, kind="print", height=300, width=260)[1])


def strip() -> Image.Image:
    page = Image.new("L", (900, 20), PAPER)
    ImageDraw.Draw(page).text((10, 1), "one line of twenty pixels, and no more", INK, ImageFont.load_default(14))
    return page


def standing_strip() -> Image.Image:
    return strip().transpose(Image.Transpose.ROTATE_90)


PAGES = (blank, one_letter, picture, one_bit, strip, standing_strip)


@pytest.mark.parametrize("make", PAGES, ids=lambda make: make.__name__)
def test_same_ink_whatever_the_threads_and_tiles(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    page = make()
    one, two = (Binarizer(threads=threads)(page) for threads in (1, 2))
    assert one.shape == (page.height, page.width)
    assert np.array_equal(one, two)
    monkeypatch.setattr(run, "TILE_BYTES", 4_000_000)  # several tiles of all but the strips
    assert np.array_equal(Binarizer(threads=1)(page), one)


@pytest.mark.parametrize("make", (one_letter, strip, standing_strip), ids=lambda make: make.__name__)
def test_what_is_written_is_found(make: Make) -> None:
    page = make()
    dark = np.asarray(page) < (PAPER + INK) / 2
    ink = Binarizer()(page)
    assert ink[dark].mean() > 0.9
    assert (ink & ~dark).sum() < 0.6 * dark.sum()  # at most a rim


def test_ink_of_one_bit_is_ink() -> None:
    page = one_bit()
    dark = ~np.asarray(page)
    ink = Binarizer()(page)
    assert (ink & dark).sum() > 0.97 * dark.sum() and (ink & ~dark).sum() < 0.03 * dark.sum()


def test_nothing_on_paper_and_no_page_of_ink_on_a_picture() -> None:
    assert not Binarizer()(blank()).any()
    assert Binarizer()(picture()).mean() < 0.6
