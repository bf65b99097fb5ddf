"""Heavier and lighter ink."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sauvolanet import binarize, synth, threshold
from sauvolanet.page.reading import PaperLevel
from sauvolanet.page.strength import HEAVIEST, LIGHTEST, Edges, moved

STRENGTHS = tuple(round(i / 10 - 1, 1) for i in range(21))


def edges_of(row: list[int], ink: list[int]) -> Edges:
    """Of three equal rows on paper of gray 200."""
    gray = np.array([row] * 3, np.uint8)
    paper = PaperLevel(np.array([[200]], np.float32), 64, 200.0)
    mask = np.array([ink] * 3, bool)
    return Edges.of(gray, mask, np.ones_like(mask), paper)


def test_a_stroke_moves_through_its_soft_edge() -> None:
    edges = edges_of([200, 200, 140, 100, 0, 0, 100, 140, 200, 200], [0, 0, 0, 1, 1, 1, 1, 0, 0, 0])
    # ink beside it is gray 0, so 100 lies at 0.5 of the way to the paper and 140 at 0.7
    assert edges.share[1, 3] == pytest.approx(0.5) and edges.share[1, 2] == pytest.approx(0.7)
    assert edges.at(-1)[1].astype(int).tolist() == [0, 0, 0, 0, 1, 1, 0, 0, 0, 0]
    assert edges.at(1)[1].astype(int).tolist() == [0, 0, 1, 1, 1, 1, 1, 1, 0, 0]


def test_half_the_strength_takes_and_gives_half_as_much() -> None:
    """A stroke whose edges are steps of every gray, as many of each."""
    grays = np.arange(64, 192)
    row = np.concatenate([grays[::-1], np.zeros(200, int), grays])
    gray, ink = np.array([row] * 3, np.uint8), np.array([row < 128] * 3)
    share = (gray / 200).astype(np.float32)
    edges = Edges(ink, np.ones_like(ink), share, 128)
    plain, least, most = (edges.at(s).sum() for s in (0, -1, 1))
    assert least == (share < LIGHTEST).sum() and most == (share < HEAVIEST).sum()
    for strength in (0.25, 0.5, 0.75):
        assert edges.at(-strength).sum() == pytest.approx(plain - strength * (plain - least), abs=6)
        assert edges.at(strength).sum() == pytest.approx(plain + strength * (most - plain), abs=6)
    hard = Edges(ink, np.ones_like(ink), np.where(ink, 0, 1).astype(np.float32), 1)  # nothing to take or to give
    assert all(np.array_equal(hard.at(s), ink) for s in (-1, -0.5, 0, 0.5, 1))


def test_nothing_grows_where_no_ink_may_be() -> None:
    edges = edges_of([200, 130, 0, 0, 130, 200], [0, 0, 1, 1, 0, 0])
    free = edges.free.copy()
    free[:, :2] = False
    veto = Edges(edges.ink, free, edges.share, edges.reach)
    assert veto.at(1)[1].astype(int).tolist() == [0, 0, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("what", "lightest", "heaviest"),
    [({}, 0.92, 1.1), ({"model": "original"}, 0.98, 1.1), ({"method": "sauvola"}, 0.98, 1.1)],
    ids=str,
)
def test_ink_only_grows_and_stays_where_ink_is(what: dict[str, str], lightest: float, heaviest: float) -> None:
    gray, _ = synth.page(2, kind="manuscript", height=200, width=260)
    inks = [binarize(gray, strength=s, **what) for s in STRENGTHS]
    for lighter, heavier in itertools.pairwise(inks):
        assert not (lighter & ~heavier).any()
    assert inks[0].sum() < lightest * inks[10].sum()
    assert inks[-1].sum() > heaviest * inks[10].sum()
    assert _count(inks[-1]) <= _count(inks[10])  # strokes grow, no speck is born


def _count(ink: np.ndarray) -> int:
    from sauvolanet.core.components import runs_of

    return len(np.unique(runs_of(ink).component))


@pytest.mark.parametrize("strength", [-1, -0.3, 0, 0.4, 1])
def test_the_surface_follows(strength: float) -> None:
    gray, _ = synth.page(2, kind="manuscript", height=160, width=200)
    np.testing.assert_array_equal(binarize(gray, strength=strength), gray < threshold(gray, strength=strength))


def test_onset_tells_the_ink_of_every_strength() -> None:
    gray, _ = synth.page(6, kind="manuscript", height=160, width=200)
    ink = binarize(gray)
    paper = PaperLevel(np.array([[230]], np.float32), 256, 230.0)
    free = np.random.default_rng(1).random(ink.shape) < 0.9
    edges = Edges(ink & free, free, Edges.of(gray, ink, free, paper).share, 2)
    first = edges.onset(STRENGTHS)
    for i, strength in enumerate(STRENGTHS):
        np.testing.assert_array_equal(first <= i, edges.at(strength))


def test_a_surface_is_moved_no_further_than_needed() -> None:
    surface = np.array([[10.0, 300.0, 50.0]], np.float32)
    gray = np.array([[20, 20, 20]], np.uint8)
    result = moved(surface, gray, np.array([[True, True, False]]))
    assert result[0, 0] > 20 and result[0, 0] < 20.01
    assert result[0, 1] == 300 and result[0, 2] == 20
