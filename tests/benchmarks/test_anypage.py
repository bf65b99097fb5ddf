"""The arithmetic of benchmarks/anypage.py on pages worked out by hand; what the models do is not tested here."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from sauvolanet.page.reading import Reading


@pytest.fixture(scope="module")
def anypage() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "anypage.py"
    spec = importlib.util.spec_from_file_location("anypage_benchmark", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bars(width: int = 4, paper: int = 200) -> np.ndarray:
    page = np.full((320, 640), paper, np.uint8)
    for at in range(10, 620, 40):
        page[20:300, at : at + width] = 50
    return page


def test_the_right_half_lies_in_the_shadow(anypage: ModuleType) -> None:
    page = bars()
    hard = anypage.shadowed(page, 0.001 * 640)
    assert np.array_equal(hard[:, :300], page[:, :300])
    assert set(np.unique(hard[:, 340:])) == {anypage.DARKEST, anypage.DARKEST // 4}  # ink has a quarter of the light
    soft = anypage.shadowed(np.full((90, 640), 200, np.uint8), 20)
    assert (np.diff(soft[0].astype(int)) <= 0).all() and soft[0, 320] == pytest.approx(120, abs=2)
    dark = np.full((9, 9), 30, np.uint8)
    assert np.array_equal(anypage.shadowed(dark, 1), dark)  # never lighter


def test_what_a_fixed_threshold_finds_in_a_shadow(anypage: ModuleType) -> None:
    lines = anypage.shadow({"bars": bars(), "darker": bars(paper=180)}, lambda gray: gray < 100)
    assert len(lines) == 4
    # the shadow is all ink: what is written there is found, and the paper of nearly half the page is added
    assert lines[0][1].startswith("100.0 %; least 100.0 %, bars") and "mean of 2 pages" in lines[0][0]
    assert float(lines[1][1].split()[0]) > 400
    none = anypage.shadow({"bars": bars()}, lambda gray: (gray < 100) & (gray >= 45))
    assert float(none[0][1].split()[0]) < 7  # at most the bar at the edge, of eight


def test_ratios_of_ink_and_pixels_that_come_and_go(anypage: ModuleType) -> None:
    page = SimpleNamespace(id="a", load=lambda: Image.new("L", (20, 4)))
    more = {-1.0: 6, -0.5: 8, 0.0: 10, 0.5: 12, 1.0: 14}

    def grows(image: Image.Image, strength: float) -> np.ndarray:
        return np.arange(20)[None] < more[strength]

    found = [line[1] for line in anypage.strength([page], grows)]
    assert found == ["0.60 · 0.80 · 1.00 · 1.20 · 1.40", "none"]
    found = [line[1] for line in anypage.strength([page], lambda image, s: np.roll(grows(image, s), s == 0.5))]
    assert found[1] == "a"


def test_a_page_of_thick_strokes(anypage: ModuleType) -> None:
    reading = Reading()
    assert reading.read(bars()).times == 1
    large = anypage.thickened(bars(), reading)
    assert reading.read(large).times == 0.5
    assert large.shape[1] / large.shape[0] == pytest.approx(2, rel=0.01)


def test_every_run_is_timed_alike(anypage: ModuleType) -> None:
    done: list[str] = []
    runs = [lambda gray: done.append("a"), lambda gray: done.append("b")]
    assert len(anypage.seconds(runs, bars(), 2)) == 2
    assert done == ["a", "b"] * 3


def test_rules_lie_on_paper_as_dark_as_the_ink(anypage: ModuleType) -> None:
    gray = np.full((300, 400), 200, np.uint8)
    gray[100:140, 100:300] = 70
    ink = gray < 128
    made, alone = anypage.ruled(gray, ink)
    assert np.array_equal(made < 128, ink | alone) and set(np.unique(made[alone])) == {70}
    assert alone[60:62, 50:350].all() and alone[62:230, 120:122][~ink[62:230, 120:122]].all()
    (line,) = anypage.rules({"a": gray}, lambda page: page < 128)
    assert line[1] == "100 %; least 100 %, a"
