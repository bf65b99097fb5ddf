"""Any page becomes gray: dtypes, layouts, modes, orientation, alpha."""

from __future__ import annotations

import io
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from PIL import Image

from sauvolanet.errors import UnreadablePage, UsageError
from sauvolanet.page.gray import to_gray

RNG = np.random.default_rng(0)
GRAY = RNG.integers(0, 256, (12, 17), dtype=np.uint8)
RGB = RNG.integers(0, 256, (12, 17, 3), dtype=np.uint8)


@pytest.mark.parametrize(
    "array",
    [GRAY, GRAY[..., None], GRAY.astype(np.uint16) * 257, GRAY / 255, (GRAY / 255).astype(np.float32), GRAY.astype(np.int64),
     np.asfortranarray(GRAY), np.repeat(GRAY, 2, 1)[:, ::2], GRAY.T.copy().T, np.repeat(GRAY[..., None], 3, 2),
     np.dstack([GRAY, np.full_like(GRAY, 255)])],
    ids=["uint8", "channel", "uint16", "float64", "float32", "int64", "fortran", "strided", "transposed", "rgb", "gray+alpha"],
)  # fmt: skip
def test_every_layout_is_the_same_page(array: np.ndarray) -> None:
    array.flags.writeable = False
    gray = to_gray(array)
    assert gray.dtype == np.uint8
    assert gray.flags.c_contiguous
    assert np.array_equal(gray, GRAY)


def test_arrays_and_pil_agree_to_the_last_level() -> None:
    assert np.array_equal(to_gray(RGB), np.asarray(Image.fromarray(RGB).convert("L")))
    assert np.array_equal(to_gray(Image.fromarray(RGB)), to_gray(RGB))


def test_bool_is_black_and_white() -> None:
    assert to_gray(np.array([[True, False]])).tolist() == [[255, 0]]


def test_alpha_counts_as_paper() -> None:
    rgba = np.zeros((1, 3, 4), np.uint8)
    rgba[0, :, 3] = 0, 128, 255
    assert to_gray(rgba).tolist() == [[255, 127, 0]]
    assert to_gray(Image.fromarray(rgba)).tolist() == [[255, 127, 0]]


def test_sixteen_bits_are_rescaled_not_clipped(tmp_path: Path) -> None:
    wide = np.array([[0, 128, 32768, 65535]], np.uint16)
    Image.fromarray(wide).save(tmp_path / "wide.png")
    for page in (wide, Image.fromarray(wide), Image.open(tmp_path / "wide.png")):
        assert to_gray(page).tolist() == [[0, 0, 128, 255]]


@pytest.mark.parametrize("compression", [None, "zlib"])
@pytest.mark.parametrize("photometric", ["minisblack", "miniswhite"])
def test_sixteen_bits_of_a_tiff_that_another_library_wrote(
    tmp_path: Path, photometric: str, compression: str | None
) -> None:
    wide = GRAY.astype(np.uint16) * 257
    stored = wide if photometric == "minisblack" else 65535 - wide
    tifffile.imwrite(tmp_path / "a.tif", stored, photometric=photometric, compression=compression)
    with Image.open(tmp_path / "a.tif") as image:
        assert np.array_equal(to_gray(image), GRAY)


def test_twelve_bits_are_rescaled(tmp_path: Path) -> None:
    """A TIFF of one row, worked out by hand: four values of 12 bits are six bytes."""
    tags = {256: 4, 257: 1, 258: 12, 259: 1, 262: 1, 273: 8, 277: 1, 278: 1, 279: 6}
    entries = b"".join(struct.pack("<HHII", tag, 4 if tag == 273 else 3, 1, value) for tag, value in tags.items())
    data = bytes.fromhex("000 0FF 800 FFF".replace(" ", ""))
    (tmp_path / "a.tif").write_bytes(
        b"II*\0" + struct.pack("<I", 14) + data + struct.pack("<H", 9) + entries + bytes(4)
    )
    with Image.open(tmp_path / "a.tif") as image:
        assert to_gray(image).tolist() == [[0, 16, 128, 255]]


def test_eight_and_sixteen_bits_in_thirty_two() -> None:
    assert np.array_equal(to_gray(Image.fromarray(GRAY).convert("I")), GRAY)
    assert np.array_equal(to_gray(Image.fromarray(GRAY.astype(np.int32) * 257)), GRAY)


def test_more_than_sixteen_bits_are_no_page() -> None:
    for value in (-1, 65536):
        with pytest.raises(UnreadablePage, match="more than 16 bits"):
            to_gray(Image.new("I", (2, 1), value))


def test_every_level_of_sixteen_bits() -> None:
    levels = np.arange(65536, dtype=np.uint16)
    exact = [(2 * 255 * level + 65535) // (2 * 65535) for level in range(65536)]
    assert to_gray(levels.reshape(128, 512)).ravel().tolist() == exact
    assert to_gray(levels.reshape(512, 128)).ravel().tolist() == np.rint(levels * (255 / 65535)).tolist() == exact


def test_sixteen_bits_need_no_floats_of_the_whole_page() -> None:
    wide = np.zeros((2000, 1000), np.uint16)
    tracemalloc.start()
    to_gray(wide)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * wide.size


def test_cielab_and_premultiplied_gray(tmp_path: Path) -> None:
    lab = Image.merge("LAB", [Image.fromarray(GRAY), Image.fromarray(GRAY[::-1].copy()), Image.fromarray(GRAY)])
    lab.save(tmp_path / "lab.tif")
    with Image.open(tmp_path / "lab.tif") as image:
        assert image.mode == "LAB"
        assert np.array_equal(to_gray(image), GRAY)
    half = Image.merge("LA", [Image.new("L", (2, 1), 0), Image.new("L", (2, 1), 128)])
    assert to_gray(half.convert("La")).tolist() == to_gray(half).tolist() == [[127, 127]]


@pytest.mark.parametrize("white", [1, 255, 65535])
def test_floats_of_an_image_are_rescaled(white: int) -> None:
    page = Image.fromarray(np.array([[0, white / 2, white]], np.float32))
    assert to_gray(page).tolist() == [[0, 128, 255]]


def test_palette_transparency_and_bilevel() -> None:
    palette = Image.new("P", (2, 1))
    palette.putpalette([10, 10, 10, 200, 200, 200])
    palette.putpixel((1, 0), 1)
    assert to_gray(palette).tolist() == [[10, 200]]
    palette.info["transparency"] = 0
    assert to_gray(palette).tolist() == [[255, 200]]
    assert to_gray(Image.new("1", (2, 1), 1)).tolist() == [[255, 255]]


def test_orientation_is_applied(tmp_path: Path) -> None:
    image = Image.fromarray(GRAY)
    exif = image.getexif()
    exif[0x0112] = 6  # the top of the page is at the right
    image.save(tmp_path / "turned.png", exif=exif)
    assert np.array_equal(to_gray(Image.open(tmp_path / "turned.png")), np.rot90(GRAY, -1))


@pytest.mark.parametrize(
    ("page", "kind"),
    [(np.zeros((2, 2, 5)), UsageError), (np.zeros(4), UsageError), (np.array([["a"]]), UsageError), (np.array([[np.nan]]), UsageError),
     (np.array([[-1]]), UsageError), (np.array([[300]]), UsageError), (np.array([[0.0, 255.0]]), UsageError),
     (np.zeros((0, 4)), UnreadablePage)],
)  # fmt: skip
def test_what_is_no_page(page: np.ndarray, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        to_gray(page)


@pytest.mark.parametrize(
    ("page", "told"),
    [("page.png", "a file name"), (Path("page.png"), "a file name"), (b"\x89PNG", "bytes"), (io.BytesIO(), "BytesIO"), (None, "None")],
)  # fmt: skip
def test_a_file_is_no_page(page: Any, told: str) -> None:
    with pytest.raises(UsageError, match=f"an array or a PIL image, not {told}; PIL.Image.open opens a file"):
        to_gray(page)
