"""What is done to training patches: strokes and truth stay together, and nothing new becomes as dark as ink."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

from sauvolanet.errors import UsageError
from sauvolanet.net.view import View
from sauvolanet.synth import page
from sauvolanet.train.changes import SHARES, faded, on_paper, turned, with_rules
from sauvolanet.train.patches import Patches, TrainingPage
from sauvolanet.train.settings import Settings
from sauvolanet.train.surroundings import disturbed

SEEDS = range(8)


def bars() -> np.ndarray:
    """(120, 150) bool: a few bars."""
    truth = np.zeros((120, 150), bool)
    truth[20:26, 10:140] = truth[60:63, 30:90] = truth[40:110, 100:108] = True
    return truth


def test_a_turned_page_and_its_truth_are_turned_alike() -> None:
    truth = bars()
    gray = np.where(truth, 0, 255).astype(np.uint8)
    moved = 0
    for seed in SEEDS:
        made, ink = turned(np.random.default_rng(seed), gray, truth)
        assert made.shape == gray.shape and ink.dtype == bool
        unsure = (made > 126) & (made < 129)
        assert np.array_equal((made < 128)[~unsure], ink[~unsure])
        assert abs(ink.sum() / truth.sum() - 1) < 0.1
        moved += int((ink != truth).any())
    assert moved >= len(SEEDS) - 2  # an angle may be near zero


def test_what_a_teacher_gave_is_turned_too() -> None:
    mixture = bars().astype(np.float16) * np.float16(0.75)
    _, made = turned(np.random.default_rng(1), np.full(mixture.shape, 200, np.uint8), mixture)
    assert made.dtype == np.float16 and abs(made[62:64, 102:104].mean() - 0.75) < 0.02


def test_faded_ink_is_paler_and_paper_stays() -> None:
    gray, _ = page(3, kind="letter", height=140, width=170)
    white = np.float32(190)
    for seed in SEEDS:
        made = faded(np.random.default_rng(seed), gray, white)
        assert np.array_equal(made[gray >= white], gray[gray >= white])
        depth, before = white - made[gray < white], white - gray[gray < white]
        assert (depth <= before + 0.5).all() and (depth >= 0.4 * before - 0.5).all()
        assert (depth < 0.9 * before - 1).any()


def test_other_paper_is_paler_than_the_ink() -> None:
    gray = np.full((100, 130), 200, np.uint8)
    ruled = np.full((480, 640), SHARES, np.uint8)
    ruled[::20] = SHARES // 4  # rules that take three quarters of the light
    for seed in SEEDS:
        made = on_paper(np.random.default_rng(seed), gray, ruled, 0.5)
        assert (made < 195).any()
        assert np.percentile(made, 0.5) >= 200 * (1 - 0.6 * 0.5) - 1
    plain = np.full((480, 640), SHARES, np.uint8)
    assert np.array_equal(on_paper(np.random.default_rng(0), gray, plain, 0.5), gray)


def test_rules_are_straight_ink_as_dark_as_the_pages_own() -> None:
    gray, truth = np.full((120, 150), 200, np.uint8), np.zeros((120, 150), bool)
    truth[50:60, 40:50] = True
    gray[truth] = 80
    for seed in SEEDS:
        made, ink = with_rules(np.random.default_rng(seed), gray, truth, np.float32(200), 0.6)
        new = ink & ~truth
        assert ink[truth].all() and (made <= gray).all() and made[new].max() < 200
        full = made[new] <= 200 * (1 - 0.6 * 0.85) + 1
        assert full.mean() > 0.4 and made[new].min() >= 200 * (1 - 0.6 * 1.15) - 1
        assert new.any(0).mean() > 0.5 or new.any(1).mean() > 0.5 or new.sum() < 150  # long, or short ones alone


def test_patches_need_papers_to_lie_on(tiny: Settings) -> None:
    one = TrainingPage("mine", "p", *page(1, kind="letter", height=140, width=170))
    with pytest.raises(UsageError, match="no papers"):
        Patches([one], replace(tiny, paper=0.5))
    plain = replace(tiny, rescale=0.0, tone=0.0, noise=0.0, blur=0.0, synthetic=0.0, headline=0.0, border=0.0,
                    show_through=0.0, flips=False, transpose=False)  # fmt: skip
    ruled = np.full((480, 640), SHARES, np.uint8)
    ruled[:, ::7] = SHARES // 2
    without, with_it = (Patches([one], s, [ruled]).patch(2, 0) for s in (plain, replace(plain, paper=1.0)))
    assert np.array_equal(without.target, with_it.target) and (with_it.gray < without.gray - 0.02).any()


def test_a_disturbed_view_knows_where_the_page_is() -> None:
    cells = np.random.default_rng(0).random((40, 50, 10), np.float32)
    cells[..., 0] = 1
    cells[:5] = 0  # beyond the page
    made = disturbed(View(cells, 16, (5.0, 0.0)), np.random.default_rng(1), 0.1).cells
    assert made.dtype == np.float32 and (made[:5] == 0).all() and np.array_equal(made[..., 0], cells[..., 0])
    change = (made - cells)[5:, :, 1:]
    assert np.allclose(change.std((0, 1)), 0.05, atol=0.01)  # that of each cell
    assert 0.04 < change.mean((0, 1)).std() < 0.2  # that of all of them
