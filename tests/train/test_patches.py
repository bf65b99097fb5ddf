"""Pages in memory, and augmentation that changes the page and not its truth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("torch")

from sauvolanet.errors import BadData
from sauvolanet.net import load
from sauvolanet.net.inputs import PageInputs, page_scale, statistics
from sauvolanet.page.numbers import PageNumbers
from sauvolanet.score.datasets import check, find
from sauvolanet.synth import page
from sauvolanet.train import patches
from sauvolanet.train.patches import Patches, TrainingPage, load_pages, taught, with_border, with_headline
from sauvolanet.train.settings import Settings


def test_show_through_darkens_paper_and_leaves_the_truth(tiny: Settings) -> None:
    """Also where the page that shows through is smaller than what the windows of a patch see."""
    sizes = [(140, 170), (140, 170), (64, 64)]
    pages = [TrainingPage("mine", str(i), *page(i, kind="letter", height=h, width=w)) for i, (h, w) in enumerate(sizes)]
    plain = replace(tiny, rescale=0.0, tone=0.0, noise=0.0, blur=0.0, synthetic=0.0, headline=0.0, border=0.0,
                    flips=False, transpose=False)  # fmt: skip
    without, with_it = Patches(pages, plain), Patches(pages, replace(plain, show_through=1.0))
    darker = 0
    for step in range(24):
        before, after = without.patch(step, 0), with_it.patch(step, 0)
        assert np.array_equal(after.target, before.target)
        assert (after.gray <= before.gray).all()
        darker += int((after.gray < before.gray).mean() > 0.01)
    assert darker >= 20


def test_a_teachers_ink_is_mixed_into_the_truth(tiny: Settings) -> None:
    gray, truth = page(1, kind="letter", height=140, width=170)
    sheet, teacher = TrainingPage("mine", "p", gray, truth), load("swift-heldout")
    ink = teacher.writing(gray < teacher.surface(gray, PageNumbers.of(gray)))
    assert (ink != truth).any()
    assert np.array_equal(taught(sheet, teacher, 0.0).target, truth)
    assert np.array_equal(taught(sheet, teacher, 1.0).target > 0.5, ink)
    half = taught(sheet, teacher, 0.5)
    assert half.target.min() >= 0 and half.target.max() <= 1
    assert (half.target[truth] >= 0.5).all() and (half.target[~truth] <= 0.5).all()
    for settings in (tiny, replace(tiny, rescale=1.0, border=1.0), replace(tiny, synthetic=1.0)):
        target = Patches([half], settings).batch(1, range(3)).target
        assert target.dtype == np.float16 and target.min() >= 0 and target.max() <= 1
    unchanged = replace(tiny, rescale=0.0, headline=0.0, border=0.0, synthetic=0.0, flips=False, transpose=False)
    soft, hard = (Patches([s], unchanged).batch(3, range(4)).target for s in (half, sheet))
    assert hard.dtype == bool and np.array_equal(soft > 0.5, hard & (soft > 0.5)) and not np.array_equal(soft, hard)


def test_a_teacher_sees_a_small_page_as_it_is(tmp_path: Path) -> None:
    gray, truth = page(1, kind="letter", height=100, width=170)
    (tmp_path / "mine").mkdir()
    Image.fromarray(gray).save(tmp_path / "mine" / "a.png")
    Image.fromarray(~truth).save(tmp_path / "mine" / "a.gt.png")
    [grown], [plain] = (load_pages(find(tmp_path), False, least) for least in (128, 64))
    assert grown.grown == (28, 0) and plain.grown == (0, 0) and grown.truth.shape == (156, 170)
    teacher = load("swift-heldout")
    assert np.array_equal(taught(grown, teacher, 0.5).target[28:-28], taught(plain, teacher, 0.5).target)


def plain_patches(tiny: Settings, sheet: TrainingPage, **changes: object) -> Patches:
    """Patches that are turned and mirrored, and nothing else; gray as it is."""
    plain = replace(tiny, rescale=0.0, tone=0.0, noise=0.0, blur=0.0, synthetic=0.0, show_through=0.0, border=0.0,
                    headline=0.0, text_share=0.0, scaling={"kind": "minmax"}, margins=None, loss="dice")  # fmt: skip
    return Patches([sheet], replace(plain, **changes))  # type: ignore[arg-type]


def noise(height: int, width: int) -> np.ndarray:
    """A page on which no two places look alike, from 0 to 255."""
    gray = np.random.default_rng(5).integers(0, 256, (height, width)).astype(np.uint8)
    gray[::4, ::4].flat[:2] = 0, 255
    return gray


def test_the_rim_of_a_patch_counts_only_where_the_page_ends(tiny: Settings) -> None:
    """The truth of this page is a line around it, so a patch's side lies at the page's end exactly where it is ink."""
    truth = np.ones((150, 170), bool)
    truth[1:-1, 1:-1] = False
    patches = plain_patches(tiny, TrainingPage("mine", "p", noise(150, 170), truth), rim=10)
    ends = 0
    for step in range(60):
        *_, target, weight = patches.patch(step, 0)
        inner = np.zeros((64, 64), bool)
        sides = [target[0, 32], target[-1, 32], target[32, 0], target[32, -1]]
        top, bottom, left, right = (0 if end else 10 for end in sides)
        inner[top : 64 - bottom, left : 64 - right] = True
        assert np.array_equal(weight, inner)
        ends += sum(map(bool, sides))
    assert 20 <= ends <= 60  # of 240, 34 are expected; 3 if patches were not drawn to the ends of the page
    assert plain_patches(tiny, TrainingPage("mine", "p", noise(150, 170), truth)).patch(0, 0)[5].all()


def test_the_rim_of_a_small_page_counts_where_the_page_ends(tmp_path: Path, tiny: Settings) -> None:
    (tmp_path / "mine").mkdir()
    truth = np.ones((40, 100), bool)
    truth[1:-1, 1:-1] = False
    Image.fromarray(noise(40, 100)).save(tmp_path / "mine" / "a.png")
    Image.fromarray(~truth).save(tmp_path / "mine" / "a.gt.png")
    [sheet] = load_pages(find(tmp_path), False, 64)
    assert sheet.truth.shape == (88, 100) and sheet.grown == (24, 0)
    patches = plain_patches(tiny, sheet, rim=10, flips=False, transpose=False)
    found = set()
    for step in range(60):
        *_, target, weight = patches.patch(step, 0)
        top, bottom = bool(weight[0].any()), bool(weight[-1].any())
        found.add((top, bottom))
        assert not top or target[0].all()
        assert not bottom or target[-1].all()
    assert {(True, False), (False, True)} <= found and (True, True) not in found  # it is lower than a patch


def test_windows_see_what_they_will_see_on_the_page(tiny: Settings) -> None:
    """Means and deviations of a patch are those of the page at that place, also where the page ends."""
    gray = noise(150, 170)
    patches = plain_patches(tiny, TrainingPage("mine", "p", gray, gray > 200), rim=10, flips=False, transpose=False)
    scale = page_scale(PageNumbers.of(gray), {"kind": "minmax"}, None)
    mean, deviation = statistics(gray, patches.settings.architecture.windows, scale, (slice(0, 150), slice(0, 170)), 1)
    places = set()
    for step in range(20):
        scaled, part_mean, part_deviation, *_ = patches.patch(step, 0)
        seen = np.rint(scaled * 255).astype(np.uint8)
        views = np.lib.stride_tricks.sliding_window_view(gray, (1, 8))[: 150 - 63, : 170 - 63, 0]
        [(y, x)] = np.argwhere((views == seen[0, :8]).all(-1))
        here = (slice(y, y + 64), slice(x, x + 64))
        assert np.array_equal(part_mean, mean[here]) and np.array_equal(part_deviation, deviation[here])
        places.add((y in (0, 86), x in (0, 106)))
    assert (True, True) in places and (False, False) in places


def test_a_page_with_little_ink_counts_more_where_the_loss_says_so(tiny: Settings) -> None:
    gray = noise(150, 170)
    for share, weight in ((0.5, 0.16), (0.04, 2.0), (0.0, 4.0)):  # 0.08 / share, which counts as 0.02 at least
        truth = np.zeros(gray.shape, bool)
        truth.flat[: round(share * gray.size)] = True
        made = plain_patches(tiny, TrainingPage("mine", "p", gray, truth), loss="page").patch(0, 0).weight
        assert made == pytest.approx(weight)


def test_beyond_the_border_of_a_page_there_is_no_ink() -> None:
    gray, truth = page(1, kind="letter", height=160, width=180)
    numbers = PageNumbers.of(gray)
    shares = []
    for seed in range(20):
        made, ink, counted = with_border(np.random.default_rng(seed), gray, truth, (20, 30), 100, numbers)
        beyond = made != gray
        assert made.dtype == np.uint8 and not (ink & beyond).any()
        assert np.array_equal(ink[~beyond], truth[~beyond] & ink[~beyond])  # nothing is ink that was not
        inner = (slice(20, 120), slice(30, 130))
        shares.append(beyond[inner].mean())
        assert counted.histogram.sum() == pytest.approx(numbers.histogram.sum(), rel=0.01)
        assert counted.percentile(50) <= numbers.percentile(50)
    assert max(shares) > 0.3 and min(shares) < 0.1  # patches keep most of their page


@pytest.mark.parametrize("end", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_what_lies_beyond_a_page_lies_at_its_end(end: tuple[int, int]) -> None:
    gray, numbers = np.full((160, 180), 200, np.uint8), PageNumbers.of(np.full((160, 180), 200, np.uint8))
    for seed in range(20):
        made, *_ = with_border(np.random.default_rng(seed), gray, gray > 255, (20, 30), 100, numbers, [end])
        beyond = np.moveaxis(made[20:120, 30:130] != gray[20:120, 30:130], end[0], 0)
        beyond = beyond[::-1] if end[1] else beyond
        assert (np.diff(beyond.mean(1)) <= 0.02).all() and not beyond[
            60:
        ].any()  # the less of it, the farther from the end
    assert beyond.any()


def test_large_letters_are_ink_as_dark_as_the_pages_own() -> None:
    gray, truth = page(1, kind="letter", height=300, width=320)
    numbers, found = PageNumbers.of(gray), 0
    for seed in range(20):
        made, ink, counted = with_headline(np.random.default_rng(seed), gray, truth, (20, 30), 256, 0.6, numbers)
        letters = ink & ~truth
        rows, columns = np.nonzero(made < gray)
        assert not rows.size or (rows.min() >= 26 and rows.max() < 270 and columns.min() >= 36 and columns.max() < 280)
        assert made.dtype == np.uint8 and (made <= gray).all() and (ink >= truth).all()
        assert (gray - made)[~ink].max() <= 130  # half covered at most
        if letters.mean() > 0.02:
            found += 1
            assert np.median(made[letters]) < 0.5 * np.median(gray)
            assert counted.histogram.sum() == pytest.approx(numbers.histogram.sum(), rel=0.01)
            assert counted.percentile(2) <= numbers.percentile(2)
    assert found >= 10


@pytest.fixture
def one(tmp_path: Path) -> Path:
    """A folder with one colour page, 40 wide and 24 high, and its truth."""
    (tmp_path / "mine").mkdir()
    Image.new("RGB", (40, 24), (250, 240, 200)).save(tmp_path / "mine" / "a.png")
    Image.new("1", (40, 24), 1).save(tmp_path / "mine" / "a.gt.png")
    return tmp_path


def test_a_colour_page_is_turned_as_it_says(one: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # lies on its side
    Image.new("RGB", (24, 40), (250, 240, 200)).save(one / "mine" / "a.png", exif=exif)
    [sheet] = load_pages(find(one), True, 8)
    assert sheet.pixels.shape == (24, 40, 3)


@pytest.mark.parametrize("colour", [True, False])
def test_a_page_with_too_many_pixels_is_skipped(colour: bool, one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    told: list[str] = []
    with pytest.raises(BadData, match="no page with truth"):
        load_pages(find(one), colour, 8, told.append)
    assert told == [f"skipped mine a: {one / 'mine' / 'a.png'}: too many pixels"]


@pytest.mark.parametrize("problem", [SyntaxError("broken PNG file"), ValueError("too much text")])
def test_a_page_that_pillow_chokes_on_is_skipped(
    problem: Exception, one: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise problem

    monkeypatch.setattr(Image, "open", fail)
    told: list[str] = []
    with pytest.raises(BadData, match="no page with truth"):
        load_pages(find(one), True, 8, told.append)
    assert "not an image, or damaged" in told[0]


def test_a_gray_picture_is_no_truth(one: Path) -> None:
    levels = np.full((24, 40), 255, np.uint8)
    levels[0] = 32  # 4 % of the page
    Image.fromarray(levels).save(one / "mine" / "a.gt.png")
    assert len(load_pages(find(one), True, 8)) == 1
    levels[1, :10] = 223  # 5.2 %
    Image.fromarray(levels).save(one / "mine" / "a.gt.png")
    told: list[str] = []
    with pytest.raises(BadData, match="no page with truth"):
        load_pages(find(one), True, 8, told.append)
    assert "a.gt.png: 5% of the truth is neither black nor white" in told[0]


def test_a_page_that_is_mostly_ink_is_doubtful(one: Path) -> None:
    assert not check(one)[0].doubtful
    Image.new("1", (40, 24), 0).save(one / "mine" / "a.gt.png")
    [report] = check(one)
    assert report.pages == 1 and not report.damaged
    assert "is the truth inverted?" in report.doubtful[0]


def told(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> set[float | None]:
    """The habits that some patches of two pages are told; a measured one is 0.3."""
    pages = [TrainingPage(name, "1", *page(1, kind="letter", height=300, width=300)) for name in ("DIBCO2010", "mine")]
    found = []
    of = PageInputs.of

    def noted(*given: Any) -> PageInputs:
        found.append(given[5])
        return of(*given)

    with monkeypatch.context() as patch:
        patch.setattr(patches, "habit_of", lambda *_: 0.3)
        patch.setattr(PageInputs, "of", noted)
        Patches(pages, settings).batch(0, range(24))
    return set(found)


def test_a_convention_stands_for_the_measured_habit(tiny: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    features = (*tiny.architecture.features, "habit")
    s = replace(tiny, architecture=replace(tiny.architecture, features=features), habit_known=1.0, rescale=0.0,
                synthetic=0.0, conventions={"DIBCO": 0.62})  # fmt: skip
    assert told(s, monkeypatch) == {0.62, 0.3}
    assert told(replace(s, set_weights={"mine": 0.0}), monkeypatch) == {0.62}
    assert told(replace(s, set_weights={"mine": 0.0}, synthetic=1.0), monkeypatch) == {0.3}
    longer = {"DIBCO": 0.62, "DIBCO2010": 0.5, "PHIBD": 0.4}
    assert told(replace(s, set_weights={"mine": 0.0}, conventions=longer), monkeypatch) == {0.5}
    assert told(replace(s, set_weights={"mine": 0.0}, habit_known=0.0), monkeypatch) == {None}
    for factor, habit in ((0.7, 0.3), (0.8, 0.62)):
        reduced = replace(s, set_weights={"mine": 0.0}, rescale=1.0, rescale_range=(factor, factor))
        assert told(reduced, monkeypatch) == {habit}


def test_thin_strokes_of_a_reduced_page_are_drawn_at_half_coverage(tiny: Settings) -> None:
    """Soft strokes of four pixels, whose truth is drawn a third of a pixel beyond the middle of each edge."""
    y, x = np.mgrid[:300, :320].astype(np.float64)
    away = np.abs((x + 0.3 * y) / np.hypot(1, 0.3) % 24 - 12) - 2  # pixels from the middle of the edge
    gray = np.rint(40 + 160 * np.clip(0.5 + away / 2.5, 0, 1)).astype(np.uint8)
    thick = TrainingPage("mine", "p", gray, away < 1 / 3)
    plain = {"rescale": 1.0, "rescale_range": (0.5, 0.5), "flips": False, "transpose": False}
    for sheet, beyond in ((thick, 1 / 3), (TrainingPage("mine", "p", gray, away < 0), 0.0)):
        assert abs(sheet.beyond - beyond) < 0.12 and abs(sheet.stroke - 4 - 2 * beyond) < 0.4
    shares = {}
    for at_half in (False, True):
        made = plain_patches(tiny, thick, thin_at_half=at_half, **plain)
        shares[at_half] = np.mean([made.patch(step, 0).target.mean() for step in range(20)])
    assert abs(shares[False] - (4 + 2 / 3) / 24) < 0.01 and abs(shares[True] - 4 / 24) < 0.012
