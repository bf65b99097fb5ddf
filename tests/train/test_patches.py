"""Augmentation that changes the page and not its truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

from sauvolanet.synth import page
from sauvolanet.train.patches import Patches, Sheet
from sauvolanet.train.settings import Settings


def test_show_through_darkens_paper_and_leaves_the_truth(tiny: Settings) -> None:
    sheets = [Sheet("mine", str(i), *page(i, kind="letter", height=140, width=170)) for i in range(3)]
    plain = replace(tiny, rescale=0.0, tone=0.0, noise=0.0, blur=0.0, synthetic=0.0, flips=False, transpose=False)
    without, with_it = Patches(sheets, plain), Patches(sheets, replace(plain, show_through=1.0))
    changed = 0
    for step in range(12):
        rng = np.random.default_rng(step)
        gray = sheets[step % 3].pixels
        made = with_it._show_through(rng, gray)
        assert made.shape == gray.shape and made.dtype == np.uint8 and (made <= gray).all()
        changed += int((made < gray).mean() > 0.01)
        assert np.array_equal(with_it.patch(step, 0)[4].shape, without.patch(step, 0)[4].shape)
    assert changed >= 10
    small = [Sheet("mine", "s", *page(9, kind="letter", height=64, width=64))]
    assert Patches(small, plain)._show_through(np.random.default_rng(1), gray).shape == gray.shape
