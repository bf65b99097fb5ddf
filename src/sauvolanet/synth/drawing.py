"""Ink as coverage: words set in fonts or written with a pen, twice as fine as the page, before anything degrades it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from .fields import Field, noise
from .pen import Hand, write_word
from .words import LANGUAGES, PLAIN, sentence_words

FINE = 2  # canvas pixels per page pixel
PEN_FINE = 2  # finer still for pen strokes, which Pillow draws without soft edges


@dataclass(frozen=True)
class Font:
    """A font file, and the width of its stems as a share of its size: it turns a stroke width into a font size."""

    file: str
    stem: float
    languages: tuple[str, ...] = tuple(LANGUAGES)
    leading: float = 1.25


FONTS = {
    "roman": Font("roman.otf", 0.075),
    "italic": Font("italic.otf", 0.065),
    "didone": Font("didone.ttf", 0.085),
    "didone-bold": Font("didone-bold.ttf", 0.13),
    "bookletter": Font("bookletter.otf", 0.07),
    "blackletter": Font("blackletter.ttf", 0.1, ("german",), 1.1),
    "typewriter": Font("typewriter.ttf", 0.1, leading=1.35),
    "sans": Font("sans.otf", 0.085),
    "cursive": Font("cursive.otf", 0.045, leading=1.1),
    "secretary": Font("secretary.otf", 0.06, leading=1.4),
    "office-sans": Font("office-sans.ttf", 0.085),
    "office-serif": Font("office-serif.ttf", 0.075),
    "office-mono": Font("office-mono.otf", 0.07, leading=1.1),
    "capitals": Font("capitals.otf", 0.065, PLAIN),
}
Box = tuple[float, float, float, float]  # left, top, right, bottom in page pixels
NO_HOLE: Box = (0, 0, 0, 0)
HELD_BACK = ("office-sans", "office-serif", "office-mono", "capitals")  # never on a training page


FONT_FOLDER = Path(__file__).parent / "data"


@lru_cache(maxsize=64)
def _font(name: str, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(FONT_FOLDER / FONTS[name].file), size, layout_engine=ImageFont.Layout.BASIC)


@dataclass(frozen=True)
class Script:
    """What a page is written with: a font's name or "pen", the width of its strokes in pixels, and the pen's habits."""

    name: str
    stroke: float
    slant: tuple[float, float] = (0.05, 0.8)
    x_height: tuple[float, float] = (5.0, 9.0)


def draw_text(rng: np.random.Generator, height: int, width: int, script: Script, *, margin: tuple[float, float],
              columns: int = 1, hole: Box = NO_HOLE, uneven: float = 0.0, fine: int = FINE,
              ) -> tuple[Image.Image, Image.Image]:  # fmt: skip
    """A page of text: coverage ("L", 255 = ink, ``fine`` times the page's size) and shade ("L", a quarter of it).

    The shade says how dark the ink of each word is, 128 for a usual one; ``uneven`` is how much they differ.
    ``margin`` is the range of the four margins as shares of the page; ``hole`` is kept free of words.
    """
    canvas = Image.new("L", (width * fine, height * fine))
    shade = Image.new("L", (-(-width // 4), -(-height // 4)), 128)
    set_word: _Words
    if script.name == "pen":
        target = Image.new("L", (canvas.width * PEN_FINE, canvas.height * PEN_FINE))
        set_word = _PenWords(rng, script, target, fine * PEN_FINE)
    else:
        target = canvas
        set_word = _FontWords(rng, script, canvas, fine)
    gutter = set_word.size * 0.8
    columns = min(columns, max(int(width / (set_word.size * 9)), 1))  # a column has room for a few words
    left, right = rng.uniform(*margin, 2) * width
    above, below = np.maximum(rng.uniform(*margin, 2), 0) * height
    end = height - below if below else height + set_word.leading  # without a margin the text runs off the page
    column_width = (width - left - right - gutter * (columns - 1)) / columns
    rules = columns > 1 and rng.random() < 0.5
    for column in range(columns):
        start = left + column * (column_width + gutter)
        box = (start, above, start + column_width, end)
        _fill_column(rng, set_word, ImageDraw.Draw(shade), box, hole, uneven)
        if rules and column:
            x = round((start - gutter / 2) * fine)
            thick = max(round(script.stroke * 0.6 * fine), 1)
            ImageDraw.Draw(target).line([x, 0, x, target.height], fill=255, width=thick)
    if script.name == "pen":
        canvas = target.reduce(PEN_FINE)
    return canvas, shade


def draw_headline(rng: np.random.Generator, height: int, width: int, strokes: tuple[float, float]) -> Field:
    """Coverage (0 to 1) of a few letters as large as in a headline or on a poster, somewhere on the page.

    strokes : the range of the widths of their stems in pixels.
    """
    name = str(rng.choice([n for n in FONTS if n not in HELD_BACK]))
    size = np.exp(rng.uniform(*np.log(strokes))) / FONTS[name].stem
    (word,) = sentence_words(rng, LANGUAGES[str(rng.choice(FONTS[name].languages))], 1)
    if rng.random() < 0.5:
        word = word.upper()
    canvas = Image.new("L", (width, height))
    middle = (float(rng.uniform(0, width)), float(rng.uniform(0, height)))
    ImageDraw.Draw(canvas).text(middle, word[:5], fill=255, font=_font(name, round(size)), anchor="mm")
    return np.asarray(canvas, np.float32) / np.float32(255)


class _Words:
    """Sets one word and says where it ends; ``size`` is the type size in page pixels, ``leading`` between baselines."""

    size: float
    leading: float
    space: float
    language: str
    capitals = 0.03  # share of lines in capitals

    def put(self, word: str, x: float, y: float, length: float) -> float:
        raise NotImplementedError

    def length(self, word: str) -> float:
        raise NotImplementedError


class _FontWords(_Words):
    def __init__(self, rng: np.random.Generator, script: Script, canvas: Image.Image, fine: int) -> None:
        font = FONTS[script.name]
        self.size = max(script.stroke / font.stem, 9)
        self.font = _font(script.name, max(round(self.size * fine), 8))
        self.leading = self.size * font.leading * rng.uniform(0.9, 1.3)
        self.space = self.font.getlength(" ") / fine * rng.uniform(0.9, 1.4)
        self.language = str(rng.choice(font.languages))
        self.draw, self.fine = ImageDraw.Draw(canvas), fine

    def put(self, word: str, x: float, y: float, length: float) -> float:
        self.draw.text((x * self.fine, y * self.fine), word, fill=255, font=self.font, anchor="ls")
        return x + length

    def length(self, word: str) -> float:
        return self.font.getlength(word) / self.fine


class _PenWords(_Words):
    capitals = 0.0

    def __init__(self, rng: np.random.Generator, script: Script, canvas: Image.Image, scale: int) -> None:
        self.rng, self.scale = rng, scale
        self.hand = Hand.draw(rng, script.stroke, script.slant, script.x_height)
        self.size = self.hand.x_height * 2
        self.leading = self.hand.x_height * rng.uniform(2.6, 4.2)
        self.space = self.hand.x_height * rng.uniform(0.6, 1.3)
        self.language = str(rng.choice(list(LANGUAGES)))
        self.draw = ImageDraw.Draw(canvas)

    def put(self, word: str, x: float, y: float, length: float) -> float:
        return write_word(self.draw, self.rng, self.hand, word, x, y, self.scale)

    def length(self, word: str) -> float:
        return len(word) * self.hand.x_height * self.hand.widen * 0.8


def _fill_column(rng: np.random.Generator, words: _Words, shade: ImageDraw.ImageDraw, column: Box, hole: Box,
                 uneven: float) -> None:  # fmt: skip
    """Lines of words with paragraphs, indents, some capitals and slightly bent baselines; nothing in the hole."""
    left, top, right, bottom = column
    slope, bend = rng.normal(0, 0.006), rng.normal(0, 0.00001)
    spread = 128 * uneven
    y = top + words.leading * rng.uniform(0.3, 1.5)
    per_line = max(int((right - left) / (words.size * 0.9)), 2)
    text = iter(
        sentence_words(rng, LANGUAGES[words.language], int(((bottom - top) / words.leading + 2) * per_line * 1.5))
    )
    short = 0.0
    while y < bottom:
        x = left + (words.size * 1.5 if short else rng.normal(0, 0.1) * words.size)
        first = x
        short = rng.uniform(0.1, 0.9) * (right - left) if rng.random() < 0.12 else 0.0
        capitals = rng.random() < words.capitals
        beside_hole = hole[1] < y + words.size / 2 and y - words.size < hole[3]
        while (word := next(text, None)) is not None:
            word = word.upper() if capitals else word
            length = words.length(word)
            if beside_hole and x < hole[2] and x + length > hole[0]:
                x = hole[2] + words.space
            if x + length > right - short and x > first:  # one word at least, or wide words on narrow pages leave none
                break
            base = y + slope * (x - left) + bend * (x - left) ** 2 + rng.normal(0, 0.012) * words.size
            end = words.put(word, x, base, length)
            level = int(np.clip(128 + rng.normal(0, spread), 40, 255))
            shade.rectangle([x / 4, (base - words.size) / 4, end / 4, (base + words.size / 3) / 4], fill=level)
            x = end + words.space
        y += words.leading * (1.7 if short and rng.random() < 0.3 else 1.0)


def spread_ink(rng: np.random.Generator, canvas: Image.Image, roughness: float, gain: float) -> Field:
    """Coverage of the page's pixels, 0 … 1, after the ink has crept into the paper.

    gain : 0 leaves strokes as they are, 0.2 widens them by about half a pixel and hairlines most, as ink does.
    roughness : ragged edges and worn type; 0 for none.
    """
    soft = np.pad(np.asarray(canvas), 1).astype(np.uint16)
    soft = soft[:-2] + soft[1:-1] + soft[2:]
    soft = soft[:, :-2] + soft[:, 1:-1] + soft[:, 2:]  # sums of 3 × 3 fine pixels
    shape = (canvas.height // FINE, canvas.width // FINE)
    edge = np.full(shape, 0.5 - gain, np.float32)
    if roughness:
        edge += (noise(rng, shape, 1.6) + noise(rng, shape, 6)) * np.float32(0.6 * roughness)
        np.clip(edge, 0.2, 0.8, out=edge)  # below 0.2 bare paper would take ink
    coverage = np.zeros(shape, np.float32)
    for part in range(FINE * FINE):  # the fine pixels of each page pixel, one of them at a time
        fine = soft[part // FINE :: FINE, part % FINE :: FINE] * np.float32(2.5 / (9 * 255))
        coverage += np.clip(fine - 2.5 * edge + np.float32(0.5), 0, 1)
    return coverage / np.float32(FINE * FINE)


def perspective(rng: np.random.Generator, images: list[Image.Image], amount: float) -> list[Image.Image]:
    """The same view of each image: its corners moved inwards by up to ``amount`` of the page; 0 where the page ends."""
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], float)
    moved = corners + (0.5 - corners) * 2 * rng.uniform(0, amount, (4, 2))
    rows, values = [], []
    for (x, y), (u, v) in zip(moved, corners, strict=True):  # output (x, y) shows input (u, v)
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    a = np.linalg.solve(np.array(rows), np.array(values))
    result = []
    for image in images:
        w, h = image.size
        data = (a[0], a[1] * w / h, a[2] * w, a[3] * h / w, a[4], a[5] * h, a[6] / w, a[7] / h)
        result.append(image.transform(image.size, Image.Transform.PERSPECTIVE, data, Image.Resampling.BILINEAR))
    return result
