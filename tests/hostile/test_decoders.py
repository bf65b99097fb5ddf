"""No decoder is asked that was not promised, and no filter of a PDF makes gigabytes of a few bytes."""

from __future__ import annotations

import io
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

import sauvolanet
from sauvolanet.errors import UnreadablePage
from sauvolanet.files.decode import open_here
from sauvolanet.files.document import DecodedPage

from . import making


def read(data: bytes, dpi: float = 72) -> DecodedPage:
    with open_here(io.BytesIO(data), "page", dpi=dpi, max_pixels=10_000_000) as document:
        return document.page(0)


@pytest.fixture
def no_programs(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What tries to start a program."""
    started: list[object] = []

    def refuse(command: object, *_: object, **__: object) -> None:
        started.append(command)
        raise OSError("no program may be started here")

    for name in ("Popen", "check_call", "check_output", "call", "run"):
        monkeypatch.setattr(subprocess, name, refuse)
    monkeypatch.setattr("PIL.EpsImagePlugin.gs_binary", None)  # Pillow remembers that it found no Ghostscript
    return started


@pytest.mark.parametrize(
    "filters", ["/DCTDecode", "/JPXDecode", "[/FlateDecode/DCTDecode]", "[/ASCII85Decode/JPXDecode]"]
)
@pytest.mark.parametrize("script", [making.POSTSCRIPT, making.ENDLESS_POSTSCRIPT], ids=["once", "endless"])
def test_postscript_inside_a_pdf_never_runs(no_programs, filters, script):
    data = {"[/F": zlib.compress, "[/A": making.ascii85}.get(filters[:3], bytes)(script)
    with pytest.raises(UnreadablePage, match="damaged"):
        read(making.pdf_image(data, filters))
    assert no_programs == []


@pytest.mark.parametrize("kind", ["GIF", "PNG", "TIFF", "BMP", "PPM"])
def test_an_embedded_image_is_of_the_format_its_filter_names(kind):
    for filter, other in (("/DCTDecode", "JPEG2000"), ("/JPXDecode", "JPEG")):
        for format in (kind, other):
            with pytest.raises(UnreadablePage, match="damaged"):
                read(making.pdf_image(making.image(format), filter))


def test_postscript_as_a_file_never_runs(no_programs):
    with pytest.raises(UnreadablePage):
        read(making.POSTSCRIPT)
    assert no_programs == []


def test_images_and_pdfs_are_opened_in_one_place():
    places = []
    for path in Path(sauvolanet.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        places += [path.name] * (text.count("Image.open(") + text.count("PdfDocument("))
    assert sorted(places) == ["formats.py", "pdf.py"]


@pytest.mark.parametrize("filters", ["/DCTDecode", "[/FlateDecode/DCTDecode]", "[/ASCIIHexDecode/DCTDecode]",
                                     "[/ASCII85Decode/DCTDecode]", "[/ASCII85Decode/FlateDecode/DCTDecode]"])  # fmt: skip
def test_honest_chains_before_a_jpeg_are_read(filters):
    data = making.image("JPEG")
    for name in reversed(filters.strip("[/]").split("/")[:-1]):
        data = {"FlateDecode": zlib.compress, "ASCIIHexDecode": lambda d: d.hex().encode() + b">",
                "ASCII85Decode": making.ascii85}[name](data)  # fmt: skip
    assert np.abs(read(making.pdf_image(data, filters)).gray.astype(int) - making.page()).max() < 20


@pytest.mark.parametrize("filters", ["/FlateDecode", "[/FlateDecode/FlateDecode]", "[/ASCIIHexDecode/FlateDecode]",
                                     "[/ASCII85Decode/FlateDecode]", "/ASCII85Decode", "/ASCIIHexDecode"])  # fmt: skip
def test_honest_chains_of_pixels_are_read(filters):
    data = making.page().tobytes()
    for name in reversed(filters.strip("[/]").split("/")):
        data = {"FlateDecode": zlib.compress, "ASCIIHexDecode": lambda d: d.hex().encode() + b">",
                "ASCII85Decode": making.ascii85}[name](data)  # fmt: skip
    assert (read(making.pdf_image(data, filters)).gray == making.page()).all()


MEASURED = """
import io, resource, sys
from sauvolanet.errors import UnreadablePage
from sauvolanet.files.decode import open_here
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    with open_here(io.BytesIO(sys.stdin.buffer.read()), "page", dpi=72, max_pixels=10_000_000) as document:
        document.page(0)
except UnreadablePage as problem:
    print(problem)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1000)
"""


@pytest.mark.parametrize("filters", ["/FlateDecode", "[/FlateDecode/FlateDecode]", "[/ASCIIHexDecode/FlateDecode]",
                                     "[/FlateDecode/DCTDecode]", "[/FlateDecode/FlateDecode/DCTDecode]",
                                     "[/FlateDecode/CCITTFaxDecode]"])  # fmt: skip
def test_chains_of_filters_take_no_gigabytes(filters):
    """Nine hundred megabytes of zeros; the page has 4800 pixels."""
    packed = making.hex_of_deflated(900) if "Hex" in filters else making.deflated(900)
    if filters.count("Flate") == 2:
        packed = zlib.compress(packed, 9)
    done = subprocess.run(
        [sys.executable, "-c", MEASURED], input=making.pdf_image(packed, filters), capture_output=True
    )
    *said, megabytes = done.stdout.decode().splitlines()
    assert len(said) == 1 and "far more" in said[0], (said, done.stderr)
    assert int(megabytes) < 400


@pytest.mark.parametrize(
    "filters", ["[/LZWDecode/FlateDecode]", "[/FlateDecode/RunLengthDecode]", "[/LZWDecode/LZWDecode]"]
)
def test_other_chains_are_refused(filters):
    with pytest.raises(UnreadablePage, match="chain of filters"):
        read(making.pdf_image(zlib.compress(making.page().tobytes()), filters))
