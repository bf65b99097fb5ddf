"""Good files, mutated by a seed: every one becomes a page or a failed row of one line, and nothing is left behind.

``--mutated N`` makes N of them; number i is always the same file.
"""

from __future__ import annotations

import io
import random
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sauvolanet.files import binarize_many

from . import making

PILE = 100  # files of one batch


def colour() -> np.ndarray:
    return np.stack([making.page(), making.page() // 2, making.page() // 3], axis=2)


def pages(*grays: np.ndarray, **options: object) -> bytes:
    file = io.BytesIO()
    first, *others = [Image.fromarray(gray) for gray in grays]
    first.save(file, "TIFF", save_all=True, append_images=others, **options)
    return file.getvalue()


def exif() -> bytes:
    tags = Image.Exif()
    tags[0x0112], tags[0x010E], tags[0x011A] = 6, "a page", 300.0
    return tags.tobytes()


ink = making.page() < 100
GOOD = {
    **{f"{kind.lower()}": making.image(kind) for kind in ("PNG", "JPEG", "BMP", "GIF", "WEBP", "JPEG2000", "PPM", "TIFF")},
    **{f"colour {kind.lower()}": making.image(kind, colour()) for kind in ("PNG", "JPEG", "WEBP", "JPEG2000", "BMP", "PPM")},
    "progressive": making.image("JPEG", colour(), progressive=True, exif=exif(), comment=b"page"),
    "interlaced": making.image("PNG", making.page().astype(np.uint16) * 257),
    "one bit": making.image("PNG", ink),
    **{f"tiff {c}": pages(making.page(), making.page(30, 40), compression=c)
       for c in ("tiff_lzw", "tiff_deflate", "packbits", "jpeg", "raw")},
    "group4": pages(ink, ink, compression="group4", dpi=(300, 300)),
    "pdf jpeg": making.pdf_image(making.image("JPEG"), "/DCTDecode"),
    "pdf jpeg 2000": making.pdf_image(making.image("JPEG2000"), "/JPXDecode"),
    "pdf flate": making.pdf_image(zlib.compress(making.page().tobytes()), "/FlateDecode"),
    "pdf ascii85": making.pdf_image(making.ascii85(zlib.compress(making.page().tobytes())), "[/ASCII85Decode/FlateDecode]"),
    "pdf drawn": making.pdf_page(b"3 w 10 10 m 60 50 l S BT /F 12 Tf 10 20 Td (page) Tj ET", making.stream(b""),
                                 resources=b"/Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>"),
    "pdf forms": making.pdf_of_forms(2, 3),
}  # fmt: skip


def mutated(number: int) -> tuple[str, bytes]:
    """The kind and the bytes of mutated file ``number``."""
    rng = random.Random(number)
    kind = rng.choice(list(GOOD))
    data = bytearray(GOOD[kind])
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(len(data) if rng.random() < 0.5 else min(len(data), 100))  # headers matter most
        length = rng.choice((1, 1, 2, 4, 8, 64))
        match rng.randrange(8):
            case 0:
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                data[at : at + length] = rng.randbytes(length)
            case 2:
                data[at : at + 4] = rng.choice((b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\0\0\x80"))
            case 3:
                del data[at : at + length]
            case 4:
                data[at:at] = data[at : at + length] * rng.choice((1, 2, 100))
            case 5:
                del data[max(at, 1) :]
            case 6:
                other = GOOD[rng.choice(list(GOOD))]
                data[at : at + length] = other[rng.randrange(len(other)) :][: rng.choice((8, 64, 1000))]
            case 7:
                data[at : at + length] = str(rng.choice((0, -1, 2**31, 2**63, 10**30))).encode()
        if not data:
            break
    return kind, bytes(data)


def test_the_seed_decides():
    assert [mutated(n) for n in range(50)] == [mutated(n) for n in range(50)]
    assert len({kind for kind, _ in map(mutated, range(300))}) > 0.8 * len(GOOD)


@pytest.mark.parametrize("kind", GOOD)
def test_the_originals_are_good(tmp_path, kind):
    (tmp_path / "page").write_bytes(GOOD[kind])
    rows = list(binarize_many([str(tmp_path / "page")], f"{tmp_path / 'out'}/", method="otsu"))
    assert rows and all(row["status"] == "done" for row in rows), rows


def test_mutated_files(tmp_path: Path, pytestconfig, capfd, recwarn):
    count = pytestconfig.getoption("--mutated")
    became = {"done": 0, "failed": 0}
    for first in range(0, count, PILE):
        folder, output = tmp_path / "scans", tmp_path / "out"
        folder.mkdir()
        numbers = range(first, min(first + PILE, count))
        for number in numbers:
            (folder / f"{number}.png").write_bytes(mutated(number)[1])
        seen = set()
        for row in binarize_many(str(folder), output, method="otsu", max_pixels=1_000_000, dpi=72):
            name = Path(row["input"]).name
            seen.add(name)
            became[row["status"]] += 1
            if row["status"] == "failed":
                assert row["code"] == 4 and row["error"].isprintable() and "internal" not in row["error"], (name, row)
        assert seen == {f"{number}.png" for number in numbers}
        assert not [p for p in output.rglob("*") if p.name.endswith(".part")]
        for place in (folder, output):
            for path in sorted(place.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
            place.rmdir()
    told = capfd.readouterr()
    assert told.out == "" and "Traceback" not in told.err  # libtiff says itself what it does not like
    assert became["done"] and became["failed"]
    with capfd.disabled():
        if count > 300:
            print(f"\n{count} files: {became['done']} pages done, {became['failed']} failed rows")
