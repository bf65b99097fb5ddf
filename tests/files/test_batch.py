from __future__ import annotations

import errno
import io
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pikepdf
import pytest
import tifffile
from PIL import Image, ImageCms

import sauvolanet
from sauvolanet.errors import OutputError, UsageError
from sauvolanet.files import binarize_many, folders
from sauvolanet.files.read import open_document

from .conftest import make_book

Run = Callable[..., list[dict[str, Any]]]
Statuses = Callable[[list[dict[str, Any]]], list[str]]


def contents(folder: Path) -> dict[str, bytes]:
    """Every result and leftover below a folder, without the journal."""
    files = (p for p in folder.rglob("*") if p.is_file() and ".sauvolanet" not in p.parts)
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_and_rows(scans: Path, tmp_path: Path, jobs: int, run: Run, statuses: Statuses) -> None:
    rows = run(scans, tmp_path / "ink", jobs=jobs)
    assert {row["output"] for row in rows} == {"0.png", "1.png", "box/2.png", "3.png", "4.png", "box/5.png"}
    for row in rows:
        assert row["status"] == "done"
        result = tmp_path / "ink" / row["output"]
        assert row["output_size"] == result.stat().st_size
        with Image.open(row["input"]) as page, Image.open(result) as ink:
            assert row["found"] == sauvolanet.Binarizer(method="otsu").run(page).found.to_json()
            assert (np.asarray(ink) != sauvolanet.binarize(page, method="otsu")).all()
            assert ink.info["dpi"] == pytest.approx((300, 300), abs=0.01)
    assert statuses(run(scans, tmp_path / "ink", jobs=jobs)) == ["skipped"] * 6
    assert statuses(run(scans, tmp_path / "ink", jobs=jobs, force=True)) == ["done"] * 6


@pytest.mark.parametrize("format", ["png", "tiff", "pdf"])
def test_bytes_do_not_depend_on_jobs_or_threads(scans: Path, tmp_path: Path, format: str, run: Run) -> None:
    for name, options in {"a": {}, "b": {"jobs": 2}, "c": {"threads": 3}}.items():
        run(scans, tmp_path / name, format=format, **options)
    assert contents(tmp_path / "a") == contents(tmp_path / "b") == contents(tmp_path / "c")


@pytest.mark.parametrize("suffix", [".tif", ".pdf"])
def test_a_book_stays_a_book(gray: np.ndarray, tmp_path: Path, suffix: str, run: Run) -> None:
    book = make_book(tmp_path / "book.tif", gray)
    rows = run(book, tmp_path / f"ink{suffix}")
    assert [row["page"] for row in rows] == [1, 2, 3, 4]
    with (
        (tmp_path / f"ink{suffix}").open("rb") as file,
        open_document(file, "ink", dpi=300, max_pixels=10**6) as document,
    ):
        assert len(document) == 4
        for i in range(4):
            page = document.page(i)
            assert ((page.gray < 128) == (np.roll(gray, i, 0) < 128)).all()
            assert page.dpi == pytest.approx((200, 200), rel=1e-5)


@pytest.mark.parametrize("suffix", [".tif", ".pdf"])
@pytest.mark.parametrize("dpi", [150, None])
def test_an_enlarged_page_keeps_its_physical_size(
    gray: np.ndarray, tmp_path: Path, suffix: str, dpi: int | None, run: Run
) -> None:
    Image.fromarray(gray).save(tmp_path / "page.png", **({"dpi": (dpi, dpi)} if dpi else {}))
    run(tmp_path / "page.png", tmp_path / f"plain{suffix}")
    run(tmp_path / "page.png", tmp_path / f"large{suffix}", enlarge=3)
    pages = []
    for name in ("plain", "large"):
        with (
            (tmp_path / f"{name}{suffix}").open("rb") as file,
            open_document(file, name, dpi=300, max_pixels=10**7) as document,
        ):
            pages.append(document.page(0))
    plain, large = pages
    assert large.gray.shape == tuple(3 * n for n in plain.gray.shape)
    assert large.dpi == (plain.dpi and pytest.approx(tuple(3 * n for n in plain.dpi), rel=1e-4))
    (row,) = run(tmp_path / "page.png", tmp_path / f"huge{suffix}", enlarge=4, max_pixels=gray.size)
    too_large = "page.png has 90 × 120 pixels, enlarged 360 × 480, more than 10800; allow it with --max-pixels"
    assert row["status"] == "failed" and too_large in row["error"]


def small_letters() -> np.ndarray:
    """A page of 120 × 90 with strokes 9 pixels high."""
    page = np.full((120, 90), 230, np.uint8)
    for top in range(5, 100, 20):
        page[top : top + 9, 5:80:4] = 30
    return page


@pytest.mark.parametrize("keep_gray", [False, True])
@pytest.mark.parametrize(("limit", "times"), [(4 * 120 * 90, 2), (4 * 120 * 90 - 1, 1), (120 * 90, 1)])
def test_no_page_is_enlarged_beyond_the_limit_unasked(
    tmp_path: Path, limit: int, times: int, keep_gray: bool, run: Run
) -> None:
    Image.fromarray(small_letters()).save(tmp_path / "page.png")
    options = {"enlarge": "auto", "keep_gray": keep_gray}
    (row,) = run(tmp_path / "page.png", tmp_path / "ink", max_pixels=limit, **options)
    with Image.open(tmp_path / "ink" / "page.png") as image:
        assert image.size == (90 * times, 120 * times)
    (other,) = run(tmp_path / "page.png", tmp_path / "other", **options)
    assert row["options"] != other["options"]  # the limit may change the result, and a resumed batch has to see it


@pytest.mark.parametrize("dpi", [(150, 150), None])
def test_pages_of_a_book_are_enlarged_each_by_itself(
    gray: np.ndarray, tmp_path: Path, dpi: Any, run: Run, statuses: Statuses
) -> None:
    first, second = Image.fromarray(gray), Image.fromarray(small_letters())
    first.save(tmp_path / "book.tif", save_all=True, append_images=[second], **({"dpi": dpi} if dpi else {}))
    assert statuses(run(tmp_path / "book.tif", tmp_path / "large.pdf", enlarge="auto")) == ["done"] * 2
    with (
        (tmp_path / "large.pdf").open("rb") as file,
        open_document(file, "large.pdf", dpi=300, max_pixels=10**7) as document,
    ):
        pages = [document.page(i) for i in range(2)]
    assert [page.gray.shape for page in pages] == [(120, 90), (240, 180)]
    plain = 150 if dpi else 300
    for page, times in zip(pages, (1, 2), strict=True):
        assert page.dpi == pytest.approx((plain * times, plain * times), rel=1e-3)


def resolution(path: Path) -> tuple[float, float]:
    """Dots per inch as another library reads them."""
    if path.suffix == ".png":
        with Image.open(path) as image:
            return image.info["dpi"]
    if path.suffix == ".tif":
        with tifffile.TiffFile(path) as tiff:
            return tiff.pages[0].resolution
    with pikepdf.open(path) as pdf:
        (page,) = pdf.pages
        image = page.Resources.XObject.Im
        return image.Width * 72 / float(page.mediabox[2]), image.Height * 72 / float(page.mediabox[3])


@pytest.mark.parametrize("output", [".png", ".tif", ".pdf"])
@pytest.mark.parametrize("input", [".png", ".jpg", ".tif", ".bmp", ".webp", ".pdf"])
def test_resolution_is_kept(gray: np.ndarray, tmp_path: Path, input: str, output: str, run: Run) -> None:
    exif = Image.Exif()
    exif[0x011A], exif[0x011B], exif[0x0128] = 300.0, 200.0, 2  # where WebP has it
    options = {".webp": {"exif": exif}}.get(input, {"dpi": (300, 200)})
    Image.fromarray(gray).save(tmp_path / f"page{input}", **options)
    (row,) = run(tmp_path / f"page{input}", tmp_path / f"ink{output}")
    assert row["error"] is None
    assert resolution(tmp_path / f"ink{output}") == pytest.approx((300, 200), rel=1e-4)


@pytest.mark.parametrize("input", [".jpg", ".tif", ".png", ".webp"])
def test_profile_and_metadata_do_not_survive_but_the_description(
    gray: np.ndarray, tmp_path: Path, input: str, run: Run
) -> None:
    exif = Image.Exif()
    exif[0x010E], exif[0x010F] = "a letter", "SECRET maker"
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    page = tmp_path / f"page{input}"
    Image.fromarray(gray).convert("RGB").save(page, exif=exif, icc_profile=profile)
    assert b"SECRET" in page.read_bytes()
    for suffix in (".png", ".tif", ".pdf"):
        run(page, tmp_path / f"ink{suffix}")
        data = (tmp_path / f"ink{suffix}").read_bytes()
        assert b"SECRET" not in data and profile[128:200] not in data
        if suffix != ".pdf":
            with Image.open(tmp_path / f"ink{suffix}") as image:
                assert "icc_profile" not in image.info
                assert image.info.get("Description") or image.getexif()[0x010E] == "a letter"
    with tifffile.TiffFile(tmp_path / "ink.tif") as tiff:
        assert not {34675, 34665, 700, 271} & {tag.code for tag in tiff.pages[0].tags}
    with pikepdf.open(tmp_path / "ink.pdf") as pdf:
        assert str(pdf.docinfo["/Title"]) == "a letter"


@pytest.mark.parametrize("rotation", [0, 90])
@pytest.mark.parametrize("content", [b"q 90.5 0 0 120.3 0 0 cm /I0 Do Q", b"10 10 30 30 re f"], ids=["scan", "drawing"])
def test_pdf_pages_keep_their_size(
    gray: np.ndarray, make_pdf: Callable[..., bytes], tmp_path: Path, content: bytes, rotation: int, run: Run
) -> None:
    (tmp_path / "a.pdf").write_bytes(make_pdf([gray], (90.5, 120.3), content, b"/Rotate %d" % rotation))
    run(tmp_path / "a.pdf", tmp_path / "ink.pdf", dpi=100)
    with pikepdf.open(tmp_path / "ink.pdf") as pdf:
        size = [float(side) for side in pdf.pages[0].mediabox[2:]]
    assert size == pytest.approx([120.3, 90.5] if rotation else [90.5, 120.3], abs=0.001)


def test_a_book_becomes_numbered_pages_and_resumes_by_page(
    gray: np.ndarray, tmp_path: Path, run: Run, statuses: Statuses
) -> None:
    book, ink = make_book(tmp_path / "book.tif", gray), tmp_path / "ink"
    rows = run(book, f"{ink}/")
    assert [row["output"] for row in rows] == [f"book-000{i}.png" for i in (1, 2, 3, 4)]
    (ink / "book-0003.png").unlink()
    assert statuses(run(book, ink)) == ["done", "skipped", "skipped", "skipped"]
    assert statuses(run(book, ink, format="pdf")) == ["done"] * 4
    assert statuses(run(book, ink, format="pdf")) == ["skipped"] * 4


def damage_second_page(book: Path) -> None:
    with Image.open(book) as image:
        image.seek(1)
        start = image.tag_v2[273][0]
    data = bytearray(book.read_bytes())
    data[start : start + 40] = b"\xff" * 40
    book.write_bytes(data)


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_bad_page_does_not_stop_the_others(
    gray: np.ndarray, scans: Path, tmp_path: Path, jobs: int, run: Run
) -> None:
    damage_second_page(make_book(scans / "book.tif", gray))
    (scans / "3.png").write_bytes((scans / "3.png").read_bytes()[:150])
    (scans / "empty.jpg").touch()
    rows = run(scans, tmp_path / "ink", jobs=jobs)
    failed = {(Path(row["input"]).name, row["page"]): row["error"] for row in rows if row["status"] == "failed"}
    assert set(failed) == {("book.tif", 2), ("3.png", 1), ("empty.jpg", 1)}
    assert "page 2 of 4" in failed["book.tif", 2]
    assert "empty.jpg is empty" in failed["empty.jpg", 1]
    assert all("\n" not in error and name in error for (name, _), error in failed.items())
    assert len(rows) == 4 + 6 + 1
    assert not [name for name in contents(tmp_path / "ink") if name.endswith(".part")]


def test_a_book_with_a_bad_page_is_not_written_in_part(gray: np.ndarray, tmp_path: Path, run: Run) -> None:
    book = make_book(tmp_path / "book.tif", gray)
    damage_second_page(book)
    rows = run(book, tmp_path / "ink.pdf")
    assert [(row["page"], row["pages"], row["status"]) for row in rows] == [(i, 4, "failed") for i in (1, 2, 3, 4)]
    assert "damaged" in rows[1]["error"] and "page 2 of 4" in rows[1]["error"]
    assert {row["error"] for row in (rows[0], *rows[2:])} == {f"{book}: not written: page 2 failed"}
    assert not list(tmp_path.glob("*ink*"))
    (tmp_path / "ink.pdf").write_text("mine")
    rows = run(book, tmp_path / "ink.pdf")
    assert {row["error"] for row in rows} == {f"{tmp_path}/ink.pdf exists; --force replaces it"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_pages_of_a_book_are_told_before_their_rows(gray: np.ndarray, tmp_path: Path, jobs: int) -> None:
    books = [make_book(tmp_path / f"{name}.tif", gray) for name in "ab"]
    told: list[tuple[str, int, int]] = []
    rows = binarize_many(books, tmp_path / "ink", format="tiff", jobs=jobs, method="otsu",
                         on_page=lambda *begun: told.append(begun))  # fmt: skip
    first = next(rows)["input"]
    assert [page for page in told if page[0] == first] == [(first, i, 4) for i in (1, 2, 3, 4)]
    rows.close()


def test_an_input_is_never_replaced(scans: Path, run: Run) -> None:
    before = contents(scans)
    (row,) = run([scans / "0.png"], scans, force=True)
    assert "would replace its own input" in row["error"]
    assert contents(scans) == before


def test_blank_and_tiny_pages(tmp_path: Path, run: Run) -> None:
    Image.new("L", (1, 1), 0).save(tmp_path / "dot.png")
    Image.new("L", (50, 40), 200).save(tmp_path / "blank.png")
    for format, suffix in {"png": ".png", "tiff": ".tif", "pdf": ".pdf"}.items():
        run([tmp_path / "dot.png", tmp_path / "blank.png"], tmp_path / format, format=format)
        for name, shape in {"dot": (1, 1), "blank": (40, 50)}.items():
            data = io.BytesIO((tmp_path / format / (name + suffix)).read_bytes())
            with open_document(data, name, dpi=300, max_pixels=10**6) as document:
                gray = document.page(0).gray
            assert gray.shape == shape
            assert (gray == 255).all()


def test_keep_gray(gray: np.ndarray, tmp_path: Path, run: Run) -> None:
    shaded = (gray * np.linspace(0.7, 1, 90)).astype(np.uint8)
    Image.fromarray(shaded).save(tmp_path / "a.png")
    run(tmp_path / "a.png", tmp_path / "b.png", keep_gray=True)
    with Image.open(tmp_path / "b.png") as image:
        assert (np.asarray(image) == sauvolanet.normalize(shaded, method="otsu")).all()


def test_dry_run_writes_nothing(scans: Path, tmp_path: Path, run: Run, statuses: Statuses) -> None:
    (scans / "bad.png").write_text("x")
    rows = run(scans, tmp_path / "ink", dry_run=True)
    assert statuses(rows) == ["failed"] + ["planned"] * 6
    assert not (tmp_path / "ink").exists()


def test_full_disk(scans: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, statuses: Statuses) -> None:
    """A real file system of 64 KB where we may mount one, else a disk that says so."""
    ink = tmp_path / "ink"
    ink.mkdir()
    noise = np.random.default_rng(0).integers(0, 256, (700, 700), np.uint8)
    Image.fromarray(noise).save(scans / "9.png")  # as gray 490 KB
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(ink)], capture_output=True)
    if mounted.returncode:
        real = os.fsync

        def full(descriptor: int) -> None:
            if os.fstat(descriptor).st_size > 40_000:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            real(descriptor)

        monkeypatch.setattr(folders.os, "fsync", full)
    try:
        rows = []
        with pytest.raises(OutputError, match=r"cannot write .*9.png: No space left"):
            for row in binarize_many(scans, ink, method="otsu", keep_gray=True):
                rows.append(row)
        assert rows
        assert set(contents(ink)) == {row["output"] for row in rows}
        with pytest.raises(OutputError, match="No space left"):
            run(scans, ink, keep_gray=True, jobs=2)
        (scans / "9.png").unlink()
        assert statuses(run(scans, ink, keep_gray=True)).count("failed") == 0
    finally:
        if not mounted.returncode:
            subprocess.run(["umount", str(ink)], check=True)


def test_a_name_the_file_system_refuses_concerns_one_page(
    gray: np.ndarray, scans: Path, tmp_path: Path, run: Run, statuses: Statuses
) -> None:
    name = "x" * 251  # as long as may be: that of a page of a book is longer
    make_book(scans / f"{name}.tif", gray, pages=2)
    assert statuses(run(scans, tmp_path / "ink")) == ["done"] * 6 + ["failed"] * 2
    (scans / f"{name}.tif").unlink()
    (scans / "0.png").rename(scans / f"{name}.png")
    assert statuses(run(scans, tmp_path / "ink")) == ["done"] + ["skipped"] * 5


@pytest.mark.parametrize(
    ("output", "options", "message"),
    [
        ("a.jpg", {}, "cannot write .jpg"),
        ("a.png", {"format": "pdf"}, "does not fit"),
        ("ink", {"method": "ottsu"}, "otsu"),
        ("ink", {"windw": 3}, "windw"),
        ("ink", {"dpi": 0}, "dpi must be a number from 10 to 20000"),
        ("ink", {"jobs": 0}, "jobs must be"),
    ],
)
def test_wrong_usage(scans: Path, tmp_path: Path, output: str, options: dict[str, Any], message: str, run: Run) -> None:
    for source in ([scans / "0.png"], [scans / "0.png", scans / "1.png"]):
        with pytest.raises(UsageError, match=message):
            run(source, tmp_path / output, **options)
    assert not (tmp_path / "ink").exists()


def test_several_inputs_need_a_folder(scans: Path, tmp_path: Path, run: Run) -> None:
    with pytest.raises(UsageError, match="several inputs need a folder"):
        run(scans, tmp_path / "a.pdf")


def test_rows_are_json_and_tell_options_apart(scans: Path, tmp_path: Path, run: Run) -> None:
    choices = [{}, {"strength": 0.5}, {"despeckle": 3}, {"keep_gray": True}, {"invert": "no"}, {"enlarge": 3}]
    hashes = {
        json.loads(json.dumps(run(scans / "0.png", tmp_path / str(i), **options)[0]))["options"]
        for i, options in enumerate(choices)
    }
    assert len(hashes) == len(choices) and None not in hashes
    assert run(scans / "0.png", tmp_path / "one.png")[0]["options"] is None  # nothing is recorded of it


def test_memory_does_not_grow_with_pages(gray: np.ndarray, tmp_path: Path, run: Run) -> None:
    """A few pages at a time: a book of 15 pages needs hardly more than one of 2, whatever overlaps."""
    import tracemalloc

    large = np.tile(gray, (10, 12))
    peaks = []
    for pages in (2, 15):
        book = make_book(tmp_path / f"{pages}.tif", large[:1200, :1000], pages)
        tracemalloc.start()
        run(book, tmp_path / f"ink{pages}.tif")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 3 * 1200 * 1000  # the other 13 pages would be four times as much
