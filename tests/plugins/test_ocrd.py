"""The real OCR-D processor in a real workspace, in an environment of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import ExifTags, Image

import sauvolanet
from sauvolanet import binarize

Run = Callable[..., "subprocess.CompletedProcess[str]"]
pytestmark = pytest.mark.slow
TOOL = "ocrd-sauvolanet-binarize"
PAGE = "http://schema.primaresearch.org/PAGE/gts/pagecontent/2019-07-15"
XML = "application/vnd.prima.page+xml"
SIZE = (400, 300)
REGION, LINE = (40, 50, 240, 150), (50, 60, 230, 90)  # left, top, right, bottom


def corners(box: tuple[int, int, int, int]) -> str:
    left, top, right, bottom = box
    return f"{left},{top} {right},{top} {right},{bottom} {left},{bottom}"


def layout(image: str, name: str) -> str:
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<PcGts xmlns="{PAGE}" pcGtsId="{name}"><Metadata><Creator>test</Creator><Created>2026-01-01T00:00:00</Created>
<LastChange>2026-01-01T00:00:00</LastChange></Metadata>
<Page imageFilename="{image}" imageWidth="{SIZE[0]}" imageHeight="{SIZE[1]}">
<TextRegion id="r1"><Coords points="{corners(REGION)}"/>
<TextLine id="l1"><Coords points="{corners(LINE)}"/></TextLine></TextRegion></Page></PcGts>"""


def prepare(ocrd: Run, folder: Path, steps: list[list[str]]) -> None:
    """The commands of `ocrd workspace` in one process: each start of ocrd costs seconds."""
    script = f"from ocrd.cli import cli\nfor step in {steps!r}: cli(['workspace', *step], standalone_mode=False)"
    done = ocrd("python", "-c", script, cwd=folder)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def made(ocrd: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two gray pages in OCR-D-IMG, and the same with a region and a line in OCR-D-SEG."""
    folder = tmp_path_factory.mktemp("workspace")
    rng = np.random.default_rng(2)
    (folder / "OCR-D-IMG").mkdir()
    (folder / "OCR-D-SEG").mkdir()
    steps = [["init"], ["set-id", "test"]]
    for n in (1, 2):
        gray = np.clip(rng.normal(190, 8, SIZE[::-1]), 0, 255).astype(np.uint8)
        gray[70:76, 60:220] = gray[110:114, 60:220] = gray[200:260, 300:306] = 50
        image, page = f"OCR-D-IMG/p{n}.png", f"OCR-D-SEG/p{n}.xml"
        exif = Image.Exif()
        exif[ExifTags.Base.Orientation] = 6 if n == 2 else 1  # OCR-D counts pixels as they are stored
        Image.fromarray(gray).save(folder / image, dpi=(300, 300), exif=exif)
        (folder / page).write_text(layout(image, f"SEG{n}"))
        steps += [["add", "-g", f"P{n}", "-G", "OCR-D-IMG", "-i", f"IMG{n}", "-m", "image/png", image],
                  ["add", "-g", f"P{n}", "-G", "OCR-D-SEG", "-i", f"SEG{n}", "-m", XML, page]]  # fmt: skip
    prepare(ocrd, folder, steps)
    return folder


@pytest.fixture()
def workspace(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "workspace")


def results(workspace: Path, group: str, tag: str) -> list[tuple[str, np.ndarray]]:
    """The features and the ink (True = ink) of the last alternative image of each element of that kind."""
    found = []
    for file in sorted((workspace / group).glob("*.xml")):
        for element in ET.parse(file).iter(f"{{{PAGE}}}{tag}"):
            last = element.findall(f"{{{PAGE}}}AlternativeImage")[-1]
            with Image.open(workspace / last.attrib["filename"]) as image:
                assert image.mode == "1"
                found.append((last.attrib["comments"], ~np.asarray(image)))
    return found


def source(workspace: Path, n: int) -> np.ndarray:
    return np.asarray(Image.open(workspace / "OCR-D-IMG" / f"p{n}.png"))


def check_pages(workspace: Path) -> None:
    pages = results(workspace, "OCR-D-BIN", "Page")
    assert [features for features, _ in pages] == ["binarized"] * 2
    for n, (_, ink) in enumerate(pages, 1):
        assert np.array_equal(ink, binarize(source(workspace, n)))


def check_parts(workspace: Path, tag: str, box: tuple[int, int, int, int]) -> None:
    parts = results(workspace, "OCR-D-BIN", tag)
    assert len(parts) == 2
    for n, (features, ink) in enumerate(parts, 1):
        assert features.split(",")[-1] == "binarized"
        expected = binarize(source(workspace, n)[box[1] : box[3], box[0] : box[2]], method="otsu")
        height, width = expected.shape
        assert np.mean(ink[:height, :width] != expected) < 0.02  # OCR-D's crops may differ by the pixels of the rim


def validate(ocrd: Run, workspace: Path) -> None:
    # `ocrd workspace add` gives local files a path for a URL, which its own validation does not like
    done = ocrd("ocrd", "workspace", "validate", "--skip", "url", "--page-textequiv-consistency", "off", cwd=workspace)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_description_is_valid(ocrd: Run) -> None:
    done = ocrd("ocrd", "ocrd-tool", Path(sauvolanet.__file__).with_name("ocrd-tool.json"), "validate")
    assert (done.returncode, done.stdout.strip()) == (0, '<report valid="true">\n</report>')


def test_pages(ocrd: Run, workspace: Path) -> None:
    done = ocrd(TOOL, "-I", "OCR-D-IMG", "-O", "OCR-D-BIN", cwd=workspace)
    assert done.returncode == 0, done.stderr
    check_pages(workspace)
    validate(ocrd, workspace)


@pytest.mark.parametrize(("level", "tag", "box"), [("region", "TextRegion", REGION), ("line", "TextLine", LINE)])
def test_parts(ocrd: Run, workspace: Path, level: str, tag: str, box: tuple[int, int, int, int]) -> None:
    done = ocrd(TOOL, "-I", "OCR-D-SEG", "-O", "OCR-D-BIN", "-P", "level-of-operation", level, "-P", "method", "otsu",
                cwd=workspace)  # fmt: skip
    assert done.returncode == 0, done.stderr
    check_parts(workspace, tag, box)
    validate(ocrd, workspace)


@pytest.mark.parametrize("level", ["page", "region"])
def test_two_workers_and_a_mets_server(ocrd: Run, workspace: Path, level: str) -> None:
    socket = workspace / "mets.sock"
    program = [str(Path(ocrd("python", "-c", "import sys; print(sys.prefix)").stdout.strip()) / "bin" / "ocrd")]
    server = subprocess.Popen([*program, "workspace", "-U", str(socket), "server", "start"], cwd=workspace,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
    try:
        waited = time.monotonic() + 300
        while not socket.exists() and time.monotonic() < waited:
            time.sleep(0.2)
        asked = ["-I", "OCR-D-IMG"]
        if level == "region":
            asked = ["-I", "OCR-D-SEG", "-P", "level-of-operation", "region", "-P", "method", "otsu"]
        done = ocrd(TOOL, "-U", str(socket), *asked, "-O", "OCR-D-BIN", cwd=workspace, OCRD_MAX_PARALLEL_PAGES="2")
        assert done.returncode == 0, done.stderr
        stopped = ocrd("ocrd", "workspace", "-U", str(socket), "server", "stop", cwd=workspace)
        assert stopped.returncode == 0, stopped.stderr
        server.wait(120)
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGTERM)
    if level == "region":
        check_parts(workspace, "TextRegion", REGION)
    else:
        check_pages(workspace)
    validate(ocrd, workspace)


def test_a_missing_image_and_a_wrong_model(ocrd: Run, workspace: Path) -> None:
    done = ocrd(TOOL, "-I", "OCR-D-IMG", "-O", "OCR-D-BIN", "-P", "model", "orignal", cwd=workspace)
    assert done.returncode != 0
    assert "unknown model 'orignal'; did you mean original?" in done.stderr
    (workspace / "OCR-D-IMG" / "p2.png").unlink()
    done = ocrd(TOOL, "-I", "OCR-D-IMG", "-O", "OCR-D-BIN", cwd=workspace, OCRD_MISSING_OUTPUT="ABORT")
    assert done.returncode != 0
    assert "p2.png" in done.stderr
    assert not list((workspace / "OCR-D-BIN").glob("*P2*"))


def test_by_default_a_tenth_of_the_images_may_be_missing(ocrd: Run, workspace: Path) -> None:
    """OCR-D's own rule, OCRD_MISSING_OUTPUT=SKIP with OCRD_MAX_MISSING_OUTPUTS=0.1: above it the run is a failure."""
    images = workspace / "OCR-D-IMG"
    for n in range(3, 11):
        shutil.copy(images / "p1.png", images / f"p{n}.png")
    prepare(ocrd, workspace, [["add", "-g", f"P{n}", "-G", "OCR-D-IMG", "-i", f"IMG{n}", "-m", "image/png",
                               f"OCR-D-IMG/p{n}.png"] for n in range(3, 11)])  # fmt: skip
    (images / "p2.png").unlink()
    few = ocrd(TOOL, "-I", "OCR-D-IMG", "-O", "OCR-D-FEW", "-P", "method", "otsu", cwd=workspace)
    assert few.returncode == 0, few.stderr
    assert "Failure on page P2" in few.stderr and "p2.png" in few.stderr
    assert "skipped 1 of 10 pages" in few.stderr
    done = {f"OCR-D-FEW_P{n}.xml" for n in range(1, 11) if n != 2}
    assert {file.name for file in (workspace / "OCR-D-FEW").glob("*.xml")} == done
    mets = (workspace / "mets.xml").read_text()
    assert all(f"OCR-D-FEW/{name}" in mets for name in done) and "OCR-D-FEW_P2" not in mets
    (images / "p3.png").unlink()
    many = ocrd(TOOL, "-I", "OCR-D-IMG", "-O", "OCR-D-MANY", "-P", "method", "otsu", cwd=workspace)
    assert many.returncode == 1
    assert "Failure on page P3" in many.stderr and "too many failures" in many.stderr
    assert [file.name for file in (workspace / "OCR-D-MANY").glob("*.xml")] == ["OCR-D-MANY_P1.xml"]
    assert (workspace / "mets.xml").read_text() == mets  # it stops there, and records none of this run's results
