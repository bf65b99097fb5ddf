"""Pages composed of real paper and real ink, with exact truth.

    ink's picture ─▶ coverage ─▶ wanted stroke width ─▶ laid on the page ─▶ truth (covered by half or more)
    paper's photograph ─▶ enlarged, rules paler than the ink ─▶ × (1 − darkness · coverage) ─▶ shadow, optics, sensor, JPEG

What is printed on the paper is paper: its rules are made paler where they would be nearly as dark as the writing. A page
is a pure function of its arguments, for one version of this package and of Pillow.

The papers and inks are two parts that never meet: ``train`` and ``panel``. Several pictures show one sheet under
different light; they mostly have neighbouring numbers, so the panel's part is whole blocks of numbers, and the
numbers next to a block are in neither part. The textures are divided by what they show. Which number shows what,
and the blocks, are in ``data/papers.json``.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from ..core.arrays import Ink
from ..core.components import grown, touching
from ..errors import BadData, UnknownName
from ..page.formats import open_image
from .fields import Field, blur, coordinates, fractal, largest, noise, resize
from .ink import Writing, resampled, rim, stroke_width
from .streams import COMPOSED, stream

Colour = npt.NDArray[np.uint8]  # (H, W, 3)
NEXT = 4  # numbers so near to a block of the panel are in neither part
SHADES = {"black": (1.0, 1.0, 1.0), "blue": (1.0, 0.85, 0.45), "brown": (0.8, 0.95, 1.0), "red": (0.45, 1.0, 0.9)}
_PRINTED = ("print", "typed")  # tools whose writing is print
_EVENNESS = {"pen": 1.0, "print": 1.0, "ball": 0.85, "pencil": 0.75, "typed": 0.75, "nib": 0.7}


@dataclass(frozen=True)
class Paper:
    """A photograph of a sheet; traits: lined or texture, then ruled, squared, plain, crumpled, stained, shadow …"""

    name: str
    path: Path
    traits: frozenset[str]

    def colour(self) -> Colour:
        """(H, W, 3) uint8."""
        return _picture(self.path)


@lru_cache(maxsize=64)
def _picture(path: Path) -> Colour:
    with open_image(path) as image:
        return np.asarray(image.convert("RGB"))


@dataclass(frozen=True)
class Look:
    """A kind of composed pages: which papers, strokes and tools it takes."""

    name: str
    papers: Callable[[frozenset[str]], bool] = lambda traits: True
    stroke: tuple[float, float] = (2.0, 8.0)  # width in pixels, any between alike on a logarithmic scale
    tools: tuple[str, ...] = ("pen", "pen", "ball", "print")
    letters: tuple[int, int] | None = None  # height of small letters in pixels, in place of a stroke width
    shadow: float = 0.0  # share of pages with a shadow of our own
    rules: float = 0.6  # depth of rules over that of the ink, at most
    verso: float = 0.0  # share of pages through which the writing of the other side shows
    mounted: float = 0.0  # share of pages that are a fragment, dark as papyrus, on a mount
    fibres: float = 0.0  # depth of a sheet's fibres over that of the ink, at most
    darkness: dict[str, tuple[float, float]] = field(
        default_factory=lambda: {"pen": (0.45, 0.9), "ball": (0.45, 0.8), "print": (0.6, 0.92), "pencil": (0.25, 0.5),
                                 "typed": (0.5, 0.92), "nib": (0.45, 0.9)}
    )  # fmt: skip


def _flat(traits: frozenset[str]) -> bool:
    return not traits & {"crumpled", "shadow", "stained", "show-through"} and traits != {"texture"}


LOOKS = {
    look.name: look
    for look in (
        Look("ruled", lambda t: "ruled" in t and not t & {"crumpled", "stained", "shadow"}),
        Look("squared", lambda t: "squared" in t),
        Look("crumpled", lambda t: "crumpled" in t),
        Look("shadow", lambda t: "lined" in t or "plain" in t, shadow=0.8),
        Look("stained", lambda t: t >= {"texture"} or "stained" in t),
        Look("thin pen", _flat, stroke=(1.2, 2.5), tools=("pen", "ball")),
        Look("thick strokes", stroke=(9, 14), tools=("pen", "print")),
        Look("pencil", _flat, stroke=(1.6, 4), tools=("pencil",)),
        Look("small print", lambda t: "squared" not in t, letters=(9, 15), tools=("print",), rules=0.25),
        Look("show-through", _flat, tools=("pen", "pen", "print"), verso=1.0),
        Look("mounted", lambda t: "texture" in t, tools=("pen",), mounted=1.0, darkness={"pen": (0.35, 0.8)}),
        Look(
            "papyrus",
            lambda t: "texture" in t,
            stroke=(2, 10),
            tools=("pen", "nib"),
            mounted=1.0,
            fibres=0.5,
            darkness={"pen": (0.35, 0.8), "nib": (0.35, 0.8)},
        ),
        Look("typed", lambda t: "squared" not in t, letters=(8, 18), tools=("typed",), rules=0.25),
        Look("faded", _flat, stroke=(1.5, 6), tools=("nib",), rules=0.4),
    )
}
ANY = Look("any", stroke=(1.2, 14), tools=("pen", "pen", "ball", "print", "pencil"), shadow=0.15)


@lru_cache(maxsize=1)
def version() -> str:
    """A text that changes when the same arguments may give another page: the digest of what composes it."""
    folder = Path(__file__).parent
    files = [folder / f"{name}.py" for name in ("compose", "ink", "fields", "streams")] + [folder / "data/papers.json"]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


def _table() -> dict[str, dict[str, Any]]:
    return json.loads((Path(__file__).parent / "data" / "papers.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def part_of(folder: str, number: int) -> str | None:
    """``train``, ``panel`` or None (neither) for a picture of lined, texture, written or printed."""
    table = _table()
    blocks = table["panel"][folder]
    if number in table["unused"][folder]:
        return None
    if any(low <= number <= high for low, high in blocks):
        return "panel"
    reach = NEXT if folder in ("lined", "written") else 0
    return None if any(low - reach <= number <= high + reach for low, high in blocks) else "train"


def _files(folder: Path, part: str) -> list[tuple[int, Path]]:
    if part not in ("train", "panel"):
        raise UnknownName("part", part, ("train", "panel"))
    if not folder.is_dir():
        raise BadData(f"{folder}: no such folder")
    numbered = (
        (int(p.stem), p) for p in folder.iterdir() if p.suffix in (".webp", ".png", ".jpg") and p.stem.isdigit()
    )
    return sorted((n, p) for n, p in numbered if part_of(folder.name, n) == part)


def papers(data: str | Path, part: str) -> list[Paper]:
    """The papers of a part, ``train`` or ``panel``, in a folder that holds ``lined`` and ``texture``."""
    found = []
    table = _table()
    for group in ("lined", "texture"):
        for number, path in _files(Path(data) / group, part):
            traits = {group} | {trait for trait, numbers in table[group].items() if number in numbers}
            if group == "lined" and not traits & {"squared", "plain"}:
                traits.add("ruled")
            found.append(Paper(f"{group}/{path.stem}", path, frozenset(traits)))
    return found


def inks(data: str | Path, part: str) -> list[Writing]:
    """The writing of a part, ``train`` or ``panel``, in a folder that holds ``written`` and ``printed``."""
    return [Writing(f"{group}/{path.stem}", path, group == "printed")
            for group in ("written", "printed") for _, path in _files(Path(data) / group, part)]  # fmt: skip


def compose(
    seed: int,
    papers: Sequence[Paper],
    inks: Sequence[Writing],
    kind: str | Look | None = None,
    *,
    height: int | None = None,
    width: int | None = None,
    stroke: float | None = None,
) -> tuple[Colour, Ink, dict[str, Any]]:
    """One page: colour (H, W, 3) uint8, truth (H, W) bool with True = ink, and what it was made of.

    kind : a name of `LOOKS`, a look of one's own, or None for a mixture of everything.
    height, width : without them the seed chooses a page 900 to 1600 wide. stroke : stroke width in pixels, likewise.
    """
    if isinstance(kind, str) and kind not in LOOKS:
        raise UnknownName("kind of page", kind, LOOKS)
    look = ANY if kind is None else LOOKS[kind] if isinstance(kind, str) else kind
    rng = stream(COMPOSED, seed, *look.name.encode())
    wide = int(rng.integers(900, 1601))
    tall = int(wide * rng.uniform(0.65, 1.3))
    shape = (height or min(tall, 1400), width or wide)

    tool = look.tools[rng.integers(len(look.tools))]
    wanted = float(np.exp(rng.uniform(*np.log(look.stroke)))) if stroke is None else stroke
    letters = int(rng.integers(look.letters[0], look.letters[1] + 1)) if look.letters and stroke is None else None
    fitting = [w for w in inks if w.printed == (tool in _PRINTED)] or list(inks)
    coverage, used, wanted = _lay(rng, fitting, wanted, letters, shape)
    truth = coverage >= 0.5

    fit = [p for p in papers if look.papers(p.traits)]
    if not fit:
        raise BadData(f"no paper fits the kind {look.name}")
    paper = fit[rng.integers(len(fit))]
    darkness = float(rng.uniform(*look.darkness[tool]))
    shade = "black" if tool in (*_PRINTED, "pencil") else str(rng.choice(list(SHADES), p=(0.45, 0.4, 0.1, 0.05)))
    soft = float(rng.uniform(0.3, min(0.9, 0.3 + 0.15 * wanted)))  # no lens loses the strokes that its truth has
    peak = darkness * _EVENNESS[tool] * math.erf(wanted / (2.83 * (soft + 0.3)))  # depth of a stroke's middle
    page, zoom, level = _sheet(rng, paper, shape, look.rules * peak)
    if look.fibres:
        fibres = fibre_light(rng, shape, look.fibres * peak)
        for channel in page:
            channel *= fibres
    if look.verso and rng.random() < look.verso:
        other, _, _ = _lay(rng, fitting, wanted, letters, shape)
        soaked = blur(np.ascontiguousarray(other[:, ::-1]), float(rng.uniform(0.8, 3)))
        pale = np.float32(peak * rng.uniform(0.2, 0.6))  # always paler than the writing
        for channel in page:
            channel *= 1 - pale * soaked
    if look.mounted and rng.random() < look.mounted:
        held = _mount(rng, page)
        coverage, truth = coverage * held, truth & (held >= 0.5)
    amount = coverage * _grain(rng, tool, shape, letters)
    for channel, strength in zip(page, _strengths(shade, darkness), strict=True):
        channel *= 1 - strength * amount
    shadow = None
    if rng.random() < look.shadow:
        shadow = float(rng.uniform(40, 110))
        light = _shadow(rng, shape, min(shadow / level, 1.0))
        for channel in page:
            channel *= light
    colour, sensor, quality = _photograph(rng, page, soft)
    about = {"kind": look.name, "paper": paper.name, "inks": used, "tool": tool, "shade": shade, "darkness": darkness,
             "stroke": wanted, "letters": letters, "measured": stroke_width(truth), "zoom": zoom, "level": level,
             "shadow": shadow, "blur": soft, "noise": sensor, "jpeg": quality}  # fmt: skip
    return colour, truth, about


def _lay(rng: np.random.Generator, inks: Sequence[Writing], stroke: float, letters: int | None,
         shape: tuple[int, int]) -> tuple[Field, list[str], float]:  # fmt: skip
    """Coverage of the page, the names of the writing on it, and its stroke width.

    Pieces by the same or a neighbouring hand stand side by side, as many as the page holds.
    """
    # a stroke that grows or shrinks more than this would show the ends of its pixels, or be of no size for writing
    near = [w for w in inks if w.width() and 0.2 <= stroke / w.width() <= 4] if letters is None else list(inks)
    if not near:
        near = sorted((w for w in inks if w.width()), key=lambda w: abs(np.log(stroke / w.width())))[:4]
    if not near:
        raise BadData("none of the inks has any ink")
    first = int(rng.integers(len(near)))
    skew = float(rng.uniform(-1.5, 1.5)) if rng.random() < 0.5 else 0.0
    page = np.zeros(shape, np.float32)
    margin = int(rng.integers(4, 60))
    used: list[str] = []
    target = stroke
    y, i = margin - int(rng.integers(0, 30)), 0
    while y < shape[0] - 16:
        x, row = margin, 0
        while x < shape[1] - 16:
            writing = near[(first + i % 6) % len(near)]
            i += 1
            if letters is not None and writing.height():
                target = writing.width() * letters / writing.height()
            piece = _piece(rng, writing, target, (shape[0] - y, shape[1] - x))
            if rng.random() < 0.93 or i == 1:
                top, left = max(y, 0), x
                h, w = (min(a, b) for a, b in zip(piece.shape, (shape[0] - top, shape[1] - left), strict=True))
                area = page[top : top + h, left : left + w]
                np.maximum(area, piece[:h, :w], out=area)
                used.append(writing.name)
            row = max(row, piece.shape[0])
            x += piece.shape[1] + int(rng.integers(4, 40))
        y += row + int(rng.integers(4, 40))
    if skew:
        page = np.clip(np.asarray(Image.fromarray(page).rotate(skew, Image.Resampling.BICUBIC), np.float32), 0, 1)
    return page, sorted(set(used)), target


def _piece(rng: np.random.Generator, writing: Writing, stroke: float, room: tuple[int, int]) -> Field:
    """A writing with strokes of the wanted width: its part that has room, without the empty paper around it."""
    coverage = writing.coverage()
    scale = stroke / writing.width()
    size = [min(int(r / scale) + 2, n) for r, n in zip(room, coverage.shape, strict=True)]
    for _ in range(6):  # a part with writing
        y, x = (int(rng.integers(n - s + 1)) for n, s in zip(coverage.shape, size, strict=True))
        part = coverage[y : y + size[0], x : x + size[1]]
        if (part >= 128).mean() > 0.01:
            break
    if part.shape != coverage.shape:
        part = _whole(part)
    rows, columns = np.flatnonzero(part.max(1) >= 128), np.flatnonzero(part.max(0) >= 128)
    if not len(rows):
        return np.zeros((max(int(size[0] * scale), 1), max(int(size[1] * scale), 1)), np.float32)
    part = part[max(rows[0] - 4, 0) : rows[-1] + 5, max(columns[0] - 4, 0) : columns[-1] + 5]
    return resampled(part, writing.width(), stroke)


def _whole(part: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """The part of a coverage without the letters that its sides cut; a drawing that is most of it stays."""
    ink = part >= 64
    cut = touching(ink, ink & rim(ink.shape, 1))
    return np.where(grown(grown(cut)), np.uint8(0), part) if 2 * cut.sum() < ink.sum() else part


def _sheet(rng: np.random.Generator, paper: Paper, shape: tuple[int, int], deepest: float) -> tuple[list[Field], float, float]:  # fmt: skip
    """Red, green and blue of the empty page, how many times the photograph was enlarged, and its level of paper.

    deepest : depth (1 − gray / paper) that nearly all of the rules stay below.
    """
    source = paper.colour().astype(np.float32)
    gray = source @ np.asarray((0.299, 0.587, 0.114), np.float32)
    depth = 1 - float(np.percentile(over_paper(gray), 0.5))
    light = rng.uniform(150, 240) / max(float(np.percentile(gray, 85)), 1)
    source *= np.float32(light)
    if depth > deepest:
        less = np.float32(np.log(1 - deepest) / np.log(1 - depth))
        for c in range(3):
            ratio = over_paper(source[..., c])
            source[..., c] = np.where(ratio < 1, paper_beside(source[..., c]) * ratio**less, source[..., c])
    zoom = float(rng.uniform(1.0, 2.5))
    flips = rng.random(2) < 0.5
    rows, columns = (_mirror(rng, -(-n // zoom), m) for n, m in zip(shape, gray.shape, strict=True))
    part = source[rows][:, columns][:: -1 if flips[0] else 1, :: -1 if flips[1] else 1]
    tooth = 1 + 0.006 * noise(rng, shape, 1)  # an enlarged photograph has no grain of its own
    page = [resize(np.ascontiguousarray(part[..., c]), *shape, Image.Resampling.BICUBIC) * tooth for c in range(3)]
    return page, zoom, light * float(np.median(gray))


def fibre_light(rng: np.random.Generator, shape: tuple[int, int], deepest: float) -> Field:
    """Light of a sheet made of strips of reed: long fibres along one side and, paler, those of the layer below across.

    deepest : depth that nearly all fibres stay below.
    """
    strength = float(rng.uniform(0.3, 1))
    field = np.zeros(shape, np.float32)
    for along, part in zip(rng.permutation(2), (1, rng.uniform(0.2, 0.8)), strict=True):
        for thick, long, share in ((rng.uniform(1, 2.5), 60, 0.6), (rng.uniform(3, 8), 200, 0.5), (30, 400, 0.3)):
            field += np.float32(part * share) * _streaks(rng, shape, *((thick, long) if along else (long, thick)))
    return np.asarray(np.clip(1 + np.float32(strength * deepest / 2) * field, 1 - deepest, 1.2), np.float32)


def _streaks(rng: np.random.Generator, shape: tuple[int, int], tall: float, wide: float) -> Field:
    """Smooth noise of deviation about 0.7 in blobs so tall and wide."""
    grid = rng.standard_normal((int(shape[0] / tall) + 4, int(shape[1] / wide) + 4), np.float32)
    return resize(grid, *shape, Image.Resampling.BICUBIC)


def _mount(rng: np.random.Generator, page: list[Field]) -> Field:
    """Make the page a fragment with torn sides and holes, darker than paper, on a light or dark mount; where it is: 0 … 1."""
    shape = page[0].shape
    y, x = coordinates(shape)
    middle, half = rng.uniform(0.45, 0.55, 2) * shape, rng.uniform(0.36, 0.52, 2) * shape
    away = np.maximum(np.abs(y - np.float32(middle[0])) / np.float32(half[0]),
                      np.abs(x - np.float32(middle[1])) / np.float32(half[1]))  # fmt: skip
    size = max(shape)
    torn = away + np.float32(rng.uniform(0.04, 0.15)) * fractal(rng, shape, size / 4, 0.5)
    eaten = fractal(rng, shape, size / rng.uniform(8, 20), 0.5) > np.float32(rng.uniform(1.6, 2.6))
    held = blur(((torn < 1) & ~eaten).astype(np.float32), float(rng.uniform(0.6, 1.5)))
    light = rng.random() < 0.7
    backing = np.float32(rng.uniform(185, 250) if light else rng.uniform(15, 70)) * (
        1 + 0.02 * fractal(rng, shape, size / 2, 0.5)
    )
    shade = 1 - np.float32(rng.uniform(0, 0.5)) * np.clip(blur(held, float(rng.uniform(2, 8))) - held, 0, 1)
    dark, tint = rng.uniform(0.45, 0.9), (1.0, rng.uniform(0.8, 1), rng.uniform(0.55, 0.95))
    for channel, part in zip(page, tint, strict=True):
        channel[:] = held * channel * np.float32(dark * part) + (1 - held) * backing * shade
    return held


def over_paper(values: Field) -> Field:
    """Values over the paper's next to them, at most 1: paper is 1, rules are less, black ones little more than 0."""
    return np.asarray(np.clip(values / paper_beside(values), np.float32(0.08), 1), np.float32)


def paper_beside(values: Field) -> Field:
    """The usual level of the paper next to each value."""
    lightest = np.maximum(blur(largest(values, 6), 3), 1)
    return np.asarray(lightest * np.median(values / lightest), np.float32)


def _mirror(rng: np.random.Generator, wanted: float, there: int) -> npt.NDArray[np.int64]:
    """Indices of so many neighbours; past an end they go back."""
    at = (np.arange(int(wanted)) + int(rng.integers(max(there - int(wanted), 0) + 1))) % (2 * there)
    return np.where(at < there, at, 2 * there - 1 - at)


def _strengths(shade: str, darkness: float) -> tuple[float, ...]:
    """How much red, green and blue the ink takes, so that the gray loses ``darkness``."""
    tint = np.asarray(SHADES[shade])
    scaled = tint * darkness / float(tint @ (0.299, 0.587, 0.114))
    return tuple(np.minimum(scaled, 0.97).tolist())


def _grain(rng: np.random.Generator, tool: str, shape: tuple[int, int], letters: int | None) -> Any:
    """How evenly a tool gives its ink, 0 … 1. letters : the height of small letters in pixels, where it is fixed."""
    if tool == "typed":  # letter by letter
        return np.clip(0.72 + 0.3 * noise(rng, shape, 1.2 * (letters or 12)), 0.25, 1)
    if tool == "nib":  # its ink runs out and comes again along a stroke
        return np.clip(0.68 + 0.35 * noise(rng, shape, float(rng.uniform(12, 60))), 0.2, 1)
    if tool == "pencil":
        return np.clip(0.8 + 0.35 * noise(rng, shape, float(rng.uniform(1.2, 2.2))), 0.1, 1)
    if tool == "ball":
        return np.clip(0.88 + 0.14 * noise(rng, shape, float(rng.uniform(5, 16))), 0.4, 1)
    return 1.0


def _shadow(rng: np.random.Generator, shape: tuple[int, int], darkest: float) -> Field:
    """Light, ``darkest`` … 1: a shadow with a hard or soft edge across the page, or light that fades."""
    y, x = coordinates(shape)
    size = max(shape)
    angle = rng.uniform(0, 2 * np.pi)
    distance = np.float32(np.cos(angle)) * (x - shape[1] * rng.uniform(0.3, 0.7)) + np.float32(np.sin(angle)) * (
        y - shape[0] * rng.uniform(0.3, 0.7)
    )
    distance = distance + np.float32(size * rng.uniform(0, 0.08)) * fractal(rng, shape, size / 3, 0.3)
    if rng.random() < 0.4:  # a band, as of an arm
        distance = np.abs(distance) - np.float32(size * rng.uniform(0.1, 0.25))
    edge = np.float32(np.exp(rng.uniform(np.log(1.5), np.log(size / 6))))
    lit = 1 / (1 + np.exp(-np.clip(distance / edge, -30, 30)))
    return np.asarray(darkest + (1 - darkest) * lit, np.float32)


def _photograph(rng: np.random.Generator, page: list[Field], soft: float) -> tuple[Colour, float, int | None]:
    """The page as a camera writes it: blur, sensor noise, perhaps JPEG."""
    sensor = float(rng.uniform(0.5, 3.5))
    shape = page[0].shape
    common = rng.standard_normal(shape, np.float32)
    seen = []
    for channel in page:
        own = rng.standard_normal(shape, np.float32)
        seen.append(blur(channel, soft) + np.float32(0.7 * sensor) * (common + own))
    colour = np.rint(np.clip(np.stack(seen, 2), 0, 255)).astype(np.uint8)
    quality = int(rng.integers(60, 96)) if rng.random() < 0.7 else None
    if quality is not None:
        packed = io.BytesIO()
        Image.fromarray(colour).save(packed, "JPEG", quality=quality)
        with open_image(packed) as image:
            colour = np.asarray(image.convert("RGB"))
    return colour, sensor, quality
