"""The habit of a truth."""

from __future__ import annotations

import numpy as np
import pytest

from sauvolanet.train.habit import habit_of


def page(edge: int) -> tuple[np.ndarray, np.ndarray]:
    """Bars whose gray goes 200 · 170 · 120 · 70 · 20 · 20 and back; their truth begins at the ``edge``-th step."""
    profile = [200] * 12 + [170, 120, 70, 20, 20, 20, 20, 70, 120, 170] + [200] * 12
    gray = np.tile(np.array(profile * 3, np.uint8), (60, 1))
    level = [185, 145, 95, 45][edge]
    return gray, gray < level


@pytest.mark.parametrize(("edge", "expected"), [(0, 0.885), (1, 0.694), (2, 0.417), (3, 0.139)])
def test_where_the_edge_lies(edge: int, expected: float) -> None:
    gray, truth = page(edge)
    # the edge's gray is the mean of its two pixels, paper is 200: for edge 1 ((170 + 120) / 2 − 20) / 180;
    # for edge 0 the darkest ink that is near enough is 70
    assert habit_of(gray, truth) == pytest.approx(expected, abs=0.01)


def test_too_little_tells_nothing() -> None:
    gray, truth = page(1)
    assert habit_of(gray[:2], truth[:2]) is None
    assert habit_of(gray, np.zeros_like(truth)) is None
    assert habit_of((gray // 20 + 200).astype(np.uint8), truth) is None  # no contrast
