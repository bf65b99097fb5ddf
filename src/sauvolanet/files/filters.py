"""The data of an image in a PDF, behind their filters: complete, and no more than such an image can have."""

from __future__ import annotations

import contextlib
import io
import zlib
from typing import TYPE_CHECKING

import numpy as np

from ..page.formats import open_image
from .document import refuse_large

if TYPE_CHECKING:
    from pypdfium2 import PdfImage

_EMBEDDED = {"DCTDecode": ["JPEG"], "JPXDecode": ["JPEG2000"]}  # what a PDF calls them, what they may hold
_LONGER = {"FlateDecode", "LZWDecode", "RunLengthDecode"}  # filters that make much of little
_BLANKS = b"\0\t\n\f\r "
_SPARE = 64_000_000  # bytes beyond what its pixels take that an image's data may have


def check_complete(image: PdfImage, name: str, max_pixels: int) -> None:
    """Raise where an image's data are damaged or end too early: the renderer says nothing and leaves gray or white.

    CCITT and JBIG2 are taken as they are: nothing tells a page that was cut short from one that ends white.
    """
    filters = image.get_filters()
    width, height = image.get_px_size()
    most = _SPARE + 16 * width * height  # no honest image of that size takes more bytes, whatever encodes it
    longer = [name for name in filters if name in _LONGER]
    if len(longer) > 1 and set(longer) != {"FlateDecode"}:
        raise ValueError(f"its chain of filters is not read: {', '.join(filters)}")
    if filters and filters[-1] in _EMBEDDED:
        data = _decoded(image, filters[:-1], most)
        with open_image(io.BytesIO(data), _EMBEDDED[filters[-1]]) as picture:
            refuse_large(name, *picture.size, max_pixels)  # the PDF may claim another size
            picture.draft("L", (1, 1))  # a JPEG is decoded at an eighth of its size; nothing of it is left out
            picture.load()
        return
    if filters and filters[-1] not in image.SIMPLE_FILTERS:
        _decoded(image, filters[:-1], most)
    depth = image.get_metadata().bits_per_pixel  # as rendered
    if not depth:
        raise ValueError("it cannot be shown")
    if set(filters) <= set(image.SIMPLE_FILTERS):
        needed = -(-width * depth // 8) * height
        if filters and filters[-1] == "FlateDecode":
            got = _inflated(_decoded(image, filters[:-1], most), most)
        else:
            got = len(_decoded(image, filters, most))
        if got < needed and not _whole_rows(got, width, height):
            raise ValueError(f"{got} of {needed} bytes")


def _whole_rows(got: int, width: int, height: int) -> bool:
    """Whether so many bytes are an image stored with fewer bits than it is rendered with, 4 of 8 or 16 of 24.

    A row may begin with a byte for its PNG filter, and a line break may follow the last.
    """
    rows = (-(-width * bits // 8) + filter for bits in (1, 2, 3, 4, 6, 8, 12, 16) for filter in (0, 1))
    return any(0 <= got - row * height <= 2 for row in rows)


def _decoded(image: PdfImage, filters: list[str], most: int) -> bytes:
    """An image's data behind some of its filters, the first ones; more than ``most`` bytes are a ValueError.

    The renderer undoes any chain of filters without a limit of its own: two of a thousandfold each make gigabytes of
    a few bytes. So a chain is undone here first, step by step, and what cannot be is refused.
    """
    if {"LZWDecode", "RunLengthDecode"} & set(filters):  # alone, as `check_complete` has seen to
        return bytes(image.get_data(decode_simple=True))
    data = bytes(image.get_data(decode_simple=False))
    for name in filters:
        data = {"FlateDecode": _inflate, "ASCIIHexDecode": _from_hex, "ASCII85Decode": _from_ascii85}[name](data, most)
    return data


def _inflate(data: bytes, most: int) -> bytes:
    decoder = zlib.decompressobj()
    data = decoder.decompress(data, most + 1)
    _refuse_long(len(data), most)
    return data


def _inflated(data: bytes, most: int) -> int:
    """How many bytes the compressed data hold before they break off."""
    decoder, count = zlib.decompressobj(), 0
    with contextlib.suppress(zlib.error):
        while data and not decoder.eof:
            count += len(decoder.decompress(data, 1 << 20))
            _refuse_long(count, most)
            data = decoder.unconsumed_tail
    return count


def _refuse_long(count: int, most: int) -> None:
    if count > most:
        raise ValueError("its data hold far more than such an image can")


def _from_hex(data: bytes, most: int) -> bytes:
    digits = data.partition(b">")[0].translate(None, _BLANKS).decode("ascii")
    return bytes.fromhex(digits + "0" * (len(digits) % 2))


def _from_ascii85(data: bytes, most: int) -> bytes:
    text = data.partition(b"~")[0].translate(None, _BLANKS).replace(b"z", b"!!!!!")
    spare = -len(text) % 5
    digits = np.frombuffer(text + b"u" * spare, np.uint8).reshape(-1, 5).astype(np.int64) - 33
    words = digits @ (85 ** np.arange(4, -1, -1))
    if ((digits < 0) | (digits > 84)).any() or (words >> 32).any():
        raise ValueError("its ASCII85 is damaged")
    return words.astype(">u4").tobytes()[: len(words) * 4 - spare]
