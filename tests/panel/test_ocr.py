"""Error rates of OCR in the panel. Tesseract reads drawn words where it is there; elsewhere a stand-in does."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from sauvolanet import panel
from sauvolanet.cli import main
from sauvolanet.errors import BadData, UsageError
from sauvolanet.panel import AS_IT_IS, ocr

WORDS = "Black ink on white paper"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two scans of the same words, of two kinds, one with a shadow; and a page of Office for the other table."""
    folder = tmp_path / "data" / "ocr"
    folder.mkdir(parents=True)
    page = Image.new("L", (700, 160), 220)
    ImageDraw.Draw(page).text((40, 50), WORDS, fill=30, font=ImageFont.load_default(48))
    page.save(folder / "plain.png")
    Image.fromarray((np.asarray(page) * np.linspace(1, 0.4, 700)).astype(np.uint8)).save(folder / "dark.png")
    (folder / "text.txt").write_text(WORDS)
    index = [{"id": name, "kind": kind, "image": f"{name}.png", "text": "text.txt", "tesseract_lang": "eng", "dpi": 200,
              "width": 700, "height": 160} for name, kind in (("plain", "typed"), ("dark", "phone"))]  # fmt: skip
    (folder / "index.json").write_text(json.dumps(index))
    office = tmp_path / "data" / "kinds" / "Office"
    office.mkdir(parents=True)
    page.save(office / "000.png")
    Image.fromarray(np.asarray(page) > 128).save(office / "000.gt.png")
    return tmp_path / "data"


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[int, int]]]:
    """Instead of Tesseract: it reads 1-bit images right but for their padding, and of others nothing. What it was given."""
    given: list[tuple[str, tuple[int, int]]] = []

    def read(image: Image.Image, language: str, dpi: int | None) -> str:
        given.append((image.mode, image.size))
        wrong = (image.height - 160) // 2
        return "x" * wrong + WORDS[wrong:] if image.mode == "1" else ""

    monkeypatch.setattr(ocr, "version", lambda: "0")
    monkeypatch.setattr(ocr, "check", lambda scans: None)
    monkeypatch.setattr(ocr, "read", read)
    return given


def test_the_median_of_three_paddings(data: Path, reader: list[tuple[str, tuple[int, int]]], tmp_path: Path) -> None:
    scans = panel.scans(data)
    assert [(s.kind, s.id, s.dpi, s.fold) for s in scans] == [
        ("typed", "plain", 200, False),
        ("phone", "dark", 200, False),
    ]
    rows = panel.score(scans, [AS_IT_IS, "otsu"], cache=tmp_path / "kept.json")
    sizes = [(700, 160), (714, 174), (730, 190)]
    assert reader[:6] == [("L", size) for size in sizes] + [("1", size) for size in sizes]
    assert [(r["page"], r["method"]) for r in rows] == [(p, m) for p in ("plain", "dark") for m in (AS_IT_IS, "otsu")]
    assert [r["error"] for r in rows] == pytest.approx([100, 100 * 7 / len(WORDS)] * 2)
    assert panel.score(scans, [AS_IT_IS, "otsu"], cache=tmp_path / "kept.json") == rows and len(reader) == 12  # kept


def test_the_table_of_error_rates() -> None:
    values = {"a": [(10.0, 4.0, 6.0), (20.0, 8.0, 6.0)], "b": [(3.0, 9.0, 1.0)]}
    rows = [{"kind": kind, "page": str(n), "method": method, "error": error} for kind, pages in values.items()
            for n, page in enumerate(pages) for method, error in zip((AS_IT_IS, "otsu", "nick"), page, strict=True)]  # fmt: skip
    assert panel.error_table(rows, markdown=True).splitlines() == [
        "| kind | pages | as it is | otsu | nick |",
        "| --- | --- | --- | --- | --- |",
        "| a | 2 | 15.0 | 6.0* | 6.0* |",
        "| b | 1 | 3.0 | 9.0 | 1.0* |",
        "| all scans |  | 11.0 | 7.0 | 4.3 |",  # over the scans, not over the kinds
    ]


def test_the_command(data: Path, reader: list[object], capsys: pytest.CaptureFixture[str]) -> None:
    command = ["panel", "--data", str(data), "--kinds", "Office", "--methods", "otsu"]
    assert main([*command, "--ocr"]) == 0
    first, second = capsys.readouterr().out.split("\n\n")
    assert first.splitlines()[1].split()[:2] == ["Office", "1"]
    assert [line.split() for line in second.splitlines()[1:3]] == [["typed", "1", "100.0", "29.2*"],
                                                                   ["phone", "1", "100.0", "29.2*"]]  # fmt: skip
    assert main([*command, "--ocr", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ocr"]["kinds"]["phone"]["otsu"] == pytest.approx(100 * 7 / 24)
    assert main([*command, "--json"]) == 0 and "ocr" not in json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("lacks", ["Tesseract", "scans", "language"])
def test_what_lacks_is_one_line_and_the_other_rows_come(
    lacks: str, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ocr.version.cache_clear()
    if lacks == "language":
        program = tmp_path / "tesseract"
        program.write_text("#!/bin/sh\necho tesseract 5\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    if lacks == "scans":
        (data / "ocr" / "index.json").unlink()
    assert main(["panel", "--data", str(data), "--kinds", "Office", "--methods", "otsu", "--ocr"]) == 0
    ocr.version.cache_clear()
    told = capsys.readouterr()
    reason = {"Tesseract": "Tesseract is not installed: apt install tesseract-ocr",
              "scans": f"no scans with text in {data}/ocr: No such file or directory",
              "language": "Tesseract lacks eng: apt install tesseract-ocr-eng"}[lacks]  # fmt: skip
    assert told.err == f"sauvolanet: no error rates of OCR: {reason}\n"
    assert told.out.splitlines()[1].split()[0] == "Office" and "as it is" not in told.out


def test_a_list_that_is_none(data: Path) -> None:
    for text in ("no JSON", "[1]", '[{"id": "a"}]'):
        (data / "ocr" / "index.json").write_text(text)
        with pytest.raises(BadData, match="is no list of scans"):
            panel.scans(data)


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="no tesseract: reading is NOT checked")
def test_tesseract_reads_the_ink(data: Path, tmp_path: Path) -> None:
    scans = panel.scans(data)
    ocr.check(scans)
    with pytest.raises(UsageError, match="lacks xyz"):
        ocr.check([ocr.Scan("typed", "plain", scans[0].image, scans[0].truth, "xyz")])
    assert [row["error"] for row in panel.score(scans, ["bradley"])] == [0, 0]
    ink = Image.fromarray(np.asarray(scans[0].load()) > 128)
    text = ocr.read(ink, "eng", 200, cache=tmp_path)
    (kept,) = tmp_path.glob("*.txt")
    kept.write_text("kept")
    assert text.strip() == WORDS and ocr.read(ink, "eng", 200, cache=tmp_path) == "kept"
    assert ocr.read(ink, "eng", 200, ["thresholding_method=2"], tmp_path).strip() == WORDS  # other settings, read anew
