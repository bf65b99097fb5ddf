"""A document becomes a file: its pages through the pipeline into a writer, one in memory at a time.

Batches and the service convert documents here and nowhere else.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import IO

import numpy as np

from ..api import Binarizer, normalized
from ..core.arrays import Gray
from ..options import MAX_PIXELS, Option
from ..page.channel import Colour
from ..page.found import Found
from ..page.gray import gray_page
from ..pipeline import PROBES, fingerprint, probes
from .read import Document, Patience, open_document
from .write import FORMATS, Pixels

FORMAT = Option("format", str, None, choices=tuple(FORMATS),
                help="Format of the results; without it the output's suffix decides, and png in a folder.")  # fmt: skip
DPI = Option("dpi", float, 300.0, 10, 20_000,
             help="Resolution at which PDF pages that are not a plain scan are rendered, and which a PDF gets where "
                  "the input does not say.")  # fmt: skip
KEEP_GRAY = Option("keep_gray", bool, False,
                   help="Write the gray page, its paper made even and white, instead of black and white.")  # fmt: skip

Watch = Callable[[int, int], AbstractContextManager[None]]  # index and pixels of a page: around the work on it


def _unwatched(index: int, pixels: int) -> AbstractContextManager[None]:
    return contextlib.nullcontext()


@dataclass(frozen=True)
class Conversion:
    """How documents become files: what makes the ink, and the options of reading and writing."""

    binarizer: Binarizer
    keep_gray: bool = KEEP_GRAY.default
    dpi: float = DPI.default
    max_pixels: int = MAX_PIXELS.default
    patience: Patience | None = None

    def open(self, file: IO[bytes], name: str) -> AbstractContextManager[Document]:
        """The document in a seekable binary file; errors name it as ``name``."""
        options = self.binarizer.options
        return open_document(file, name, dpi=self.dpi, max_pixels=self.max_pixels, times=options.times or 1,
                             channel=options.channel, patience=self.patience)  # fmt: skip

    def write(
        self, document: Document, indices: Iterable[int], file: IO[bytes], format: str, watch: Watch = _unwatched
    ) -> Iterator[tuple[int, Found]]:
        """Write these pages (from 0) as one file; yields each page's index and what was found when it is written."""
        writer = FORMATS[format][2](file, self.dpi)
        for index in indices:
            page = document.page(index)
            with watch(index, page.gray.size):
                result = self.binarizer.run(page, max_pixels=self.max_pixels)
                threads = self.binarizer.options.threads
                pixels: Pixels = normalized(result, threads) if self.keep_gray else result.ink
                found = result.found
            dpi, times = page.dpi or writer.default_dpi, result.prepared.times
            writer.add(pixels, dpi and (dpi[0] * times, dpi[1] * times), page.description)
            del page, result, pixels  # before the next one is read
            yield index, found
        writer.close()

    def digest(self, format: str) -> str:
        """Same digest, same input: same bytes. Of what the engine gives, how the probes are written, and the options."""
        options = self.binarizer.options
        limit = self.max_pixels if options.times is None else None  # it decides what enlarge="auto" leaves alone
        used = [fingerprint(self.binarizer.engine, options), format, self.keep_gray, self.dpi, limit]
        digest = hashlib.sha256(json.dumps(used).encode())
        coloured = gray_page(_in_colour(probes()[0]), options.channel)
        digest.update(json.dumps([options.channel, coloured.channel]).encode() + coloured.gray.tobytes())
        plain = replace(self, max_pixels=MAX_PIXELS.default, patience=None)
        with PROBES.open("rb") as file, plain.open(file, PROBES.name) as document, io.BytesIO() as written:
            for _ in plain.write(document, range(len(document)), written, format):
                pass
            digest.update(written.getbuffer())
        return digest.hexdigest()


def _in_colour(gray: Gray) -> Colour:
    """The page in yellow ink: (H, W, 3) uint8."""
    return np.stack([255 - (255 - gray) // 16, 255 - (255 - gray) // 6, gray], axis=2)
