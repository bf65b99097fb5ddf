"""Files that mean harm, made by hand: no binary file lies in the repository."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from functools import lru_cache

import numpy as np
from PIL import Image

POSTSCRIPT = (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 40 40\n%%EndComments\n"
              b"(PostScript has run) print flush\n0 0 40 40 rectfill\nshowpage\n%%EOF\n")  # fmt: skip
ENDLESS_POSTSCRIPT = POSTSCRIPT.replace(b"showpage", b"{} loop")


def page(height: int = 60, width: int = 80) -> np.ndarray:
    """A small page with a stroke: paper 230, ink 30."""
    gray = np.full((height, width), 230, np.uint8)
    gray[height // 3 : height // 3 + 4, width // 5 : -width // 5] = 30
    return gray


def image(kind: str = "PNG", gray: np.ndarray | None = None, **options: object) -> bytes:
    """The page as an image file."""
    file = io.BytesIO()
    Image.fromarray(page() if gray is None else gray).save(file, kind, **options)
    return file.getvalue()


def pdf(*objects: bytes) -> bytes:
    """A PDF of these objects, numbered from 1; the first is its catalogue."""
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    count = len(objects) + 1
    return out + b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        count, table, count, len(out),
    )  # fmt: skip


def stream(data: bytes, about: bytes = b"") -> bytes:
    return b"<<%s/Length %d>>stream\n%s\nendstream" % (about, len(data), data)


def pdf_page(content: bytes, *objects: bytes, resources: bytes = b"/XObject<</I 5 0 R>>", about: bytes = b"") -> bytes:
    """A PDF of one page of 80 × 60 points; ``objects`` are numbered from 5."""
    kept = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 80 60]/Contents 4 0 R/Resources<<%s>>>>" % resources
    return pdf(b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>", kept,
               stream(content, about), *objects)  # fmt: skip


def pdf_image(data: bytes, filters: str, width: int = 80, height: int = 60) -> bytes:
    """A PDF whose page is one gray image with these data behind these filters."""
    about = b"/Type/XObject/Subtype/Image/Width %d/Height %d/BitsPerComponent 8/ColorSpace/DeviceGray/Filter%s" % (
        width, height, filters.encode(),
    )  # fmt: skip
    return pdf_page(b"80 0 0 60 0 0 cm /I Do", stream(data, about))


def pdf_of_forms(levels: int, uses: int = 10) -> bytes:
    """Forms that use forms that use forms: two kilobytes, ``uses`` ** ``levels`` strokes."""
    box = b"/Type/XObject/Subtype/Form/BBox[0 0 80 60]"
    forms = [stream(b"/F Do " * uses, b"%s/Resources<</XObject<</F %d 0 R>>>>" % (box, 6 + i)) for i in range(levels)]
    return pdf_page(b"/F Do", *forms, stream(b"0 0 m 9 9 l S", box), resources=b"/XObject<</F 5 0 R>>")


def pdf_of_operators(megabytes: int) -> bytes:
    """A page whose content is compressed operators."""
    packed = zlib.compress(b"1 2 m 30 40 l S\n" * (megabytes * 1_000_000 // 16), 9)
    return pdf_page(packed, stream(b""), about=b"/Filter/FlateDecode")


@lru_cache
def deflated(megabytes: int) -> bytes:
    """Zeros, a thousandth of their size."""
    return zlib.compress(bytes(megabytes * 1_000_000), 9)


def hex_of_deflated(megabytes: int) -> bytes:
    return deflated(megabytes).hex().encode() + b">"


def ascii85(data: bytes) -> bytes:
    return base64.a85encode(data) + b"~>"


def tiff_chain(count: int) -> bytes:
    """A TIFF of that many empty directories, one after the other."""
    places = [8 + 6 * i for i in range(count)]
    return b"II*\0" + struct.pack("<I", 8) + b"".join(struct.pack("<HI", 0, p + 6) for p in places)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_bomb(side: int) -> bytes:
    """A PNG that claims side × side pixels and holds a handful."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(side))) + chunk(b"IEND", b"")
