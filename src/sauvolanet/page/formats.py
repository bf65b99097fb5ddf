"""The one way to open an image file: the formats are named, so that no other decoder of Pillow is ever asked.

Left to itself Pillow tries some forty plugins on any bytes, one of which runs Ghostscript on PostScript.
"""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("PNG", "JPEG", "TIFF", "JPEG2000", "WEBP", "BMP", "DIB", "PPM", "GIF")  # Pillow's names


def open_image(file: str | os.PathLike[str] | IO[bytes], formats: list[str] | tuple[str, ...] = FORMATS) -> Image:
    """The image, its header read; bytes of any other format are PIL's UnidentifiedImageError."""
    # with the others' plugins, which it has already, Pillow knows all our formats and does not load the forty others
    from PIL import Image, Jpeg2KImagePlugin, TiffImagePlugin, WebPImagePlugin  # noqa: F401

    return Image.open(file, formats=formats)
