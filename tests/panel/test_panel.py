"""The panel: its pages, its scores, its table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sauvolanet import panel
from sauvolanet.cli import main
from sauvolanet.errors import BadData, UnknownName
from sauvolanet.panel import Page, scores
from sauvolanet.panel.pages import KEPT, PER_KIND, SETS
from sauvolanet.score import datasets


@pytest.fixture
def office(tmp_path: Path) -> Path:
    """A folder with two pages of the kind Office: dark bars on gray paper, the second on a paper in two halves."""
    folder = tmp_path / "data" / "kinds" / "Office"
    folder.mkdir(parents=True)
    for i in range(2):
        gray = np.full((60, 80), 200, np.uint8)
        gray[:, 40:] = 200 - 140 * i
        truth = np.zeros((60, 80), bool)
        truth[10:50:8, 5:75] = truth[11:50:8, 5:75] = True
        gray[truth] //= 4
        Image.fromarray(gray).save(folder / f"{i:03d}.png")
        Image.fromarray(~truth).save(folder / f"{i:03d}.gt.png")
    return tmp_path / "data"


def test_functions_on_pages() -> None:
    truth = np.zeros((4, 4), bool)
    truth[1] = True
    gray = np.where(truth, 50, 200).astype(np.uint8)
    pages = [Page("a", "0", gray, truth), Page("a", "1", np.dstack([gray] * 3), truth), Page("b", "0", gray, ~truth)]
    rows = panel.run(pages, {"right": lambda g: g < 100, "all": lambda g: g < 255})
    assert [(r["kind"], r["page"], r["method"]) for r in rows[:2]] == [("a", "0", "right"), ("a", "0", "all")]
    means = panel.mean(rows)
    assert means["a"]["right"] == 100 and means["a"]["all"] == pytest.approx(40)  # 2 · 4 / (16 + 4)
    assert means["b"]["right"] == 0
    text = panel.table(rows).splitlines()
    assert text[0].split() == ["kind", "pages", "right", "all"]
    assert text[1].split() == ["a", "2", "100.0", "40.0"]
    assert text[3].split() == ["mean", "of", "kinds", "50.0", "62.9"]
    assert text[4].split() == ["worst", "kind", "0.0", "40.0"]


def test_the_best_classic_method_has_a_star() -> None:
    values = {"swift": 99.0, "otsu": 80.0, "nick": 85.0}
    rows = [{"kind": "a", "page": "0", "method": m, "fm": v} for m, v in values.items()]
    assert panel.table(rows).splitlines()[1].split() == ["a", "1", "99.0", "80.0", "85.0*"]
    assert panel.table(rows, markdown=True).splitlines()[:3] == [
        "| kind | pages | swift | otsu | nick |", "| --- | --- | --- | --- | --- |", "| a | 1 | 99.0 | 80.0 | 85.0* |",
    ]  # fmt: skip


def test_scores_are_kept_until_code_or_page_changes(
    office: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = panel.sources(office, ["Office"])
    cache = tmp_path / "kept.json"
    worked = []
    work = scores.score_page
    monkeypatch.setattr(scores, "score_page", lambda task, threads: worked.append(task[1]) or work(task, threads))
    rows = panel.score(sources, ["otsu"], cache=cache)
    assert [row["page"] for row in rows] == ["000", "001"]
    assert rows[0]["fm"] == 100 > rows[1]["fm"]  # one threshold cannot serve two halves
    assert panel.score(sources, ["otsu"], cache=cache) == rows
    assert worked == [["otsu"]] * 2
    panel.score(sources, ["otsu", "bradley"], cache=cache)
    assert worked[2:] == [["bradley"]] * 2
    path = office / "kinds" / "Office" / "001.png"
    Image.open(path).point(lambda v: v // 2).save(path)
    panel.score(sources, ["otsu"], cache=cache)
    assert worked[4:] == [["otsu"]]
    monkeypatch.setattr(scores, "fingerprint", lambda method: "other code")
    panel.score(sources, ["otsu"], cache=cache)
    assert worked[5:] == [["otsu"]] * 2
    cache.write_text("[]")
    with pytest.raises(BadData, match="kept scores"):
        panel.score(sources, ["otsu"], cache=cache)


def test_jobs_change_nothing(office: Path) -> None:
    sources = panel.sources(office, ["Office"])
    assert panel.score(sources, ["otsu"], jobs=2) == panel.score(sources, ["otsu"])


def test_the_command(office: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["panel", "--data", str(office), "--kinds", "office", "--methods", "otsu", "wolf"]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["kind", "pages", "otsu", "wolf"] and lines[1].startswith("Office")
    assert main([*command, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result["kinds"]["Office"]) == {"otsu", "wolf"} and len(result["pages"]) == 4
    assert main([*command[:3], "--kinds", "ruled"]) == 4
    assert "no folder 'papers'" in capsys.readouterr().err
    assert main([*command[:3], "--methods", "otso", "--kinds", "office"]) == 2
    assert main([*command, "--jobs", "0"]) == 2


@pytest.mark.parametrize(("kinds", "part"), [([], "documents"), (["Nabuco"], "kinds"), (["ruled"], "papers")])
def test_a_folder_of_own_pages_is_told_what_lacks(
    kinds: list[str], part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["panel", "--data", str(tmp_path), *(["--kinds", *kinds] if kinds else [])]) == 4
    told = capsys.readouterr().err
    assert f"{tmp_path}: no folder '{part}'" in told and "documents, kinds, papers and ink" in told
    assert "'sauvolanet evaluate'" in told and told.count("\n") == 1


def test_methods_and_kinds_by_name(office: Path) -> None:
    assert panel.names()[:4] == ["swift", "swift-heldout", "original", "paper"]
    assert "howe" not in panel.names()
    with pytest.raises(UnknownName, match="Office"):
        panel.sources(office, ["Ofice"])


def test_pages_of_the_data(data: Path) -> None:
    found = panel.sources(data)
    assert list(dict.fromkeys(s.kind for s in found)) == list(panel.KINDS)
    held = {(SETS[s.kind], s.id) for s in found if s.kind in SETS}
    assert held == datasets.held_out_pages()
    counts = {kind: sum(s.kind == kind for s in found) for kind in panel.KINDS}
    assert [counts[kind] for kind in KEPT] == [8, 4, 16]
    assert counts["ruled"] == PER_KIND
    whole = panel.sources(data, ["Bleedthrough", "Nabuco"], whole=True)
    assert len(whole) == 54
    page = next(panel.pages(data, ["DIBCO2009"]))
    assert page.kind == "DIBCO2009 validation" and page.image.shape[:2] == page.truth.shape == page.gray.shape
