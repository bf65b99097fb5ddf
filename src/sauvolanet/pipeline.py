"""The way of a page, written once: gray goes in, ink comes out.

    prepare ▸ surface ▸ compare ▸ veto ▸ rules ▸ strengthen ▸ clean

`Selection` is what was asked for, checked once; `Prepared` is what was decided about the page, `Result` what came out.
Command line, files, service, plugins, evaluation and the paper take their fields and decide nothing again.

Page-wide numbers are computed once, from the histogram of the gray, and passed on; up to the comparison nothing looks
at the whole page again, so bands, threads and neighbours in a batch cannot change a result.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from . import net
from .core.arrays import Gray, Ink, Surface
from .core.components import despeckle, letter_height
from .core.windows import below
from .errors import MissingExtra, UnknownName, UsageError
from .options import (
    CHANNEL,
    DESPECKLE,
    ENLARGE,
    INVERT,
    LINES,
    QUALITY,
    SMALL_LETTERS,
    STRENGTH,
    THREADS,
    VERB_OPTIONS,
    validate,
)
from .page import dark_areas, lines
from .page.formats import open_image
from .page.found import Found, find
from .page.gray import GrayPage, gray_page, resized
from .page.numbers import PageNumbers
from .page.prepared import Prepared
from .page.reading import Reading, Tiles
from .page.strength import Edges, moved

if TYPE_CHECKING:
    from .net.engine import Steps

DEFAULT_MODEL = "swift"
PROBES = Path(__file__).with_name("probes.tif")  # small pages of our own, see tools/probes.py
_DOUBLE = 2  # times that enlarge="auto" enlarges a page with small letters

# --- what was asked for ---


@dataclass(frozen=True)
class Options:
    """The verb's options, checked: see `sauvolanet.options.VERB_OPTIONS`. Raw values become one in `Selection.of`."""

    strength: float = STRENGTH.default
    invert: str = INVERT.default
    channel: str = CHANNEL.default
    lines: str = LINES.default
    despeckle: int = DESPECKLE.default
    quality: str = QUALITY.default
    enlarge: int | str = ENLARGE.default
    threads: int | None = THREADS.default

    @property
    def times(self) -> int | None:
        """How many times every page is enlarged; None where the page itself decides."""
        return self.enlarge if isinstance(self.enlarge, int) else None


@dataclass(frozen=True)
class Selection:
    """What makes the ink: a model or a method, the method's own option values, and the verb's options; all checked.

    model : a shipped name, a path or a loaded model; without model and method it is the default model.
    """

    model: str | net.Model | None = None
    method: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    options: Options = Options()

    @classmethod
    def of(cls, *, model: str | net.Model | None = None, method: str | None = None, **given: Any) -> Selection:
        """The selection from raw values (text, Python or numpy scalars): the one place where they are checked."""
        if model is not None and method is not None:
            raise UsageError("give a model or a method, not both")
        names = {o.name for o in VERB_OPTIONS}
        options = Options(**validate(VERB_OPTIONS, {n: v for n, v in given.items() if n in names}, "option"))
        params = {n: v for n, v in given.items() if n not in names}
        if method is None:
            if params:
                raise UnknownName("option", next(iter(params)), names | {"model", "method"})
            return cls(model, None, {}, options)
        from . import classic  # twenty modules that a start with the default model does without

        if method not in classic.METHODS:
            raise UnknownName("method", method, classic.METHODS)
        found = classic.METHODS[method]
        if found.extra and not classic.available(found):
            raise MissingExtra(found.extra, f"method {method}")
        params = found.values(params)
        if options.strength and not found.surface:
            raise UsageError(f"strength needs a threshold surface, and {method} has none")
        return cls(None, method, params, options)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Selection:
        """The selection whose ``dataclasses.asdict`` this is; its values were checked when it was made."""
        return cls(**{**data, "options": Options(**data["options"])})

    def with_options(self, **changed: Any) -> Selection:
        """The same with some of the verb's options changed to values that are known to be right."""
        return replace(self, options=replace(self.options, **changed))

    def engine(self) -> Engine:
        """The engine, with its model loaded."""
        if self.method is not None:
            from .classic import METHODS
            from .classic.engine import MethodEngine

            return MethodEngine(METHODS[self.method], dict(self.params))
        from .net.engine import ModelEngine

        model = self.model if isinstance(self.model, net.Model) else net.load(self.model or DEFAULT_MODEL)
        return ModelEngine(model, self.options.quality)


class Engine(Protocol):
    """What makes a surface or ink from a prepared page: a model in one of its qualities, or a method with its values."""

    @property
    def name(self) -> str:
        """Of the model or method."""

    @property
    def kind(self) -> str:
        """ "model" or "method"."""

    @property
    def has_surface(self) -> bool:
        """Whether ink is ``gray < surface`` for some surface."""

    @property
    def has_steps(self) -> bool:
        """Whether `steps` can tell how it decides."""

    @property
    def values(self) -> dict[str, Any]:
        """What its results depend on besides the page, such as option values."""

    @property
    def reading(self) -> Reading | None:
        """How it wants a page put before it; None where it reads the page as it is."""

    def tiles(self, prepared: Prepared, threads: int | None) -> Tiles:
        """The surface of strength 0 tile by tile: a huge page never has its whole surface in memory."""

    def ink(self, gray: Gray, threads: int | None) -> Ink | None:
        """Ink (bool, True = ink) of strength 0 without a surface; None where only the surface tells."""

    def writing(self, ink: Ink) -> Ink:
        """Of ink of strength 0 (bool, True = ink) that which is writing."""

    def steps(self, prepared: Prepared, threads: int | None) -> Steps:
        """How it decides; a UsageError where it has no steps."""


# --- what is decided ---


@dataclass(frozen=True)
class Result:
    """What came out: ink, (H, W) bool, True = ink; and where asked for the surface, (H, W) float32, 0–255.

    Before despeckling ink is exactly ``prepared.gray < surface``. free : (H, W) bool, where ink may be, whatever the
    strength. dropped : how many long rules were taken out.
    """

    prepared: Prepared
    surface: Surface | None
    ink: Ink
    free: Ink
    dropped: int = 0

    @cached_property
    def found(self) -> Found:
        """What the page tells, and why a person should look at it; measured when it is first asked for."""
        return find(self.prepared, self.ink, self.dropped)


# --- the way ---


def run(engine: Engine, image: Any, options: Options, *, keep_surface: bool = False,
        max_pixels: int | None = None) -> Result:  # fmt: skip
    """The whole way of one page. image : see `sauvolanet.page.gray.gray_page`.

    keep_surface : the result has the surface. max_pixels : enlarge="auto" leaves a page alone that would get larger.
    """
    if keep_surface and not engine.has_surface:
        raise UsageError(f"{engine.name} has no threshold surface; its result is ink only")
    page = gray_page(image, options.channel)
    if options.times is not None:
        return decide(engine, prepare(page, engine, options, options.times), options, keep_surface=keep_surface)
    result = decide(engine, prepare(page, engine, options), options, keep_surface=keep_surface)
    fits = max_pixels is None or page.gray.size * _DOUBLE**2 <= max_pixels
    if fits and letter_height(result.ink) in SMALL_LETTERS:
        result = decide(engine, prepare(page, engine, options, _DOUBLE), options, keep_surface=keep_surface)
    return result


def decide(engine: Engine, prepared: Prepared, options: Options, *, keep_surface: bool = False,
           tiles: Tiles | None = None) -> Result:  # fmt: skip
    """Ink, and where asked for the surface, of a prepared page. tiles : the engine's, where they are there already."""
    gray, threads = prepared.gray, options.threads
    if prepared.blank:
        nothing = np.zeros(gray.shape, bool)
        return Result(prepared, np.zeros(gray.shape, np.float32) if keep_surface else None, nothing, nothing)
    surface = np.empty(gray.shape, np.float32) if keep_surface else None
    plain = None if keep_surface else engine.ink(gray, threads)
    if plain is None:
        plain = compare(engine.tiles(prepared, threads) if tiles is None else tiles, gray, surface, threads)
    writing = engine.writing(plain)
    dropped = 0
    if options.lines == "drop":
        rules = lines.find(writing)
        writing, dropped = rules.without(writing), rules.long
    free = writing | ~plain  # what is no writing at strength 0 is none at any other
    ink = Edges.of(gray, writing, free, prepared.paper, threads).at(options.strength) if options.strength else writing
    if surface is not None:
        surface = moved(surface, gray, ink)
    return Result(prepared, surface, clean(ink, options), free, dropped)


def prepare(page: GrayPage, engine: Engine, options: Options, times: int = 1) -> Prepared:
    """The page enlarged, dark on light, with its numbers; whether anything is on it; and as the engine reads it."""
    gray = resized(page.gray, (page.gray.shape[0] * times, page.gray.shape[1] * times))
    numbers = PageNumbers.of(gray, options.threads)
    inverted = options.invert == "yes" or (options.invert == "auto" and numbers.light_on_dark(gray))
    if inverted:
        gray, numbers = 255 - gray, numbers.inverted()
    found = [] if options.invert == "no" or numbers.blank else dark_areas.areas(gray, numbers)
    if found:
        gray = dark_areas.turned(gray, found)
        numbers = PageNumbers.of(gray, options.threads)
    read = None if engine.reading is None or numbers.blank else engine.reading.read(gray, options.threads)
    return Prepared(gray, numbers, numbers.blank, inverted, page.channel, times, read, len(found))


def compare(tiles: Tiles, gray: Gray, surface: Surface | None = None, threads: int | None = 1) -> Ink:
    """Ink (bool, True = ink): gray below the surface, tile by tile. surface : where given, it is filled."""
    ink = np.empty(gray.shape, bool)
    for here, part in tiles:
        below(gray[here], part, ink[here], threads)
        if surface is not None:
            surface[here] = part
    return ink


def clean(ink: Ink, options: Options) -> Ink:
    """Ink (bool, True = ink) without specks."""
    return despeckle(ink, options.despeckle) if options.despeckle else ink


# --- what it would give ---


@lru_cache(maxsize=1)
def probes() -> tuple[Gray, ...]:
    """Text, few words, a blank page, white on black, dark sides, faint ink, a gradient; each gray (H, W) uint8."""
    from PIL import ImageSequence

    with open_image(PROBES) as file:
        return tuple(gray_page(page).gray for page in ImageSequence.Iterator(file))


def fingerprint(engine: Engine, options: Options) -> str:
    """Same fingerprint, same results on gray pages: of the options that were changed, and of what comes out on the probes.

    Code that changes a result changes the fingerprint, wherever it stands; threads do not, nor does a new option that is
    not used, nor the channel, which says what becomes gray.
    """
    options = replace(options, threads=1, channel=Options().channel)
    changed = {name: value for name, value in asdict(options).items() if value != getattr(Options(threads=1), name)}
    digest = hashlib.sha256(json.dumps([engine.values, changed], sort_keys=True).encode())
    for page in probes():
        result = run(engine, page, options)
        decided = result.prepared.blank, result.prepared.inverted, result.prepared.times
        digest.update(json.dumps(decided).encode() + result.ink.tobytes())
        if engine.has_surface:
            surface = run(engine, page, options, keep_surface=True).surface
            assert surface is not None
            digest.update(surface.tobytes())
    return digest.hexdigest()
