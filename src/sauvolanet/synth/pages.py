"""One page of a kind: draw the ink, take the truth, then let time and the scanner do their work."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from ..windows import Gray, Ink
from . import paper
from .drawing import Script, draw_text, perspective, spread_ink
from .fields import Field, blur, noise, resize
from .kinds import Kind


def make_page(rng: np.random.Generator, kind: Kind, height: int, width: int) -> tuple[Gray, Ink]:
    """Gray (H, W) uint8 and truth (H, W) bool, True = ink.

    Truth is coverage ≥ 0.5 before degradation. Blur is symmetric, so that is where a blurred edge stands half-way
    between ink and paper.
    """
    shape = (height, width)
    within, chance = rng.uniform, rng.random
    script = Script(str(rng.choice(kind.scripts)), within(*kind.stroke), kind.slant, kind.x_height)
    canvas, shade = draw_text(rng, height, width, script, columns=int(rng.choice(kind.columns)))
    on_page = None
    if chance() < kind.perspective:
        canvas, shade, sheet = perspective(rng, [canvas, shade, Image.new("L", (width, height), 255)], 0.08)
        on_page = np.asarray(sheet, np.float32) / 255
    coverage = spread_ink(rng, canvas, within(*kind.rough), within(*kind.gain))
    if kind.name == "blank":
        coverage[:] = 0
    scene = np.full(shape, within(*kind.paper), np.float32) * _paper(rng, kind, shape)
    level = float(scene.mean())
    ink = within(*kind.ink)
    scene *= _show_through(rng, kind, script, shape, ink)
    if chance() < kind.picture:
        _paste_picture(rng, scene, coverage)
    scene *= 1 - coverage * _density(rng, shape, shade, ink, within(*kind.fade))
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
    # nobody could draw the truth of strokes that drown in noise
    return _scan(rng, kind, scene, min(within(*kind.noise), 0.22 * contrast)), coverage >= 0.5


def _paper(rng: np.random.Generator, kind: Kind, shape: paper.Shape) -> Field:
    within, chance = rng.uniform, rng.random
    faint = min(1.0, kind.ink[1] * 1.5)  # stains of a kind with faint ink are faint too, or they would hide it
    field = paper.texture(rng, shape, within(*kind.texture))
    if chance() < 0.5:
        field *= paper.fibres(rng, shape, within(0.02, 0.12) * faint)
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


def _show_through(rng: np.random.Generator, kind: Kind, script: Script, shape: paper.Shape, ink: float) -> Field | float:
    """The other side's text, mirrored, blurred by the paper, fainter, and not everywhere alike."""
    if rng.random() >= kind.bleed:
        return 1.0
    other = draw_text(rng, *shape, script, fine=1)[0].transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    soft = blur(np.asarray(other, np.float32) / 255, rng.uniform(*kind.bleed_blur))
    depth = rng.uniform(*kind.bleed_depth) * ink * np.clip(0.8 + 0.5 * noise(rng, shape, 120), 0, 1)
    return 1 - soft * depth


def _density(rng: np.random.Generator, shape: paper.Shape, shade: Image.Image, ink: float, fade: float) -> Field:
    """Share of the light that full coverage takes away at each pixel: by word, by place, in blots."""
    by_word = resize(np.asarray(shade, np.float32), *shape) / 128
    uneven = 1 + fade * (0.7 * noise(rng, shape, 90) + 0.5 * noise(rng, shape, 9))
    return np.clip(ink * by_word * np.clip(uneven, 0.35, 1.5), 0.04, 0.97)


def _paste_picture(rng: np.random.Generator, scene: Field, coverage: Field) -> None:
    """A picture somewhere on the page, with a white rim; text there gives way."""
    h, w = (int(side * rng.uniform(0.25, 0.6)) for side in scene.shape)
    y, x = (int(rng.uniform(-0.1, 0.9) * (side - part)) for side, part in zip(scene.shape, (h, w), strict=True))
    top, left, rim = max(y, 0), max(x, 0), 8
    coverage[max(top - rim, 0) : y + h + rim, max(left - rim, 0) : x + w + rim] = 0
    spot = scene[top : y + h, left : x + w]
    spot *= paper.picture(rng, spot.shape)


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


def _scan(rng: np.random.Generator, kind: Kind, scene: Field, grain: float) -> Gray:
    """Optics, sensor, tone curve and JPEG."""
    within, chance = rng.uniform, rng.random
    height, width = scene.shape
    sigma = within(*kind.blur)
    scene = blur(scene, sigma, sigma + within(0.4, 1.2)) if chance() < kind.motion else blur(scene, sigma)
    coarse = within(1.2, 1.8) if chance() < kind.coarse else 1.0
    if coarse > 1:
        scene = resize(scene, round(height / coarse), round(width / coarse), Image.Resampling.BOX)
    scene = np.clip(scene, 0, 1) ** within(*kind.gamma)
    gray = scene * 255 + grain * rng.standard_normal(scene.shape, np.float32)
    if coarse > 1:
        gray = resize(gray, height, width, Image.Resampling.BICUBIC)
    result = np.rint(np.clip(gray, 0, 255)).astype(np.uint8)
    return _jpeg(result, int(within(45, 95))) if chance() < kind.jpeg else result


def _jpeg(gray: Gray, quality: int) -> Gray:
    buffer = io.BytesIO()
    Image.fromarray(gray).save(buffer, "JPEG", quality=quality)
    return np.array(Image.open(buffer))


