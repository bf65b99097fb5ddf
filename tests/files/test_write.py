"""What is written is read back with other libraries: libtiff's and poppler's tools, tifffile, pikepdf, OpenCV."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from pathlib import Path

import cv2
import numpy as np
import pikepdf
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from sauvolanet.errors import OutputError
from sauvolanet.files import write
from sauvolanet.files.write import FORMATS, Pixels

DPI = (300.0, 200.0)
TEXT = "Grüße, 1 letter"


def pages() -> list[Pixels]:
    rng = np.random.default_rng(0)
    shapes = [(101, 77), (64, 160), (1, 1), (3, 9)]
    return [*(rng.random(shape) < 0.2 for shape in shapes), np.zeros((40, 50), bool), np.ones((20, 30), bool)]


def write_file(path: Path, format: str, pixels: list[Pixels], text: str = TEXT, dpi: write.Dpi = DPI) -> Path:
    with path.open("w+b") as file:
        writer = FORMATS[format][2](file, 300)
        for page in pixels:
            writer.add(page, dpi, text)
        writer.close()
    return path


def tool(name: str, *args: object) -> str:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed (Debian: libtiff-tools, poppler-utils, qpdf)")
    done = subprocess.run([name, *map(str, args)], capture_output=True, text=True, check=True)
    assert not done.stderr
    return done.stdout


def test_png_is_one_bit_with_resolution_and_description(tmp_path: Path) -> None:
    for i, ink in enumerate(pages()):
        path = write_file(tmp_path / f"{i}.png", "png", [ink])
        assert (cv2.imread(str(path), cv2.IMREAD_UNCHANGED) == np.where(ink, 0, 255)).all()
        assert path.read_bytes()[24] == 1  # bit depth in the header
        with Image.open(path) as image:
            assert image.info["dpi"] == pytest.approx(DPI, abs=0.02)  # PNG counts whole pixels per metre
            assert image.info["Description"] == TEXT


def test_tiff_pages_in_tifffile_and_opencv(tmp_path: Path) -> None:
    inks = pages()
    path = write_file(tmp_path / "a.tif", "tiff", inks)
    with tifffile.TiffFile(path) as tiff:
        assert len(tiff.pages) == len(inks)
        for page, ink in zip(tiff.pages, inks, strict=True):
            assert page.shape == ink.shape
            assert page.compression == tifffile.COMPRESSION.CCITT_T6
            assert page.photometric == tifffile.PHOTOMETRIC.MINISWHITE
            assert (page.bitspersample, page.resolution, page.resolutionunit.name) == (1, DPI, "INCH")
            assert page.description == TEXT
    ok, read = cv2.imreadmulti(str(path), flags=cv2.IMREAD_GRAYSCALE)
    assert ok
    assert all((page == np.where(ink, 0, 255)).all() for page, ink in zip(read, inks, strict=True))


def test_tiff_pages_in_libtiff(tmp_path: Path) -> None:
    inks = pages()
    path = write_file(tmp_path / "a.tif", "tiff", inks)
    told = tool("tiffinfo", path).split("=== TIFF directory")[1:]
    assert len(told) == len(inks)
    for text, ink in zip(told, inks, strict=True):
        assert "Compression Scheme: CCITT Group 4" in text
        assert "Photometric Interpretation: min-is-white" in text
        assert f"Image Width: {ink.shape[1]} Image Length: {ink.shape[0]}" in text
        assert "Resolution: 300, 200 pixels/inch" in text
        assert "Bits/Sample: 1" in text
        assert f"ImageDescription: {TEXT}" in text


def test_pdf_pages_in_pikepdf(tmp_path: Path) -> None:
    inks = pages()
    with pikepdf.open(write_file(tmp_path / "a.pdf", "pdf", inks)) as pdf:
        assert not pdf.check_pdf_syntax()
        assert str(pdf.docinfo["/Title"]) == TEXT
        for page, ink in zip(pdf.pages, inks, strict=True):
            size = [0, 0, ink.shape[1] * 72 / DPI[0], ink.shape[0] * 72 / DPI[1]]
            assert [float(side) for side in page.mediabox] == pytest.approx(size, abs=1e-5)
            image = page.Resources.XObject.Im
            assert (image.Filter, image.DecodeParms.K, image.BitsPerComponent) == ("/CCITTFaxDecode", -1, 1)
            assert (np.asarray(pikepdf.PdfImage(image).as_pil_image()) != ink).all()  # PIL: True = white


def test_pdf_pages_in_poppler(tmp_path: Path) -> None:
    inks = pages()
    path = write_file(tmp_path / "a.pdf", "pdf", inks)
    listed = [line.split() for line in tool("pdfimages", "-list", path).splitlines()[2:]]
    assert [(int(r[3]), int(r[4]), r[8], r[12], r[13]) for r in listed] == [
        (ink.shape[1], ink.shape[0], "ccitt", "300", "200") for ink in inks
    ]
    info = tool("pdfinfo", "-l", len(inks), path)
    assert re.search(rf"Pages: +{len(inks)}\n", info)
    assert TEXT in info
    sizes = [(float(w), float(h)) for w, h in re.findall(r"size: +([\d.]+) x ([\d.]+) pts", info)]
    assert sizes == [pytest.approx((i.shape[1] * 72 / 300, i.shape[0] * 72 / 200), rel=1e-4) for i in inks]
    tool("pdfimages", "-png", path, tmp_path / "page")
    for i, ink in enumerate(inks):
        assert (cv2.imread(str(tmp_path / f"page-{i:03d}.png"), 0) == np.where(ink, 0, 255)).all()
    assert "No syntax or stream encoding errors" in tool("qpdf", "--check", path)


@pytest.mark.parametrize("format", FORMATS)
def test_gray_pages_keep_every_level(tmp_path: Path, format: str) -> None:
    gray = np.arange(35 * 21, dtype=np.int64).reshape(35, 21).astype(np.uint8)
    path = write_file(tmp_path / f"a{FORMATS[format][0]}", format, [gray])
    if format == "pdf":
        tool("pdfimages", "-png", path, tmp_path / "page")
        path = tmp_path / "page-000.png"
    assert (cv2.imread(str(path), cv2.IMREAD_UNCHANGED) == gray).all()


@pytest.mark.parametrize("format", FORMATS)
def test_without_resolution_and_description(tmp_path: Path, format: str) -> None:
    ink = np.eye(30, dtype=bool)
    path = write_file(tmp_path / f"a{FORMATS[format][0]}", format, [ink], text="", dpi=None)
    if format == "pdf":
        assert "Page size:       7.2 x 7.2 pts" in tool("pdfinfo", path)
    else:
        with Image.open(path) as image:
            assert image.info.get("dpi", (1, 1)) == (1, 1)  # what Pillow says of a TIFF without


@given(st.integers(1, 70), st.integers(1, 40), st.integers(0, 2**32 - 1), st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_group_4_round_trip(width: int, height: int, seed: int, share: float) -> None:
    ink = np.random.default_rng(seed).random((height, width)) < share
    file = io.BytesIO()
    write.TiffWriter(file).add(ink, None, "")
    file.seek(0)
    with Image.open(file) as image:
        assert (np.asarray(image) != ink).all()  # PIL: True = white


@pytest.mark.parametrize("dpi", [(79_999.99999, 66_666.667), (25.4 / 3, 0.001), DPI])
def test_any_resolution_fits_into_the_32_bits_of_a_tiff(tmp_path: Path, dpi: tuple[float, float]) -> None:
    path = write_file(tmp_path / "a.tif", "tiff", [np.eye(3, dtype=bool)], dpi=dpi)
    with tifffile.TiffFile(path) as tiff:
        assert tiff.pages[0].resolution == pytest.approx(dpi, abs=1e-4)


def test_a_tiff_beyond_4_gb_says_so() -> None:
    with pytest.raises(OutputError, match="at most 4 GB"):
        write.four_bytes(2**32)
