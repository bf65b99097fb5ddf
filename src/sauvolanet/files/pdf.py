"""The pages of a PDF: one that is a scan and nothing else gives that scan's own pixels; any other is rendered."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING

import numpy as np

from ..errors import UnreadablePage
from ..page.gray import gray_page
from .document import DecodedPage, decoding, refuse_large, sane_dpi
from .filters import check_complete

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdfium2 import PdfBitmap, PdfDocument, PdfImage, PdfPage

_pdfium = threading.RLock()  # pdfium is not thread-safe; Pillow is, but for two settings: see document.decoding


class Pdf:
    """The pages of a PDF."""

    def __init__(self, file: IO[bytes], name: str, dpi: float, max_pixels: int, times: int, channel: str,
                 sized: Callable[[int], object]) -> None:  # fmt: skip
        import pypdfium2
        from pypdfium2 import raw

        self.name, self.dpi, self.max_pixels, self.times = name, dpi, max_pixels, times
        self.channel, self.sized = channel, sized
        with _pdfium:
            raw.FPDF_LoadDocument(b"", None)  # fails: an error of an earlier document is forgotten
            try:
                self.pdf: PdfDocument = pypdfium2.PdfDocument(file)
            except pypdfium2.PdfiumError as problem:
                error = raw.FPDF_GetLastError()
                if error == raw.FPDF_ERR_PASSWORD:
                    reason = "is encrypted; remove the password first, for instance with qpdf --decrypt"
                elif error == raw.FPDF_ERR_FILE:  # of the call before: without pages it fails and says nothing
                    reason = "has no pages"
                else:
                    reason = f"is not a PDF that can be read: {problem}"
                raise UnreadablePage(f"{name} {reason}") from None
            with decoding(name):
                self.pdf.init_forms()  # before its pages are counted
            self.description = ""
            with contextlib.suppress(UnicodeDecodeError):  # a broken title is none
                self.description = self.pdf.get_metadata_value("Title").strip("\0 \r\n\t")
            self.count = len(self.pdf)
            if not self.count:
                self.pdf.close()
                raise UnreadablePage(f"{name} has no pages")

    def close(self) -> None:
        with _pdfium:
            self.pdf.close()

    def __len__(self) -> int:
        return self.count

    def check(self, index: int) -> None:
        with _pdfium, self._open(index) as page:
            self._measure(page, index)

    def page(self, index: int) -> DecodedPage:
        from pypdfium2 import raw

        with _pdfium, self._open(index) as page:
            scan, width, height = self._measure(page, index)
            images = list(page.get_objects([raw.FPDF_PAGEOBJ_IMAGE]))
            self.sized(max([width * height, *(math.prod(image.get_px_size()) for image in images)]))
            for image in images:
                picture = f"an image on page {index + 1} of {self.name}"
                with decoding(picture):
                    check_complete(image, picture, self.max_pixels)
            inches_wide, inches_high = (side / 72 for side in page.get_size())
            pixels, turn = _scan_pixels(page, scan) if scan else (_rendered(page, width, height), 0)
        made = gray_page(pixels, self.channel)
        del pixels  # the colours are not needed any more
        gray = np.ascontiguousarray(np.rot90(made.gray, -turn // 90))
        # what the page measures is kept: pixels over inches, also where the rendered size was rounded to whole pixels
        dpi = sane_dpi(round(gray.shape[1] / inches_wide, 3), round(gray.shape[0] / inches_high, 3))
        return DecodedPage(gray, made.channel, dpi, self.description)

    @contextlib.contextmanager
    def _open(self, index: int) -> Iterator[PdfPage]:
        import pypdfium2

        try:
            page = self.pdf[index]
        except pypdfium2.PdfiumError:
            raise UnreadablePage(f"page {index + 1} of {self.name} is damaged") from None
        with contextlib.closing(page):
            yield page

    def _measure(self, page: PdfPage, index: int) -> tuple[PdfImage | None, int, int]:
        """The page's only scan, if it is one, and the size in pixels it will have."""
        from pypdfium2 import raw

        name = f"page {index + 1} of {self.name}"
        images, scan_only = [], True
        for item in page.get_objects():
            if item.type == raw.FPDF_PAGEOBJ_IMAGE:
                images.append(item)
                width, height = item.get_px_size()
                refuse_large(f"an image on {name}", width, height, self.max_pixels)
                scan_only &= item.level == 0  # inside a form its place on the page is not known
            elif item.type == raw.FPDF_PAGEOBJ_TEXT:  # invisible text is what OCR adds to a scan
                scan_only &= raw.FPDFTextObj_GetTextRenderMode(item) == raw.FPDF_TEXTRENDERMODE_INVISIBLE
            elif item.type != raw.FPDF_PAGEOBJ_FORM:
                scan_only = False
        if scan_only and len(images) == 1 and _covers(page, images[0]):
            scan, (width, height) = images[0], _upright_size(images[0])
        else:
            scan, (width, height) = None, (max(1, round(side * self.dpi / 72)) for side in page.get_size())
            name = f"{name} at {self.dpi:g} dpi"
        refuse_large(name, width, height, self.max_pixels, self.times)
        return scan, width, height


def _covers(page: PdfPage, image: PdfImage) -> bool:
    """Whether the image is in line with the page (mirrored and turned by 90° as may be) and reaches all edges to 1 %."""
    a, b, c, d, _, _ = image.get_matrix().get()
    in_line = (b, c) == (0, 0) or (a, d) == (0, 0)
    if not in_line or a * d == b * c or 0 in image.get_px_size():
        return False
    left, bottom, right, top = page.get_bbox()
    x0, y0, x1, y1 = image.get_bounds()
    near_x, near_y = (right - left) / 100, (top - bottom) / 100
    return bool(abs(x0 - left) <= near_x and abs(x1 - right) <= near_x
            and abs(y0 - bottom) <= near_y and abs(y1 - top) <= near_y)  # fmt: skip


def _upright_size(image: PdfImage) -> tuple[int, int]:
    """Width and height of an image in line with its page, as it lies there, before the page's own rotation."""
    width, height = image.get_px_size()
    return (width, height) if image.get_matrix().a else (height, width)


def _scan_pixels(page: PdfPage, scan: PdfImage) -> tuple[Image, int]:
    """The scan's own pixels, each exactly once, and by how many degrees clockwise the page has them turned.

    The renderer does it, so that masks, colour spaces and mirrored placement are right; the image's rectangle is put
    0.002 pixels inside the bitmap, because one that reaches over the edge by a rounding error would be resampled.
    """
    from pypdfium2 import PdfBitmap, raw

    rotation = page.get_rotation()
    page.set_rotation(0)
    width, height = _upright_size(scan)
    left, _, _, top = page.get_bbox()
    x0, y0, x1, y1 = scan.get_bounds()
    inset = 0.002
    across, down = (width - 2 * inset) / (x1 - x0), (height - 2 * inset) / (y1 - y0)
    matrix = raw.FS_MATRIX(across, 0, 0, down, inset - (x0 - left) * across, inset - (top - y1) * down)
    bitmap = PdfBitmap.new_native(width, height, raw.FPDFBitmap_BGR)
    bitmap.fill_rect((255, 255, 255, 255), 0, 0, width, height)
    raw.FPDF_RenderPageBitmapWithMatrix(bitmap, page, matrix, raw.FS_RECTF(0, 0, width, height), raw.FPDF_ANNOT)
    wide, high = page.get_size()
    _draw_fields(bitmap, page, *map(round, (matrix.e, matrix.f, wide * across, high * down)))
    page.set_rotation(rotation)
    return bitmap.to_pil(), rotation


def _rendered(page: PdfPage, width: int, height: int) -> Image:
    from pypdfium2 import PdfBitmap, raw

    bitmap = PdfBitmap.new_native(width, height, raw.FPDFBitmap_BGR)
    bitmap.fill_rect((255, 255, 255, 255), 0, 0, width, height)
    raw.FPDF_RenderPageBitmap(bitmap, page, 0, 0, width, height, 0, raw.FPDF_ANNOT)
    _draw_fields(bitmap, page, 0, 0, width, height)
    image: Image = bitmap.to_pil()
    return image


def _draw_fields(bitmap: PdfBitmap, page: PdfPage, left: int, top: int, width: int, height: int) -> None:
    """Draw what is filled in: fields of a form are no part of the page's content. The page has this place and size."""
    from pypdfium2 import raw

    if page.formenv:
        raw.FPDF_FFLDraw(page.formenv, bitmap, page, left, top, width, height, 0, raw.FPDF_ANNOT)
