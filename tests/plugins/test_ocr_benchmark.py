"""The arithmetic of benchmarks/ocr.py; reading pages is not tested here."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest


@pytest.fixture(scope="module")
def ocr() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "ocr.py"
    spec = importlib.util.spec_from_file_location("ocr_benchmark", path)
    assert spec and spec.loader
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # its dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_distance_and_normalisation(ocr: ModuleType) -> None:
    assert ocr.distance("kitten", "sitting") == 3
    assert ocr.distance("", "abc") == ocr.distance("abc", "") == 3
    assert ocr.distance("intention", "execution") == 5
    assert ocr.normalise("Waſ⸗\n ſer  „gut“ …") == 'Was- ser "gut" ...'
    assert ocr.errors("ABC", "abd", fold=True) == (1, 3)


def test_medians_of_finished_pages_only(ocr: ModuleType, tmp_path: Path) -> None:
    pages = [{"id": n, "kind": "book", "text": f"{n}.txt", "width": 1, "height": k} for k, n in enumerate("abc")]
    (tmp_path / "index.json").write_text(json.dumps(pages))
    for page in pages:
        (tmp_path / page["text"]).write_text("0123456789")
    told = [["as it is", True, "a", by, wrong] for by, wrong in ((0, 1), (7, 5), (15, 2))]
    told += [["ours", False, "a", by, wrong] for by, wrong in ((0, 3), (7, 0), (15, 1))]
    told += [["as it is", True, "b", 0, 4], ["ours", False, "b", 0, 6], ["as it is", True, "b", 7, 9]]
    told += [["as it is", True, "c", 0, 1]]  # ours has not read it yet
    journal = tmp_path / "journal"
    journal.write_text("".join(json.dumps(line) + "\n" for line in told))
    scores = ocr.collect(tmp_path, journal)
    assert [p["id"] for p in scores.pages] == ["a", "b"]
    assert np.allclose(scores.rates(), [[0.2, 0.4], [0.1, 0.6]])


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
    (tmp_path / "index.json").write_text(
        json.dumps([{"id": n, "kind": k, "width": 1, "height": 9 - i} for i, (n, k) in enumerate(kinds.items())])
    )
    assert [p["id"] for p in ocr.page_list(tmp_path)] == ["b", "c", "a"]
