"""Decoding in a child process: the same pages, and an end to what never ends."""

from __future__ import annotations

import io
import os
import re
import resource
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from sauvolanet.errors import PageTooLarge, UnreadablePage
from sauvolanet.files import apart, binarize_many
from sauvolanet.files.decode import open_here
from sauvolanet.files.read import Patience, open_document

from . import making

LIMITS = {"dpi": 72, "max_pixels": 10_000_000}


def page(data: bytes, seconds: float = 60, **limits: float):
    with open_document(io.BytesIO(data), "page", **{**LIMITS, **limits}, patience=Patience(seconds)) as document:
        return document.page(0)


def pages_here(data: bytes):
    with open_here(io.BytesIO(data), "page", **LIMITS) as document:
        return [document.page(index) for index in range(len(document))]


GOOD = {
    **{kind: making.image(kind, dpi=(300, 300)) for kind in ("PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP", "JPEG2000", "PPM")},
    "pdf": making.pdf_image(making.image("JPEG"), "/DCTDecode"),
}  # fmt: skip


@pytest.mark.parametrize("kind", GOOD)
def test_a_child_gives_the_same_page(kind):
    ours, theirs = pages_here(GOOD[kind])[0], page(GOOD[kind])
    assert (ours.gray == theirs.gray).all() and (ours.dpi, ours.description) == (theirs.dpi, theirs.description)


def test_one_child_serves_one_document_after_the_other():
    page(GOOD["PNG"])
    child = apart.CHILDREN.idle[-1]
    for _ in range(3):
        page(GOOD["TIFF"])
        assert apart.CHILDREN.idle[-1] is child


def test_errors_are_those_of_this_process(tmp_path):
    for data, kind in ((b"no page", UnreadablePage), (GOOD["PNG"][:60], UnreadablePage), (b"", UnreadablePage),
                       (making.png_bomb(60_000), PageTooLarge)):  # fmt: skip
        with pytest.raises(kind) as ours, open_here(io.BytesIO(data), "page", **LIMITS) as document:
            document.page(0)
        with pytest.raises(kind) as theirs:
            page(data)
        assert str(ours.value) == str(theirs.value)
    path = tmp_path / "page.png"
    path.write_bytes(GOOD["PNG"])
    with path.open("rb") as file, open_document(file, "page", **LIMITS, patience=Patience()) as document:
        assert len(document) == 1 and (document.page(0).gray == making.page()).all()


HANGS = {
    "forms in forms": making.pdf_of_forms(8),
    "operators": making.pdf_of_operators(260),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", HANGS)
def test_what_never_ends_is_ended(kind):
    with pytest.raises(UnreadablePage, match=r"longer than 2 seconds|too much memory|more memory"):
        page(HANGS[kind], seconds=2)
    assert (page(GOOD["PNG"]).gray == making.page()).all()


@pytest.mark.slow
def test_memory_is_bounded(monkeypatch):
    """The child may have a gigabyte; what took eight in the service ends there."""
    with pytest.raises(UnreadablePage, match="memory"):
        page(making.pdf_of_operators(400), seconds=600)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 2_000_000


def test_a_child_that_dies_costs_its_page():
    with open_document(io.BytesIO(GOOD["PNG"]), "page", **LIMITS, patience=Patience()) as document:
        os.kill(document.child.process.pid, signal.SIGKILL)
        with pytest.raises(UnreadablePage, match="SIGKILL"):
            document.page(0)
        assert (document.page(0).gray == making.page()).all()  # another child opens it again


def test_an_idle_child_that_dies_is_replaced():
    page(GOOD["PNG"])
    child = apart.CHILDREN.idle[-1]
    os.kill(child.process.pid, signal.SIGKILL)
    child.process.wait()
    assert (page(GOOD["PNG"]).gray == making.page()).all()


def test_waiting_can_be_cancelled():
    cancelled = threading.Event()
    threading.Timer(0.5, cancelled.set).start()
    with pytest.raises(UnreadablePage), open_document(
        io.BytesIO(making.pdf_of_forms(8)), "page", **LIMITS, patience=Patience(600, cancelled)
    ) as document:  # fmt: skip
        document.page(0)
    assert cancelled.is_set()


def test_threads_have_a_child_each():
    with ThreadPoolExecutor(4) as pool:
        for gray in pool.map(lambda _: page(GOOD["TIFF"]).gray, range(20)):
            assert (gray == making.page()).all()
    assert len(apart.CHILDREN.idle) <= 5


def test_a_fork_does_not_share_its_parent_s_children():
    page(GOOD["PNG"])
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:  # pragma: no cover
        os.write(writer, b"%d" % len(apart.CHILDREN.idle))
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(reader, 9) == b"0"
    os.close(reader), os.close(writer)


def test_the_child_writes_nothing_and_starts_nothing():
    with open_document(io.BytesIO(GOOD["PNG"]), "page", **LIMITS, patience=Patience()) as document:
        limits = Path(f"/proc/{document.child.process.pid}/limits").read_text()
    for name in ("Max file size", "Max processes", "Max core file size"):
        assert next(line for line in limits.splitlines() if line.startswith(name)).split()[len(name.split())] == "0"


@pytest.mark.slow
def test_a_batch_goes_on_after_a_page_that_never_ends(tmp_path):
    folder = tmp_path / "scans"
    folder.mkdir()
    (folder / "a.pdf").write_bytes(GOOD["pdf"])
    (folder / "b.pdf").write_bytes(making.pdf_of_forms(8))
    (folder / "c.png").write_bytes(GOOD["PNG"])
    rows = {
        Path(row["input"]).name: row
        for row in binarize_many(str(folder), tmp_path / "out", method="otsu", page_seconds=3)
    }
    assert [rows[name]["status"] for name in sorted(rows)] == ["done", "failed", "done"]
    # which limit it meets first depends on how fast the machine is
    assert re.search("longer than 3 seconds|too much memory", rows["b.pdf"]["error"]) and rows["b.pdf"]["code"] == 4
    assert not list((tmp_path / "out").glob(".*part"))


def test_gray_of_a_child_is_the_caller_s_own():
    gray = page(GOOD["PNG"]).gray
    assert gray.dtype == np.uint8 and gray.flags.c_contiguous
    gray[:] = 0


def test_no_process_can_be_started(monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    apart.CHILDREN.end()
    monkeypatch.setattr("subprocess.Popen", refuse)
    with pytest.raises(UnreadablePage, match="no process can be started"):
        page(GOOD["PNG"])
