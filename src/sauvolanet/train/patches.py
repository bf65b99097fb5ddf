"""Training patches: patch i of step s is a pure function of (seed, s, i), so a resumed run sees what it would have seen.

Pages are kept in memory as uint8; a patch is cut, rescaled, mirrored and changed in tone as uint8 too, because the
runtime's window sums are integer sums of the uint8 gray. Only then is it scaled to what the network reads.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter, ImageOps

from ..core.arrays import Gray, Ink
from ..errors import BadData, InputError, UsageError
from ..net.buffers import Array
from ..net.inputs import Inputs, PageInputs, habit_features
from ..net.model import Model
from ..net.view import View
from ..page.formats import open_image
from ..page.numbers import PageNumbers
from ..page.reading import Reading
from ..score.datasets import Page, read_gray, read_image, read_truth
from ..synth.ink import stroke_width
from .changes import faded, on_paper, paper_gray, turned, with_border, with_headline, with_rules
from .habit import habit_of
from .settings import Settings
from .surroundings import CoarsePage, disturbed

Shares = npt.NDArray[np.uint8]  # of a paper, see `changes.on_paper`
LUMA = np.array([0.299, 0.587, 0.114])
CONVENTION_SIZE = 0.75  # patches reduced to less have no habit by convention
_THIN = (2.5, 4.5)  # pixels across: thinner strokes are thin, wider ones are not
_BEYOND = 2.5  # pixels from the ink to the paper across an edge
_PART = 500  # pixels from a page's middle in which its habit is measured
LEAST_SHARE, USUAL_SHARE = 0.02, 0.08  # of ink on a page; a page with less than the first counts as if it had that


@dataclass(frozen=True)
class TrainingPage:
    """A page in memory: gray (H, W) or colour (H, W, 3) uint8, its truth (True = ink), and what a teacher makes of both.

    mixture : of the truth and a teacher's ink, float16, 1 = ink; None without a teacher.
    grown : rows and columns by which a page smaller than a patch is continued, at either end.
    """

    set: str
    id: str
    pixels: np.ndarray
    truth: Ink
    mixture: np.ndarray | None = None
    grown: tuple[int, int] = (0, 0)

    @property
    def target(self) -> np.ndarray:
        """What is to be learnt."""
        return self.truth if self.mixture is None else self.mixture

    @cached_property
    def share(self) -> float:
        """How much of the page is ink."""
        return float(self.truth.mean())

    @cached_property
    def gray(self) -> Gray:
        """The usual mixture of its colours."""
        return _mix(self.pixels, LUMA)

    @cached_property
    def numbers(self) -> PageNumbers:
        """Those of its gray."""
        return PageNumbers.of(self.gray[::4, ::4])

    @cached_property
    def beyond(self) -> float:
        """How far beyond the middle between ink and paper the edges of the truth are drawn, in pixels, by its habit."""
        middle = tuple(slice(max(n // 2 - _PART, 0), n // 2 + _PART) for n in self.truth.shape)
        habit = habit_of(np.ascontiguousarray(self.gray[middle]), self.truth[middle])
        return 0.0 if habit is None else (habit - 0.5) * _BEYOND

    @cached_property
    def stroke(self) -> float:
        """How wide its strokes are, in pixels."""
        return stroke_width(self.truth)

    @cached_property
    def contrast(self) -> float:
        """How dark the ink is: 0 as the paper, 1 black."""
        return float(1 - np.median(self.gray[self.truth]) / paper_gray(self.gray)) if self.truth.any() else 0.0


T = TypeVar("T")  # numpy arrays, or torch's tensors


class Batch(NamedTuple, Generic[T]):
    """N patches, or one: what the network reads (`Inputs`), what it is to learn, and what each pixel counts."""

    gray: T
    mean: T
    deviation: T
    features: T
    view: T
    place: T
    target: T
    weight: T

    @property
    def inputs(self) -> dict[str, T]:
        """What the network reads, by name."""
        return {name: getattr(self, name) for name in Inputs._fields}


class Cut(NamedTuple):
    """A region around a patch (as far as windows reach beyond it), augmented, where the patch lies in it, the page's
    numbers, what the patch's pixels count, the habit by convention, if there is one, and the page in view, likewise."""

    gray: Gray
    target: np.ndarray
    place: tuple[slice, slice]
    numbers: PageNumbers
    weight: Array
    convention: float | None
    view: View | None


Warn = Callable[[str], object]


def load_pages(pages: list[Page], colour: bool, least: int, warn: Warn | None = None,
               reading: Reading | None = None) -> list[TrainingPage]:  # fmt: skip
    """Pages in memory, in the light of the reading, their sides at least ``least``.

    One that cannot be used is skipped and named through ``warn(text)``.
    """
    loaded = [page for _, page in _read(pages, lambda page: _load(page, colour, least, reading), warn)]
    if not loaded:
        raise BadData("no page with truth can be used for training")
    return loaded


def usable(pages: list[Page], warn: Warn | None = None) -> list[Page]:
    """The pages that can be read together with their truth; the others are named through ``warn(text)``."""
    return [page for page, _ in _read(pages, lambda page: read_truth(page, read_gray(page).shape).size, warn)]


def _read(pages: list[Page], load: Callable[[Page], Any], warn: Warn | None) -> Iterator[tuple[Page, Any]]:
    for page in pages:
        try:
            yield page, load(page)
        except InputError as problem:
            if warn is not None:
                warn(f"skipped {page.set} {page.id}: {problem}")


def _load(page: Page, colour: bool, least: int, reading: Reading | None) -> TrainingPage:
    pixels = _colours(page.image) if colour else None
    if pixels is None:
        pixels = read_image(page.image)
    truth = read_truth(page, pixels.shape[:2])
    if reading is not None:
        pixels = reading.paper_level(_mix(pixels, LUMA)).even(pixels)
    down, right = (max(least - n, 0) for n in truth.shape)
    if down or right:  # a page smaller than a patch is continued by its mirror image
        grow = [(down, down), (right, right)]
        truth = np.pad(truth, grow, mode="symmetric")
        pixels = np.pad(pixels, grow + [(0, 0)] * (pixels.ndim - 2), mode="symmetric")
    return TrainingPage(page.set, page.id, pixels, truth, grown=(down, right))


def taught(page: TrainingPage, teacher: Model, part: float) -> TrainingPage:
    """The page with so large a part of its truth replaced by the teacher's probability of ink."""
    (down, right), (height, width) = page.grown, page.truth.shape
    gray = np.ascontiguousarray(page.gray[down : height - down, right : width - right])
    numbers = PageNumbers.of(gray)
    surface = teacher.surface(gray, numbers)
    logit = (surface - gray) * np.float32(teacher.about["alpha"] * teacher.scale(numbers).gain)
    ink = gray < surface
    probability = np.where(ink & ~teacher.writing(ink), 0, 1 / (1 + np.exp(-logit.clip(-30, 30))))
    probability = np.pad(probability, [(down, down), (right, right)], mode="symmetric")
    return replace(page, mixture=(page.truth * (1 - part) + probability * part).astype(np.float16))


def _colours(path: Path) -> np.ndarray | None:
    """The page as it is to be read, (H, W, 3) uint8; None where it has no colours or cannot be decoded."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with open_image(path) as image:
                return np.array(ImageOps.exif_transpose(image)) if image.mode == "RGB" else None
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError):
        return None  # read_image says what is wrong


class Patches:
    """Draws batches from pages (and synthetic pages) as the settings say."""

    def __init__(self, pages: list[TrainingPage], settings: Settings, papers: Sequence[Shares] = ()) -> None:
        """papers : that the setting ``paper`` lays patches on."""
        self.settings, self.papers = settings, papers
        if settings.paper and not papers:
            raise UsageError("setting paper: there are no papers to lay patches on")
        self.pages: dict[str, list[TrainingPage]] = {}  # by set
        for page in pages:
            self.pages.setdefault(page.set, []).append(page)
        weights = [
            settings.set_weights.get(n, 1.0) * (len(s) if settings.by_pages else 1) for n, s in self.pages.items()
        ]
        if not any(weights):
            raise UsageError("every set has the weight 0 (set_weights); nothing is left to train on")
        self.share = np.array(weights) / sum(weights)
        self.conventions = {name: _convention(name, settings.conventions) for name in self.pages}
        self.reach = max(settings.architecture.windows) // 2
        self.kind = pages[0].target.dtype
        # made here, before worker processes are: they share its memory
        self.coarse = {id(page): CoarsePage.of(page.gray, settings) for page in pages if settings.architecture.view}
        for page in pages:
            _ = page.numbers, page.contrast, page.share
            if settings.thin_at_half:
                _ = page.beyond, page.stroke

    def batch(self, step: int, indices: range) -> Batch[np.ndarray]:
        """The patches of one step (a part of them when several processes share the step)."""
        patches = [self.patch(step, i) for i in indices]
        return Batch(*(np.stack(arrays) for arrays in zip(*patches, strict=True)))

    def patch(self, step: int, index: int) -> Batch[np.ndarray]:
        """One patch of a step."""
        s = self.settings
        rng = np.random.default_rng([s.seed, step, index])
        if s.synthetic and rng.random() < s.synthetic:
            gray, target, (rows, columns), numbers, weight, convention, view = self._synthetic(rng)
        else:
            gray, target, (rows, columns), numbers, weight, convention, view = self._cut(rng)
        if s.patch_scaling:
            numbers = PageNumbers.of(gray[rows, columns])
        if s.flips:
            turn = rng.integers(4)
            if turn & 1:
                gray, target, weight = gray[:, ::-1], target[:, ::-1], weight[:, ::-1]
                columns = _mirror(columns, gray.shape[1])
                view = view and view.mirrored(1, gray.shape[1])
            if turn & 2:
                gray, target, weight = gray[::-1], target[::-1], weight[::-1]
                rows = _mirror(rows, gray.shape[0])
                view = view and view.mirrored(0, gray.shape[0])
        if s.transpose and rng.random() < 0.5:
            gray, target, weight, rows, columns = gray.T, target.T, weight.T, columns, rows
            view = view and view.transposed()
        habit = None
        if s.architecture.is_told_habit and rng.random() < s.habit_known:
            habit = convention
            if habit is None:
                habit = habit_of(gray[rows, columns], target[rows, columns] > 0.5)
        if view and s.view_noise:
            view = disturbed(view, rng, s.view_noise)
        view = view and view.told(habit_features(habit))
        page = PageInputs.of(gray, numbers, s.architecture, s.scaling, s.margins, habit, view)
        read = page.inputs((rows, columns))._asdict()
        return Batch(**read, target=target[rows, columns].astype(self.kind), weight=weight)

    def _cut(self, rng: np.random.Generator) -> Cut:
        s = self.settings
        of_set = self.pages[list(self.pages)[rng.choice(len(self.share), p=self.share)]]
        page = of_set[rng.integers(len(of_set))]
        height, width = page.truth.shape
        factor = 1.0
        if rng.random() < s.rescale:
            low, high = s.rescale_range
            factor = float(np.exp(rng.uniform(np.log(low), np.log(high))))
            factor = max(factor, s.patch / min(height, width))  # the patch must lie inside the page
        side = min(round(s.patch / factor), height, width)
        must = s.least_text if rng.random() < s.text_share else 0.0
        beyond = side // 4 if s.rim else 0  # a patch that lies beyond the page by up to this is pushed back to its end
        for _ in range(20):
            y, x = (min(max(int(rng.integers(-beyond, n - side + beyond + 1)), 0), n - side) for n in (height, width))
            if page.truth[y : y + side, x : x + side].mean() >= must:
                break
        reach = round(self.reach / factor)
        goes_on = [
            (at != grown, at + side != n - grown)
            for at, n, grown in zip((y, x), (height, width), page.grown, strict=True)
        ]
        region = tuple(  # windows do not see beyond the page
            slice(max(at - reach * before, 0), min(at + side + reach * after, n))
            for at, n, (before, after) in zip((y, x), (height, width), goes_on, strict=True)
        )
        gray, target, numbers = page.gray[region], page.target[region], page.numbers
        if page.pixels.ndim == 3 and rng.random() < s.colour:
            weights = rng.dirichlet(LUMA * 6 + 0.6)
            gray, numbers = _mix(page.pixels[region], weights), PageNumbers.of(_mix(page.pixels[::4, ::4], weights))
        spot = (y - region[0].start, x - region[1].start)
        if side != s.patch:
            factor = s.patch / side
            size = (max(round(gray.shape[1] * factor), s.patch), max(round(gray.shape[0] * factor), s.patch))
            gray = np.asarray(Image.fromarray(gray).resize(size, Image.Resampling.BICUBIC))
            coverage = Image.fromarray((target * np.float16(255)).astype(np.uint8)).resize(
                size, Image.Resampling.BICUBIC
            )
            target = np.asarray(coverage)
            least = 255 * _covered(page, factor) if s.thin_at_half else 128
            target = target >= least if page.mixture is None else target / np.float16(255)
            spot = tuple(min(round(p * factor), n - s.patch) for p, n in zip(spot, gray.shape, strict=True))
        if s.headline and rng.random() < s.headline:
            gray, target, numbers = with_headline(rng, gray, target, spot, s.patch, page.contrast, numbers)
        if s.turn and rng.random() < s.turn:
            gray, target = turned(rng, gray, target)
        if s.rules and rng.random() < s.rules:
            gray, target = with_rules(rng, gray, target, paper_gray(page.gray), page.contrast)
        if s.fade and rng.random() < s.fade:
            gray = faded(rng, gray, paper_gray(page.gray))
        if s.paper and rng.random() < s.paper:
            gray = on_paper(rng, gray, self.papers[int(rng.integers(len(self.papers)))], page.contrast)
        if s.show_through and rng.random() < s.show_through:
            gray = self._show_through(rng, gray, page.contrast)
        if s.border and rng.random() < s.border:
            ends = [(axis, end) for axis in (0, 1) for end in (0, 1) if s.rim and not goes_on[axis][end]]
            gray, target, numbers = with_border(rng, gray, target, spot, s.patch, numbers, ends)
        gray, numbers = self._weather(rng, gray, numbers)
        place = (slice(spot[0], spot[0] + s.patch), slice(spot[1], spot[1] + s.patch))
        convention = self.conventions[page.set] if s.patch / side >= CONVENTION_SIZE else None
        view = self.coarse[id(page)].around(s, (y, x), side, spot) if s.architecture.view else None
        return Cut(gray, target, place, numbers, self._weight(page.share, goes_on), convention, view)

    def _weight(self, share: float, goes_on: list[tuple[bool, bool]]) -> Array:
        """What each pixel of a patch counts: nothing where the network would see an end of the page that is none.

        share : of ink on the page. goes_on : whether the page does above and below, to the left and to the right.
        """
        s = self.settings
        weight = np.zeros((s.patch, s.patch), np.float32)
        counted = tuple(slice(s.rim * before, s.patch - s.rim * after) for before, after in goes_on)
        weight[counted] = USUAL_SHARE / max(share, LEAST_SHARE) if s.loss == "page" else 1
        return weight

    def _weather(self, rng: np.random.Generator, gray: Gray, numbers: PageNumbers) -> tuple[Gray, PageNumbers]:
        """Blur, tone and noise; the page's numbers follow the tone."""
        s = self.settings
        if rng.random() < s.blur:
            gray = np.asarray(Image.fromarray(gray).filter(ImageFilter.GaussianBlur(float(rng.uniform(0.3, 1.1)))))
        if rng.random() < s.tone:
            level = np.linspace(0, 1, 256) ** np.exp(rng.uniform(-0.15, 0.15))  # more would move the edges of strokes
            low = rng.uniform(0, 0.25)
            high = rng.uniform(max(low + 0.3, 0.6), 1.0)
            table = np.rint(255 * (low + (high - low) * level)).astype(np.uint8)
            gray = table[gray]
            numbers = numbers.map(lambda h: np.bincount(table, weights=h, minlength=256))
        if rng.random() < s.noise:
            grain = rng.standard_normal(gray.shape, np.float32) * np.float32(rng.uniform(1, 7))
            gray = np.clip(np.rint(gray + grain), 0, 255).astype(np.uint8)
        return gray, numbers

    def _show_through(self, rng: np.random.Generator, gray: Gray, contrast: float) -> Gray:
        """The writing of another page, mirrored and blurred, multiplied into this one; the truth stays.

        contrast : of this page's own ink; what shows through is always paler.
        """
        of_set = self.pages[list(self.pages)[rng.choice(len(self.share), p=self.share)]]
        page = of_set[rng.integers(len(of_set))]
        corner = [int(rng.integers(max(n - size, 0) + 1)) for n, size in zip(page.truth.shape, gray.shape, strict=True)]
        part = tuple(slice(c, c + size) for c, size in zip(corner, gray.shape, strict=True))
        other = page.gray[part][:, ::-1]
        lack = [(0, size - n) for n, size in zip(other.shape, gray.shape, strict=True)]
        other = np.pad(other, lack, mode="symmetric")
        blurred = Image.fromarray(np.ascontiguousarray(other)).filter(
            ImageFilter.GaussianBlur(float(rng.uniform(0.6, 2.5)))
        )
        depth = (1 - np.asarray(blurred, np.float32) / paper_gray(other)) / np.float32(max(page.contrast, 0.05))
        pale = np.float32(contrast * rng.uniform(0.1, 0.7))
        made: Gray = np.rint(gray * (1 - np.clip(depth, 0, 1) * pale)).astype(np.uint8)
        return made

    def _synthetic(self, rng: np.random.Generator) -> Cut:
        from ..synth import training_page

        side = self.settings.patch + 2 * self.reach
        gray, truth = training_page(int(rng.integers(2**31)), height=side, width=side)
        middle = slice(self.reach, self.reach + self.settings.patch)
        weight = self._weight(float(truth.mean()), [(True, True)] * 2)
        view = None
        if self.settings.architecture.view:
            corner = (self.reach, self.reach)
            view = CoarsePage.of(gray, self.settings).around(self.settings, corner, self.settings.patch, corner)
        return Cut(gray, truth, (middle, middle), PageNumbers.of(gray), weight, None, view)


def _convention(name: str, conventions: dict[str, float]) -> float | None:
    """The habit of a set by convention: that of the longest start of its name."""
    starts = [start for start in conventions if name.startswith(start)]
    return conventions[max(starts, key=len)] if starts else None


def _mix(pixels: np.ndarray, weights: np.ndarray) -> Gray:
    """Colour to gray with these weights of red, green and blue."""
    if pixels.ndim == 2:
        return pixels
    table = np.rint(np.asarray(weights) * 65536).astype(np.uint32)
    wide = pixels.astype(np.uint32)
    mixed = wide[..., 0] * table[0] + wide[..., 1] * table[1] + wide[..., 2] * table[2] + 0x8000
    gray: Gray = (mixed >> 16).astype(np.uint8)
    return gray


def _covered(page: TrainingPage, factor: float) -> float:
    """The share of a pixel that the truth has to cover where it is resampled: half, and more where strokes become thin whose
    truth is drawn beyond the middle between ink and paper."""
    thin = float(np.interp(page.stroke * factor, _THIN, (1, 0))) if factor < 1 else 0.0
    return float(np.clip(0.5 + thin * page.beyond * factor, 0.35, 0.75))


def _mirror(span: slice, length: int) -> slice:
    return slice(length - span.stop, length - span.start)
