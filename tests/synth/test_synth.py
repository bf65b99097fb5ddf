"""Synthetic pages: the same seed gives the same page, the truth is the drawn ink, nothing held back is trained on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFont

from sauvolanet import synth
from sauvolanet.classic.otsu import threshold_otsu
from sauvolanet.cli import main
from sauvolanet.core.arrays import Gray, Ink
from sauvolanet.core.windows import box_sum
from sauvolanet.errors import UnknownName
from sauvolanet.score.datasets import find, read_gray, read_truth
from sauvolanet.score.metrics import fm
from sauvolanet.synth.drawing import FONT_FOLDER, FONTS, HELD_BACK, Script, draw_text, perspective, spread_ink
from sauvolanet.synth.fields import blur, fractal, largest, noise
from sauvolanet.synth.kinds import KINDS, TRAINING, Kind
from sauvolanet.synth.pages import EDGE, make_page
from sauvolanet.synth.pen import SHAPES, spline
from sauvolanet.synth.words import LANGUAGES, PLAIN, sentence_words

CLEAN = Kind("clean", "Nothing has happened to it.", ("roman",), stroke=(4.5, 5.5), rough=(0, 0), ink=(0.9, 0.9),
             fade=(0, 0), paper=(0.9, 0.9), texture=(0, 0), bleed=0, specks=0, fibres=0, foxing=0, tide=0, fold=0,
             ruled=0, border=0, light=(0, 0), blur=(0, 0), motion=0, coarse=0, noise=(0, 0), jpeg=0,
             gamma=(1, 1))  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_page(kind: str) -> None:
    first, again = (synth.page(5, kind=kind, height=130, width=171) for _ in range(2))
    other = synth.page(6, kind=kind, height=130, width=171)
    assert first[0].shape == first[1].shape == (130, 171)
    assert first[0].dtype == np.uint8 and first[1].dtype == bool
    assert (first[0] == again[0]).all() and (first[1] == again[1]).all()
    assert (first[0] != other[0]).any()


def test_global_random_state_is_neither_used_nor_changed() -> None:
    np.random.seed(1)
    before = np.random.get_state()[1].copy()  # type: ignore[union-attr, index]
    first = synth.page(3, height=64, width=64)[0]
    assert (np.random.get_state()[1] == before).all()  # type: ignore[index]
    np.random.seed(2)
    assert (synth.page(3, height=64, width=64)[0] == first).all()


@pytest.mark.parametrize("script", ["pen", *FONTS])
def test_otsu_finds_the_truth_of_a_clean_page(script: str) -> None:
    gray, truth = make_page(np.random.default_rng(1), replace(CLEAN, scripts=(script,)), 300, 400)
    assert fm(gray < threshold_otsu(gray), truth) > 98
    blurred, truth = make_page(np.random.default_rng(1), replace(CLEAN, scripts=(script,), blur=(0.7, 0.7)), 300, 400)
    assert fm(blurred < threshold_otsu(blurred), truth) > 94


def test_truth_of_wide_strokes_ends_at_one_coverage_whatever_the_blur() -> None:
    wide = replace(CLEAN, scripts=("sans",), stroke=(8, 8), margin=(0.05, 0.05))
    masks = []
    for sigma in (0.0, 0.8):
        gray, truth = make_page(np.random.default_rng(4), replace(wide, blur=(sigma, sigma)), 300, 400)
        masks.append(truth)
    assert ((gray > 23) & (gray < 230)).any()
    assert fm(masks[0], masks[1]) > 97.5
    paper, ink = 0.9 * 255, 0.9 * 0.1 * 255
    sharp, truth = make_page(np.random.default_rng(4), wide, 300, 400)
    assert fm(sharp < paper - EDGE * (paper - ink), truth) > 99.5


def best_cut(gray: Gray, truth: Ink) -> float:
    """Where ink ends between the mean of the ink (0) and of the paper (1) around it, by the best FM."""
    levels = []
    for mask in (truth, ~truth):
        count = box_sum(mask.astype(np.int64), 41)
        levels.append(
            np.where(count > 10, box_sum(np.where(mask, gray, 0).astype(np.int64), 41) / np.maximum(count, 1), np.nan)
        )
    ink, paper = levels
    known = ~np.isnan(ink + paper)
    place = (gray - ink) / np.maximum(paper - ink, 4)
    return float(max(np.arange(0.3, 0.72, 0.02), key=lambda cut: fm((place < cut) & known, truth & known)))


@pytest.mark.slow
def test_truth_is_as_thick_as_hand_drawn_truth(data: Path) -> None:
    drawn = [
        np.mean(
            [
                best_cut(read_gray(p)[:900, :900], read_truth(p)[:900, :900])
                for p in find(data / "documents", [name])[:4]
            ]
        )
        for name in ("DIBCO2009", "DIBCO2010", "DIBCO2012", "DIBCO2013", "DIBCO2017", "DIBCO2018")
    ]
    ours = [
        np.mean([best_cut(*synth.page(500 + i, kind=kind.name, height=400, width=400)) for i in range(3)])
        for kind in TRAINING if kind.name not in ("blank", "picture")
    ]  # fmt: skip
    assert abs(np.mean(ours) - np.mean(drawn)) < 0.03


def test_degradation_does_not_move_the_truth() -> None:
    plain = make_page(np.random.default_rng(2), CLEAN, 200, 200)
    stained = make_page(np.random.default_rng(2), replace(CLEAN, paper=(0.6, 0.6), jpeg=1, noise=(5, 5)), 200, 200)
    assert (plain[1] == stained[1]).all() and (plain[0] != stained[0]).any()


def test_coverage_is_area_of_the_fine_canvas() -> None:
    canvas = Image.new("L", (40, 40))
    canvas.paste(255, (8, 8, 28, 28))  # ten page pixels wide and high
    coverage = spread_ink(np.random.default_rng(0), canvas, roughness=0, gain=0)
    assert coverage.shape == (20, 20)
    assert (coverage[5:13, 5:13] == 1).all() and (coverage >= 0.5).sum() in range(96, 101) and coverage[:3].max() == 0
    fatter = spread_ink(np.random.default_rng(0), canvas, roughness=0, gain=0.2)
    assert fatter.sum() > coverage.sum() and fatter[:2].max() == 0


def test_rough_ink_leaves_bare_paper_bare() -> None:
    bare = Image.new("L", (200, 200))
    assert spread_ink(np.random.default_rng(0), bare, roughness=0.3, gain=0.25).max() == 0


@pytest.mark.parametrize("kind", KINDS)
def test_share_of_ink_is_plausible(kind: str) -> None:
    shares = [synth.page(seed, kind=kind, height=320, width=320)[1].mean() for seed in range(6)]
    if kind == "blank":
        assert max(shares) == 0
    else:
        assert 0.02 < np.mean(shares) < 0.3 and max(shares) < 0.45


def test_ink_is_darker_than_paper_around_it() -> None:
    for kind in KINDS:
        gray, truth = synth.page(11, kind=kind, height=320, width=320)
        if truth.any():
            near = largest(truth.astype(np.float32), 6).astype(bool) & ~largest(truth.astype(np.float32), 2).astype(
                bool
            )
            assert gray[near].mean() - gray[truth].mean() > 3, kind


def test_picture_has_no_truth_inside() -> None:
    kind = replace(CLEAN, picture=1.0)
    gray, truth = make_page(np.random.default_rng(8), kind, 300, 300)
    plain = np.abs(gray.astype(int) - 230) < 3
    dark_without_truth = ~plain & ~largest(truth.astype(np.float32), 3).astype(bool)
    assert dark_without_truth.mean() > 0.04  # the picture is there, and nobody calls it ink
    assert truth.mean() > 0.01


@pytest.mark.parametrize("size", [(32, 32), (33, 257), (300, 40)])
def test_small_and_odd_sizes(size: tuple[int, int]) -> None:
    for kind in KINDS:
        gray, truth = synth.page(2, kind=kind, height=size[0], width=size[1])
        assert gray.shape == truth.shape == size


def test_unknown_kind() -> None:
    with pytest.raises(UnknownName, match="office"):
        synth.page(1, kind="ofice")


def test_training_sees_nothing_that_is_held_back() -> None:
    assert {"office", "photo"}.isdisjoint(kind.name for kind in TRAINING)
    for kind in TRAINING:
        assert set(HELD_BACK).isdisjoint(kind.scripts)
        assert kind.coffee == kind.crease == kind.shadow == kind.perspective == 0
    assert (synth.training_page(4, height=64, width=64)[0] != synth.page(4, height=64, width=64)[0]).any()


def test_example_is_a_degraded_page() -> None:
    gray = synth.example()
    assert gray.shape == (1300, 900) and gray.dtype == np.uint8
    assert gray.std() > 15


def test_fonts_have_every_letter_that_is_written_with_them() -> None:
    rng = np.random.default_rng(0)
    for name, font in FONTS.items():
        face = ImageFont.truetype(str(FONT_FOLDER / font.file), 40)
        missing = face.getmask("￿").getbbox(), bytes(face.getmask("￿"))
        letters = {c for language in font.languages for c in "".join(sentence_words(rng, LANGUAGES[language], 400))}
        for letter in letters:
            assert (face.getmask(letter).getbbox(), bytes(face.getmask(letter))) != missing, (name, letter)
    assert sum((FONT_FOLDER / font.file).stat().st_size for font in FONTS.values()) < 400_000
    licences = (FONT_FOLDER / "FONTS.md").read_text("utf-8")
    assert all(font.file in licences for font in FONTS.values()) and (FONT_FOLDER / "OFL-1.1.txt").is_file()


def test_words() -> None:
    for name, language in LANGUAGES.items():
        words = sentence_words(np.random.default_rng(1), language, 300)
        assert len(words) == 300 and all(words) and words[0][0].isupper() | words[0][0].isdigit() | (words[0][0] == "(")
        assert name not in PLAIN or "".join(words).isascii()
    assert set("abcdefghijklmnopqrstuvwxyz0123456789") <= set(SHAPES)


def test_spline_goes_through_its_points() -> None:
    points = np.array([[0, 0], [1, 2], [3, 1]], np.float32)
    assert np.allclose(spline(points)[::5], points)
    straight = spline(np.array([[0, 0], [1, 1], [2, 2], [3, 3]], np.float32))
    assert np.allclose(straight[:, 0], straight[:, 1])


def test_blur_keeps_the_mean_and_has_its_width() -> None:
    dot = np.zeros((64, 64), np.float32)
    dot[32:34, 32:34] = 0.25  # a whole pixel of the smaller copy that wide blurs work on
    for sigma in (0.8, 2.0, 5.0):
        soft = blur(dot, sigma)
        at = np.arange(64) - 32.5
        assert soft.sum() == pytest.approx(1, abs=0.01)
        assert np.sqrt((soft.sum(0) * at**2).sum() - 0.25) == pytest.approx(sigma, rel=0.15)
    assert (blur(dot, 0, 1.0) > 0).any(1).sum() == 2  # along x only


def test_noise_has_its_size_and_strength() -> None:
    rng = np.random.default_rng(0)
    for cell in (1, 3, 10, 60):
        field = noise(rng, (400, 300), cell)
        assert field.shape == (400, 300) and 0.4 < field.std() < 1
    rough = fractal(rng, (200, 300), 64, 0.8)
    assert rough.shape == (200, 300) and rough.std() == pytest.approx(1, abs=0.01) and abs(rough.mean()) < 0.1
    assert largest(np.eye(5, dtype=np.float32)[:, :3], 1).sum() == 11


def test_perspective_of_nothing_is_nothing() -> None:
    image = draw_text(np.random.default_rng(0), 100, 120, Script("roman", 3.0), margin=(0, 0))[0]
    same = perspective(np.random.default_rng(0), [image], 0.0)[0]
    assert np.abs(np.asarray(image, int) - np.asarray(same, int)).mean() < 0.5


def test_command_writes_pairs_that_the_reader_understands(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    folder = tmp_path / "mine"
    command = ["synth", "-o", str(folder), "--pages", "3", "--seed", "7", "--height", "64", "--width", "96"]
    assert main([*command, "--kind", "print", "blank"]) == 0
    pages = find(folder)
    assert [page.id for page in pages] == ["blank-000007", "blank-000009", "print-000008"]
    gray, truth = synth.page(8, kind="print", height=64, width=96)
    assert (read_gray(pages[2]) == gray).all() and (read_truth(pages[2]) == truth).all()
    with Image.open(folder / "print-000008.gt.png") as written:
        assert written.mode == "1"
    assert sorted(p.suffix for p in folder.iterdir()) == [".png"] * 6  # no temporary file is left
    assert main([*command, "--kind", "print", "blank"]) == 5
    assert "--force" in capsys.readouterr().err
    assert main([*command, "--kind", "print", "blank", "--force"]) == 0
    assert main(["synth", "--pages", "3"]) == 2
    assert main([*command, "--pages", "0"]) == 2
    assert main([*command, "--kind", "ofice"]) == 2
