"""Images, multi-page TIFF and PDF become pages, one at a time.

Sizes are checked against ``max_pixels`` in the header, before anything is decoded.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import IO

from ..errors import UsageError
from ..options import CHANNEL, Option
from .decode import START, kind_of, open_here
from .document import DecodedPage, Document, Patience, sane_dpi

__all__ = [
    "MULTI_PAGE",
    "PAGE",
    "SUFFIXES",
    "DecodedPage",
    "Document",
    "Patience",
    "index_of",
    "open_document",
    "sane_dpi",
]

PAGE = Option("page", int, None, 1, None, help="Only this page of a document, counted from 1.")

# suffixes that are looked for in folders; a file that is named itself may have any suffix
SUFFIXES = frozenset((
    ".png", ".apng", ".jpg", ".jpeg", ".jpe", ".jfif", ".tif", ".tiff", ".jp2", ".j2k", ".jpf", ".jpx", ".j2c",
    ".webp", ".bmp", ".dib", ".pnm", ".pbm", ".pgm", ".ppm", ".gif", ".pdf",
))  # fmt: skip
MULTI_PAGE = frozenset((".tif", ".tiff", ".pdf"))


def open_document(file: IO[bytes], name: str, *, dpi: float, max_pixels: int, times: int = 1,
                  channel: str = CHANNEL.default, patience: Patience | None = None) -> AbstractContextManager[Document]:  # fmt: skip
    """The document in a seekable binary file; errors name it as ``name``.

    dpi : at which PDF pages that are not a plain scan are rendered. max_pixels : a larger page is a PageTooLarge, or one
        that is larger when it has ``times`` the rows and columns. channel : which of a colour page becomes its gray.
    patience : every document is decoded by a child process (`apart`) within these limits. Without it PDFs alone are: what
        a PDF asks for is bounded by nothing in its header.
    """
    start = file.read(START)
    file.seek(0)
    if patience is None and kind_of(start) != "pdf":
        return open_here(file, name, dpi=dpi, max_pixels=max_pixels, times=times, channel=channel)
    from .apart import open_apart

    return open_apart(file, name, patience or Patience(), dpi=dpi, max_pixels=max_pixels, times=times, channel=channel)


def index_of(number: int, document: Document, name: str) -> int:
    """The index of the page that `PAGE` asks for; a UsageError where the document has fewer."""
    if number > len(document):
        raise UsageError(f"{name} has no page {number}; its last is page {len(document)}")
    return number - 1
