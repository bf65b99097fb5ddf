"""Images and multi-page TIFF become pages."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

from ..errors import UnreadablePage
from ..page.formats import open_image
from ..page.gray import gray_page
from .document import DecodedPage, decoding, refuse_large, sane_dpi

if TYPE_CHECKING:
    from PIL.Image import Image


class Images:
    """One image, or the pages of a TIFF."""

    def __init__(self, file: IO[bytes], name: str, dpi: float, max_pixels: int, times: int, channel: str,
                 sized: Callable[[int], object]) -> None:  # fmt: skip
        from PIL import UnidentifiedImageError

        self.name, self.max_pixels, self.times, self.channel, self.sized = name, max_pixels, times, channel, sized
        with decoding(name):
            try:
                self.image = open_image(file)
            except UnidentifiedImageError:
                raise UnreadablePage(f"{name} is not an image or PDF that can be read") from None
            # only a TIFF has pages; the further frames of the others are animation or thumbnails
            self.frames = _tiff_pages(self.image) if self.image.format == "TIFF" else [0]

    def close(self) -> None:
        self.image.close()

    def __len__(self) -> int:
        return len(self.frames)

    def check(self, index: int) -> None:
        with decoding(self.name):
            _seek(self.image, self.frames[index])
        refuse_large(self.name, self.image.width, self.image.height, self.max_pixels, self.times)

    def page(self, index: int) -> DecodedPage:
        self.check(index)
        image = self.image
        self.sized(image.width * image.height)
        with decoding(self.name):
            exif = image.getexif()
            turned = exif.get(0x0112) in (5, 6, 7, 8)
            dpi = _dpi(image, exif)
            description = _description(image, exif)
            image.load()
            page = gray_page(image, self.channel)
            if len(self) == 1:
                image.close()  # the decoded colours are not needed any more
        return DecodedPage(page.gray, page.channel, dpi[::-1] if dpi and turned else dpi, description)


def _tiff_pages(image: Image) -> list[int]:
    """The frames that are pages; reduced copies (thumbnails, pyramids) are not."""
    reduced = []
    count: int = image.n_frames  # type: ignore[attr-defined]
    for frame in range(count):
        _seek(image, frame)
        reduced.append(bool(int(image.tag_v2.get(254, 0)) & 1))  # type: ignore[attr-defined]
    _seek(image, 0)
    return [f for f in range(count) if not reduced[f]] or list(range(count))


def _seek(image: Image, frame: int) -> None:
    """Go to a frame; where it says no resolution, Pillow would leave that of the frame before."""
    if frame != image.tell():
        image.info.pop("dpi", None)
        image.seek(frame)


def _dpi(image: Image, exif: Any) -> tuple[float, float] | None:
    known = image.info.get("dpi")
    if known:
        if image.format in ("PNG", "BMP"):  # they count whole pixels per metre: 300 dpi comes back as 299.9994
            known = [round(v) if abs(v - round(v)) < 0.0128 else v for v in known]
        return sane_dpi(*known)
    per_inch = {2: 1.0, 3: 2.54}.get(exif.get(0x0128))
    try:
        return sane_dpi(exif[0x011A] * per_inch, exif[0x011B] * per_inch) if per_inch else None
    except (KeyError, TypeError, ZeroDivisionError):
        return None


def _description(image: Image, exif: Any) -> str:
    # the comment in a JPEG 2000 names the program that encoded it
    comment = None if image.format == "JPEG2000" else image.info.get("comment")
    for text in (exif.get(0x010E), image.info.get("Description"), comment):
        if isinstance(text, bytes):
            text = text.decode("utf-8", "replace")
        if isinstance(text, str) and text.strip("\0 \r\n\t"):
            with contextlib.suppress(UnicodeError):  # Pillow takes TIFF texts for Latin-1, most are UTF-8 today
                text = text.encode("latin-1").decode()
            return text.strip("\0 \r\n\t")
    return ""
