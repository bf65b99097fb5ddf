"""Real runs of OCRmyPDF in an environment of its own."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pypdfium2 as pdfium
import pytest
from PIL import Image, ImageDraw

from sauvolanet import binarize
from sauvolanet.files.write import PdfWriter
from sauvolanet.score.text import errors

Run = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow
NO_OCR = ("--ocr-engine", "none", "--output-type", "pdf", "--quiet")


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    for program in ("tesseract", "gs", "pdfimages", "pdftotext"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")


@pytest.fixture(scope="module")
def scan(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight pages: one with its text known, and seven strips of others, so that eight jobs have work."""
    sources = ["typed-ehri-bf-en", "typed-ehri-wl-en"]
    pages = [Image.open(data / "ocr" / f"{name}.jpg").convert("RGB") for name in sources]
    strips = [pages[1].crop((0, top, 825, top + 120)) for top in range(60, 900, 120)]
    target = tmp_path_factory.mktemp("scan") / "scan.pdf"
    pages[0].save(target, save_all=True, append_images=strips, resolution=150)
    return target


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two drawn pages of words: one plain, one with a colour picture."""
    pages = []
    for picture in (False, True):
        page = Image.new("RGB", (500, 400), (240, 225, 190))
        draw = ImageDraw.Draw(page)
        for line in range(5):
            draw.text((40, 30 + 40 * line), "the quick brown fox jumps", fill=(30, 25, 20), font_size=28)
        if picture:
            gradient = np.linspace((20, 60, 220), (220, 40, 30), 300).astype(np.uint8)
            page.paste(Image.fromarray(np.tile(gradient, (120, 1, 1))), (100, 250))
        pages.append(page)
    target = tmp_path_factory.mktemp("small") / "small.pdf"
    pages[0].save(target, save_all=True, append_images=pages[1:], resolution=150)
    return target


def pictures(pdf: Path) -> list[tuple[str, str, str]]:
    """Width, bits and coding of the picture of each page."""
    listed = subprocess.run(["pdfimages", "-list", pdf], capture_output=True, text=True, check=True).stdout
    return [(f[3], f[7], f[8]) for f in (line.split() for line in listed.splitlines()[2:])]


def texts(pdf: Path) -> list[str]:
    """The text layer of each page in its own order, not in that of a guess at the layout."""
    listed = subprocess.run(["pdftotext", "-raw", pdf, "-"], capture_output=True, text=True, check=True)
    return listed.stdout.split("\f")


def looks(pdf: Path) -> list[np.ndarray]:
    with pdfium.PdfDocument(pdf) as document:
        return [page.render(scale=1).to_numpy().copy() for page in document]


def sizes(pdf: Path) -> list[tuple[float, float]]:
    with pdfium.PdfDocument(pdf) as document:
        return [page.get_size() for page in document]


def test_text_layer_and_size_in_threads_and_in_processes(ocrmypdf: Run, scan: Path, data: Path, tmp_path: Path) -> None:
    runs = {
        "plain": [],
        "threads": ["--sauvolanet-for", "both"],
        "processes": ["--plugin", "sauvolanet.plugins.ocrmypdf", "--sauvolanet-for", "both", "--no-use-threads"],
    }
    truth = (data / "ocr" / "typed-ehri-bf-en.txt").read_text(encoding="utf-8")
    rates = {}
    for name, flags in runs.items():
        done = ocrmypdf("ocrmypdf", "--jobs", "8", "--output-type", "pdf", *flags, scan, tmp_path / f"{name}.pdf")
        assert done.returncode == 0, done.stderr
        wrong, length = errors(texts(tmp_path / f"{name}.pdf")[0], truth)
        rates[name] = wrong / length
    threads, processes = tmp_path / "threads.pdf", tmp_path / "processes.pdf"
    assert rates["threads"] < rates["plain"] + 0.1  # a wrong image, turned or inverted, gives nearly 1
    assert texts(threads) == texts(processes)
    assert all(np.array_equal(a, b) for a, b in zip(looks(threads), looks(processes), strict=True))
    assert {(bits, coding) for _, bits, coding in pictures(threads)} <= {("1", "ccitt"), ("1", "jbig2")}
    assert threads.stat().st_size < scan.stat().st_size / 3
    assert threads.stat().st_size < (tmp_path / "plain.pdf").stat().st_size / 3
    np.testing.assert_allclose(sizes(threads), sizes(scan), atol=0.6)


def test_an_image_of_another_plugin_without_resolution(ocrmypdf: Run) -> None:
    program = (
        "from types import SimpleNamespace as S; from PIL import Image; from sauvolanet.plugins import ocrmypdf as ours\n"
        "page = S(options=S(sauvolanet=ours.SauvolanetOptions(**{'for': 'ocr', 'method': 'otsu', 'enlarge': 2})))\n"
        "image = Image.new('L', (100, 80), 200); image.info['dpi'] = (150, 75)\n"
        "step = ours.filter_ocr_image(page, image); next(step)\n"
        "try: step.send(Image.new('L', (200, 160), 200))\n"
        "except StopIteration as end: print(end.value.info['dpi'])\n"
    )
    done = ocrmypdf("python", "-c", program)
    assert done.stdout == "(600.0, 300.0)\n", done.stderr


def test_without_the_flag_nothing_changes(ocrmypdf: Run, small: Path, tmp_path: Path) -> None:
    still = (
        "import datetime, itertools, secrets, sys\n"
        "class Still(datetime.datetime):\n"
        "    now = classmethod(lambda cls, tz=None: cls.fromtimestamp(1.7e9, tz))\n"
        "datetime.datetime = Still  # the file says when it was made\n"
        "count = itertools.count(); secrets.token_urlsafe = lambda n: f'name{next(count):06}'  # and has random names\n"
    )
    hide = (
        "import importlib.metadata as m; real = m.distributions\n"
        "m.distributions = lambda **k: [d for d in real(**k) if d.name != 'sauvolanet']\n"
    )
    run = "from ocrmypdf.__main__ import run; code = run(sys.argv[1:])\n"
    unseen = "assert not any(n.startswith('sauvolanet') for n in sys.modules); sys.exit(code)"
    light = (
        "assert 'sauvolanet.plugins.ocrmypdf' in sys.modules\n"
        "assert 'sauvolanet.api' not in sys.modules; sys.exit(code)"
    )
    files = []
    for name, program in (("hidden", still + hide + run + unseen), ("shown", still + run + light)):
        target = tmp_path / f"{name}.pdf"
        done = ocrmypdf("python", "-c", program, "--output-type", "pdf", "--jobs", "1", small, target)
        assert done.returncode == 0, done.stderr
        files.append(re.sub(rb"/ID ?\[[^]]*\]", b"", target.read_bytes()))  # the identifier of a file is random
    assert files[0] == files[1]


def test_a_colour_picture_is_kept_unless_the_user_insists(ocrmypdf: Run, small: Path, tmp_path: Path) -> None:
    kept, flat = tmp_path / "kept.pdf", tmp_path / "flat.pdf"
    assert ocrmypdf("ocrmypdf", *NO_OCR, "--sauvolanet-for", "page", small, kept).returncode == 0
    (_, bits, coding), (_, picture_bits, _) = pictures(kept)
    assert (bits, picture_bits) == ("1", "8") and coding in ("ccitt", "jbig2")
    flags = ("--sauvolanet-for", "page", "--sauvolanet-pictures", "flatten", "--sauvolanet-method", "otsu")
    assert ocrmypdf("ocrmypdf", *NO_OCR, *flags, small, flat).returncode == 0
    assert [bits for _, bits, _ in pictures(flat)] == ["1", "1"]
    np.testing.assert_allclose(sizes(flat), sizes(small), atol=0.6)


def test_the_visible_page_is_our_ink(ocrmypdf: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    gray = np.clip(rng.normal(200, 8, (300, 400)), 0, 255).astype(np.uint8)
    gray[100:110, 50:350] = gray[150:200, 60:66] = 40
    with (tmp_path / "gray.pdf").open("wb") as file:
        writer = PdfWriter(file, 150)
        writer.add(gray, (150, 150), "")
        writer.close()
    done = ocrmypdf("ocrmypdf", *NO_OCR, "--sauvolanet-for", "page", tmp_path / "gray.pdf", tmp_path / "ink.pdf")
    assert done.returncode == 0, done.stderr
    subprocess.run(["pdfimages", "-png", tmp_path / "ink.pdf", tmp_path / "ink"], check=True)
    (found,) = tmp_path.glob("ink-*.png")
    assert np.array_equal(np.asarray(Image.open(found).convert("L")) == 0, binarize(gray))


@pytest.mark.parametrize(
    ("flags", "code", "line"),
    [
        (
            ["--sauvolanet-for", "ocr", "--sauvolanet-model", "orignal"],
            1,
            "unknown model 'orignal'; did you mean original",
        ),
        (["--sauvolanet-for", "ink"], 1, "for must be one of ocr, page, both, not 'ink'"),
        (["--sauvolanet-for", "page", "--skip-text"], 1, "keeps the visible pages"),
        (["--sauvolanet-for", "ocr", "--sauvolanet-strength", "3"], 1, "strength must be a number from -1 to 1"),
    ],
)
def test_wrong_options_are_one_line(
    ocrmypdf: Run, small: Path, tmp_path: Path, flags: list[str], code: int, line: str
) -> None:
    done = ocrmypdf("ocrmypdf", "--ocr-engine", "none", *flags, small, tmp_path / "out.pdf")
    assert done.returncode == code
    assert line in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out.pdf").exists()


def test_pages_without_an_image_and_encrypted_files(ocrmypdf: Run, small: Path, tmp_path: Path) -> None:
    pikepdf = pytest.importorskip("pikepdf")
    empty, locked, out = tmp_path / "empty.pdf", tmp_path / "locked.pdf", tmp_path / "out.pdf"
    with pikepdf.new() as document:
        document.add_blank_page()
        document.save(empty)
    done = ocrmypdf("ocrmypdf", *NO_OCR, "--sauvolanet-for", "page", empty, out)
    assert (done.returncode, "page 1 holds no scanned image" in done.stderr) == (2, True)
    with pikepdf.open(small) as document:
        document.save(locked, encryption=pikepdf.Encryption(owner="a", user="b"))
    done = ocrmypdf("ocrmypdf", *NO_OCR, "--sauvolanet-for", "both", locked, out)
    assert (done.returncode, "ncrypted" in done.stderr) == (8, True)
    assert not out.exists()
