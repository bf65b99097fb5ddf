"""1-bit pages as PNG, Group 4 TIFF and Group 4 PDF; gray pages as 8-bit PNG, TIFF and PDF.

A writer takes pages one by one and keeps none, so a book of any length needs the memory of one page. The bytes
depend on the pages alone: no dates, no random identifiers.
"""

from __future__ import annotations

import io
import math
import struct
import zlib
from collections.abc import Callable
from fractions import Fraction
from typing import IO, Any, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import OutputError
from ..page.formats import open_image

Pixels = npt.NDArray[np.bool_] | npt.NDArray[np.uint8]  # ink (bool, True = ink) or gray (uint8, 0 black)
Dpi = tuple[float, float] | None


class Writer(Protocol):
    """Writes pages to a binary file: `add` each, then `close` once (the file itself stays open)."""

    @property
    def default_dpi(self) -> Dpi:
        """Of pages whose resolution is not known; None if the format need not say one."""

    def add(self, pixels: Pixels, dpi: Dpi, description: str) -> None: ...
    def close(self) -> None: ...


class PngWriter:
    """One page: 1-bit for ink, 8-bit for gray."""

    default_dpi = None

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def add(self, pixels: Pixels, dpi: Dpi, description: str) -> None:
        """pixels : ink (bool, True = ink, written black) or gray (uint8)."""
        height, width = pixels.shape
        depth, rows = (1, np.packbits(~pixels, axis=1)) if pixels.dtype == bool else (8, pixels)
        lines = np.zeros((height, rows.shape[1] + 1), np.uint8)  # each begins with the number of its filter: none
        lines[:, 1:] = rows
        self.file.write(b"\x89PNG\r\n\x1a\n")
        self._chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, 0, 0, 0, 0))
        if dpi:
            self._chunk(b"pHYs", struct.pack(">IIB", *(round(value / 0.0254) for value in dpi), 1))  # per metre
        if description:
            self._chunk(b"iTXt", b"Description\0\0\0\0\0" + description.encode())
        self._chunk(b"IDAT", zlib.compress(lines.data, 6))  # unlike Pillow's encoder it lets other threads run
        self._chunk(b"IEND", b"")

    def close(self) -> None:
        pass

    def _chunk(self, kind: bytes, data: bytes) -> None:
        check = zlib.crc32(data, zlib.crc32(kind))
        self.file.write(b"%s%s%s%s" % (struct.pack(">I", len(data)), kind, data, struct.pack(">I", check)))


class TiffWriter:
    """Pages of a TIFF, one strip each: Group 4 with white as 0 for ink, deflate for gray."""

    default_dpi = None

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        file.write(b"II*\0\0\0\0\0")
        self.position = 8
        self.link = 4  # where the position of the next directory belongs

    def add(self, pixels: Pixels, dpi: Dpi, description: str) -> None:
        """pixels : ink (bool, True = ink, written black) or gray (uint8)."""
        height, width = pixels.shape
        is_ink = pixels.dtype == bool
        strip = group4(pixels) if is_ink else zlib.compress(pixels.tobytes(), 6)
        at = self.position
        text = description.encode() + b"\0" if description else b""
        extra = strip + text + bytes((len(strip) + len(text)) % 2)
        directory = at + len(extra)
        entries: list[tuple[int, int, int, int | bytes]] = [  # tag, type, count, value
            (254, 4, 1, 2), (256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, 1 if is_ink else 8),
            (259, 3, 1, 4 if is_ink else 8), (262, 3, 1, 0 if is_ink else 1), (273, 4, 1, at), (277, 3, 1, 1),
            (278, 4, 1, height), (279, 4, 1, len(strip)),
        ]  # fmt: skip
        if text:
            entries.append((270, 2, len(text), at + len(strip) if len(text) > 4 else text.ljust(4, b"\0")))
        rationals = b""
        if dpi:
            entries += [(282, 5, 1, 0), (283, 5, 1, 0), (296, 3, 1, 2)]
            rationals = b"".join(struct.pack("<II", *_rational(value)) for value in dpi)
        end = directory + 2 + 12 * len(entries) + 4
        packed = struct.pack("<H", len(entries))
        for tag, kind, count, value in sorted(entries):
            if kind == 5:
                value = end + 8 * (tag - 282)
            packed += struct.pack("<HHI", tag, kind, count) + (value if isinstance(value, bytes) else four_bytes(value))
        block = extra + packed + bytes(4) + rationals
        self.file.write(block)
        self.file.seek(self.link)
        self.file.write(four_bytes(directory))
        self.file.seek(0, io.SEEK_END)
        self.link = end - 4
        self.position = at + len(block)

    def close(self) -> None:
        pass


def four_bytes(value: int) -> bytes:
    if value >= 2**32:
        raise OutputError("a TIFF holds at most 4 GB; write PDF, or PNG with one file a page")
    return struct.pack("<I", value)


def _rational(value: float) -> tuple[int, int]:
    exact = Fraction(value).limit_denominator(min(100_000, (2**32 - 1) // math.ceil(value)))
    return exact.numerator, exact.denominator


class PdfWriter:
    """Pages of a PDF, each one image that fills it: CCITT Group 4 for ink, deflate for gray.

    A page's size is its pixels over its resolution; ``default_dpi`` serves where the resolution is not known.
    """

    def __init__(self, file: IO[bytes], default_dpi: float) -> None:
        self.file = file
        self.default_dpi = default_dpi, default_dpi
        self.places: dict[int, int] = {}  # object number -> position
        self.position = 0
        self.title = ""
        self._write(b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n")

    def add(self, pixels: Pixels, dpi: Dpi, description: str) -> None:
        """pixels : ink (bool, True = ink, written black) or gray (uint8)."""
        height, width = pixels.shape
        across, down = dpi or self.default_dpi
        wide, high = _number(width * 72 / across), _number(height * 72 / down)
        if pixels.dtype == bool:
            data = group4(pixels)
            coding = (b"/BitsPerComponent 1/Filter/CCITTFaxDecode"
                      b"/DecodeParms<</K -1/Columns %d/Rows %d>>" % (width, height))  # fmt: skip
        else:
            data = zlib.compress(pixels.tobytes(), 6)
            coding = b"/BitsPerComponent 8/Filter/FlateDecode"
        self.title = self.title or description
        page = 4 + len(self.places)  # three objects a page; 1 to 3 are written at the end
        self._object(page, b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 %s %s]/Contents %d 0 R"
                     b"/Resources<</XObject<</Im %d 0 R>>>>>>" % (wide, high, page + 1, page + 2))  # fmt: skip
        self._stream(page + 1, b"", b"q %s 0 0 %s 0 0 cm /Im Do Q" % (wide, high))
        self._stream(page + 2, b"/Type/XObject/Subtype/Image/Width %d/Height %d/ColorSpace/DeviceGray%s"
                     % (width, height, coding), data)  # fmt: skip

    def close(self) -> None:
        pages = [n for n in sorted(self.places) if n % 3 == 1]
        self._object(1, b"<</Type/Catalog/Pages 2 0 R>>")
        self._object(2, b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(pages), b" ".join(b"%d 0 R" % n for n in pages)))
        title = b"/Title<FEFF%s>" % self.title.encode("utf-16-be").hex().encode() if self.title else b""
        self._object(3, b"<</Producer(sauvolanet)%s>>" % title)
        start = self.position
        self._write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(self.places) + 1))
        self._write(b"".join(b"%010d 00000 n \n" % self.places[n] for n in sorted(self.places)))
        self._write(b"trailer\n<</Size %d/Root 1 0 R/Info 3 0 R>>\nstartxref\n%d\n%%%%EOF\n"
                    % (len(self.places) + 1, start))  # fmt: skip

    def _object(self, number: int, body: bytes) -> None:
        self.places[number] = self.position
        self._write(b"%d 0 obj\n%s\nendobj\n" % (number, body))

    def _stream(self, number: int, entries: bytes, data: bytes) -> None:
        self._object(number, b"<<%s/Length %d>>stream\n%s\nendstream" % (entries, len(data), data))

    def _write(self, data: bytes) -> None:
        self.file.write(data)
        self.position += len(data)


def _number(value: float) -> bytes:
    return f"{value:.5f}".rstrip("0").rstrip(".").encode()


def group4(ink: Pixels) -> bytes:
    """CCITT Group 4 (T.6) of ink (bool, True = ink = black run), one strip; libtiff inside Pillow encodes."""
    from PIL import Image

    height, width = ink.shape
    encoded = io.BytesIO()
    Image.fromarray(ink).save(encoded, "TIFF", compression="group4", strip_size=-(-width // 8) * height)
    encoded.seek(0)
    tags: Any = open_image(encoded, ["TIFF"]).tag_v2  # type: ignore[attr-defined]
    (start,), (length,) = tags[273], tags[279]
    return encoded.getvalue()[start : start + length]


# format -> suffix of its files, whether one file holds many pages, and its writer(file, default_dpi)
_Make = Callable[[IO[bytes], float], Writer]
FORMATS: dict[str, tuple[str, bool, _Make]] = {
    "png": (".png", False, lambda file, dpi: PngWriter(file)),
    "tiff": (".tif", True, lambda file, dpi: TiffWriter(file)),
    "pdf": (".pdf", True, PdfWriter),
}
SUFFIXES: dict[str, str] = {".png": "png", ".tif": "tiff", ".tiff": "tiff", ".pdf": "pdf"}
