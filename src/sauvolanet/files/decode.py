"""A document is decoded in this process, by the decoder of its kind."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import IO

from ..errors import UnreadablePage
from ..options import CHANNEL
from .document import Document
from .images import Images
from .pdf import Pdf

_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM", b"P1", b"P2", b"P3", b"P4", b"P5", b"P6",
           b"\0\0\0\x0cjP  ", b"\xff\x4f\xff\x51")  # fmt: skip
START = 1024  # bytes that tell a file's kind


def kind_of(start: bytes) -> str | None:
    """What a file is that begins like this: "pdf", "tiff" or "image"; None for whatever is not read.

    >>> kind_of(b"some bytes may come before %PDF-1.7"), kind_of(b"RIFF\\0\\0\\0\\0WEBP"), kind_of(b"GIF88a")
    ('pdf', 'image', None)
    """
    if b"%PDF-" in start[:START]:
        return "pdf"
    if start.startswith(_TIFF):
        return "tiff"
    is_image = start.startswith(_IMAGES) or (start[:4] == b"RIFF" and start[8:12] == b"WEBP")
    return "image" if is_image else None


@contextlib.contextmanager
def open_here(file: IO[bytes], name: str, *, dpi: float, max_pixels: int, times: int = 1, channel: str = CHANNEL.default,
              sized: Callable[[int], object] = lambda pixels: None) -> Iterator[Document]:  # fmt: skip
    """As `open_document`, decoded in this process. sized : told how many pixels a page has before it is decoded."""
    start = file.read(START)
    file.seek(0)
    if not start:
        raise UnreadablePage(f"{name} is empty")
    decoder = Pdf if kind_of(start) == "pdf" else Images  # Pillow knows odd images better than we
    with contextlib.closing(decoder(file, name, dpi, max_pixels, times, channel, sized)) as document:
        yield document
