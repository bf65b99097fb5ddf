"""The verb: a page goes in, ink comes out.

    decode ▸ orientation ▸ gray ▸ enlarge ▸ invert ▸ blank test ▸ method ▸ strength ▸ compare ▸ edges ▸ despeckle

Page-wide numbers are computed once, from the histogram of the gray, and passed on; up to the comparison nothing looks
at the whole page again, so bands, threads and neighbours in a batch cannot change a result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import net
from .components import despeckle as drop_specks
from .components import grown, letter_height
from .errors import MissingExtra, UnknownName, UsageError
from .options import QUALITY, SMALL_LETTERS, VERB_OPTIONS, Method, validate
from .page import PageNumbers, enlarged, to_gray
from .windows import Gray, Ink, Surface, box_sum, run_bands

if TYPE_CHECKING:
    from .net import Model

DEFAULT_MODEL = "swift"
_TIMES = 2  # of enlarge="auto"
_ROWS = 1024  # of a surface that are strengthened at a time, which takes several times their memory


class Binarizer:
    """Load once, binarize many pages; safe in threads and after a fork.

    model : a shipped name (see ``sauvolanet models``) or the path of a model. method : a classic method's name.
    Neither means the default model, both is a UsageError. Other options as in `binarize`; ``params`` are the
    method's own options.
    """

    def __init__(self, *, model: str | None = None, method: str | None = None, **options: Any) -> None:
        if model is not None and method is not None:
            raise UsageError("give a model or a method, not both")
        names = {o.name for o in VERB_OPTIONS}
        verb = validate(VERB_OPTIONS, {n: v for n, v in options.items() if n in names}, "option")
        self.strength: float = verb["strength"]
        self.invert: str = verb["invert"]
        self.despeckle: int = verb["despeckle"]
        self.quality: str = verb["quality"]
        self.enlarge: int | str = verb["enlarge"]
        self.threads: int | None = verb["threads"]
        params = {n: v for n, v in options.items() if n not in names}
        self.method: Method | None = None
        self.model: Model | None = None
        if method is not None:
            self.method, self.params = _method(method, params)
        else:
            if params:
                raise UnknownName("option", next(iter(params)), names | {"model", "method"})
            self.model = net.load(model or DEFAULT_MODEL)
        if self.strength and not self.has_surface:
            raise UsageError(f"strength needs a threshold surface, and {self.name} has none")

    @property
    def name(self) -> str:
        """The name of the model or method."""
        return self.method.name if self.method else self.model.name  # type: ignore[union-attr]

    @property
    def most(self) -> int:
        """How many times a page is enlarged at most."""
        return _TIMES if isinstance(self.enlarge, str) else self.enlarge

    @property
    def has_surface(self) -> bool:
        """Whether ink is ``gray < threshold`` for some surface."""
        return self.method is None or self.method.surface

    def __call__(self, image: Any) -> Ink:
        """Ink of the page: new bool (H, W), True = ink; H and W are those of the page times ``enlarge``."""
        page = to_gray(image)
        if self.enlarge == "auto":
            ink = self._ink(page)
            if not _small(ink):
                return ink
        return self._ink(enlarged(page, self.most))

    def _ink(self, page: Gray) -> Ink:
        gray, numbers = self._dark_on_light(page)
        if numbers.blank:
            return np.zeros(gray.shape, bool)
        if self.method is not None and self.method.fused and not self.strength:
            ink = self.method.function(gray, threads=self.threads, ink=True, **self.params)
        elif self.has_surface:
            ink = np.empty(gray.shape, bool)
            other = np.empty(gray.shape, bool) if self.strength else None
            for core, part in self._tiles(gray, numbers):  # a huge page never has its whole surface in memory
                np.less(gray[core], part, out=ink[core])
                if other is not None:
                    np.less(gray[core], strengthen(part, self.strength, numbers), out=other[core])
            if other is not None:
                ink = other & ~self._no_writing(ink)
            elif self.model is not None:
                ink = self.model.writing(ink)
        else:
            assert self.method is not None
            ink = self.method.function(gray, threads=self.threads, **self.params)
        return drop_specks(ink, self.despeckle) if self.despeckle else ink

    def threshold(self, image: Any) -> Surface:
        """The threshold surface: float32 (H, W) on the 0–255 scale of the gray.

        Ink before despeckling is exactly ``gray < surface``; a page that was inverted is compared inverted.
        """
        if not self.has_surface:
            raise UsageError(f"{self.name} has no threshold surface; its result is ink only")
        gray, numbers = self.prepare(image)
        return np.zeros(gray.shape, np.float32) if numbers.blank else self.surface(gray, numbers)

    def prepare(self, image: Any) -> tuple[Gray, PageNumbers]:
        """The page's gray, enlarged and inverted if need be, and its page-wide numbers."""
        page = to_gray(image)
        plain = self.enlarge == "auto" and not _small(self._ink(page))
        return self._dark_on_light(page if plain else enlarged(page, self.most))

    def _dark_on_light(self, gray: Gray) -> tuple[Gray, PageNumbers]:
        numbers = PageNumbers.of(gray)
        if self.invert == "yes" or (self.invert == "auto" and numbers.light_on_dark(gray)):
            gray = 255 - gray
            numbers = numbers.inverted()
        return gray, numbers

    def surface(self, gray: Gray, numbers: PageNumbers) -> Surface:
        """The surface of a page that `prepare` has prepared."""
        out = np.empty(gray.shape, np.float32)
        for core, part in self._tiles(gray, numbers):
            out[core] = part
        out = self.without_edges(gray, out)
        for first in range(0, len(out), _ROWS) if self.strength else ():
            rows = out[first : first + _ROWS]
            rows[:] = strengthen(rows, self.strength, numbers)
        return out

    def without_edges(self, gray: Gray, surface: Surface) -> Surface:
        """The surface (of strength 0), 0 where there is no writing whatever the strength."""
        if self.model is not None and self.model.doubts_rim:
            surface[self._no_writing(gray < surface)] = 0
        return surface

    def _no_writing(self, ink: Ink) -> Ink:
        """Strips along the sides of the page that the model takes for no writing, and what they grow into when heavier.

        ink : that of strength 0. It decides for all strengths, so that ink only grows with strength.
        """
        if self.model is None or not self.model.doubts_rim:
            return np.zeros(ink.shape, bool)
        writing = self.model.writing(ink)
        strips = ink & ~writing
        return grown(grown(strips)) & ~writing if strips.any() else strips

    def _tiles(self, gray: Gray, numbers: PageNumbers) -> Iterator[tuple[tuple[slice, slice], Surface]]:
        """The surface of strength 0, tile by tile."""
        whole = (slice(0, gray.shape[0]), slice(0, gray.shape[1]))
        tiles: Iterable[tuple[tuple[slice, slice], Surface]]
        if self.method is not None:
            tiles = [(whole, self.method.function(gray, threads=self.threads, **self.params))]
        elif self.quality == "best":
            tiles = [(whole, _mean_over_flips(self.model, gray, numbers, self.threads))]
        else:
            tiles = self.model.tiles(gray, numbers, self.threads)  # type: ignore[union-attr]
        yield from tiles


def _small(ink: Ink) -> bool:
    return letter_height(ink) in SMALL_LETTERS


def _method(name: str, params: dict[str, Any]) -> tuple[Method, dict[str, Any]]:
    from . import classic  # twenty modules that a start with the default model does without

    if name not in classic.METHODS:
        raise UnknownName("method", name, classic.METHODS)
    method = classic.METHODS[name]
    if method.extra and not classic.available(method):
        raise MissingExtra(method.extra, f"method {name}")
    return method, method.values(params)


def _mean_over_flips(model: Any, gray: Gray, numbers: PageNumbers, threads: int | None) -> Surface:
    total: Surface = model.surface(gray, numbers, threads)
    for flip in ((0,), (1,), (0, 1)):
        turned = np.ascontiguousarray(np.flip(gray, flip))
        total += np.flip(model.surface(turned, numbers, threads), flip)
    return total / np.float32(4)


def strengthen(surface: Surface, strength: float, numbers: PageNumbers) -> Surface:
    """A heavier (+) or lighter (−) surface: t ↦ t^(1.5^−strength) between the page's darkest and lightest levels.

    Ink grows with strength at every pixel; thresholds at or beyond those levels (a veto) stay where they are.
    """
    low, high = numbers.levels()
    scale = np.float32(max(high - low, 1))
    inside = (surface - np.float32(low)) / scale
    moved = np.clip(inside, 0, 1) ** np.float32(1.5**-strength) * scale + np.float32(low)
    return np.where((inside > 0) & (inside < 1), moved, surface).astype(np.float32)


def binarize(image: Any, *, model: str | None = None, method: str | None = None, strength: float = 0.0,
             invert: str = "auto", despeckle: int = 0, quality: str = QUALITY.default, enlarge: int | str = 1,
             threads: int | None = None, **params: Any) -> Ink:  # fmt: skip
    """Ink of a page: a new bool array (H, W), True = ink, for arrays and PIL images alike.

    image : see `sauvolanet.page.to_gray`.
    model, method : a model's name or path, or a classic method's name; neither means the default model.
    strength : −1 … 1, heavier ink with +. invert : "auto", "yes" or "no". despeckle : drop specks up to this size.
    quality : "best" averages over flips. enlarge : the page is made this many times larger first, and so is the ink;
        "auto" doubles pages with small letters.
    threads : bands of rows; the result never depends on it.
    params : the method's own options, as in ``binarize(page, method="nick", window=25)``.
    """
    return Binarizer(model=model, method=method, strength=strength, invert=invert, despeckle=despeckle,
                     quality=quality, enlarge=enlarge, threads=threads, **params)(image)  # fmt: skip


def threshold(image: Any, *, model: str | None = None, method: str | None = None, **options: Any) -> Surface:
    """The threshold surface of a page: float32 (H, W) on the 0–255 scale of the gray; options as in `binarize`.

    ``binarize(page) == (gray < threshold(page))`` exactly, before despeckling.
    """
    return Binarizer(model=model, method=method, **options).threshold(image)


def normalize(image: Any, *, paper_window: int = 127, **options: Any) -> Gray:
    """Gray over the local paper level: uint8 (H, W), paper near 255, strokes keep their shades.

    The paper level is the mean of the pixels of the window that are not ink nor next to ink; where a window holds no
    paper, the page's lightest level serves. Options as in `binarize`, which finds the ink: a method's ``window`` is its
    own.
    """
    binarizer = Binarizer(**options)
    gray, numbers = binarizer.prepare(image)
    if numbers.blank:
        return np.full(gray.shape, 255, np.uint8)
    plain = Binarizer(**{**options, "invert": "no", "enlarge": 1})
    return paper_to_white(gray, plain(gray), paper_window, numbers.levels()[1], binarizer.threads)


def paper_to_white(
    gray: Gray, ink: Ink, window: int, fallback: float, threads: int | None = 1, rows: int = 256
) -> Gray:
    """Divide the gray by the mean of the paper pixels in the window around each pixel.

    It goes down the page ``rows`` at a time, so that a huge page needs little more memory than itself; as the sums are
    of whole numbers, the result does not depend on it.
    """
    white = np.empty_like(gray)
    reach = window // 2 + 1  # one more for the neighbours of ink

    def band(first: int, last: int) -> None:
        for a in range(first, last, rows):
            b = min(a + rows, last)
            top, bottom = max(a - reach, 0), b + reach
            white[a:b] = _to_white(gray[top:bottom], ink[top:bottom], window, fallback)[a - top : b - top]

    run_bands(len(gray), threads, band)
    return white


def _to_white(gray: Gray, ink: Ink, window: int, fallback: float) -> Gray:
    paper = ~grown(ink)  # strokes have soft edges: leave out their neighbours too
    count = box_sum(paper.astype(np.int64), window)
    total = box_sum(np.where(paper, gray, 0).astype(np.int64), window)
    level = np.where(count > 0, total / np.maximum(count, 1), fallback)
    return np.clip(np.rint(gray * (255 / np.maximum(level, 1))), 0, 255).astype(np.uint8)
