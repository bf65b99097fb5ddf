"""What a patch sees of its page is what the runtime sees there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sauvolanet.net.inputs import PageInputs
from sauvolanet.net.view import VIEW_CELL, View
from sauvolanet.page.numbers import PageNumbers
from sauvolanet.synth import page
from sauvolanet.train.settings import Settings
from sauvolanet.train.surroundings import CoarsePage


def part_of(gray: np.ndarray, settings: Settings, seen: View, corner: tuple[int, int]) -> np.ndarray:
    """What the runtime sees of the whole page, cut to the cells that a patch at ``corner`` sees."""
    whole = PageInputs.of(gray, PageNumbers.of(gray), settings.architecture, settings.scaling, settings.margins).view
    assert whole is not None
    pad = 60
    cells = np.pad(whole.cells, ((pad, pad), (pad, pad), (0, 0)))
    first = [whole.centres(axis, corner[axis], VIEW_CELL)[0] - seen.centres(axis, 0, VIEW_CELL)[0] for axis in (0, 1)]
    assert all(f == int(f) for f in first)
    return cells[tuple(slice(pad + int(f), pad + int(f) + n) for f, n in zip(first, seen.cells.shape, strict=False))]


@pytest.mark.parametrize("corner", [(0, 0), (64, 96), (160, 240)])
def test_a_patch_sees_what_the_runtime_sees(tiny: Settings, corner: tuple[int, int]) -> None:
    s = replace(tiny, margins=None)
    gray, _ = page(5, kind="letter", height=224, width=304)
    seen = CoarsePage.of(gray, s).around(s, corner, s.patch, (0, 0))
    expected = part_of(gray, s, seen, corner)
    assert np.allclose(seen.cells[..., :9], expected[..., :9], atol=1e-5)
    assert np.allclose(seen.cells[..., 9], expected[..., 9], atol=0.05)  # of smaller squares: nearly the same


def test_a_reduced_patch_sees_the_reduced_page(tiny: Settings) -> None:
    """The oracle: a page of squares of 2 × 2 equal pixels is, at half the size, each of its squares once."""
    s = replace(tiny, margins=None)
    small, _ = page(6, kind="letter", height=224, width=304)
    small = small[::2, ::2].repeat(2, 0).repeat(2, 1)  # so that it does not matter which pixels tell
    seen = CoarsePage.of(small.repeat(2, 0).repeat(2, 1), s).around(s, (128, 192), 2 * s.patch, (0, 0))
    expected = part_of(small, s, seen, (64, 96))
    assert np.allclose(seen.cells[..., :9], expected[..., :9], atol=1e-5)


def test_beyond_the_page_nothing_is_seen(tiny: Settings) -> None:
    gray, _ = page(5, kind="letter", height=160, width=160)
    cells = CoarsePage.of(gray, tiny).around(tiny, (0, 0), tiny.patch, (0, 0)).cells
    assert cells[..., 0].sum() <= 100 and set(np.unique(cells[..., 0])) == {0, 1}
    assert not cells[cells[..., 0] == 0].any()
