"""The verb: properties that hold for models and methods, on any page."""

from __future__ import annotations

import itertools
import multiprocessing
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

import sauvolanet
from sauvolanet import Binarizer, binarize, normalize, threshold
from sauvolanet.classic import METHODS
from sauvolanet.errors import UnknownName, UsageError
from sauvolanet.page.gray import to_gray
from sauvolanet.page.numbers import PageNumbers
from sauvolanet.page.white import paper_to_white
from sauvolanet.synth import page

GRAY, TRUTH = page(5, kind="letter", height=150, width=170)
SURFACES = [{"model": "original"}, {"method": "sauvola"}, {"method": "otsu"}]


def test_public_names() -> None:
    assert sorted(sauvolanet.__all__) == [
        "Binarizer", "Explanation", "SauvolanetError", "__version__", "binarize", "binarize_many", "evaluate", "explain",
        "normalize", "threshold",
    ]  # fmt: skip
    assert callable(sauvolanet.binarize)
    assert callable(sauvolanet.explain)
    assert callable(sauvolanet.evaluate)
    assert callable(sauvolanet.binarize_many)


@settings(max_examples=20, deadline=None)
@given(
    gray=arrays(np.uint8, st.tuples(st.integers(1, 40), st.integers(1, 40))), strength=st.sampled_from([0.0, 0.4, -1.0])
)
@pytest.mark.parametrize("what", SURFACES, ids=str)
def test_ink_is_gray_below_the_surface(what: dict[str, str], gray: np.ndarray, strength: float) -> None:
    ink = binarize(gray, invert="no", strength=strength, **what)
    assert ink.dtype == bool
    assert ink.shape == gray.shape
    assert np.array_equal(ink, gray < threshold(gray, invert="no", strength=strength, **what))


@pytest.mark.parametrize("what", SURFACES, ids=str)
def test_ink_grows_with_strength(what: dict[str, str]) -> None:
    before = binarize(GRAY, strength=-1, **what)
    for strength in (-0.5, -0.1, 0, 0.1, 0.5, 1):
        ink = binarize(GRAY, strength=strength, **what)
        assert not (before & ~ink).any()
        before = ink
    assert binarize(GRAY, strength=1, **what).sum() > binarize(GRAY, strength=-1, **what).sum()


@pytest.mark.parametrize("what", [{}, {"method": "nick"}], ids=str)
def test_blank_pages_stay_blank(what: dict[str, str]) -> None:
    for level in (0, 128, 255):
        assert not binarize(np.full((60, 70), level, np.uint8), **what).any()
    assert binarize(np.zeros((1, 1), np.uint8), **what).shape == (1, 1)
    noise = 200 + np.random.default_rng(0).integers(0, 4, (60, 70))
    assert not binarize(noise.astype(np.uint8), **what).any()


def test_inverted_pages() -> None:
    upright = binarize(GRAY, method="otsu", invert="no")
    assert np.array_equal(binarize(255 - GRAY, method="otsu", invert="yes"), upright)
    dark = np.full((90, 90), 15, np.uint8)
    dark[30:50:2, 20:60] = 240
    assert binarize(dark, method="otsu").mean() == pytest.approx(400 / 8100)


def test_best_quality_is_equivariant_to_flips() -> None:
    a = threshold(GRAY, model="original", quality="best")
    b = threshold(GRAY[:, ::-1], model="original", quality="best")[:, ::-1]
    assert np.abs(a - b).max() < 1e-2
    # the default reads a page in even light, whose cells begin at the page's upper left
    assert (binarize(GRAY, quality="best") == binarize(GRAY[:, ::-1], quality="best")[:, ::-1]).mean() > 0.995


def test_an_enlarged_page_is_a_larger_page() -> None:
    large = Image.fromarray(GRAY).resize((GRAY.shape[1] * 2, GRAY.shape[0] * 2), Image.Resampling.BICUBIC)
    for what in ({"method": "sauvola"}, {"method": "otsu", "invert": "yes"}, {}):
        ink = binarize(GRAY, enlarge=2, **what)
        assert np.array_equal(ink, binarize(large, **what))
        assert np.array_equal(normalize(GRAY, enlarge=2, **what), normalize(large, **what))


@pytest.mark.parametrize(("height", "times"), [(4, 1), (5, 2), (14, 2), (15, 1)])
@pytest.mark.parametrize("what", [{"method": "otsu"}, {"method": "otsu", "invert": "yes"}])
def test_pages_with_small_letters_are_doubled(height: int, times: int, what: dict[str, str]) -> None:
    gray = np.full((90, 120), 240, np.uint8)
    for top in range(5, 70, 20):
        for left in range(5, 110, 6):
            gray[top : top + height, left : left + 3] = 20
    gray[2, ::2] = 20  # specks, more of them than letters
    gray = 255 - gray if "invert" in what else gray
    ink = binarize(gray, enlarge="auto", **what)
    assert np.array_equal(ink, binarize(gray, enlarge=times, **what))
    assert ink.shape == (90 * times, 120 * times)
    assert np.array_equal(normalize(gray, enlarge="auto", **what), normalize(gray, enlarge=times, **what))
    assert np.array_equal(threshold(gray, enlarge="auto", **what), threshold(gray, enlarge=times, **what))


def test_options_are_checked() -> None:
    with pytest.raises(UsageError, match="not both"):
        binarize(GRAY, model="original", method="otsu")
    with pytest.raises(UnknownName, match="did you mean sauvola"):
        binarize(GRAY, method="sauvolla")
    with pytest.raises(UnknownName, match="did you mean window"):
        binarize(GRAY, method="nick", windw=25)
    with pytest.raises(UnknownName):
        binarize(GRAY, window=25)
    with pytest.raises(UsageError, match="strength must be a number from -1 to 1"):
        binarize(GRAY, strength=2)
    with pytest.raises(UsageError, match="an odd whole number"):
        binarize(GRAY, method="nick", window=24)
    without = next(m.name for m in METHODS.values() if not m.surface and not m.extra)
    with pytest.raises(UsageError, match="no threshold surface"):
        threshold(GRAY, method=without)
    with pytest.raises(UsageError, match="strength needs"):
        binarize(GRAY, method=without, strength=0.5)


def test_pil_and_arrays_give_the_same_numpy_ink() -> None:
    ink = binarize(Image.fromarray(GRAY))
    assert isinstance(ink, np.ndarray)
    assert np.array_equal(ink, binarize(GRAY))


def test_the_input_is_left_alone() -> None:
    kept = GRAY.copy()
    binarize(GRAY, invert="yes")
    assert np.array_equal(GRAY, kept)


def test_one_binarizer_in_many_threads() -> None:
    binarizer = Binarizer(threads=2)
    expected = binarizer(GRAY)
    results: list[np.ndarray] = []
    workers = [threading.Thread(target=lambda: results.append(binarizer(GRAY))) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 6
    assert all(np.array_equal(r, expected) for r in results)


def _in_child(binarizer: Binarizer, queue: object) -> None:
    queue.put(binarizer(GRAY))  # type: ignore[attr-defined]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_after_a_fork() -> None:
    binarizer = Binarizer(threads=2)
    expected = binarizer(GRAY)  # the parent's threads are running
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(binarizer, queue))
    child.start()
    assert np.array_equal(queue.get(timeout=60), expected)
    child.join()


def test_normalize_whitens_the_paper_and_keeps_strokes() -> None:
    light = np.linspace(0.85, 1, 200)[None]
    scene = np.full((120, 200), 230.0)
    scene[50:60, 40:160] = 60
    gray = np.rint(scene * light).astype(np.uint8)
    white = normalize(gray, method="sauvola")
    assert white[5:40].min() > 245
    assert white[52:58, 45:155].max() < 90


@pytest.mark.parametrize("noise", [0, 2])
@pytest.mark.parametrize("words", [1, 12])
@pytest.mark.parametrize("what", [{}, {"model": "original"}, {"method": "sauvola"}], ids=str)
def test_a_page_with_few_words_keeps_them(what: dict[str, str], words: int, noise: int) -> None:
    truth = np.zeros((800, 600), bool)
    for i in range(words):
        for x in range(0, 30, 6):  # five letters of 10 × 4 pixels, with a gap inside
            truth[300:310, 40 + 40 * i + x : 44 + 40 * i + x] = True
            truth[303:307, 41 + 40 * i + x : 43 + 40 * i + x] = False
    gray = np.where(truth, 40.0, 235.0) + np.random.default_rng(1).normal(0, noise, truth.shape)
    ink = binarize(np.rint(gray).clip(0, 255).astype(np.uint8), **what)
    assert (ink & truth).sum() > 0.95 * truth.sum() > 0.5 * ink.sum()


def test_a_methods_window_is_its_own_in_normalize() -> None:
    ink = binarize(GRAY, method="nick", window=9)
    assert not np.array_equal(ink, binarize(GRAY, method="nick"))
    expected = paper_to_white(GRAY, ink, 127, PageNumbers.of(GRAY).levels()[1])
    assert np.array_equal(normalize(GRAY, method="nick", window=9), expected)


@pytest.mark.parametrize("offset", [3, 5])
def test_ink_grows_with_strength_beside_the_sides_too(offset: int) -> None:
    """A faint line beside the side of the page and darker dashes: what is a strip at one strength may not be at another."""
    gray, _ = page(1, kind="typescript", height=360, width=480)
    gray[:14] = np.median(gray)
    gray[offset : offset + 2, 40:440] -= np.uint8(25)
    for x in range(40, 440, 60):
        gray[offset + 1, x : x + 45] = 60
    inks = []
    for strength in (-1.0, -0.5, 0.0, 0.5, 1.0):
        binarizer = Binarizer(strength=strength)
        inks.append(binarizer(gray))
        assert np.array_equal(inks[-1], gray < binarizer.threshold(gray))
    assert all((lighter <= heavier).all() for lighter, heavier in itertools.pairwise(inks))
    assert not np.array_equal(inks[0], inks[-1])


@pytest.mark.parametrize("window", [3, 31, 127])
def test_normalize_does_not_depend_on_bands_or_threads(window: int) -> None:
    whole = paper_to_white(GRAY, TRUTH, window, 250, rows=len(GRAY))
    for rows, threads in ((1, 1), (7, 3), (64, 2)):
        assert np.array_equal(paper_to_white(GRAY, TRUTH, window, 250, threads, rows), whole)


def test_gray_is_the_same_for_the_verb_and_the_page() -> None:
    assert np.array_equal(Binarizer(method="otsu").run(GRAY).prepared.gray, to_gray(GRAY))
