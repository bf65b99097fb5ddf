"""Which channel of a colour page becomes its gray: made-up pages whose colours are known."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from sauvolanet import Binarizer, binarize
from sauvolanet.page.channel import choose, darkest, reduction, tint_tables
from sauvolanet.page.gray import GrayPage, gray_page, to_gray

PAPER = (240, 235, 220)
BLACK, YELLOW, LIGHT_BLUE, RED = (30, 30, 30), (235, 200, 40), (110, 180, 225), (190, 40, 40)
CHANNELS = ("gray", "min", "red", "green", "blue")


def written(*colours: tuple[int, int, int], paper: tuple[int, int, int] = PAPER) -> np.ndarray:
    """A page of 600 × 600 pixels; each colour writes one band of strokes three pixels wide."""
    page = np.full((600, 600, 3), paper, np.uint8)
    for i, colour in enumerate(colours):
        for x in range(60, 500, 14):
            page[40 + 90 * i : 80 + 90 * i, x : x + 3] = colour
            page[60 + 90 * i : 63 + 90 * i, x : x + 9] = colour
    return page


@pytest.mark.parametrize(
    ("colours", "chosen"),
    [
        ((BLACK,), {"gray"}),
        ((BLACK, RED), {"gray"}),  # gray shows red well
        ((BLACK, YELLOW), {"min", "blue"}),
        ((YELLOW,), {"min", "blue"}),
        ((BLACK, LIGHT_BLUE), {"min", "red"}),
        ((BLACK, LIGHT_BLUE, YELLOW), {"min"}),
        ((BLACK, RED, LIGHT_BLUE), {"min"}),  # red would lose the red ink
    ],
)
def test_auto_is_gray_unless_colour_carries_writing(
    colours: tuple[tuple[int, int, int], ...], chosen: set[str]
) -> None:
    assert gray_page(written(*colours), "auto").channel in chosen


def test_a_highlighter_does_not_decide() -> None:
    page = written(BLACK, BLACK)
    for rows, colour in ((slice(30, 90), (240, 230, 80)), (slice(120, 180), (240, 150, 190))):
        page[rows, 40:400] = np.minimum(page[rows, 40:400], colour)
    assert gray_page(page, "auto").channel == "gray"


@pytest.mark.parametrize("stamp", [(228, 180, 170), (180, 190, 210), (200, 172, 205)])
def test_a_pale_stamp_does_not_decide(stamp: tuple[int, int, int]) -> None:
    assert gray_page(written(BLACK, stamp), "auto").channel == "gray"


def test_yellow_writing_becomes_ink() -> None:
    page = written(BLACK, YELLOW)
    yellow = (page == YELLOW).all(2)
    assert not binarize(page, method="otsu", channel="gray")[yellow].any()
    assert binarize(page, method="otsu")[yellow].all()


def test_the_result_says_the_channel() -> None:
    page = written(BLACK, YELLOW)
    assert Binarizer(method="otsu").run(page).prepared.channel in ("min", "blue")
    assert Binarizer(method="otsu", channel="green").run(page).prepared.channel == "green"
    assert Binarizer(method="otsu").run(page[..., 0]).prepared.channel == "gray"


def test_channels_are_what_they_say() -> None:
    page = written(BLACK, YELLOW, paper=(200, 200, 200))
    for i, name in enumerate(("red", "green", "blue")):
        assert np.array_equal(gray_page(page, name).gray, page[..., i])
    assert np.array_equal(gray_page(page, "gray").gray, to_gray(page))
    assert np.array_equal(gray_page(page, "min").gray, page.min(2))  # on neutral paper


def test_min_makes_the_paper_neutral() -> None:
    """Paper (200, 160, 100): blue is doubled, green times 1.25; light blue ink is then darkest in red."""
    page = written((100, 144, 98), paper=(200, 160, 100))
    least = gray_page(page, "min").gray
    assert set(np.unique(least)) == {100, 200}
    tables = tint_tables(page)
    assert [table[100] for table in tables] == [100, 125, 200]
    assert darkest(np.array([[[50, 100, 150]]], np.uint8), tables).tolist() == [[50]]


@pytest.mark.parametrize("channel", [*CHANNELS, "auto"])
def test_arrays_images_and_alpha_agree(channel: str) -> None:
    page = written(BLACK, YELLOW)
    page = np.repeat(np.repeat(page, 2, 0), 2, 1)[:1130, :1170]  # the copy that is looked at is smaller, and not evenly
    assert reduction(*page.shape[:2]) == 2
    opaque = np.dstack([page, np.full(page.shape[:2], 255, np.uint8)])
    made = [gray_page(image, channel) for image in (page, opaque, Image.fromarray(page), Image.fromarray(opaque))]
    assert len({one.channel for one in made}) == 1
    assert all(np.array_equal(one.gray, made[0].gray) for one in made)


@pytest.mark.parametrize("channel", CHANNELS)
def test_transparent_is_paper_in_every_channel(channel: str) -> None:
    assert gray_page(np.zeros((2, 2, 4), np.uint8), channel).gray.tolist() == [[255, 255], [255, 255]]


@pytest.mark.parametrize("mode", ["L", "1", "LA", "I;16", "P"])
def test_a_page_without_colours_is_gray_whatever_is_asked_for(mode: str) -> None:
    image = Image.fromarray(to_gray(written(BLACK))).convert(mode)
    assert gray_page(image, "red").channel == "gray"
    assert np.array_equal(gray_page(image, "red").gray, to_gray(image))


def test_palettes_and_other_modes_have_channels() -> None:
    image = Image.fromarray(written(BLACK, YELLOW))
    for mode in ("P", "YCbCr", "CMYK"):
        assert gray_page(image.convert(mode), "auto").channel in ("min", "blue")


def test_a_page_made_gray_stays() -> None:
    page = GrayPage(np.zeros((3, 4), np.uint8), "blue")
    assert gray_page(page, "red") is page


@pytest.mark.parametrize("shape", [(1, 1), (1, 50), (3, 2), (11, 700)])
def test_small_and_dark_pages_are_gray(shape: tuple[int, int]) -> None:
    noise = np.random.default_rng(1).integers(0, 60, (*shape, 3)).astype(np.uint8)
    assert choose(noise, to_gray(noise)) == "gray"
    assert gray_page(noise, "min").gray.shape == shape
