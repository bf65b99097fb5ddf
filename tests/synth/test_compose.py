"""Composed pages: repeatable, with exact truth, from two parts of papers and inks that never meet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sauvolanet.errors import BadData, UnknownName
from sauvolanet.page.gray import to_gray
from sauvolanet.synth import compose
from sauvolanet.synth.compose import Look, Paper
from sauvolanet.synth.ink import Writing, covered, resampled, stroke_width


def bars(width: int, gap: int, shape: tuple[int, int] = (160, 200)) -> np.ndarray:
    """Coverage of slanted bars of a known width, 0 … 255."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    inside = ((x + 0.5 * y) / np.hypot(1, 0.5)) % (width + gap) < width
    inside[:6] = inside[-6:] = inside[:, :6] = inside[:, -6:] = False
    return np.where(inside, 255, 0).astype(np.uint8)


@pytest.fixture
def papers(tmp_path: Path) -> list[Paper]:
    """One sheet with dark rules, one plain."""
    ruled = np.full((120, 90, 3), (215, 205, 190), np.uint8)
    ruled[10::20] = (40, 40, 60)
    Image.fromarray(ruled).save(tmp_path / "ruled.png")
    Image.fromarray(np.full((120, 90, 3), 200, np.uint8)).save(tmp_path / "plain.png")
    return [
        Paper("ruled", tmp_path / "ruled.png", frozenset({"lined", "ruled"})),
        Paper("plain", tmp_path / "plain.png", frozenset({"texture", "plain"})),
    ]


@pytest.fixture
def inks(tmp_path: Path) -> list[Writing]:
    coverage = bars(5, 18)
    Image.fromarray(255 - coverage // 2).convert("RGB").save(tmp_path / "written.png")
    Image.fromarray(coverage < 128).save(tmp_path / "printed.png")
    return [Writing("w", tmp_path / "written.png"), Writing("p", tmp_path / "printed.png", printed=True)]


def test_the_same_arguments_give_the_same_page(papers: list[Paper], inks: list[Writing]) -> None:
    first, again = (compose.compose(3, papers, inks, height=200, width=240) for _ in range(2))
    assert np.array_equal(first[0], again[0]) and np.array_equal(first[1], again[1]) and first[2] == again[2]
    other = compose.compose(4, papers, inks, height=200, width=240)
    assert not np.array_equal(first[0], other[0])
    assert first[0].shape == (200, 240, 3) and first[0].dtype == np.uint8 and first[1].dtype == bool


def test_truth_is_the_dark_part(papers: list[Paper], inks: list[Writing]) -> None:
    for seed in range(4):
        look = Look("even", lambda t: "plain" in t, stroke=(4, 5), tools=("pen",))
        colour, truth, about = compose.compose(seed, papers, inks, look, height=200, width=240)
        gray = to_gray(colour)
        assert 0.01 < truth.mean() < 0.6
        assert gray[truth].mean() < (1 - 0.7 * about["darkness"]) * gray[~truth].mean() + 25
        assert gray[truth].mean() + 30 < gray[~truth].mean()


def test_rules_stay_paler_than_the_writing(papers: list[Paper], inks: list[Writing]) -> None:
    for seed in range(6):
        look = Look("lines", lambda t: "ruled" in t, stroke=(5, 6), tools=("pen",))
        colour, truth, about = compose.compose(seed, papers, inks, look, height=200, width=240)
        gray = to_gray(colour).astype(float)
        far = np.asarray(Image.fromarray(truth).convert("L").resize((240, 200))) == 0
        assert np.percentile(gray[far & ~truth], 0.5) > np.median(gray[truth]), about


def test_black_rules_under_a_pencil_are_paper(inks: list[Writing], tmp_path: Path) -> None:
    """As black as the sheet's rules may be, they become at most 0.6 as deep as the pale writing."""
    sheet = np.full((120, 90, 3), 160, np.uint8)
    sheet[10::20] = 0
    Image.fromarray(sheet).save(tmp_path / "black.png")
    black = [Paper("black", tmp_path / "black.png", frozenset({"lined", "ruled"}))]
    for seed in range(6):
        look = Look("lines", stroke=(5, 6), tools=("pencil",), darkness={"pencil": (0.4, 0.4)})
        colour, truth, _ = compose.compose(seed, black, inks, look, height=200, width=240)
        gray = to_gray(colour).astype(float)
        paper, written = np.percentile(gray[~truth], 80), np.median(gray[truth])
        assert paper - np.percentile(gray[~truth], 0.5) < 1.1 * (paper - written)  # noise and the edges of strokes


def test_a_shadow_of_our_own_darkens_the_paper(papers: list[Paper], inks: list[Writing]) -> None:
    light = Look("x", lambda t: "plain" in t, tools=("pen",), stroke=(4, 5))
    dark = Look("x", lambda t: "plain" in t, tools=("pen",), stroke=(4, 5), shadow=1.0)
    for seed in range(3):
        lit, truth, _ = compose.compose(seed, papers, inks, light, height=200, width=240)
        shaded, same, about = compose.compose(seed, papers, inks, dark, height=200, width=240)
        assert np.array_equal(truth, same) and 40 <= about["shadow"] <= 110
        assert np.percentile(to_gray(shaded)[~truth], 2) < np.percentile(to_gray(lit)[~truth], 2) - 20


@pytest.mark.parametrize(("tool", "even"), [("typed", "print"), ("nib", "pen")])
def test_type_and_nib_give_uneven_ink(tool: str, even: str, papers: list[Paper], inks: list[Writing]) -> None:
    """The truth has all of it, and the palest of it is far paler than with an even tool, which has one darkness."""
    for seed in range(3):
        spread = {}
        for name in (tool, even):
            look = Look("x", lambda t: "plain" in t, tools=(name,), stroke=(6, 7), darkness={name: (0.8, 0.8)})
            colour, truth, about = compose.compose(seed, papers, inks, look, height=300, width=340)
            inside = truth[1:-1, 1:-1] & truth[2:, 1:-1] & truth[:-2, 1:-1] & truth[1:-1, 2:] & truth[1:-1, :-2]
            spread[name] = np.subtract(*np.percentile(to_gray(colour)[1:-1, 1:-1][inside], (95, 5)))
            assert about["inks"] == (["p"] if tool == "typed" else ["w"])
        assert spread[tool] > 2 * spread[even]


def test_fibres_are_long_and_never_as_deep_as_the_ink() -> None:
    for seed in range(4):
        light = compose.fibre_light(np.random.default_rng(seed), (300, 400), 0.3)
        assert light.shape == (300, 400) and 0.7 <= light.min() < 0.95 and light.mean() == pytest.approx(1, abs=0.05)
        fine = light - np.mean([np.roll(light, shift, axis) for axis in (0, 1) for shift in (-15, 15)], 0)
        along = max((fine * np.roll(fine, 12, axis)).mean() for axis in (0, 1))
        aside = (fine * np.roll(fine, (12, 12), (0, 1))).mean()
        assert along > 2 * abs(aside)  # what is dark here is dark along the fibre, not beside it


@pytest.mark.parametrize("wanted", [1.2, 1.8, 3.0, 6.0, 10.0])
def test_strokes_are_as_wide_as_asked_for(wanted: float, papers: list[Paper], inks: list[Writing]) -> None:
    _, truth, about = compose.compose(1, papers, inks, height=400, width=400, stroke=wanted)
    assert about["measured"] == stroke_width(truth)
    assert stroke_width(truth) == pytest.approx(wanted, rel=0.15)


def test_stroke_width_of_a_disc_and_of_nothing() -> None:
    y, x = np.mgrid[:201, :201]
    disc = (x - 100) ** 2 + (y - 100) ** 2 <= 80**2
    assert stroke_width(disc) == pytest.approx(80, rel=0.02)  # 2 · πr² / 2πr = r
    assert stroke_width(np.zeros((5, 5), bool)) == 0


def test_coverage_of_a_photographed_stroke() -> None:
    """Half covered pixels have half the depth; uneven light is no ink; what a side cuts is left out."""
    truth = np.zeros((100, 120))
    truth[20:80, 50:56] = 1
    truth[20:80, 56] = 0.5
    truth[40:44, :10] = 1  # cut by the side
    light = np.linspace(140, 220, 120)[None, :]
    page = np.rint(light * (1 - 0.6 * truth)).astype(np.uint8)
    found = covered(np.dstack([page, page, page]))
    assert found[30:70, 51:55].min() > 0.95
    assert found[30:70, 56] == pytest.approx(0.5, abs=0.2)
    assert found[:, :40].max() == 0 and found[:, 70:].max() == 0


def test_growing_strokes_keep_a_sharp_edge() -> None:
    made = resampled(bars(4, 16), 4, 12)
    between = ((made > 0.1) & (made < 0.9)).sum() / ((made[1:] >= 0.5) != (made[:-1] >= 0.5)).sum()
    assert stroke_width(made >= 0.5) == pytest.approx(12, rel=0.05)
    assert between < 4


def test_unknown_kinds_and_missing_papers(papers: list[Paper], inks: list[Writing], tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="ruled"):
        compose.compose(1, papers, inks, "ruld")
    with pytest.raises(BadData, match="squared"):
        compose.compose(1, papers, inks, "squared")
    with pytest.raises(BadData, match="no such folder"):
        compose.papers(tmp_path, "train")
    with pytest.raises(UnknownName):
        compose.papers(tmp_path, "test")


def test_parts_are_whole_blocks_with_nobody_next_to_them() -> None:
    for folder, highest in (("lined", 570), ("written", 458), ("texture", 296), ("printed", 15)):
        parts = [compose.part_of(folder, n) for n in range(highest)]
        assert {"train", "panel"} <= set(parts)
        if folder in ("lined", "written"):
            panel, train = ([n for n, part in enumerate(parts) if part == name] for name in ("panel", "train"))
            assert min(abs(a - b) for a in panel for b in train) > compose.NEXT


def test_the_parts_of_the_data(data: Path) -> None:
    kinds: dict[str, set[str]] = {}
    for part in ("train", "panel"):
        sheets, written = compose.papers(data / "papers", part), compose.inks(data / "ink", part)
        kinds[part] = {p.name for p in sheets} | {w.name for w in written}
        assert len(sheets) >= 60 and len(written) >= 40
        for look in compose.LOOKS.values():
            assert sum(look.papers(p.traits) for p in sheets) >= 4, (part, look.name)
    assert not kinds["train"] & kinds["panel"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(compose.LOOKS))
def test_pages_of_the_data(data: Path, kind: str) -> None:
    parts = compose.papers(data / "papers", "train"), compose.inks(data / "ink", "train")
    colour, truth, about = compose.compose(7, *parts, kind, height=500, width=600)
    again = compose.compose(7, *parts, kind, height=500, width=600)
    assert np.array_equal(colour, again[0]) and np.array_equal(truth, again[1])
    gray = to_gray(colour)
    assert 0.002 < truth.mean() < 0.4
    assert gray[truth].mean() < gray[~truth].mean() - 10
    if about["letters"] is None:
        assert about["measured"] == pytest.approx(about["stroke"], rel=0.15)
