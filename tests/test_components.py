"""Strips of ink along a side of the page."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sauvolanet import binarize, explain, threshold
from sauvolanet.components import BAR_SHAPE, STRIP_DEPTH, STRIP_SHAPE, drop_edge_strips
from sauvolanet.page import RIM
from sauvolanet.synth import page


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 160),
    st.integers(1, 160),
    st.integers(0, 12),
    st.sampled_from([0.0, 0.05]),
)
def test_strips_are_those_that_scipy_finds(seed: int, height: int, width: int, bars: int, noise: float) -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    random = np.random.default_rng(seed)
    ink = random.random((height, width)) < noise
    for _ in range(bars):  # most of them at a side
        turned = ink if random.random() < 0.5 else ink.T
        turned = turned[::-1] if random.random() < 0.5 else turned
        top, left = random.integers(0, 2), random.integers(0, turned.shape[1])
        turned[top : top + random.integers(1, 8), left : left + random.integers(1, 90)] = True
    expected = ink.copy()
    deepest = min(height // RIM, width // RIM, STRIP_DEPTH)
    for side in (expected, expected[::-1], expected.T, expected.T[::-1]) if deepest else ():
        labels, count = ndimage.label(side[: deepest + 1], np.ones((3, 3)))
        for i in range(1, count + 1):
            strip = labels == i
            deep = np.flatnonzero(strip[:, deepest + 1 : -deepest - 1].any(1))
            long = np.flatnonzero(strip.any(0))
            if len(deep) and deep[0] == 0 and deep[-1] < deepest and np.ptp(long) + 1 >= STRIP_SHAPE * (deep[-1] + 1):
                side[: deepest + 1][strip] = False
    rim = min(height, width) // RIM
    for side in (expected, expected[::-1], expected.T, expected.T[::-1]) if rim else ():
        depth = [next((row for row in range(rim + 1) if not column[row]), rim + 1) for column in side.T]
        for _, stretch in groupby(enumerate(depth), key=lambda at: at[1] > 0):
            columns, depths = zip(*stretch, strict=True)
            usual = int(np.median(depths))
            if 0 < usual <= rim and len(depths) >= BAR_SHAPE * usual:
                for column, deep in zip(columns, depths, strict=True):
                    side[: min(deep, usual), column] = False
    before = ink.copy()
    assert np.array_equal(drop_edge_strips(ink), expected)
    assert np.array_equal(ink, before)


def test_a_model_that_does_not_trust_the_rim_leaves_strips_out() -> None:
    framed, _ = page(5, kind="letter", height=300, width=400)
    framed[40:280, 396:] = 90  # a fold or the next page
    ink = binarize(framed, model="swift")
    assert not ink[40:280, 396:].any() and ink[:, :390].any()
    assert np.array_equal(ink, framed < threshold(framed, model="swift"))
    assert np.array_equal(ink, explain(framed, model="swift").ink)
    best = binarize(framed, model="swift", quality="best")
    assert np.array_equal(best, framed < threshold(framed, model="swift", quality="best"))
    assert not best[40:280, 396:].any()
    assert binarize(framed, method="sauvola")[40:280, 396:].any()  # methods are what their papers say


def test_a_frame_goes_as_a_whole() -> None:
    ink = np.zeros((200, 300), bool)
    ink[:3] = ink[-2:] = ink[:, :4] = ink[:, -1] = True
    ink[80:90, 100:200] = True
    assert drop_edge_strips(ink).sum() == 1000
    ink[60:64, :18] = True  # writing that touches it stays
    left = drop_edge_strips(ink)
    assert left[60:64, 4:18].all() and left.sum() == 1000 + 4 * 14


def test_writing_cut_off_by_a_side_stays() -> None:
    ink = np.zeros((500, 500), bool)
    ink[:12, 100:103] = ink[:4, 200:220] = ink[:25, 300:480] = True  # a stroke, a short piece, a deep one
    assert np.array_equal(drop_edge_strips(ink), ink)
    narrow = np.zeros((20, 300), bool)  # a line of writing, cut out of its page
    narrow[2:18, :2] = True
    assert np.array_equal(drop_edge_strips(narrow), narrow)
