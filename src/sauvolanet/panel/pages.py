"""The pages of the panel: kept from training, of the sets, of other kinds, and composed of real paper and real ink."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.arrays import Gray, Ink
from ..errors import BadData, UnknownName, UnreadablePage
from ..page.formats import open_image
from ..page.gray import to_gray
from ..score import datasets
from ..score.datasets import KEPT
from ..score.metrics import fm
from ..synth import compose
from ..synth.ink import Writing

PER_KIND = 12  # composed pages of a kind
SETS = {f"{name} validation": name for name in datasets.GROUPS["wide-train"]}
KINDS = (*SETS, *KEPT, *compose.LOOKS)


class Page(NamedTuple):
    """A page: image (H, W) or (H, W, 3) uint8, truth (H, W) bool, True = ink."""

    kind: str
    id: str
    image: npt.NDArray[np.uint8]
    truth: Ink

    @property
    def gray(self) -> Gray:
        """(H, W) uint8, 0 black."""
        return to_gray(self.image)


@dataclass(frozen=True)
class Source:
    """Where a page comes from: a file with truth, or a seed of the composer."""

    kind: str
    id: str
    data: Path
    file: datasets.Page | None = None
    measure = "fm"  # what `scores` gives
    invert = "no"

    def load(self) -> Page:
        """The page itself."""
        if self.file is None:
            colour, truth, _ = self.composed()
            return Page(self.kind, self.id, colour, truth)
        try:
            with open_image(self.file.image) as image:
                picture = np.asarray(image.convert("L" if image.mode in ("1", "L") else "RGB"))
        except (OSError, SyntaxError, ValueError):
            raise UnreadablePage(f"{self.file.image}: not an image, or damaged") from None
        return Page(self.kind, self.id, picture, datasets.read_truth(self.file, picture.shape[:2]))

    def scores(self, functions: Mapping[str, Callable[[Any], Ink]]) -> dict[str, float]:
        """F-measure in percent of functions that make ink (True = ink)."""
        page = self.load()
        return {name: fm(binarize(page.image), page.truth) for name, binarize in functions.items()}

    def composed(self) -> tuple[npt.NDArray[np.uint8], Ink, dict[str, Any]]:
        """Colour, truth and description of a composed page."""
        return compose.compose(int(self.id), *_materials(self.data), self.kind)

    @property
    def state(self) -> str:
        """A text that changes when the page does."""
        if self.file is None:
            return compose.version()
        there = [path.stat() for path in (self.file.image, self.file.truth)]
        return " ".join(f"{s.st_size}:{s.st_mtime_ns}" for s in there)


@lru_cache(maxsize=2)
def _materials(data: Path) -> tuple[tuple[compose.Paper, ...], tuple[Writing, ...]]:
    return tuple(compose.papers(data / "papers", "panel")), tuple(compose.inks(data / "ink", "panel"))


def sources(data: str | Path, kinds: Iterable[str] | None = None, whole: bool = False) -> list[Source]:
    """Where the pages of some kinds (all without names) come from, kind by kind; nothing is read yet.

    whole : all pages of Bleedthrough and Nabuco, also those that models may be trained on.
    """
    data = Path(data)
    known = {kind.lower(): kind for kind in KINDS} | {kind.lower(): title for title, kind in SETS.items()}
    wanted = list(KINDS) if kinds is None else [known.get(kind.lower(), kind) for kind in kinds]
    for kind in wanted:
        if kind not in KINDS:
            raise UnknownName("kind of page", kind, KINDS)
    held = datasets.held_out_pages()
    found: list[Source] = []
    for kind in dict.fromkeys(wanted):
        for part in ("papers", "ink") if kind in compose.LOOKS else ("kinds",) if kind in KEPT else ("documents",):
            if not (data / part).is_dir():
                raise BadData(f"{data}: no folder '{part}', which the kind '{kind}' needs; the panel's data are documents, "
                              "kinds, papers and ink; pages of your own are scored by 'sauvolanet evaluate'")  # fmt: skip
        if kind in compose.LOOKS:
            found += [Source(kind, f"{seed:02d}", data) for seed in range(PER_KIND)]
        elif kind in KEPT:
            of_kind = datasets.find(data / "kinds" / kind)
            kept = None if whole else KEPT[kind]
            found += [Source(kind, p.id, data, p) for p in of_kind if kept is None or int(p.id) in kept]
        else:
            of_set = datasets.find(data / "documents" / SETS[kind])
            found += [Source(kind, p.id, data, p) for p in of_set if (SETS[kind], p.id) in held]
    return found


def pages(data: str | Path, kinds: Iterable[str] | None = None, whole: bool = False) -> Iterator[Page]:
    """The pages of some kinds (all without names), one after the other; see `sources`."""
    return (source.load() for source in sources(data, kinds, whole))
