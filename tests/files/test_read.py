from __future__ import annotations

import io
import struct
import threading
import warnings
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sauvolanet.errors import PageTooLarge, UnreadablePage
from sauvolanet.files.read import DecodedPage, open_document
from sauvolanet.page.gray import GrayPage, gray_page, to_gray


def read(data: bytes, *, dpi: float = 300, max_pixels: int = 10**8, channel: str = "gray") -> list[DecodedPage]:
    with open_document(io.BytesIO(data), "the page", dpi=dpi, max_pixels=max_pixels, channel=channel) as document:
        return [document.page(i) for i in range(len(document))]


def saved(image: Image.Image, format: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


@pytest.mark.parametrize("format", ["PNG", "TIFF", "BMP", "PPM", "GIF", "WEBP", "JPEG2000"])
def test_lossless_formats_give_the_same_pixels(gray: np.ndarray, format: str) -> None:
    options = {"WEBP": {"lossless": True}}.get(format, {})
    image = Image.fromarray(gray).convert("RGB" if format == "WEBP" else "L")
    (page,) = read(saved(image, format, **options))
    assert (page.gray == gray).all()


def test_jpeg_is_read(gray: np.ndarray) -> None:
    (page,) = read(saved(Image.fromarray(gray), "JPEG", quality=95, dpi=(240, 240), comment="a letter"))
    assert np.abs(page.gray.astype(int) - gray).mean() < 3
    assert page.dpi == (240, 240)
    assert page.description == "a letter"


def test_what_an_encoder_says_of_itself_is_no_description(gray: np.ndarray) -> None:
    data = saved(Image.fromarray(gray), "JPEG2000")
    assert b"OpenJPEG" in data
    assert read(data)[0].description == ""


def test_resolution_of_webp_is_in_its_exif(gray: np.ndarray) -> None:
    exif = Image.Exif()
    exif[0x011A], exif[0x011B], exif[0x0128] = 100.0, 50.0, 3  # per centimetre
    (page,) = read(saved(Image.fromarray(gray), "WEBP", exif=exif))
    assert page.dpi == pytest.approx((254, 127))


@pytest.mark.parametrize("dpi", [(1, 1), (0, 0), (72, 1)])
def test_a_resolution_that_is_none(gray: np.ndarray, dpi: tuple[int, int]) -> None:
    (page,) = read(saved(Image.fromarray(gray), "TIFF", dpi=dpi))
    assert page.dpi is None


@pytest.mark.parametrize(("wide", "dpi"), [(0.3, None), (0.36, 18_000), (648, 10), (720, None)])
def test_a_resolution_of_a_pdf_that_is_none(make_pdf: Callable[..., bytes], wide: float, dpi: float | None) -> None:
    """A scan of 90 × 90 pixels on a page of so many points, 72 to the inch: 21,600 dpi and 9 dpi are nonsense."""
    draw = b"q %f 0 0 %f 0 0 cm /I0 Do Q" % (wide, wide)
    (page,) = read(make_pdf([np.full((90, 90), 200, np.uint8)], (wide, wide), draw))
    assert page.gray.shape == (90, 90)
    assert page.dpi == (pytest.approx((dpi, dpi), rel=1e-4) if dpi else None)


@pytest.mark.parametrize("compression", ["raw", "tiff_lzw"])
def test_turned_tiff_is_upright_and_its_resolution_turned_with_it(gray: np.ndarray, compression: str) -> None:
    data = saved(Image.fromarray(gray), "TIFF", tiffinfo={274: 6}, dpi=(300, 150), compression=compression)
    (page,) = read(data)
    assert (page.gray == np.rot90(gray, -1)).all()
    assert page.dpi == (150, 300)


def test_pages_of_a_tiff_without_its_thumbnail(gray: np.ndarray) -> None:
    from tifffile import TiffWriter

    file = io.BytesIO()
    with TiffWriter(file) as tiff:
        tiff.write(gray)
        tiff.write(gray[::4, ::4], subfiletype=1)
        tiff.write(gray[:, ::-1])
    pages = read(file.getvalue())
    assert [p.gray.shape for p in pages] == [(120, 90)] * 2


def test_animation_is_one_page(gray: np.ndarray) -> None:
    image = Image.fromarray(gray)
    assert len(read(saved(image, "GIF", save_all=True, append_images=[Image.fromarray(255 - gray)]))) == 1


@pytest.mark.parametrize("format", ["PNG", "JPEG", "TIFF", "JPEG2000", "BMP", "GIF", "PPM"])
def test_cut_short(format: str) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (200, 200), np.uint8)
    data = saved(Image.fromarray(noise), format)
    for length in (len(data) // 2, len(data) * 9 // 10):
        with pytest.raises(UnreadablePage, match="the page"):
            read(data[:length])


@pytest.mark.parametrize("data", [b"", b"not an image at all", b"\x89PNG\r\n\x1a\n", b"%PDF-1.7\nnothing", b"II*\0"])
def test_no_image(data: bytes) -> None:
    with pytest.raises(UnreadablePage, match="the page"):
        read(data)


def test_a_bomb_is_refused_from_its_header() -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2**31 - 1, 2**31 - 1, 1, 0, 0, 0, 0))
    bomb += chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    with pytest.raises(PageTooLarge, match="2147483647 × 2147483647 pixels"):
        read(bomb)


def test_our_limit_replaces_that_of_pillow(gray: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)  # Pillow would refuse 10,800 pixels
    data = saved(Image.fromarray(gray), "PNG")
    assert len(read(data)) == 1
    assert Image.MAX_IMAGE_PIXELS == 100
    with pytest.raises(PageTooLarge, match="more than 10799"):
        read(data, max_pixels=120 * 90 - 1)
    assert len(read(data, max_pixels=120 * 90)) == 1


def test_threads_decode_at_the_same_time(gray: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads meet inside the decoder; what is changed for them is put back when the last one leaves."""
    meet = threading.Barrier(2, timeout=30)

    def gray_together(image: object, channel: str) -> GrayPage:
        meet.wait()
        return gray_page(image, channel)

    monkeypatch.setattr("sauvolanet.files.images.gray_page", gray_together)
    before = Image.MAX_IMAGE_PIXELS, warnings.filters[:]
    data = saved(Image.fromarray(gray), "PNG")
    with ThreadPoolExecutor(2) as pool:
        pages = list(pool.map(read, [data, data]))
    assert all((page.gray == gray).all() for (page,) in pages)
    assert before == (Image.MAX_IMAGE_PIXELS, warnings.filters)


@pytest.mark.parametrize("format", ["PNG", "BMP", "TIFF", "JPEG"])
def test_whole_resolutions_stay_whole(gray: np.ndarray, format: str) -> None:
    """PNG and BMP count pixels per metre, of which 300 dpi is no whole number."""
    (page,) = read(saved(Image.fromarray(gray), format, dpi=(300, 600)))
    assert page.dpi == (300, 600)


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize(
    ("size", "content"),
    [
        ((90 * 0.24, 120 * 0.24), b"q %f 0 0 %f 0 0 cm /I0 Do Q" % (90 * 0.24, 120 * 0.24)),
        ((595.32, 841.92), b"q 594.8 0 0 841 .3 .2 cm /I0 Do Q"),
        ((612, 792), b"q 612 0 0 -792 0 792 cm /I0 Do Q"),  # mirrored
    ],
)
def test_a_scanned_pdf_page_gives_the_scans_own_pixels(
    gray: np.ndarray, make_pdf: Callable[..., bytes], rotation: int, size: tuple[float, float], content: bytes
) -> None:
    rng = np.random.default_rng(1)
    noisy = np.clip(gray + rng.integers(-25, 25, gray.shape), 0, 255).astype(np.uint8)
    (page,) = read(make_pdf([noisy], size, content, b"/Rotate %d" % rotation))
    upright = noisy[::-1] if b"-792" in content else noisy
    assert (page.gray == np.rot90(upright, -rotation // 90)).all()
    expected = 90 / size[0] * 72, 120 / size[1] * 72
    assert page.dpi == pytest.approx(expected[::-1] if rotation % 180 else expected, rel=1e-4)


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize("rotation", [0, 90])
def test_a_scan_that_its_pdf_page_turns(
    gray: np.ndarray, make_pdf: Callable[..., bytes], turn: int, rotation: int
) -> None:
    """The image lies on its side and the page's content turns it, as some scanners' programs write it."""
    noisy = np.clip(gray + np.random.default_rng(1).integers(-25, 25, gray.shape), 0, 255).astype(np.uint8)
    draw = {1: b"q 0 45 -60 0 60 0 cm /I0 Do Q", -1: b"q 0 -45 60 0 0 45 cm /I0 Do Q"}[turn]
    (page,) = read(make_pdf([noisy], (60, 45), draw, b"/Rotate %d" % rotation))
    assert (page.gray == np.rot90(noisy, turn - rotation // 90)).all()
    assert page.dpi == (144, 144)


def pdf_with(make_pdf: Callable[..., bytes], data: bytes, entries: bytes) -> bytes:
    """A PDF page of 90 × 120 pixels that is one image with these data and entries of its dictionary."""
    whole = make_pdf([np.zeros((120, 90), np.uint8)], (90, 120), b"q 90 0 0 120 0 0 cm /I0 Do Q")
    begin, end = whole.index(b"/BitsPerComponent"), whole.rindex(b"endstream")
    # the reader finds its way without the table of offsets
    return whole[:begin] + entries + b"/Length %d>>stream\n" % len(data) + data + b"\n" + whole[end:]


@pytest.mark.parametrize("filter", [False, True], ids=["plain", "png-filter"])
@pytest.mark.parametrize(
    ("space", "bits"),
    [(b"/DeviceGray", bits) for bits in (1, 2, 4, 8, 16)]
    + [(b"/DeviceRGB", bits) for bits in (1, 2, 4, 8, 16)]
    + [(b"[/Indexed/DeviceGray 1<1EE6>]", bits) for bits in (1, 2, 4, 8)],
)
def test_images_of_any_depth_in_a_pdf(
    gray: np.ndarray, make_pdf: Callable[..., bytes], space: bytes, bits: int, filter: bool
) -> None:
    dark, light = (0x1E, 0xE6) if b"Indexed" in space else (0, 255)
    colours = 3 if b"RGB" in space else 1
    levels = np.where(gray < 128, 0, 1 if b"Indexed" in space else 2**bits - 1).repeat(colours, 1)
    rows = np.packbits(((levels[..., None] >> np.arange(bits)[::-1]) & 1).reshape(len(gray), -1), axis=1)
    entries = b"/BitsPerComponent %d/ColorSpace%s/Filter/FlateDecode" % (bits, space)
    if filter:
        rows = np.insert(rows, 0, 0, axis=1)  # each begins with the number of its filter: none
        entries += b"/DecodeParms<</Predictor 15/Columns 90/Colors %d/BitsPerComponent %d>>" % (colours, bits)
    (page,) = read(pdf_with(make_pdf, zlib.compress(rows.tobytes()), entries))
    assert (page.gray == np.where(gray < 128, dark, light)).all()
    with pytest.raises(UnreadablePage, match="damaged or cut short"):
        read(pdf_with(make_pdf, zlib.compress(rows[:50].tobytes()), entries))


@pytest.mark.parametrize("entries", [b"/BitsPerComponent 3/ColorSpace/DeviceGray", b"/BitsPerComponent 8/ColorSpace/X"])
def test_an_image_in_a_pdf_that_cannot_be_shown_is_no_white_paper(
    gray: np.ndarray, make_pdf: Callable[..., bytes], entries: bytes
) -> None:
    with pytest.raises(
        UnreadablePage, match="an image on page 1 of the page is damaged or cut short: it cannot be shown"
    ):
        read(pdf_with(make_pdf, gray.tobytes(), entries))


@pytest.mark.parametrize(("format", "filter"), [("JPEG", b"DCTDecode"), ("JPEG2000", b"JPXDecode")])
def test_an_image_larger_than_its_pdf_says(make_pdf: Callable[..., bytes], format: str, filter: bytes) -> None:
    bomb = saved(Image.new("L", (400, 300)), format)
    entries = b"/BitsPerComponent 8/ColorSpace/DeviceGray/Filter/" + filter
    with pytest.raises(PageTooLarge, match="an image on page 1 of the page has 400 × 300 pixels"):
        read(pdf_with(make_pdf, bomb, entries), max_pixels=100_000)
    with pytest.raises(UnreadablePage, match=r"cut short: cannot identify image file$"):
        read(pdf_with(make_pdf, b"no image", entries))


def test_colour_scan_in_a_pdf_has_the_gray_of_the_same_image(make_pdf: Callable[..., bytes]) -> None:
    colour = np.random.default_rng(2).integers(0, 256, (50, 40, 3), np.uint8)
    (page,) = read(make_pdf([colour], (40, 50), b"q 40 0 0 50 0 0 cm /I0 Do Q"))
    assert (page.gray == to_gray(colour)).all()


@pytest.mark.parametrize("draw", [b"", b" 0 0 0 0 re f"], ids=["scan", "rendered"])
def test_a_document_gives_the_channel_asked_for(make_pdf: Callable[..., bytes], draw: bytes) -> None:
    colour = np.full((50, 40, 3), (200, 120, 60), np.uint8)
    pdf = make_pdf([colour], (40, 50), b"q 40 0 0 50 0 0 cm /I0 Do Q" + draw)
    for data in (pdf, saved(Image.fromarray(colour), "PNG")):
        for name, level in (("red", 200), ("green", 120), ("blue", 60), ("gray", 137)):
            (page,) = read(data, dpi=72, channel=name)
            assert page.channel == name
            assert (page.gray[:40] == level).all()  # the path leaves a mark in the last row


def test_invisible_text_leaves_a_scan_a_scan(gray: np.ndarray, make_pdf: Callable[..., bytes]) -> None:
    draw = b"q 90 0 0 120 0 0 cm /I0 Do Q BT /F 10 Tf 3 Tr 10 10 Td (words) Tj ET"
    (page,) = read(make_pdf([gray], (90, 120), draw))
    assert (page.gray == gray).all()


@pytest.mark.parametrize(
    "content",
    [
        b"q 90 0 0 120 0 0 cm /I0 Do Q BT /F 10 Tf 10 10 Td (words) Tj ET",  # visible text
        b"q 60 0 0 80 10 10 cm /I0 Do Q",  # the image does not cover the page
        b"q 90 0 0 120 0 0 cm /I0 Do Q q 9 0 0 12 0 0 cm /I0 Do Q",  # two images
        b"q 90 0 0 120 0 0 cm /I0 Do Q 10 10 30 30 re f",  # a drawing over the image
        b"q 89 5 -5 119 2 0 cm /I0 Do Q",  # askew
    ],
)
def test_other_pdf_pages_are_rendered(gray: np.ndarray, make_pdf: Callable[..., bytes], content: bytes) -> None:
    (page,) = read(make_pdf([gray], (90, 120), content), dpi=144)
    assert page.gray.shape == (240, 180)
    assert page.dpi == (144, 144)
    assert page.gray.min() < 100


def test_pdf_page_without_content_is_blank_and_of_the_right_size(make_pdf: Callable[..., bytes]) -> None:
    (page,) = read(make_pdf([], (72, 144), b""), dpi=100)
    assert page.gray.shape == (200, 100)
    assert (page.gray == 255).all()


def test_absurd_pdf_sizes_are_refused(gray: np.ndarray, make_pdf: Callable[..., bytes]) -> None:
    with pytest.raises(PageTooLarge, match=r"page 1 of the page at 300 dpi has 60000 × 60000 pixels"):
        read(make_pdf([], (14400, 14400), b""))
    with pytest.raises(PageTooLarge, match="an image on page 1"):
        read(make_pdf([gray], (90, 120), b"q 9 0 0 12 0 0 cm /I0 Do Q"), max_pixels=5000)


def test_encrypted_pdf(gray: np.ndarray, make_pdf: Callable[..., bytes], tmp_path: Path) -> None:
    pikepdf = pytest.importorskip("pikepdf")
    locked = tmp_path / "locked.pdf"
    with pikepdf.open(io.BytesIO(make_pdf([gray], (90, 120), b""))) as pdf:
        pdf.save(locked, encryption=pikepdf.Encryption(user="secret", owner="secret"))
    with pytest.raises(UnreadablePage, match="is encrypted; remove the password"):
        read(locked.read_bytes())


def test_pdf_without_pages(make_pdf: Callable[..., bytes]) -> None:
    """Also where another document, or none, had an error before."""
    with pytest.raises(UnreadablePage, match="not a PDF that can be read"):
        read(b"%PDF-1.7\nnothing")
    data = make_pdf([], (90, 120), b"").replace(b"/Kids[3 0 R]/Count 1", b"/Kids[     ]/Count 0")
    with pytest.raises(UnreadablePage, match="the page has no pages"):
        read(data)


def test_a_broken_title_is_none(gray: np.ndarray, make_pdf: Callable[..., bytes]) -> None:
    data = make_pdf([gray], (90, 120), b"q 90 0 0 120 0 0 cm /I0 Do Q")
    for title, expected in {b"<FEFF0041>": "A", b"<FEFFD800>": ""}.items():  # the second is half a surrogate pair
        about = b"9 0 obj\n<</Title%s>>\nendobj\nxref\n0" % title
        (page,) = read(data.replace(b"xref\n0", about, 1).replace(b"/Root 1 0 R", b"/Root 1 0 R/Info 9 0 R"))
        assert page.description == expected


def test_damaged_pdf(gray: np.ndarray, make_pdf: Callable[..., bytes]) -> None:
    with pytest.raises(UnreadablePage, match="the page"):
        read(make_pdf([gray], (90, 120), b"")[:60])


@pytest.mark.parametrize(
    "draw", [b"q 90 0 0 120 0 0 cm /I0 Do Q", b"q 60 0 0 80 9 9 cm /I0 Do Q"], ids=["scan", "picture"]
)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.97])
def test_a_damaged_image_in_a_pdf_is_no_white_paper(draw: bytes, share: float, make_pdf: Callable[..., bytes]) -> None:
    """The bytes behind this share of the image's data are zeros; the renderer alone would say nothing."""
    noisy = np.random.default_rng(1).integers(0, 256, (240, 180)).astype(np.uint8)
    data = make_pdf([noisy], (90, 120), draw)
    begin, end = data.rindex(b">>stream") + 9, data.rindex(b"endstream") - 1
    assert read(data)[0].gray.std() > 1
    at = begin + round(share * (end - begin))
    with pytest.raises(UnreadablePage, match=r"an image on page 1 of .* is damaged or cut short"):
        read(data[:at] + b"\0" * (end - at) + data[end:])


@pytest.mark.parametrize("share", [0.1, 0.5, 0.97])
def test_a_damaged_jpeg_in_a_pdf(share: float) -> None:
    noisy = Image.fromarray(np.random.default_rng(1).integers(0, 256, (240, 180)).astype(np.uint8))
    made = io.BytesIO()
    noisy.save(made, "PDF")
    data = made.getvalue()
    begin = data.index(b"\xff\xd8\xff")
    end = data.index(b"\xff\xd9", begin) + 2
    assert read(data)[0].gray.shape == (240, 180)
    length = end - begin
    cut = data[: begin + round(share * length)] + data[end:]  # the reader finds its way without the table of offsets
    cut = cut.replace(b"/Length %d" % length, b"/Length %d" % round(share * length))
    with pytest.raises(UnreadablePage, match=r"an image on page 1 of .* is damaged or cut short"):
        read(cut)


@pytest.mark.parametrize("rotation", [0, 90])
@pytest.mark.parametrize("content", [b"q 90 0 0 120 0 0 cm /I0 Do Q", b""], ids=["scan", "drawing"])
def test_what_is_filled_in_a_pdf_form_is_seen(
    gray: np.ndarray, make_pdf: Callable[..., bytes], content: bytes, rotation: int
) -> None:
    """A field of 30 × 10 points with a black ground, whose look is left to the reader."""
    entries = b"/Rotate %d/Annots[9 0 R]" % rotation
    data = make_pdf([gray], (90, 120), content, entries).replace(b"/Catalog", b"/Catalog/AcroForm<</Fields[9 0 R]>>")
    field = b"<</Type/Annot/Subtype/Widget/FT/Tx/T(x)/F 4/Rect[50 70 80 80]/MK<</BG[0]>>>>"
    (page,) = read(data.replace(b"xref\n0", b"9 0 obj\n%s\nendobj\nxref\n0" % field, 1), dpi=72)
    expected = gray.copy() if content else np.full_like(gray, 255)
    expected[40:50, 50:80] = 0
    assert (page.gray == np.rot90(expected, -rotation // 90)).all()


def test_forms_of_a_kind_that_is_not_drawn_are_no_news(
    make_pdf: Callable[..., bytes], caplog: pytest.LogCaptureFixture
) -> None:
    data = make_pdf([], (90, 120), b"").replace(b"/Catalog", b"/Catalog/AcroForm<</Fields[]/XFA[(a)9 0 R]>>")
    read(data.replace(b"xref\n0", b"9 0 obj\n<</Length 1>>stream\n \nendstream\nendobj\nxref\n0", 1), dpi=72)
    assert not caplog.messages


def test_a_tiff_page_without_a_resolution_has_none(gray: np.ndarray) -> None:
    """Whatever the pages before it, and after it, say."""
    from tifffile import TiffWriter

    file = io.BytesIO()
    with TiffWriter(file) as tiff:
        for dpi in (None, 300, None, 200):
            tiff.write(gray, **({"resolution": (dpi, dpi), "resolutionunit": 2} if dpi else {}))
    assert [page.dpi for page in read(file.getvalue())] == [None, (300, 300), None, (200, 200)]
