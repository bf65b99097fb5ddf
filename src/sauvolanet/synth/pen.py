"""Handwriting-like strokes: letters as splines, written with a pen whose width follows direction and pressure.

Nothing here is a font: a hand (slant, proportions, contrast, joins) is drawn by chance for every page, and every
letter is bent a little each time it is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from PIL import ImageDraw

Range = tuple[float, float]
Points = npt.NDArray[np.float32]
STEPS = 5  # points of the drawn line per control point
PIECE = 4  # points per polygon: short enough that a loop does not cancel itself out where it crosses

# Control points of each letter, "x,y" in hundredths of the x-height, baseline 0, up positive; the last x is its width.
SHAPES = {
    "a": "20,40 68,92 35,98 8,50 28,2 60,45 70,96 64,30 82,0 110,35",
    "b": "15,40 45,170 32,205 18,150 14,30 36,0 66,30 60,80 80,75 105,70",
    "c": "15,40 62,85 40,100 10,60 22,8 55,2 95,40",
    "d": "20,40 66,90 36,98 8,50 28,2 58,45 78,205 66,30 84,0 110,35",
    "e": "5,25 45,50 55,85 34,100 12,55 28,4 60,6 92,40",
    "f": "10,40 45,160 36,210 18,160 8,-60 -6,-105 2,-40 40,15 80,35",
    "g": "20,40 66,92 36,98 8,50 28,4 58,45 70,96 56,-60 22,-105 18,-60 95,30",
    "h": "10,40 42,170 30,205 16,140 10,0 20,55 50,98 64,75 62,15 78,0 105,35",
    "i": "8,30 30,95 24,30 40,0 70,35",
    "j": "10,40 36,95 24,-60 -2,-105 -2,-60 70,30",
    "k": "10,40 42,170 30,205 14,120 10,0 22,50 58,92 30,50 66,4 100,35",
    "l": "8,40 40,165 28,205 14,120 16,20 36,0 68,35",
    "m": "5,50 22,96 16,0 24,60 52,98 54,0 62,60 92,98 94,18 112,0 135,35",
    "n": "5,50 22,96 16,0 24,60 56,98 60,20 78,0 102,35",
    "o": "18,50 48,98 16,80 10,25 40,0 70,40 52,96 66,80 95,75",
    "p": "8,50 26,98 10,-70 2,-105 20,40 58,98 70,45 40,2 60,6 95,35",
    "q": "20,40 66,92 36,98 8,50 28,4 58,45 66,90 52,-95 70,-60 95,35",
    "r": "6,40 28,95 34,110 58,90 52,30 66,0 92,35",
    "s": "5,20 44,105 58,60 44,8 14,6 60,10 88,38",
    "t": "8,40 36,130 44,165 28,40 42,0 74,35",
    "u": "5,50 20,95 14,25 36,0 62,50 70,95 62,25 80,0 105,35",
    "v": "5,60 20,96 26,20 40,0 64,60 70,98 95,80",
    "w": "5,60 18,95 16,20 36,0 56,60 58,95 56,20 78,0 100,60 104,98 125,80",
    "x": "5,60 26,95 40,50 58,2 80,20 58,60 22,4 60,30 90,40",
    "y": "5,50 20,95 16,35 38,10 64,60 70,95 52,-60 16,-105 16,-60 90,30",
    "z": "5,70 28,98 58,88 20,20 48,30 40,-70 6,-100 22,-50 85,30",
    "A": "0,5 40,90 88,205 86,60 96,2 66,70 40,60 120,40",
    "B": "20,10 34,150 20,200 80,205 88,150 40,108 100,90 96,20 30,0 110,25",
    "C": "70,160 90,205 50,190 14,100 34,6 84,14 120,50",
    "D": "40,180 30,40 10,4 70,6 118,90 90,190 20,200 6,160 130,30",
    "E": "84,180 60,208 30,170 60,112 20,70 30,4 80,8 112,40",
    "F": "10,180 60,205 120,200 70,195 54,60 20,0 40,100 100,112",
    "G": "80,170 84,208 30,170 14,60 50,10 86,90 80,-40 30,-80 115,30",
    "H": "10,170 30,205 22,100 10,2 30,110 90,110 110,205 90,60 100,0 130,30",
    "I": "20,150 60,205 50,60 20,0 4,30 70,30",
    "K": "12,180 32,205 20,80 10,0 24,100 96,205 40,110 90,10 125,30",
    "L": "40,160 70,205 50,150 34,40 4,6 60,14 110,8 125,35",
    "M": "0,4 30,90 48,205 60,20 108,205 110,60 120,0 150,35",
    "N": "0,4 30,100 44,205 80,6 110,120 120,208 140,190",
    "O": "70,200 20,150 14,40 60,0 108,80 90,190 50,190 125,170",
    "P": "30,0 40,120 20,195 90,208 104,140 50,100 100,60",
    "R": "24,0 36,130 16,190 90,208 100,145 50,104 90,20 124,25",
    "S": "4,20 80,190 70,208 40,170 84,70 50,4 10,20 110,35",
    "T": "4,170 30,200 120,204 70,196 60,60 26,0 100,20",
    "V": "6,180 26,205 44,20 56,4 104,190 130,205",
    "W": "4,180 20,205 30,30 44,4 80,160 84,20 98,4 140,190 160,205",
    "Z": "10,180 40,208 100,196 30,60 10,4 60,20 110,10",
    "0": "50,150 16,120 14,30 44,0 76,60 56,150 95,150", "1": "10,110 40,155 30,60 26,0 70,0",
    "2": "12,120 48,155 60,110 10,4 50,14 90,10", "3": "10,130 50,150 30,85 62,50 30,0 4,15 90,10",
    "4": "40,155 8,60 70,60 56,100 40,-20 90,30", "5": "70,150 24,145 18,85 62,60 30,0 4,10 90,60",
    "6": "60,150 14,60 36,0 60,40 20,60 90,60", "7": "8,140 74,145 40,60 24,-20 90,60",
    "8": "60,120 24,150 30,90 60,40 30,0 12,40 60,110 95,120", "9": "60,120 24,140 22,80 60,110 44,-10 90,40",
    ".": "10,5 16,0 40,2", ",": "14,8 14,-10 2,-34 40,0", "-": "10,50 60,54 80,54",
}  # fmt: skip


@cache
def _shape(letter: str) -> Points:
    """Control points of the letter in x-heights; a letter without a shape of its own borrows one."""
    plain = {"ä": "a", "ö": "o", "ü": "u", "é": "e", "è": "e", "ß": "f", "J": "I", "Q": "O", "U": "V", "X": "K",
             "Y": "V", "Ä": "A", "Ö": "O", "Ü": "V", "(": "l", ")": "j", "É": "E", "È": "E"}  # fmt: skip
    points = SHAPES.get(letter) or SHAPES[plain.get(letter, ".")]
    return np.array([pair.split(",") for pair in points.split()], np.float32) / np.float32(100)


@dataclass(frozen=True)
class Hand:
    """How one writer writes: sizes in x-heights, widths in pixels."""

    x_height: float
    slant: float
    widen: float  # letters wider than high
    reach: float  # length of ascenders and descenders
    wobble: float
    width: float  # of a full downstroke
    hairline: float  # width of an upstroke as a share of the downstroke
    lift: float  # chance to lift the pen between two letters

    @classmethod
    def draw(cls, rng: np.random.Generator, width: float, slant: Range, height: Range) -> Hand:
        """A writer by chance; ``width`` of the strokes in pixels, ``height`` the range of x-heights in strokes."""
        u = rng.uniform
        return cls(max(width * u(*height), 7.0), u(*slant), u(0.75, 1.25), u(0.75, 1.15), u(0.02, 0.07), width,
                   u(0.35, 0.95), float(rng.choice([0.0, 0.05, 0.4])))  # fmt: skip


def write_word(draw: ImageDraw.ImageDraw, rng: np.random.Generator, hand: Hand, word: str, x: float, y: float,
               scale: float) -> float:  # fmt: skip
    """Write the word with its baseline beginning at (x, y), in pixels; returns where it ends.

    ``scale`` is the canvas's pixels per page pixel; ink is 255.
    """
    strokes: list[list[Points]] = [[]]
    at = 0.0
    for letter in word:
        shape = _shape(letter)
        if strokes[-1] and (not letter.isalpha() or rng.random() < hand.lift):
            strokes.append([])
        strokes[-1].append(shape + np.array([at, 0], np.float32))
        if letter in "ijäöüé":
            strokes.insert(0, [np.array([[at + 0.32, 1.4], [at + 0.36, 1.46], [at + 0.4, 1.38]], np.float32)])
        elif letter == "t":
            strokes.insert(0, [np.array([[at + 0.02, 1.2], [at + 0.4, 1.25], [at + 0.75, 1.28]], np.float32)])
        at += float(shape[-1, 0]) - 0.12
        if not letter.islower():
            strokes.append([])
    for pieces in strokes:
        if pieces:
            points = np.concatenate(pieces)
            points += rng.normal(0, hand.wobble, points.shape).astype(np.float32)
            _stroke(draw, rng, hand, points, x, y, scale)
    return x + (at + 0.1) * hand.widen * hand.x_height


def _stroke(draw: ImageDraw.ImageDraw, rng: np.random.Generator, hand: Hand, points: Points, x: float, y: float,
            scale: float) -> None:  # fmt: skip
    rise = points[:, 1].copy()
    rise[rise > 1] = 1 + (rise[rise > 1] - 1) * hand.reach
    rise[rise < 0] *= hand.reach
    line = spline(np.stack([points[:, 0] * hand.widen + rise * hand.slant, -rise], 1))
    line = (line * hand.x_height + np.array([x, y], np.float32)) * scale
    step = np.gradient(line, axis=0)
    length = np.hypot(step[:, 0], step[:, 1]) + 1e-3
    down = np.clip(step[:, 1] / length, 0, 1)  # the pen opens on the way down
    pressure = spline(rng.normal(1, 0.1, (len(points), 1)).astype(np.float32))[:, 0]
    width = hand.width * scale * (hand.hairline + (1 - hand.hairline) * down) * np.clip(pressure, 0.7, 1.3)
    width = np.convolve(np.pad(width, 2, "edge"), np.full(5, 0.2), "valid")
    half = np.maximum(width, 0.9 * scale)[:, None] / 2
    normal = np.stack([-step[:, 1], step[:, 0]], 1) / length[:, None] * half
    left, right = line + normal, line - normal
    for first in range(0, len(line) - 1, PIECE):
        outline = np.concatenate([left[first : first + PIECE + 1], right[first : first + PIECE + 1][::-1]])
        draw.polygon(outline.ravel().tolist(), fill=255)
    draw.line(line.ravel().tolist(), fill=255, width=max(int(2 * half.min()), 1))  # closes what even-odd filling left
    # round joints close the wedges that polygons leave in sharp turns, round ends finish the stroke
    bend = np.abs(np.diff(step / length[:, None], axis=0)).sum(1) > 0.35
    round_at = np.flatnonzero(np.concatenate([[True], bend[:-1], [True]]))
    discs = np.concatenate([line[round_at] - half[round_at], line[round_at] + half[round_at]], 1)
    for disc in discs.tolist():
        draw.ellipse(disc, fill=255)


def spline(points: Points) -> Points:
    """Catmull–Rom spline through the points, `STEPS` points from one to the next."""
    padded = np.concatenate([points[:1], points, points[-1:]])
    t = np.linspace(0, 1, STEPS, endpoint=False, dtype=np.float32)[None, :, None]
    a, b, c, d = (padded[i : len(padded) - 3 + i, None] for i in range(4))
    curve = b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)))
    return np.concatenate([curve.reshape(-1, points.shape[1]), points[-1:]])
