"""Pages and PDFs made by hand, so that the tests know every pixel."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sauvolanet.files import binarize_many


@pytest.fixture
def gray() -> np.ndarray:
    """A page of noise-free writing: 120 × 90, paper 230, strokes 30, a shape without symmetry."""
    page = np.full((120, 90), 230, np.uint8)
    page[20:24, 10:70] = 30
    page[40:100, 30:33] = 30
    page[90:95, 5:20] = 60
    return page


@pytest.fixture
def scans(tmp_path: Path, gray: np.ndarray) -> Path:
    """A folder with six different pages, two of them in a sub-folder."""
    folder = tmp_path / "scans"
    (folder / "box").mkdir(parents=True)
    for i in range(6):
        page = gray.copy()
        page[60 : 62 + i, 50:80] = 20
        name = f"box/{i}.png" if i % 3 == 2 else f"{i}.png"
        Image.fromarray(page).save(folder / name, dpi=(300, 300))
    return folder


@pytest.fixture
def run() -> Callable[..., list[dict[str, Any]]]:
    """A batch with Otsu's method, unless options say otherwise: its rows."""
    return lambda inputs, output, **options: list(binarize_many(inputs, output, **{"method": "otsu", **options}))


@pytest.fixture
def statuses() -> Callable[[list[dict[str, Any]]], list[str]]:
    """What became of the pages, sorted."""
    return lambda rows: sorted(row["status"] for row in rows)


@pytest.fixture
def make_pdf() -> Callable[..., bytes]:
    return _make_pdf


def _make_pdf(images: list[np.ndarray], size: tuple[float, float], content: bytes, page: bytes = b"") -> bytes:
    """A PDF of one page: images /I0, /I1 … drawn by ``content``; ``page`` is added to the page's dictionary."""
    names = b" ".join(b"/I%d %d 0 R" % (i, 5 + i) for i in range(len(images)))
    bodies = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 %.4f %.4f]/Contents 4 0 R%s/Resources<</XObject<<%s>>"
        b"/Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>" % (*size, page, names),
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
    ]
    for image in images:
        data = zlib.compress(image.tobytes())
        space = b"/DeviceGray" if image.ndim == 2 else b"/DeviceRGB"
        bodies.append(
            b"<</Type/XObject/Subtype/Image/Width %d/Height %d/BitsPerComponent 8/ColorSpace%s/Filter/FlateDecode"
            b"/Length %d>>stream\n%s\nendstream" % (image.shape[1], image.shape[0], space, len(data), data)
        )
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(bodies, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    count = len(bodies) + 1
    return out + b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        count, table, count, len(out),
    )  # fmt: skip


def local_results(scans: Path, tmp_path: Path, run: Callable[..., list[dict[str, Any]]]) -> dict[str, bytes]:
    """The oracle: the same batch on disk."""
    return {row["output"]: (tmp_path / "local" / row["output"]).read_bytes() for row in run(scans, tmp_path / "local")}


def make_book(path: Path, gray: np.ndarray, pages: int = 4) -> Path:
    images = [Image.fromarray(np.roll(gray, i, 0)) for i in range(pages)]
    images[0].save(path, save_all=True, append_images=images[1:], dpi=(200, 200), compression="tiff_lzw")
    return path
