"""The arithmetic of benchmarks/ocr.py and benchmarks/ocrmypdf.py; reading pages is not tested here."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pypdfium2 as pdfium
import pytest
from PIL import Image

from sauvolanet.panel import Scan

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{name}_benchmark", BENCHMARKS / f"{name}.py")
    assert spec and spec.loader
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # its dataclasses look there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def ocr() -> ModuleType:
    return load("ocr")


def scan(name: str, folder: Path, kind: str = "book", pixels: int = 0) -> Scan:
    """A page whose text is 0123456789."""
    (folder / "text").write_text("0123456789")
    return Scan(kind, name, folder / f"{name}.png", folder / "text", "eng", pixels=pixels)


def test_medians_of_finished_pages_only(ocr: ModuleType, tmp_path: Path) -> None:
    pages = [scan(n, tmp_path, pixels=k) for k, n in enumerate("abc")]
    told = [["as it is", True, "a", by, wrong] for by, wrong in ((0, 1), (7, 5), (15, 2))]
    told += [["ours", False, "a", by, wrong] for by, wrong in ((0, 3), (7, 0), (15, 1))]
    told += [["as it is", True, "b", 0, 4], ["ours", False, "b", 0, 6], ["as it is", True, "b", 7, 9]]
    told += [["as it is", True, "c", 0, 1]]  # ours has not read it yet
    journal = tmp_path / "journal"
    journal.write_text("".join(json.dumps(line) + "\n" for line in told))
    scores = ocr.collect(pages, journal)
    assert [p.id for p in scores.pages] == ["a", "b"]
    assert np.allclose(scores.rates(), [[0.2, 0.4], [0.1, 0.6]])


def test_the_journal_of_an_earlier_run_stays_until_a_page_is_read(
    ocr: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = tmp_path / "newest-run.jsonl"
    journal.write_text("earlier\n")
    row = ocr.Row("as it is", lambda page: page)
    pages = [scan(n, tmp_path, pixels=k) for k, n in enumerate("abc")]
    monkeypatch.setattr(ocr, "read", lambda *args: "012345678")
    for seen in ("", "ab"):  # stopped by a scan that lacks
        for name in seen:
            Image.new("L", (9, 9)).save(tmp_path / f"{name}.png")
        with pytest.raises(FileNotFoundError):
            ocr.measure(pages, [row], [0], tmp_path, journal)
        lines = journal.read_text().splitlines()
        assert lines == (["earlier"] if not seen else [f'["as it is", false, "{n}", 0, 1]' for n in seen])


def test_a_constant_difference_has_a_narrow_interval(ocr: ModuleType) -> None:
    assert ocr.interval(np.full(5, 0.25)) == (0.25, 0.25)
    low, high = ocr.interval(np.array([-0.1, 0.1, -0.1, 0.1]))
    assert low < 0 < high
    assert ocr.verdict(np.array([-0.2, -0.1, -0.1, -0.3])) == "better"
    assert ocr.verdict(np.array([0.2, 0.1, 0.1, 0.3])) == "worse"
    assert ocr.verdict(np.array([-0.1, 0.1, -0.1, 0.1])) == "no significant difference"
    assert ocr.verdict(np.array([-0.2, -0.1, -0.1])) == "too few pages"


def test_kinds_take_turns(ocr: ModuleType, tmp_path: Path) -> None:
    kinds = {"a": "book", "b": "book", "c": "phone"}
    pages = [scan(n, tmp_path, kind=k, pixels=9 - i) for i, (n, k) in enumerate(kinds.items())]
    assert [p.id for p in ocr.in_turn(pages)] == ["b", "c", "a"]


def test_the_scan_for_ocrmypdf_and_its_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)  # it imports its neighbour
    benchmark = load("ocrmypdf")
    sizes = [(300, 150), (90, 60)]
    images = [tmp_path / f"{n}.jpg" for n in range(2)]
    for n, path in enumerate(images):
        Image.linear_gradient("L").resize(sizes[n]).save(path)
    benchmark.make_scan(images, 150, tmp_path / "scan.pdf")
    written = (tmp_path / "scan.pdf").read_bytes()
    assert all(path.read_bytes() in written for path in images)
    with pdfium.PdfDocument(tmp_path / "scan.pdf") as document:
        assert [page.get_size() for page in document] == [(144, 72), pytest.approx((43.2, 28.8))]
    for seen, path in zip(benchmark.looks(tmp_path / "scan.pdf", 150), images, strict=True):
        with Image.open(path) as image:
            height, width = seen.shape[0] - image.height, seen.shape[1] - image.width
            assert {height, width} <= {0, 1}  # rounded up
            assert abs(seen[: image.height, : image.width, 0].astype(int) - np.asarray(image)).mean() < 3
    table = benchmark.report(
        [scan("a", tmp_path), scan("b", tmp_path)], {"ours": [0.1, 0.3]}, {"the scan": 4000, "ours": 100}, "Told."
    )
    assert table.splitlines() == [
        "Told.",
        "",
        "| | bytes | error rate, mean | a | b |",
        "|---|---:|---:|---:|---:|",
        "| the scan | 4,000 |  |  |  |",
        "| ours | 100 | 20.0 | 10.0 | 30.0 |",
    ]
