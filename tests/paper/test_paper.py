"""The command on small synthetic sets; on the real ones the printed values are the oracle."""

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sauvolanet import binarize, classic, synth
from sauvolanet.cli import main
from sauvolanet.paper import NAMES, Work, make
from sauvolanet.paper.ablation import LEFT_OUT, Single, Trainings, leave_one_out, sauvola_ink, table2_rows
from sauvolanet.paper.claims import regions
from sauvolanet.paper.figures import figure1
from sauvolanet.paper.tables import PRINTED, Beside, Section

SETS = ("DIBCO2009", "DIBCO2011", "DIBCO2014", "DIBCO2016", "Synchromedia")


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    """Two small synthetic pages in each of five sets."""
    folder = tmp_path_factory.mktemp("data")
    for i, name in enumerate(SETS):
        (folder / name).mkdir()
        for j in (1, 2):
            gray, truth = synth.page(10 * i + j, kind="print", height=120, width=200)
            Image.fromarray(gray).save(folder / name / f"H0{j}.png")
            Image.fromarray(np.where(truth, 0, 255).astype(np.uint8)).save(folder / name / f"H0{j}.gt.png")
    return folder


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Few methods and samples, so that a table takes a moment."""
    few = {
        n: classic.METHODS[n]
        for n in ("otsu", "sauvola", "sauvola-ms", "isauvola", "sauvola-grid", "sauvola-swt", "su")
    }
    monkeypatch.setattr(classic, "METHODS", few)
    monkeypatch.setattr("sauvolanet.paper.ablation.PATCHES", 2)
    monkeypatch.setattr("sauvolanet.paper.figures._SHEET_METHODS", ("otsu", "su"))


def test_printed_values_are_those_of_the_issue():
    untrained = [row["scores"][0] for row in PRINTED["table2"] if not row["train_k"] and not row["train_r"]]
    assert untrained == [50.09, 67.37, 77.23]
    assert [len(PRINTED[n]) for n in ("table2", "table3", "figure4")] == [12, 15, 4]
    assert [len(PRINTED[n]["rows"]) for n in ("table4", "table5", "table6")] == [10, 11, 11]
    assert [PRINTED[n]["rows"]["SauvolaNet"][0] for n in ("table4", "table5", "table6")] == [94.32, 97.83, 90.25]


def test_beside_and_csv():
    section = Section(
        "x", "X", ["a", "b"], [["r", Beside(1.5, 1.0)], ["s", Beside(None, 2.0)], ["t", Beside(3.0, None)]]
    )
    assert [str(row[1]) for row in section.rows] == ["1.50 · 1.00 · +0.50", "not run · 2.00", "3.00"]
    assert list(csv.reader(section.csv().splitlines())) == [
        ["a", "b", "b printed", "b difference"], ["r", "1.5", "1.0", "0.5"], ["s", "", "2.0", ""], ["t", "3.0", "", ""],
    ]  # fmt: skip


def test_ink_of_gray_over_255_is_the_verbs():
    gray, _ = synth.page(1, kind="print", height=90, width=110)
    ink = sauvola_ink(gray, window=11, k=0.3, r=0.4, scaling="255")
    assert (ink != binarize(gray, method="sauvola", window=11, k=0.3, r=0.4, invert="no")).mean() < 1e-3


def test_minmax_does_not_see_offset_and_contrast():
    gray, _ = synth.page(1, kind="print", height=90, width=110)
    low, high = int(gray.min()), int(gray.max())
    half = ((gray.astype(int) - low) // 2 * 2).astype(np.uint8)  # even steps from 0, so that halving is exact
    darker = (half // 2 + 17).astype(np.uint8)
    assert high > 100
    settings = {"window": 15, "k": 0.29, "r": 0.28, "scaling": "minmax"}
    assert (sauvola_ink(half, **settings) != sauvola_ink(darker, **settings)).mean() < 1e-3


def test_the_score_is_the_mean_of_the_sets_means():
    def page(name, value):
        return {"dataset": name, "page": "p", "status": "done", "fm": value, "pfm": 0.0, "psnr": None, "drd": 1.0}

    scores = {"a": [page("a", 10.0), page("a", 20.0)], "b": [page("b", 50.0)], LEFT_OUT: [page(LEFT_OUT, 0.0)]}
    scores["b"][0]["psnr"] = scores[LEFT_OUT][0]["psnr"] = 8.0
    assert leave_one_out(scores, LEFT_OUT) == [32.5, 0.0, 8.0, 1.0]


def test_regions_by_hand():
    found = regions(np.array([[0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]], bool))
    assert found["border"].astype(int).tolist() == [[0, 0, 1, 1], [0, 1, 1, 1], [0, 1, 1, 0]]
    assert found["ink"].sum() == 1 and found["paper"].sum() == 4


def test_table2_trains_scores_and_resumes(small, tmp_path, capsys):
    argv = ["paper", "table2", "--data", str(small), "--out", str(tmp_path)]
    assert main([*argv, "--minutes", "0"]) == 0
    assert "not run" in capsys.readouterr().out
    assert main(argv) == 0
    first = capsys.readouterr()
    assert "not run" not in first.out and "fit-w15" in first.err
    rows = list(csv.DictReader((tmp_path / "table2.csv").read_text().splitlines()))
    assert len(rows) == 12
    both = [r for r in rows if r["w"] == "15" and r["k trained"] == r["r trained"] == "yes"]
    assert both[0]["FM"] == both[1]["FM"]  # one optimum, whatever the start
    assert main(argv) == 0
    second = capsys.readouterr()
    assert second.err == "" and second.out == first.out


def test_shards_together_make_the_table(small, tmp_path, capsys):
    argv = ["paper", "table4", "--data", str(small), "--out", str(tmp_path)]
    for i in (1, 2):
        assert main([*argv, "--shard", f"{i}/2"]) == 0
        tables = capsys.readouterr().out
        assert ("not run" in tables.partition("MRAtt")[0]) == (i == 1)


def test_predictions_add_a_row(small, tmp_path, capsys):
    results = tmp_path / "results" / "DIBCO2014"
    results.mkdir(parents=True)
    for truth in (small / "DIBCO2014").glob("*.gt.png"):
        (results / truth.name.replace(".gt", "")).write_bytes(truth.read_bytes())
    argv = ["paper", "table5", "--data", str(small), "--out", str(tmp_path / "out")]
    assert main([*argv, "--predictions", f"mine={tmp_path / 'results'}"]) == 0
    line = next(text for text in capsys.readouterr().out.splitlines() if text.startswith("| mine"))
    assert "| 100.00 |" in line


def test_a_model_that_saw_the_test_sets_is_left_out(small, tmp_path):
    from sauvolanet import net
    from sauvolanet.net.model import save

    model = net.load("original")
    about = {**model.about, "name": "cheat", "training": {**model.about["training"], "partition": "all"}}
    save(about, model.weights, tmp_path / "cheat")
    work = Work(small, tmp_path / "out", models=[str(tmp_path / "cheat")])
    (section,) = make("table6", work)
    assert "cheat" not in [row[0] for row in section.rows]
    assert any("trained on these pages" in note and "cheat" in note for note in section.notes)


@pytest.mark.slow
def test_all_makes_one_page(small, tmp_path):
    page = tmp_path / "docs" / "paper.md"
    assert main(["paper", "all", "--data", str(small), "--out", str(tmp_path / "out"), "--report", str(page)]) == 0
    text = page.read_text()
    assert text.count("\n## ") == len(NAMES) - 1
    pictures = sorted(p.name for p in (page.parent / "images").iterdir())
    assert "paper-figure3.png" in pictures and not [p for p in pictures if "figure4" in p]  # no page of a data set
    assert all(f"images/{p}" in text for p in pictures)
    assert (tmp_path / "out" / "figure4-a.png").exists() and (tmp_path / "out" / "figure4-a.svg").exists()


def test_figure1_measures_only_when_asked(small, tmp_path, monkeypatch):
    monkeypatch.setattr("sauvolanet.paper.figures.ROUNDS", 1)
    work = Work(small, tmp_path)
    assert figure1(work, measure=False).pictures == []
    (section,) = make("figure1", work)
    assert section.pictures == ["figure1.png", "figure1.svg"]
    assert all(row[2] is not None for row in section.rows)


@pytest.mark.slow
def test_networks_resume_and_are_scored(small, tmp_path, monkeypatch):
    settings = pytest.importorskip("sauvolanet.train.settings")
    tiny = replace(settings.PRESETS["paper"], batch=2, patch=32, checkpoint_every=1)
    monkeypatch.setitem(settings.PRESETS, "paper", tiny)
    from sauvolanet.paper.networks import networks_left_out

    for name in SETS[:2]:
        shutil.copytree(small / name, tmp_path / "two" / name)
    small = tmp_path / "two"
    work = Work(small, tmp_path, networks="leave-one-out", steps=2)
    found = networks_left_out(work, 2)
    assert set(found) == set(SETS[:2]) and all(len(rows) == 2 for rows in found.values())
    run = next((tmp_path / "runs").iterdir())
    about = json.loads((run / "model.json").read_text())
    assert about["windows"] == [7, 15] and about["training"]["steps"] == 2
    idle = Work(small, tmp_path, steps=2)  # networks="none" trains nothing, and shows what is there
    assert networks_left_out(idle, 2) == found
    assert networks_left_out(idle, 3) is None


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["table7"], "unknown table or figure"),
        (["table2", "--shard", "3/2"], "--shard"),
        (["table2", "--report", "x.md"], "--report"),
        (["figure3", "--truth", "x.png"], "--page"),
        (["table4", "--predictions", "x"], "KEY=VALUE"),
    ],
)
def test_usage_errors(small, tmp_path, capsys, argv, says):
    assert main(["paper", argv[0], "--data", str(small), "--out", str(tmp_path), *argv[1:]]) == 2
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1


@pytest.mark.slow
def test_untrained_rows_of_table2_as_printed(data, tmp_path):
    trainings = Trainings(Work(data, tmp_path))
    for printed, row in table2_rows():
        if row.k and row.r:
            assert leave_one_out(trainings.scores(row, ("fm",)), LEFT_OUT)[0] == pytest.approx(
                printed["scores"][0], abs=1.5
            )


@pytest.mark.slow
def test_trained_values_as_printed(data, tmp_path, monkeypatch):
    monkeypatch.setattr("sauvolanet.paper.ablation.PATCHES", 8)
    trainings = Trainings(Work(data, tmp_path))
    k, r = np.mean(list(trainings.values(Single(15)).values()), 0)
    assert k == pytest.approx(0.29, abs=3 * 0.023) and r == pytest.approx(0.28, abs=3 * 0.007)
