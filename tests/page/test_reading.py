"""A page in even light, at the size that a model wants."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from sauvolanet import Binarizer, net, synth
from sauvolanet.errors import UsageError
from sauvolanet.net.model import Model
from sauvolanet.page import reading
from sauvolanet.page.reading import PaperLevel, Reading, enlarged, reading_from_json, usual_stroke


def reader(**rules: float) -> Binarizer:
    """The default model with a reading, whatever its own is."""
    model = net.load("swift")
    return Binarizer(model=Model({**model.about, "reading": Reading(**rules).to_json()}, model.weights), threads=1)


def test_levels_between_the_centres_of_cells() -> None:
    paper = PaperLevel(np.array([[100, 200]], np.float32), 4, 200.0)
    across = paper.ratio((slice(0, 4), slice(0, 8)))
    # centres at 2 and 6: pixel 3 (middle 3.5) is 3/8 of the way from 100 to 200
    assert across.shape == (4, 8)
    np.testing.assert_allclose(across[0] * 200, [100, 100, 112.5, 137.5, 162.5, 187.5, 200, 200])
    np.testing.assert_array_equal(paper.ratio((slice(1, 3), slice(2, 5))), across[1:3, 2:5])


def noise(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(height * width).integers(0, 256, (height, width), dtype=np.uint8)


@pytest.mark.parametrize(
    ("shape", "side"), [((100, 130), 8), ((97, 131), 15), ((300, 257), 23), ((5, 300), 128), ((1, 1), 8)]
)
@pytest.mark.parametrize("percent", [0, 80, 99.9])
def test_levels_of_cells_are_those_of_numpy(shape: tuple[int, int], side: int, percent: float, level: str) -> None:
    gray, step = noise(*shape), max(side // 8, 1)
    nth = int(len(range(0, side, step)) ** 2 * percent / 100)
    for page in (gray, gray // 200 * 255, gray.T):
        truth = reading.cell_levels_numpy(page, side, step, nth)
        for threads in (1, 3):
            np.testing.assert_array_equal(reading.cell_levels(page, side, step, nth, threads), truth)


@pytest.mark.parametrize(("shape", "side"), [((70, 90), 8), ((33, 517), 16), ((520, 40), 9), ((1, 1), 8)])
def test_light_is_that_of_numpy(shape: tuple[int, int], side: int, level: str) -> None:
    rng = np.random.default_rng(side)
    cells = [-(-n // side) for n in shape]
    paper = PaperLevel(rng.uniform(1, 255, cells).astype(np.float32), side, 211.7)
    whole = (slice(0, shape[0]), slice(0, shape[1]))
    truth = reading.ratio_numpy(*paper._place(whole))
    np.testing.assert_array_equal(paper.ratio(whole), truth)
    even, gray = np.empty(shape, np.uint8), noise(*shape)
    reading.even_numpy(gray, truth, even)
    np.testing.assert_array_equal(paper.even(gray, 2), even)
    np.testing.assert_array_equal(paper.even(np.dstack([gray] * 3), 2)[..., 1], even)
    surface = rng.uniform(0, 255, shape).astype(np.float32)
    for part in (whole, (slice(shape[0] // 2, shape[0]), slice(shape[1] // 3, shape[1]))):
        for lit in (surface[part].copy(), np.array(surface[part], order="F")):
            paper.relight(lit, part, 2)
            np.testing.assert_array_equal(lit, surface[part] * truth[part])


@pytest.mark.parametrize("shape", [(64, 64), (200, 331), (2300, 2200), (40, 100)])
@pytest.mark.parametrize("cut", [0, 40, 256])
def test_strokes_are_those_of_numpy(
    shape: tuple[int, int], cut: int, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gray = noise(*shape) // 16 * 16 if cut else noise(*shape)
    compiled = usual_stroke(gray, cut)
    monkeypatch.setenv("SAUVOLANET_NO_NATIVE", "1")
    assert compiled == usual_stroke(gray, cut)
    assert bool(compiled) == (cut == 40)


def test_paper_of_two_lights_becomes_one() -> None:
    page = np.full((400, 600), 220, np.uint8)
    page[:, 340:] = 60
    page[100:140, 40:260] = 30  # writing
    page[100:140, 380:580] = 8
    level = Reading().paper_level(page)
    even = level.even(page)
    assert level.white == 220
    assert np.abs(even[:80, :250].astype(int) - level.white).max() <= 1
    assert np.abs(even[:80, 380:].astype(int) - level.white).max() <= 1
    assert int(even[120, 100]) == pytest.approx(int(even[120, 500]), abs=2)  # 30/220 and 8/60 of the paper
    colour = np.dstack([page, page, page // 2])
    np.testing.assert_array_equal(level.even(colour)[..., 0], even)


def test_shadow_is_no_deeper_than_the_darkest_paper() -> None:
    page = np.full((480, 480), 200, np.uint8)
    page[:, :200] = 2  # a black desk, not a shadow
    level = Reading(darkest=0.15).paper_level(page)
    assert level.even(page)[:, :150].max() <= 2 / 0.15


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 70), st.integers(1, 70), st.integers(0, 2**32 - 1))
def test_any_size_can_be_read(height: int, width: int, seed: int) -> None:
    gray = np.random.default_rng(seed).integers(0, 256, (height, width), np.uint8)
    read = Reading(thick=1.0).read(gray)
    assert read.gray.dtype == np.uint8 and read.shape == gray.shape
    whole = tuple(slice(0, n) for n in read.gray.shape)
    surface = np.full(read.gray.shape, 77, np.float32)
    parts = list(read.surface([(whole, surface)]))  # type: ignore[list-item]
    assert sum(part.size for _, part in parts) == gray.size


@pytest.mark.parametrize("width", [2, 3, 5, 9, 14])
def test_stroke_width_of_bars(width: int) -> None:
    gray = np.full((640, 640), 230, np.uint8)
    for at in range(10, 600, 50):
        gray[:, at : at + width] = 20
    assert usual_stroke(gray, 128) / 1.27 == pytest.approx(width, rel=0.1)


def test_specks_and_dark_areas_do_not_decide() -> None:
    gray = np.full((1280, 1280), 230, np.uint8)
    for at in range(10, 1200, 50):
        gray[:640, at : at + 6] = 20
    plain = usual_stroke(gray, 128)
    gray[700:1200, 100:1200] = 10  # a picture
    rows, columns = np.random.default_rng(1).integers(0, 640, (2, 300))
    gray[rows, columns] = 0
    assert usual_stroke(gray, 128) == pytest.approx(plain, rel=0.15)
    assert usual_stroke(np.full((300, 300), 200, np.uint8), 128) == 0


def test_result_has_the_size_of_the_page_and_follows_from_its_surface() -> None:
    gray, _ = synth.page(3, kind="manuscript", height=240, width=320)
    for rules in ({}, {"thick": 1.0}):
        result = reader(**rules).run(gray, keep_surface=True)
        assert result.surface is not None and result.prepared.read is not None
        assert result.prepared.read.times == (0.5 if rules else 1.0)
        assert result.ink.shape == gray.shape
        np.testing.assert_array_equal(result.ink, gray < result.surface)


def test_threads_change_nothing() -> None:
    gray, _ = synth.page(5, kind="manuscript", height=300, width=200)
    one = reader().run(gray).ink
    binarizer = reader()
    binarizer.options = binarizer.options.__class__(threads=2)
    np.testing.assert_array_equal(binarizer.run(gray).ink, one)


def test_writing_in_a_deep_shadow_is_found() -> None:
    gray, truth = synth.page(4, kind="office", height=480, width=640)
    light = np.ones(gray.shape)
    light[:, 320:] = 0.2
    shaded = np.rint(gray * light).astype(np.uint8)
    dark = (slice(None), slice(360, None))
    found, lit, uneven = (
        reader(**rules)(page)[dark][truth[dark]].mean()
        for rules, page in (({}, shaded), ({}, gray), ({"darkest": 1.0}, shaded))
    )
    assert found > 0.97 * lit > 0.7
    assert found > uneven


@pytest.mark.parametrize("wrong", [{"cells": 0}, {"percent": 120.0}, {"thick": "wide"}, {"darkest": float("nan")}])
def test_rules_without_sense(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=f"reading: {next(iter(wrong))}"):
        Reading(**wrong)  # type: ignore[arg-type]


def test_rules_of_a_model_are_complete() -> None:
    rules = Reading(cells=30).to_json()
    assert reading_from_json(rules) == Reading(cells=30)
    assert reading_from_json(None) is None
    with pytest.raises(UsageError, match="missing or unknown keys: size"):
        reading_from_json({**rules, "size": 1})


def whole(surface: np.ndarray, shape: tuple[int, int], threads: int = 1) -> np.ndarray:
    """The enlarged surface of which `enlarged` gives some rows at a time."""
    made = np.full(shape, np.nan, np.float32)
    for place, part in enlarged(surface, shape, threads):
        made[place] = part
    return made


@pytest.mark.parametrize("shape", [(41, 60), (81, 121), (82, 119), (300, 61)])
def test_an_enlarged_surface_is_pillows(shape: tuple[int, int], level: str) -> None:
    surface = np.random.default_rng(3).random((41, 60), np.float32) * 255
    made = whole(surface, shape)
    assert np.allclose(made, Image.fromarray(surface).resize(shape[::-1], Image.Resampling.BILINEAR), atol=1e-3)
    assert np.array_equal(made, whole(surface, shape, 2))
