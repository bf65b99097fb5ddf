"""Paper and what happened to it: texture, fibres, stains, folds, ruled lines. All fields multiply the page's light."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from .fields import Field, coordinates, fractal, noise, resize

Shape = tuple[int, int]


def texture(rng: np.random.Generator, shape: Shape, amount: float) -> Field:
    """Clouds, mottle and grain around 1, of deviation ``amount``; some papers are cloudy, others grainy."""
    return 1 + np.float32(amount) * fractal(rng, shape, rng.uniform(20, 250), rng.uniform(0.55, 1.0))


def fibres(rng: np.random.Generator, shape: Shape, amount: float) -> Field:
    """Short bent hairs, a few lighter and most darker than the paper."""
    canvas = Image.new("L", shape[::-1], 128)
    draw = ImageDraw.Draw(canvas)
    count = int(shape[0] * shape[1] / 9000 * rng.uniform(0.3, 1.5))
    start = rng.uniform(0, 1, (count, 1, 2)) * shape[::-1]
    turn = np.cumsum(rng.normal(0, 0.5, (count, 5)), 1) + rng.uniform(0, 6.3, (count, 1))
    path = start + np.cumsum(np.stack([np.cos(turn), np.sin(turn)], 2) * rng.uniform(1.5, 6, (count, 1, 1)), 1)
    for points, shade in zip(path.reshape(count, 10).tolist(), rng.normal(110, 30, count).tolist(), strict=True):
        draw.line(points, fill=int(np.clip(shade, 20, 200)), width=1)
    soft = np.asarray(canvas.filter(ImageFilter.GaussianBlur(0.7)), np.float32)
    return 1 + (soft - 128) * np.float32(amount / 64)


def specks(rng: np.random.Generator, shape: Shape, depth: float) -> Field:
    """Dirt of a pixel or two, too small to be ink."""
    field = np.ones(shape, np.float32)
    count = int(shape[0] * shape[1] * rng.uniform(0.00005, 0.0008))
    y, x = rng.integers(0, shape[0] - 1, count), rng.integers(0, shape[1] - 1, count)
    dark = (1 - depth * rng.uniform(0.2, 1, count)).astype(np.float32)
    field[y, x] = dark
    longer = rng.random(count) < 0.4
    field[y + longer, x + (rng.random(count) < 0.4)] = dark
    return field


def foxing(rng: np.random.Generator, shape: Shape, depth: float) -> Field:
    """Brown spots of many sizes with soft edges."""
    h, w = -(-shape[0] // 4), -(-shape[1] // 4)
    canvas = Image.new("L", (w, h))
    draw = ImageDraw.Draw(canvas)
    for _ in range(rng.integers(3, 30)):
        x, y, r = rng.uniform(0, w), rng.uniform(0, h), rng.gamma(1.2, 2.0) + 0.5
        draw.ellipse([x - r, y - r * rng.uniform(0.6, 1.2), x + r, y + r], fill=int(rng.uniform(60, 255)))
    soft = np.asarray(canvas.filter(ImageFilter.GaussianBlur(rng.uniform(0.8, 2.5))), np.float32) / 255
    ragged = np.clip(soft * (1 + 0.4 * fractal(rng, (h, w), 8, 0.8)), 0, 1)
    return 1 - depth * resize(ragged, *shape)


def tide(rng: np.random.Generator, shape: Shape, depth: float) -> Field:
    """A water stain: darker inside, with a dark tide line where it dried."""
    level = noise(rng, shape, max(shape) / rng.uniform(1.5, 4)) + 0.08 * noise(rng, shape, 20) - rng.uniform(0, 0.6)
    inside = 1 / (1 + np.exp(np.clip(-level * 40, -30, 30)))
    line = np.exp(-(((level - 0.02) / 0.03) ** 2))
    return (1 - depth * (0.55 * inside + 0.45 * line)).astype(np.float32)


def coffee(rng: np.random.Generator, shape: Shape, depth: float) -> Field:
    """The ring that a cup leaves, its rim darker than its inside, and some drops."""
    y, x = coordinates(shape)
    field = np.ones(shape, np.float32)
    for drop in range(rng.integers(1, 5)):
        radius = rng.uniform(0.12, 0.3) * min(shape) if drop == 0 else rng.uniform(3, 16)
        cy, cx = rng.uniform(0, 1, 2) * shape
        from_rim = np.hypot(y - cy, x - cx) * (1 + 0.02 * noise(rng, shape, radius / 1.5 + 4)) - radius
        rim = np.exp(-((from_rim / (1.5 + radius * 0.03)) ** 2))
        rim *= np.clip(0.7 + 0.5 * noise(rng, shape, radius + 8), 0.1, 1)
        inside = 1 / (1 + np.exp(np.clip(from_rim / 1.5, -30, 30)))
        field *= 1 - depth * (0.7 * rim + rng.uniform(0.1, 0.5) * inside)
    return field


def folds(rng: np.random.Generator, shape: Shape, depth: float, sharp: bool) -> Field:
    """Lines where the sheet was folded: a soft step of light; sharp ones are creases with a dark and a light edge."""
    y, x = coordinates(shape)
    field = np.ones(shape, np.float32)
    for _ in range(rng.integers(1, 6 if sharp else 3)):
        angle = rng.uniform(0, np.pi) if sharp else rng.choice([0, np.pi / 2]) + rng.normal(0, 0.02)
        cy, cx = rng.uniform(0.1, 0.9, 2) * shape
        away = (x - cx) * np.float32(np.sin(angle)) + (y - cy) * np.float32(np.cos(angle))
        if sharp:
            away = away + noise(rng, shape, 40) * 2
            width = rng.uniform(0.7, 2.0)
            field *= 1 - depth * (np.exp(-((away / width) ** 2)) - 0.5 * np.exp(-(((away - 2 * width) / width) ** 2)))
        field *= 1 - depth * 0.3 * np.exp(-np.abs(away) / rng.uniform(8, 60)) * np.sign(away)
    return field


def ruled(rng: np.random.Generator, shape: Shape, depth: float) -> Field:
    """Faint ruled lines; they belong to the paper, not to the ink."""
    y, x = coordinates(shape)
    distance = (y + x * np.float32(rng.normal(0, 0.004))) % np.float32(rng.uniform(22, 60))
    return np.asarray(1 - depth * np.exp(-(((distance - 4) / rng.uniform(0.5, 1.0)) ** 2)), np.float32)


def light(rng: np.random.Generator, shape: Shape, amount: float) -> Field:
    """Uneven light: a slope, a vignette, a dark gutter at one side, slow clouds; 1 at its brightest."""
    small = (-(-shape[0] // 8), -(-shape[1] // 8))  # it is smooth
    y, x = (at / np.float32(at.size) - np.float32(0.5) for at in coordinates(small))
    slope, vignette, gutter, clouds = rng.dirichlet([1, 1, 0.6, 0.8])
    angle = rng.uniform(0, 2 * np.pi)
    field = slope * (x * np.cos(angle) + y * np.sin(angle)) * 1.6 - vignette * 1.6 * (x * x + y * y)
    field = field - gutter * np.exp(-(0.5 + x * rng.choice([-1, 1])) / rng.uniform(0.05, 0.25))
    field = field + clouds * 0.4 * noise(rng, small, max(small) / 2)
    return resize(np.maximum(1 + amount * (field - field.max()), 0.05).astype(np.float32), *shape)


def shadow(rng: np.random.Generator, shape: Shape, depth: float) -> Field:
    """A hand's or a head's shadow with a soft, bent edge."""
    y, x = coordinates(shape)
    angle = rng.uniform(0, 2 * np.pi)
    cy, cx = rng.uniform(0.2, 0.8, 2) * shape
    away = (x - cx) * np.float32(np.cos(angle)) + (y - cy) * np.float32(np.sin(angle))
    away = away / max(shape) + 0.12 * noise(rng, shape, max(shape) / 3)
    return np.asarray(1 - depth / (1 + np.exp(np.clip(-away / rng.uniform(0.01, 0.06), -30, 30))), np.float32)


def picture(rng: np.random.Generator, shape: Shape) -> Field:
    """A photograph or engraving-like picture, light 0.1 … 1, continuous or screened with dots or lines."""
    tones = noise(rng, shape, max(shape) / 3) + 0.5 * noise(rng, shape, max(shape) / 8) + 0.15 * noise(rng, shape, 5)
    tones = np.clip(0.5 + 0.35 * tones, 0, 1)
    if rng.random() < 0.5:
        y, x = coordinates(shape)
        pitch, angle = rng.uniform(3, 6), rng.uniform(0, np.pi)
        u = (x * np.cos(angle) + y * np.sin(angle)) * (2 * np.pi / pitch)
        v = (y * np.cos(angle) - x * np.sin(angle)) * (2 * np.pi / pitch)
        screen = 0.5 + 0.25 * (np.cos(u) + np.cos(v)) if rng.random() < 0.7 else 0.5 + 0.5 * np.cos(u)
        tones = np.clip((tones - screen) * 3 + 0.5, 0, 1)
    return np.asarray(0.12 + 0.83 * tones, np.float32)
