"""The kinds of pages, each declared once: what it is written with and how far it has been degraded.

A pair is a range from which a page draws evenly; a single number is a chance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

Range = tuple[float, float]


@dataclass(frozen=True)
class Kind:
    """One kind of page; ``help`` is its sentence for the documentation and the command line."""

    name: str
    help: str
    scripts: tuple[str, ...]  # fonts, or "pen"; a page has one, the other side too
    stroke: Range = (1.8, 5.0)  # pixels
    slant: Range = (0.05, 0.8)  # of the pen
    x_height: Range = (5.0, 9.0)  # of the pen, in stroke widths
    columns: tuple[int, ...] = (1,)
    margin: Range = (-0.15, 0.1)  # of the page's sides; below 0 the page is a part of a larger one
    gain: Range = (0.05, 0.2)  # how far ink creeps
    rough: Range = (0.0, 0.1)  # ragged edges
    ink: Range = (0.5, 0.9)  # share of the paper's light that ink takes away
    fade: Range = (0.0, 0.25)  # how much the ink differs from place to place
    paper: Range = (0.7, 0.97)  # light that clean paper gives back
    texture: Range = (0.005, 0.03)
    bleed: float = 0.2
    bleed_depth: Range = (0.05, 0.3)  # against the page's own ink
    bleed_blur: Range = (0.8, 3.0)
    fibres: float = 0.5
    specks: float = 0.25
    foxing: float = 0.15
    tide: float = 0.1
    coffee: float = 0.0  # held back from training
    crease: float = 0.0  # held back from training
    fold: float = 0.15
    ruled: float = 0.05
    border: float = 0.08
    picture: float = 0.0
    light: Range = (0.0, 0.3)
    shadow: float = 0.0  # held back from training
    perspective: float = 0.0  # held back from training
    blur: Range = (0.4, 1.1)
    motion: float = 0.08
    coarse: float = 0.15  # scanned at a lower resolution and enlarged
    noise: Range = (0.5, 4.0)  # gray levels
    jpeg: float = 0.5
    gamma: Range = (0.8, 1.25)


_ALL = (
    Kind("letter", "Thin-stroked handwriting on clean paper.", ("pen", "pen", "pen", "cursive"),
         stroke=(1.4, 3.2), x_height=(5.5, 11.0), ink=(0.35, 0.85), paper=(0.82, 0.98), texture=(0.003, 0.012),
         bleed=0.15, bleed_depth=(0.03, 0.15), foxing=0.05, tide=0.03, ruled=0.12, light=(0.0, 0.15)),
    Kind("manuscript", "Old handwriting on stained paper, often with the other side showing through.",
         ("pen", "pen", "secretary", "cursive", "italic"), stroke=(2.0, 7.0), rough=(0.0, 0.15), ink=(0.35, 0.85),
         fade=(0.1, 0.45), paper=(0.5, 0.9), texture=(0.015, 0.05), bleed=0.6, bleed_depth=(0.1, 0.6), foxing=0.4,
         tide=0.35, fold=0.3, light=(0.05, 0.4), blur=(0.5, 1.5)),
    Kind("print", "Book print in roman, italic or blackletter types, with worn type and uneven inking.",
         ("roman", "italic", "didone", "didone-bold", "bookletter", "blackletter", "blackletter"), stroke=(1.8, 6.0),
         gain=(0.05, 0.25), rough=(0.05, 0.25), ink=(0.55, 0.92), paper=(0.6, 0.95), texture=(0.01, 0.04), bleed=0.4,
         foxing=0.3, tide=0.2, border=0.15),
    Kind("newsprint", "Narrow columns of small, rough type on gray paper with show-through.",
         ("roman", "didone", "didone-bold", "blackletter", "blackletter"), stroke=(1.5, 3.2), columns=(1, 2, 3),
         margin=(-0.05, 0.03), gain=(0.1, 0.25), rough=(0.1, 0.3), ink=(0.45, 0.8), fade=(0.1, 0.4), paper=(0.5, 0.8),
         texture=(0.02, 0.06), bleed=0.7, bleed_depth=(0.08, 0.3), ruled=0.0, picture=0.1, coarse=0.3),
    Kind("typescript", "Typewriting: every letter inked differently, carbon copies fuzzy and faint.",
         ("typewriter",), stroke=(1.8, 4.5), rough=(0.05, 0.3), ink=(0.25, 0.85), fade=(0.2, 0.6), paper=(0.6, 0.95),
         texture=(0.005, 0.03), bleed=0.3, blur=(0.4, 1.6)),
    Kind("office", "Office print at low resolution: strokes of two pixels, blur, coffee stains, creases.",
         ("office-sans", "office-serif", "office-mono"), stroke=(1.5, 2.6), gain=(0.05, 0.12), rough=(0.0, 0.0),
         ink=(0.45, 0.95), fade=(0.0, 0.15), paper=(0.75, 1.0), texture=(0.002, 0.015), bleed=0.1, foxing=0.0, tide=0.0,
         coffee=0.6, crease=0.5, ruled=0.0, border=0.1, blur=(0.6, 1.3), coarse=0.4, noise=(0.5, 6.0)),
    Kind("faint", "Very faint ink on early paper.", ("pen", "pen", "secretary", "italic", "bookletter"),
         stroke=(1.8, 5.0), ink=(0.06, 0.28), fade=(0.1, 0.4), paper=(0.5, 0.92), texture=(0.005, 0.03), bleed=0.25,
         bleed_depth=(0.1, 0.4), foxing=0.25, tide=0.15, light=(0.0, 0.3), noise=(0.3, 2.0)),
    Kind("photo", "A phone's photograph of a page: uneven light, shadow, perspective, the desk around it.",
         ("office-sans", "office-serif", "capitals"), stroke=(1.8, 4.0), rough=(0.0, 0.05), ink=(0.5, 0.9),
         fade=(0.0, 0.2), paper=(0.6, 0.95), texture=(0.003, 0.02), bleed=0.2, foxing=0.0, tide=0.0, crease=0.2,
         ruled=0.0, border=0.0, light=(0.2, 0.6), shadow=0.7, perspective=0.7, blur=(0.5, 1.4), noise=(1.0, 6.0),
         jpeg=0.9),
    Kind("blank", "Paper with noise, stains and show-through, and no ink at all.", ("pen", "roman", "blackletter"),
         texture=(0.003, 0.05), bleed=0.5, bleed_depth=(0.05, 0.35), foxing=0.3, tide=0.25, fold=0.3, ruled=0.1,
         border=0.15),
    Kind("picture", "A photograph or halftone among printed text; the truth has the text only.",
         ("roman", "didone", "sans", "bookletter", "blackletter"), stroke=(1.6, 4.0), columns=(1, 2),
         margin=(-0.05, 0.06), picture=1.0, ink=(0.6, 0.92), paper=(0.7, 0.98), ruled=0.0),
    Kind("bleed", "Writing with strong show-through of the other side, at times as dark as itself.",
         ("pen", "pen", "secretary", "cursive", "roman", "blackletter"), stroke=(1.8, 6.0), ink=(0.4, 0.85),
         fade=(0.05, 0.35), paper=(0.6, 0.95), bleed=1.0, bleed_depth=(0.3, 0.85), bleed_blur=(1.0, 4.0), foxing=0.2,
         tide=0.15),
)  # fmt: skip
KINDS = {kind.name: kind for kind in _ALL}

# What the trainer draws from: never the held-back kinds, fonts, pen habits, coffee rings, creases, shadows, views.
TRAINING = tuple(kind for kind in _ALL if kind.name not in ("office", "photo"))

# The page of the demonstration: a whole letter with a bit of everything.
EXAMPLE_KIND = replace(KINDS["manuscript"], scripts=("pen",), margin=(0.07, 0.1), stroke=(3.0, 3.0),
                       x_height=(7.0, 7.0), slant=(0.5, 0.5), ink=(0.7, 0.75), fade=(0.25, 0.25), paper=(0.94, 0.96),
                       texture=(0.02, 0.02), bleed=1.0, bleed_depth=(0.35, 0.4), bleed_blur=(1.5, 1.8),
                       foxing=1.0, tide=1.0, fold=1.0, ruled=0.0, border=0.0, light=(0.35, 0.35), blur=(0.6, 0.6),
                       motion=0.0, coarse=0.0, noise=(1.5, 1.5), jpeg=0.0)  # fmt: skip
