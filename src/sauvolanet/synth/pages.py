"""One page of a kind: draw the ink, take the truth, then let time and the scanner do their work."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
from PIL import Image

from ..core.arrays import Gray, Ink
from ..page.formats import open_image
from . import paper
from .drawing import NO_HOLE, Box, Script, draw_text, perspective, spread_ink
from .fields import Field, blur, largest, noise, resize
from .kinds import Kind

EDGE = 0.39  # where ink ends, from paper (0) to the middle of the stroke (1): as hand-drawn truth has it, see docs/synthetic.md
FAINTEST = 0.15  # coverage, as seen, that nobody would call ink


def make_page(rng: np.random.Generator, kind: Kind, height: int, width: int) -> tuple[Gray, Ink]:
    """Gray (H, W) uint8 and truth (H, W) bool, True = ink.

    Truth comes from the drawn coverage alone: ink ends where its edge, as the optics show it, has `EDGE` of the
    darkness of the stroke's own middle. Thin strokes, whose middle the blur lightens, are as wide as an eye would draw
    them.
    """
    shape = (height, width)
    within, chance = rng.uniform, rng.random
    script = Script(str(rng.choice(kind.scripts)), within(*kind.stroke), kind.slant, kind.x_height)
    fade = within(*kind.fade)
    spot = _place_picture(rng, shape) if chance() < kind.picture else NO_HOLE
    columns = int(rng.choice(kind.columns))
    canvas, shade = draw_text(rng, height, width, script, columns=columns, margin=kind.margin, hole=spot,
                              uneven=0.4 * fade)  # fmt: skip
    on_page = None
    if chance() < kind.perspective:
        canvas, shade, sheet = perspective(
            rng, [canvas, shade, Image.new("L", (width, height), 255)], within(0.01, 0.07)
        )
        on_page = np.asarray(sheet, np.float32) / 255
    coverage = spread_ink(rng, canvas, within(*kind.rough), within(*kind.gain))
    if kind.name == "blank":
        coverage[:] = 0
    scene = np.full(shape, within(*kind.paper), np.float32) * _paper(rng, kind, shape)
    level = float(scene.mean())
    ink = within(*kind.ink)
    scene *= _show_through(rng, kind, script, shape, ink)
    if spot != NO_HOLE:
        _paste_picture(rng, scene, coverage, spot)
    scene *= 1 - coverage * _density(rng, shape, shade, ink, fade)
    if chance() < kind.border:
        _dark_border(rng, scene, coverage)
    if on_page is not None:
        desk = within(0.1, 0.5) * paper.texture(rng, shape, 0.08)
        scene = scene * on_page + desk * (1 - on_page)
        coverage *= on_page > 0.5
    scene *= paper.light(rng, shape, within(*kind.light))
    if chance() < kind.shadow:
        scene *= paper.shadow(rng, shape, within(0.2, 0.6))
    contrast = 255 * level * ink
    optics = Optics.draw(rng, kind)
    # nobody could draw the truth of strokes that drown in noise
    return _scan(rng, kind, scene, optics, min(within(*kind.noise), 0.22 * contrast)), _truth(coverage, optics)


@dataclass(frozen=True)
class Optics:
    """How the scanner blurs, and how many page pixels one of its own covers."""

    sigma_y: float
    sigma_x: float
    coarse: float

    @classmethod
    def draw(cls, rng: np.random.Generator, kind: Kind) -> Optics:
        sigma = rng.uniform(*kind.blur)
        motion = rng.uniform(0.4, 1.2) if rng.random() < kind.motion else 0.0
        return cls(sigma, sigma + motion, rng.uniform(1.2, 1.8) if rng.random() < kind.coarse else 1.0)

    def see(self, scene: Field) -> Field:
        """What falls on the sensor: blurred, and of fewer pixels if the scanner is coarse."""
        height, width = scene.shape
        scene = blur(scene, self.sigma_y, self.sigma_x)
        if self.coarse == 1:
            return scene
        return resize(scene, round(height / self.coarse), round(width / self.coarse), Image.Resampling.BOX)

    def enlarge(self, seen: Field, height: int, width: int) -> Field:
        return seen if self.coarse == 1 else resize(seen, height, width, Image.Resampling.BICUBIC)


def _truth(coverage: Field, optics: Optics) -> Ink:
    seen = optics.enlarge(optics.see(coverage), *coverage.shape)
    ink: Ink = np.greater_equal(seen, np.maximum(EDGE * largest(seen, 3), FAINTEST))
    return ink


def _paper(rng: np.random.Generator, kind: Kind, shape: paper.Shape) -> Field:
    within, chance = rng.uniform, rng.random
    faint = min(1.0, kind.ink[1] * 1.5)  # stains of a kind with faint ink are faint too, or they would hide it
    field = paper.texture(rng, shape, within(*kind.texture))
    if chance() < kind.fibres:
        field *= paper.fibres(rng, shape, within(0.02, 0.12) * faint)
    if chance() < kind.specks:
        field *= paper.specks(rng, shape, within(0.2, 0.8) * faint)
    if chance() < kind.foxing:
        field *= paper.foxing(rng, shape, within(0.08, 0.4) * faint)
    if chance() < kind.tide:
        field *= paper.tide(rng, shape, within(0.06, 0.4) * faint)
    if chance() < kind.coffee:
        field *= paper.coffee(rng, shape, within(0.15, 0.5) * faint)
    if chance() < kind.fold:
        field *= paper.folds(rng, shape, within(0.05, 0.3) * faint, sharp=False)
    if chance() < kind.crease:
        field *= paper.folds(rng, shape, within(0.1, 0.35) * faint, sharp=True)
    if chance() < kind.ruled:
        field *= paper.ruled(rng, shape, within(0.04, 0.15) * faint)
    return field


def _show_through(
    rng: np.random.Generator, kind: Kind, script: Script, shape: paper.Shape, ink: float
) -> Field | float:
    """The other side's text, mirrored, blurred by the paper, fainter, and not everywhere alike."""
    if rng.random() >= kind.bleed:
        return 1.0
    other = draw_text(rng, *shape, script, margin=kind.margin, fine=1)[0].transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    soft = blur(np.asarray(other, np.float32) / np.float32(255), rng.uniform(*kind.bleed_blur))
    depth = rng.uniform(*kind.bleed_depth) * ink * np.clip(0.8 + 0.5 * noise(rng, shape, 120), 0, 1)
    return np.asarray(1 - soft * depth, np.float32)


def _density(rng: np.random.Generator, shape: paper.Shape, shade: Image.Image, ink: float, fade: float) -> Field:
    """Share of the light that full coverage takes away at each pixel: by word, by place, in blots."""
    by_word = resize(np.asarray(shade, np.float32), *shape) / 128
    uneven = 1 + fade * (0.7 * noise(rng, shape, 90) + 0.5 * noise(rng, shape, 9))
    return np.clip(ink * by_word * np.clip(uneven, 0.35, 1.5), 0.04, 0.97)


def _place_picture(rng: np.random.Generator, shape: paper.Shape) -> Box:
    h, w = rng.uniform(0.25, 0.6, 2) * shape
    top, left = rng.uniform(-0.1, 1.0) * (shape[0] - h), rng.uniform(-0.1, 1.0) * (shape[1] - w)
    return (left, top, left + w, top + h)


def _paste_picture(rng: np.random.Generator, scene: Field, coverage: Field, spot: Box) -> None:
    """A picture on the page with a white rim; strokes that reach into it give way."""
    left, top, right, bottom = (max(round(edge), 0) for edge in spot)
    coverage[top:bottom, left:right] = 0
    inner = scene[top + 4 : bottom - 4, left + 4 : right - 4]
    if inner.size:
        inner *= paper.picture(rng, inner.shape)


def _dark_border(rng: np.random.Generator, scene: Field, coverage: Field) -> None:
    """The scanner's lid or the binding beyond the page's edge, on one or two sides, a little askew."""
    h, w = scene.shape
    y, x = np.arange(h)[:, None], np.arange(w)[None, :]
    for side in rng.choice(4, rng.integers(1, 3), replace=False):
        skew = rng.normal(0, 0.01)
        across, along, length = ((x, y, w), (w - 1 - x, y, w), (y, x, h), (h - 1 - y, x, h))[side]
        outside = across + along * skew < rng.uniform(0.01, 0.06) * length
        scene[outside] = rng.uniform(0.02, 0.25)
        coverage[outside] = 0


def _scan(rng: np.random.Generator, kind: Kind, scene: Field, optics: Optics, grain: float) -> Gray:
    """Optics, tone curve, sensor and JPEG."""
    within, chance = rng.uniform, rng.random
    seen = np.clip(optics.see(scene), 1e-4, 1)
    seen = np.exp(np.log(seen) * np.float32(within(*kind.gamma)))  # a power, much faster than **
    gray = optics.enlarge(seen * 255 + grain * rng.standard_normal(seen.shape, np.float32), *scene.shape)
    result = np.rint(np.clip(gray, 0, 255)).astype(np.uint8)
    return _jpeg(result, int(within(45, 95))) if chance() < kind.jpeg else result


def _jpeg(gray: Gray, quality: int) -> Gray:
    buffer = io.BytesIO()
    Image.fromarray(gray).save(buffer, "JPEG", quality=quality)
    return np.array(open_image(buffer, ["JPEG"]))
