"""Images, multi-page TIFF and PDF become pages, one at a time.

Sizes are checked against ``max_pixels`` in the header, before anything is decoded. A PDF page that is one scan and
nothing else gives that scan's own pixels; any other PDF page is rendered.
"""

from __future__ import annotations

import contextlib
import io
import logging
import math
import threading
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Protocol

from ..errors import InputError, PageTooLarge, UnreadablePage
from ..page import to_gray
from ..windows import Gray

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdfium2 import PdfBitmap, PdfDocument, PdfImage, PdfPage

# suffixes that are looked for in folders; a file that is named itself may have any suffix
SUFFIXES = frozenset((
    ".png", ".apng", ".jpg", ".jpeg", ".jpe", ".jfif", ".tif", ".tiff", ".jp2", ".j2k", ".jpf", ".jpx", ".j2c",
    ".webp", ".bmp", ".dib", ".pnm", ".pbm", ".pgm", ".ppm", ".gif", ".pdf",
))  # fmt: skip
FORMATS = ("PNG", "JPEG", "TIFF", "JPEG2000", "WEBP", "BMP", "DIB", "PPM", "GIF")  # Pillow's names
MULTI_PAGE = frozenset((".tif", ".tiff", ".pdf"))

_pdfium = threading.RLock()  # pdfium is not thread-safe; Pillow is, but for two settings: see _OurRules


@dataclass(frozen=True)
class Page:
    """One page as read: gray (H, W) uint8, 0 = black; dots per inch across and down if known; a description."""

    gray: Gray
    dpi: tuple[float, float] | None
    description: str


class Document(Protocol):
    """A file with pages, numbered from 0. `check` looks at the header only; `page` decodes."""

    def __len__(self) -> int: ...
    def check(self, index: int) -> None: ...
    def page(self, index: int) -> Page: ...


@contextlib.contextmanager
def open_document(file: IO[bytes], name: str, *, dpi: float, max_pixels: int, times: int = 1) -> Iterator[Document]:
    """The document in a seekable binary file; errors name it as ``name``.

    dpi : at which PDF pages that are not a plain scan are rendered. max_pixels : a larger page is a PageTooLarge, or one
        that is larger when it has ``times`` the rows and columns.
    """
    start = file.read(1024)
    file.seek(0)
    if not start:
        raise UnreadablePage(f"{name} is empty")
    kind = _Pdf if b"%PDF-" in start else _Images
    with contextlib.closing(kind(file, name, dpi, max_pixels, times)) as document:
        yield document


def _refuse_large(name: str, width: int, height: int, max_pixels: int, times: int = 1) -> None:
    if width * height * times**2 > max_pixels:
        size = f"{width} × {height} pixels" + (f", enlarged {width * times} × {height * times}" if times > 1 else "")
        raise PageTooLarge(f"{name} has {size}, more than {max_pixels}; allow it with --max-pixels")


def sane_dpi(x: Any, y: Any) -> tuple[float, float] | None:
    """The resolution, unless it is none: files say 0, 1 or nonsense when they do not know."""
    try:
        pair = float(x), float(y)
    except (TypeError, ValueError, ZeroDivisionError):
        return None
    return pair if all(math.isfinite(v) and 10 <= v <= 20_000 for v in pair) else None


class _Images:
    """One image, or the pages of a TIFF."""

    def __init__(self, file: IO[bytes], name: str, dpi: float, max_pixels: int, times: int) -> None:
        from PIL import Image, UnidentifiedImageError

        self.name, self.max_pixels, self.times = name, max_pixels, times
        with _decoding(name):
            try:
                self.image = Image.open(file, formats=FORMATS)
            except UnidentifiedImageError:
                raise UnreadablePage(f"{name} is not an image or PDF that can be read") from None
            # only a TIFF has pages; the further frames of the others are animation or thumbnails
            self.frames = _tiff_pages(self.image) if self.image.format == "TIFF" else [0]

    def close(self) -> None:
        self.image.close()

    def __len__(self) -> int:
        return len(self.frames)

    def check(self, index: int) -> None:
        with _decoding(self.name):
            _seek(self.image, self.frames[index])
        _refuse_large(self.name, self.image.width, self.image.height, self.max_pixels, self.times)

    def page(self, index: int) -> Page:
        self.check(index)
        image = self.image
        with _decoding(self.name):
            exif = image.getexif()
            turned = exif.get(0x0112) in (5, 6, 7, 8)
            dpi = _dpi(image, exif)
            description = _description(image, exif)
            image.load()
            gray = to_gray(image)
            if len(self) == 1:
                image.close()  # the decoded colours are not needed any more
        return Page(gray, dpi[::-1] if dpi and turned else dpi, description)


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


class _OurRules:
    """While any thread opens or decodes, Pillow has no limit on pixels (ours is ``max_pixels``) and frowns in silence.

    So does pypdfium2. These settings belong to the whole process, so the first thread to come changes them and the last
    to go restores them; in between all may decode at once.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.before = contextlib.ExitStack()

    def __enter__(self) -> None:
        from PIL import Image

        with self.lock:
            if not self.inside:
                self.before.callback(setattr, Image, "MAX_IMAGE_PIXELS", Image.MAX_IMAGE_PIXELS)
                Image.MAX_IMAGE_PIXELS = None
                self.before.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore")
                logger = logging.getLogger("pypdfium2")
                self.before.callback(logger.setLevel, logger.level)
                logger.setLevel(logging.ERROR)
            self.inside += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.inside -= 1
            if not self.inside:
                self.before.close()


_our_rules = _OurRules()


@contextlib.contextmanager
def _decoding(name: str) -> Iterator[None]:
    """Whatever a decoder raises on damaged bytes becomes one line; what it merely frowns at is no news to the user."""
    try:
        with _our_rules:
            yield
    except (InputError, MemoryError):
        raise
    except Exception as problem:  # decoders raise nearly anything: OSError, SyntaxError, struct.error, KeyError …
        reason = str(problem).partition(" <_io.")[0] or type(problem).__name__  # Pillow shows the file object
        raise UnreadablePage(f"{name} is damaged or cut short: {reason}") from None


class _Pdf:
    """The pages of a PDF."""

    def __init__(self, file: IO[bytes], name: str, dpi: float, max_pixels: int, times: int) -> None:
        import pypdfium2
        from pypdfium2 import raw

        self.name, self.dpi, self.max_pixels, self.times = name, dpi, max_pixels, times
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
            with _decoding(name):
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

    def page(self, index: int) -> Page:
        from pypdfium2 import raw

        with _pdfium, self._open(index) as page:
            scan, width, height = self._measure(page, index)
            for image in page.get_objects([raw.FPDF_PAGEOBJ_IMAGE]):
                shown = f"an image on page {index + 1} of {self.name}"
                with _decoding(shown):
                    _check_complete(image, shown, self.max_pixels)
            inches_wide, inches_high = (side / 72 for side in page.get_size())
            image = _scan_pixels(page, scan) if scan else _rendered(page, width, height)
        # what the page measures is kept: pixels over inches, also where the rendered size was rounded to whole pixels
        dpi = round(image.width / inches_wide, 3), round(image.height / inches_high, 3)
        return Page(to_gray(image), dpi, self.description)

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
                _refuse_large(f"an image on {name}", width, height, self.max_pixels)
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
        _refuse_large(name, width, height, self.max_pixels, self.times)
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


def _check_complete(image: PdfImage, name: str, max_pixels: int) -> None:
    """Raise where an image's data are damaged or end too early: the renderer says nothing and leaves gray or white.

    CCITT and JBIG2 are taken as they are: nothing tells a page that was cut short from one that ends white.
    """
    from PIL import Image

    filters = image.get_filters()
    width, height = image.get_px_size()
    if filters and filters[-1] in ("DCTDecode", "JPXDecode"):
        with Image.open(io.BytesIO(bytes(image.get_data(decode_simple=True)))) as picture:
            _refuse_large(name, *picture.size, max_pixels)  # the PDF may claim another size
            picture.draft("L", (1, 1))  # a JPEG is decoded at an eighth of its size; nothing of it is left out
            picture.load()
        return
    depth = image.get_metadata().bits_per_pixel  # as rendered
    if not depth:
        raise ValueError("it cannot be shown")
    if set(filters) <= set(image.SIMPLE_FILTERS):
        needed = -(-width * depth // 8) * height
        if filters == ["FlateDecode"]:
            got = _inflated(bytes(image.get_data(decode_simple=False)), needed)
        else:
            got = len(image.get_data(decode_simple=True))
        if got < needed and not _whole_rows(got, width, height):
            raise ValueError(f"{got} of {needed} bytes")


def _whole_rows(got: int, width: int, height: int) -> bool:
    """Whether so many bytes are an image stored with fewer bits than it is rendered with, 4 of 8 or 16 of 24.

    A row may begin with a byte for its PNG filter, and a line break may follow the last.
    """
    rows = (-(-width * bits // 8) + filter for bits in (1, 2, 3, 4, 6, 8, 12, 16) for filter in (0, 1))
    return any(0 <= got - row * height <= 2 for row in rows)


def _inflated(data: bytes, enough: int) -> int:
    """How many bytes the compressed data hold before they break off; what comes after ``enough`` does not matter."""
    decoder, count = zlib.decompressobj(), 0
    with contextlib.suppress(zlib.error):
        while data and count < enough:
            count += len(decoder.decompress(data, 1 << 20))
            data = decoder.unconsumed_tail
    return count


def _scan_pixels(page: PdfPage, scan: PdfImage) -> Image:
    """The scan's own pixels, each exactly once, with the page's rotation applied.

    The renderer does it, so that masks, colour spaces and mirrored placement are right; the image's rectangle is put
    0.002 pixels inside the bitmap, because one that reaches over the edge by a rounding error would be resampled.
    """
    from PIL import Image
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
    image = bitmap.to_pil().convert("L")
    turn = {90: Image.Transpose.ROTATE_270, 180: Image.Transpose.ROTATE_180, 270: Image.Transpose.ROTATE_90}
    turned: Image.Image = image.transpose(turn[rotation]) if rotation else image
    return turned


def _rendered(page: PdfPage, width: int, height: int) -> Image:
    from pypdfium2 import PdfBitmap, raw

    bitmap = PdfBitmap.new_native(width, height, raw.FPDFBitmap_BGR)
    bitmap.fill_rect((255, 255, 255, 255), 0, 0, width, height)
    raw.FPDF_RenderPageBitmap(bitmap, page, 0, 0, width, height, 0, raw.FPDF_ANNOT)
    _draw_fields(bitmap, page, 0, 0, width, height)
    image: Image = bitmap.to_pil().convert("L")
    return image


def _draw_fields(bitmap: PdfBitmap, page: PdfPage, left: int, top: int, width: int, height: int) -> None:
    """Draw what is filled in: fields of a form are no part of the page's content. The page has this place and size."""
    from pypdfium2 import raw

    if page.formenv:
        raw.FPDF_FFLDraw(page.formenv, bitmap, page, left, top, width, height, 0, raw.FPDF_ANNOT)
