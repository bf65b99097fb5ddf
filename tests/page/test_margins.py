"""What lies along a side of the page: the scanner's bed, strips of ink; and the height of letters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sauvolanet import binarize, explain, threshold
from sauvolanet.errors import UsageError
from sauvolanet.page.margins import Margins, margins_from_json
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
        top, left = random.integers(0, 5), random.integers(0, turned.shape[1])
        turned[top : top + random.integers(1, 8), left : left + random.integers(1, 90)] = True
    expected = ink.copy()
    rules = Margins()
    deepest = min(height // rules.part, width // rules.part, rules.strip_depth)
    for side in (expected, expected[::-1], expected.T, expected.T[::-1]) if deepest else ():
        labels, count = ndimage.label(side[: deepest + 1], np.ones((3, 3)))
        for i in range(1, count + 1):
            strip = labels == i
            deep = np.flatnonzero(strip[:, deepest + 1 : -deepest - 1].any(1))
            long = np.flatnonzero(strip.any(0))
            if (
                len(deep)
                and deep[0] == 0
                and deep[-1] < deepest
                and np.ptp(long) + 1 >= rules.strip_shape * (deep[-1] + 1)
            ):
                side[: deepest + 1][strip] = False
        labels, count = ndimage.label(side[:deepest], np.ones((3, 3)))
        for i in range(1, count + 1):
            line = labels == i
            length = np.ptp(np.flatnonzero(line.any(0))) + 1
            if length >= rules.line_part * side.shape[1] and length >= rules.line_shape * line.sum() / length:
                side[:deepest][line] = False
    before = ink.copy()
    assert np.array_equal(Margins().writing(ink), expected)
    assert np.array_equal(ink, before)


def test_a_model_with_margins_leaves_strips_out() -> None:
    framed, _ = page(5, kind="letter", height=300, width=400)
    framed[40:280, 396:] = 90  # a fold or the next page
    ink = binarize(framed, model="swift")
    assert ink[40:280, 396:].mean() < 0.1 and ink[:, :390].any()  # the network itself leaves most of it out, not all
    assert np.array_equal(ink, framed < threshold(framed, model="swift"))
    assert np.array_equal(ink, explain(framed, model="swift").ink)
    best = binarize(framed, model="swift", quality="best")
    assert np.array_equal(best, framed < threshold(framed, model="swift", quality="best"))
    assert best[40:280, 396:].mean() < 0.1
    assert binarize(framed, method="sauvola")[40:280, 396:].any()  # methods are what their papers say


def test_a_frame_goes_as_a_whole() -> None:
    ink = np.zeros((200, 300), bool)
    ink[:3] = ink[-2:] = ink[:, :4] = ink[:, -1] = True
    ink[80:90, 100:200] = True
    assert Margins().writing(ink).sum() == 1000
    ink[60:64, :18] = True  # writing that touches it stays
    left = Margins().writing(ink)
    assert left[60:64, 8:18].all() and left.sum() == 1000 + 4 * 10


def test_a_line_beside_a_side_goes_and_writing_that_crosses_it_stays() -> None:
    ink = np.zeros((300, 400), bool)
    ink[20:140, 391:394] = True  # a fold
    ink[60:64, 330:398] = True
    left = Margins().writing(ink)
    assert not left[20:60, 388:].any() and not left[64:140, 388:].any()
    assert left.sum() == 4 * 58  # up to the margin, 12 pixels deep
    ink[66:] = False  # no longer than a letter may be
    assert np.array_equal(Margins().writing(ink), ink)


def test_writing_cut_off_by_a_side_stays() -> None:
    ink = np.zeros((500, 500), bool)
    ink[:12, 100:103] = ink[:4, 200:220] = ink[:25, 300:480] = True  # a stroke, a short piece, a deep one
    assert np.array_equal(Margins().writing(ink), ink)
    narrow = np.zeros((20, 300), bool)  # a line of writing, cut out of its page
    narrow[2:18, :2] = True
    assert np.array_equal(Margins().writing(narrow), narrow)


def test_the_bed_is_what_is_dark_all_the_way_from_a_side() -> None:
    page = np.full((100, 150), 200, np.uint8)  # margins of 4 rows and 6 columns
    page[:, :9] = 5  # deeper than the margin: only its part is looked at
    page[50, 2] = 200  # something light in the bed: behind it nothing is known
    page[-3:, 60:80] = 5
    page[1:3, 100:120] = 5  # it does not reach the side: ink
    page[30:34, -1] = 90  # not dark enough
    found = np.zeros(page.shape, bool)
    for place, bed in Margins().bed(page, dark=75, contrast=100):  # below 50
        assert found[place].shape == bed.shape
        found[place] |= bed
    expected = np.zeros(page.shape, bool)
    expected[:, :6] = True
    expected[50, 2:6] = False
    expected[:4, :9] = expected[-4:, :9] = True  # seen from above and below
    expected[-3:, 60:80] = True
    assert np.array_equal(found, expected)
    assert Margins().bed(page, 25, 100) == [] and Margins().bed(page[:20, :20], 75, 100) == []


@pytest.mark.parametrize(
    "change",
    [{"part": 20}, {"bed_contrast": -0.1}, {"strip_depth": 2.5}, {"strip_shape": "6"}, {"line_part": 0},
     {"line_shape": float("nan")}, {"sparse_contrast": True}, {"sparse_contrast": None}, {"depth": 3}],
    ids=str,
)  # fmt: skip
def test_rules_that_make_no_sense_are_named(change: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=f"margins: .*{next(iter(change))}"):
        margins_from_json({**Margins().to_json(), **change})


def test_rules_survive_json() -> None:
    rules = Margins(strip_depth=12, line_part=0.5)
    assert margins_from_json(rules.to_json()) == rules
    assert margins_from_json(None) is None
    with pytest.raises(UsageError, match="missing or unknown keys: line_shape"):
        margins_from_json({n: v for n, v in rules.to_json().items() if n != "line_shape"})
