"""Composed pages for training (`sauvolanet.synth.compose`): made once, kept as PNG, found again by a run that goes on.

The setting ``composed`` says which: ``{"pages": 320, "seed": 10000, "looks": {"ruled": 4, "any": 3, …}}``. Page i has
the seed ``seed + i``; its look is the i-th of a list, gone through again and again, that holds each look as often as its
number says.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import PIL
from PIL import Image

from ..core.atomic import atomic
from ..errors import BadData, UnknownName, UsageError
from ..page.gray import to_gray
from ..score.datasets import Page
from ..synth import compose
from ..synth.ink import Writing
from .changes import SHARES

SET = "Composed"  # the set that these pages are in
MADE_OF = "made-of.json"
_ANY = "any"  # the look that is a mixture of everything
_PART = "train"


def check_composed(spec: Mapping[str, Any]) -> None:
    """A description of composed pages that cannot be followed is a UsageError; an empty one means none."""
    if not spec:
        return
    if odd := sorted(spec.keys() ^ {"pages", "seed", "looks"}):
        raise UsageError(f"setting composed: missing or unknown keys: {', '.join(odd)}")
    looks = spec["looks"]
    if not isinstance(looks, dict) or not looks:
        raise UsageError(f'setting composed: looks must be like {{"ruled": 4, "any": 3}}, not {json.dumps(looks)}')
    for name in looks:
        if name not in (*compose.LOOKS, _ANY):
            raise UnknownName("look of composed pages", name, (*compose.LOOKS, _ANY))
    whole = {"pages": (spec["pages"], 1), "seed": (spec["seed"], 0)} | {name: (n, 1) for name, n in looks.items()}
    for name, (value, low) in whole.items():
        if type(value) is not int or value < low:
            raise UsageError(
                f"setting composed: {name} must be a whole number, at least {low}, not {json.dumps(value)}"
            )


def composed_pages(spec: Mapping[str, Any], folder: Path) -> list[Page]:
    """The pages as they are, or will be, in the folder."""
    return [Page(SET, name, folder / f"{name}.png", folder / f"{name}.gt.png") for name, _, _ in _wanted(spec)]


def _wanted(spec: Mapping[str, Any]) -> Iterator[tuple[str, int, str]]:
    """Name, seed and look of each page."""
    looks = [look for look, times in spec["looks"].items() for _ in range(times)]
    for i in range(spec["pages"]):
        seed, look = spec["seed"] + i, looks[i % len(looks)]
        yield f"{seed}-{look.replace(' ', '-')}", seed, look


def make_composed(spec: Mapping[str, Any], data: Path, folder: Path,
                  progress: Callable[[Iterable[Any]], Iterable[Any]] = iter) -> str:  # fmt: skip
    """Make the pages that the folder lacks, of the papers and inks in ``data``; the digest of these is returned.

    Pages that are there stay. What was made of other papers or inks, and pages that another version would make
    differently, are not mixed: that is a BadData.
    """
    papers, inks = materials(data)
    digest = digest_of_materials(data)
    now = {"papers_and_ink_sha256": digest, "composer": compose.version(), "pillow": PIL.__version__}
    missing = [
        (page, seed, look)
        for page, (_, seed, look) in zip(composed_pages(spec, folder), _wanted(spec), strict=True)
        if not (page.image.exists() and page.truth.exists())
    ]
    before = _read(folder / MADE_OF)
    if before and before.get("papers_and_ink_sha256") != digest:
        raise BadData(f"the pages in {folder} were composed of other papers or inks than those in {data}; "
                      "put them back, or use another --out")  # fmt: skip
    if before and before != now and missing:
        raise BadData(
            f"the pages in {folder} were composed by another version of sauvolanet or Pillow; use another --out"
        )
    if not missing:
        return digest
    with atomic(folder / MADE_OF) as file:
        file.write((json.dumps(now, indent=1) + "\n").encode())
    for page, seed, look in progress(missing):
        colour, truth, _ = compose.compose(seed, papers, inks, None if look == _ANY else look)
        for path, pixels in ((page.image, colour), (page.truth, ~truth)):
            with atomic(path) as file:
                Image.fromarray(pixels).save(file, "PNG")
    return digest


def shares_of_papers(data: Path) -> list[npt.NDArray[np.uint8]]:
    """The papers that may be trained on, each pixel's share of the paper's own level as a byte (see `changes.SHARES`)."""
    found = []
    for paper in materials(data)[0]:
        gray = to_gray(paper.colour()).astype(np.float32)
        found.append(np.rint(SHARES * compose.over_paper(gray)).astype(np.uint8))
    return found


def digest_of_materials(data: Path) -> str:
    """SHA-256 of the papers and inks that may be trained on."""
    papers, inks = materials(data)
    return _digest([*(p.path for p in papers), *(w.path for w in inks)], data)


def materials(data: Path) -> tuple[list[compose.Paper], list[Writing]]:
    """The papers and inks that may be trained on."""
    for part in ("papers", "ink"):
        if not (data / part).is_dir():
            raise BadData(f"{data}: no folder '{part}', which composed pages are made of")
    return compose.papers(data / "papers", _PART), compose.inks(data / "ink", _PART)


def _digest(files: list[Path], data: Path) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.relative_to(data).as_posix()}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    except ValueError:
        raise BadData(f"{path}: damaged; remove the folder, and its pages are made anew") from None
