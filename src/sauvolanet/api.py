"""The verb for Python: a page goes in; ink, surface, even gray or the model's steps come out. Thin, over `pipeline`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import pipeline
from .core.arrays import Gray, Ink, Surface
from .options import QUALITY
from .page.gray import gray_page
from .page.white import paper_to_white
from .pipeline import Engine, Options, Result, Selection

if TYPE_CHECKING:
    from .net import Model

PAPER_WINDOW = 127  # pixels across, over which the paper's level is taken


class Binarizer:
    """Load once, binarize many pages; safe in threads and after a fork.

    model : a shipped name (see ``sauvolanet models``), the path of a model, or a loaded model. method : a classic
    method's name. Neither means the default model, both is a UsageError. Other options as in `binarize`; ``params`` are
    the method's own options. selection : all of that, checked already.
    """

    def __init__(self, selection: Selection | None = None, /, *, model: str | Model | None = None, method: str | None = None,
                 **options: Any) -> None:  # fmt: skip
        if selection is None:
            selection = Selection.of(model=model, method=method, **options)
        self.engine: Engine = selection.engine()
        self.options: Options = selection.options

    @property
    def name(self) -> str:
        """The name of the model or method."""
        return self.engine.name

    @property
    def has_surface(self) -> bool:
        """Whether ink is ``gray < threshold`` for some surface."""
        return self.engine.has_surface

    def run(self, image: Any, *, keep_surface: bool = False, max_pixels: int | None = None) -> Result:
        """Ink, what was decided about the page and, where asked for, the surface; see `sauvolanet.pipeline.run`."""
        return pipeline.run(self.engine, image, self.options, keep_surface=keep_surface, max_pixels=max_pixels)

    def __call__(self, image: Any) -> Ink:
        """Ink of the page: new bool (H, W), True = ink; H and W are those of the page times ``enlarge``."""
        return self.run(image).ink

    def threshold(self, image: Any) -> Surface:
        """The threshold surface: float32 (H, W) on the 0–255 scale of the gray.

        Ink before despeckling is exactly ``gray < surface``; a page that was inverted is compared inverted.
        """
        surface = self.run(image, keep_surface=True).surface
        assert surface is not None
        return surface

    def normalize(self, image: Any, *, paper_window: int = PAPER_WINDOW) -> Gray:
        """Gray over the local paper level; see `normalize`."""
        return normalized(self.run(image), self.options.threads, paper_window)

    def explain(self, image: Any) -> Explanation:
        """The steps of a model on the page; a classic method has none and is a UsageError."""
        engine, options = self.engine, self.options
        if options.times is None:
            prepared = self.run(image).prepared
        else:
            prepared = pipeline.prepare(gray_page(image, options.channel), engine, options, options.times)
        steps = engine.steps(prepared, options.threads)
        whole = (slice(0, prepared.gray.shape[0]), slice(0, prepared.gray.shape[1]))
        result = pipeline.decide(engine, prepared, options, keep_surface=True, tiles=[(whole, steps.surface)])
        return Explanation(self.name, result, steps.windows, steps.constants,
                           np.ascontiguousarray(steps.surfaces.transpose(2, 0, 1)),
                           np.ascontiguousarray(steps.attention.transpose(2, 0, 1)), steps.view)  # fmt: skip


@dataclass(frozen=True)
class Explanation:
    """The steps of a model on one page; surfaces and threshold on the 0–255 scale of the gray.

    result : the page as it was compared, and what came out. windows : their sides. constants : the extra choices, thresholds as shares of
    the page's range. surfaces : (windows, H, W) float32, each window's Sauvola threshold. attention : (windows +
    constants, H, W) float32, sums to 1. view : (H, W) float32, 0 … 1: how sure a model that sees the whole page is that a
    place has writing; None for other models. threshold : (H, W) float32. ink : (H, W) bool, True = ink: ``gray < threshold``,
    despeckled.
    """

    model: str
    result: Result
    windows: tuple[int, ...]
    constants: tuple[float, ...]
    surfaces: npt.NDArray[np.float32]
    attention: npt.NDArray[np.float32]
    view: npt.NDArray[np.float32] | None

    def __repr__(self) -> str:  # that of the fields is hundreds of lines of arrays
        height, width = self.gray.shape
        return f"Explanation(model={self.model!r}, {width}×{height} pixels, windows={self.windows})"

    @property
    def gray(self) -> Gray:
        """The gray that was compared: (H, W) uint8."""
        return self.result.prepared.gray

    @property
    def threshold(self) -> Surface:
        """(H, W) float32."""
        assert self.result.surface is not None
        return self.result.surface

    @property
    def ink(self) -> Ink:
        """(H, W) bool, True = ink."""
        return self.result.ink

    @property
    def choices(self) -> list[str]:
        """Names of what the attention chooses between, in its order."""
        return [f"window {w}" for w in self.windows] + [
            f"always {'paper' if c < 0.5 else 'ink'}" for c in self.constants
        ]


def binarize(image: Any, *, model: str | None = None, method: str | None = None, strength: float = 0.0,
             invert: str = "auto", channel: str = "auto", lines: str = "keep", despeckle: int = 0,
             quality: str = QUALITY.default,
             enlarge: int | str = 1, threads: int | None = None, **params: Any) -> Ink:  # fmt: skip
    """Ink of a page: a new bool array (H, W), True = ink, for arrays and PIL images alike.

    image : see `sauvolanet.page.gray.gray_page`.
    model, method : a model's name or path, or a classic method's name; neither means the default model.
    strength : −1 … 1, heavier ink with +. invert : "auto", "yes" or "no". lines : "drop" takes out long
        straight rules. despeckle : drop specks up to this size.
    channel : which of a colour page is read: "gray", "min", "red", "green", "blue", or "auto" by its coloured writing.
    quality : "best" averages over flips. enlarge : the page is made this many times larger first, and so is the ink;
        "auto" doubles pages with small letters.
    threads : bands of rows; the result never depends on it.
    params : the method's own options, as in ``binarize(page, method="nick", window=25)``.
    """
    return Binarizer(model=model, method=method, strength=strength, invert=invert, channel=channel, lines=lines,
                     despeckle=despeckle, quality=quality, enlarge=enlarge, threads=threads, **params)(image)  # fmt: skip


def threshold(image: Any, *, model: str | None = None, method: str | None = None, **options: Any) -> Surface:
    """The threshold surface of a page: float32 (H, W) on the 0–255 scale of the gray; options as in `binarize`.

    ``binarize(page) == (gray < threshold(page))`` exactly, before despeckling.
    """
    return Binarizer(model=model, method=method, **options).threshold(image)


def normalize(image: Any, *, paper_window: int = PAPER_WINDOW, **options: Any) -> Gray:
    """Gray over the local paper level: uint8 (H, W), paper near 255, strokes keep their shades.

    The paper level is the mean of the pixels of the window that are not ink nor next to ink; where a window holds no
    paper, the page's lightest level serves. Options as in `binarize`, which finds the ink: a method's ``window`` is its
    own.
    """
    return Binarizer(**options).normalize(image, paper_window=paper_window)


def normalized(result: Result, threads: int | None = 1, paper_window: int = PAPER_WINDOW) -> Gray:
    """Gray over the local paper level, uint8 (H, W), of a page whose ink is known."""
    prepared = result.prepared
    if prepared.blank:
        return np.full(prepared.gray.shape, 255, np.uint8)
    return paper_to_white(prepared.gray, result.ink, paper_window, prepared.numbers.levels()[1], threads)


def explain(image: Any, *, model: str | None = None, **options: Any) -> Explanation:
    """Intermediate results of a model on a page; options as in `binarize`, without a classic method."""
    return Binarizer(model=model, **options).explain(image)
