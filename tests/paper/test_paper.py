"""The command on small synthetic sets; on the real ones the printed values are the oracle."""

import csv
import json
import shutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from sauvolanet import binarize, synth
from sauvolanet.cli import main
from sauvolanet.errors import BadData
from sauvolanet.paper import NAMES, Work, commands, make
from sauvolanet.paper.ablation import LEFT_OUT, Samples, Single, Trainings, leave_one_out, sauvola_ink, table2_rows
from sauvolanet.paper.figures import figure1, name_points
from sauvolanet.paper.tables import PRINTED, Beside, Section, Spread

claims = import_module("sauvolanet.paper.claims")  # the package has a function of that name


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


def test_spread_and_columns_of_the_csv_alone():
    trained = Spread(0.2288, 0.23, deviation=0.0016, printed_deviation=0.003)
    assert str(trained) == "0.229 ± 0.002 · 0.23 ± 0.003 · -0.001"
    assert str(Spread(0.5, 0.5, places=2)) == "0.50 · 0.50 · +0.00"
    assert str(Spread(None, 0.23, printed_deviation=0.003)) == "not run · 0.23 ± 0.003"
    section = Section("x", "X", ["k", "k deviation"], [[trained, trained.deviation]], csv_only=1)
    assert "| k |\n" in section.markdown() and "k deviation" not in section.markdown()
    assert section.csv().splitlines() == ["k,k printed,k difference,k deviation", "0.2288,0.23,-0.0012,0.0016"]


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
    found = claims.regions(np.array([[0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]], bool))
    assert found["border"].astype(int).tolist() == [[0, 0, 1, 1], [0, 1, 1, 1], [0, 1, 1, 0]]
    assert found["ink"].sum() == 1 and found["paper"].sum() == 4


def test_either_of_k_and_r_must_help(small, tmp_path, monkeypatch):
    fms = {"x": {(False, False): 77.0, (True, False): 79.0, (False, True): 80.0, (True, True): 81.0}}
    monkeypatch.setattr(claims, "untrained_and_trained", lambda trainings: fms)

    def verdict():
        return next(
            claim[1] for claim in claims.of_training(Work(small, tmp_path)) if claim[0].startswith("Training k")
        )

    assert verdict() == "holds"
    fms["x"][True, False] = 76.0  # the better one helps still
    assert verdict() == "does not hold"


def test_which_windows_beat_the_best_preset(small, tmp_path, monkeypatch):
    fms = {"poor": {(False, False): 50.0}, "good": {(False, False): 77.0}}
    monkeypatch.setattr(claims, "untrained_and_trained", lambda trainings: fms)

    def scores(self, row):
        page = {"status": "done", "fm": 60.0 + row.window if row.window < 20 else 80.0, "pfm": 0, "psnr": 0, "drd": 0}
        return {"DIBCO2009": [{"dataset": "DIBCO2009", "page": "p", **page}]}

    monkeypatch.setattr(Trainings, "scores", scores)
    first = next(claims.of_windows(Work(small, tmp_path)))  # 7: 67, 15: 75
    assert first[1] == "holds for w = 23, 31, 39, 47, 55, 63, not for w = 7, 15"
    assert "the best preset (good) 77.0" in first[2]


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
    for name in ("k", "k printed", "k difference", "k deviation", "k deviation printed", "r deviation", "DRD, 13 sets"):
        float(both[0][name])
    assert rows[0]["k deviation"] == "" and float(rows[0]["k difference"]) == 0
    assert main(argv) == 0
    second = capsys.readouterr()
    assert second.err == "" and second.out == first.out


def test_table2_tells_what_the_fits_took_if_every_cell_does(small, tmp_path, monkeypatch):
    made = []
    pixels = Samples.pixels
    monkeypatch.setattr(Samples, "pixels", lambda self, *key: made.append(key) or pixels(self, *key))
    (section,) = make("table2", Work(small, tmp_path))
    assert sorted(made) == [(w, s) for w in (11, 15) for s in ("255", "minmax")]  # each made once
    cells = sorted((tmp_path / "cells").glob("fit-*.json"))
    seconds = [json.loads(c.read_text())["seconds"] for c in cells]
    told = f"The {len(cells)} fits, each for every left-out set, took {sum(seconds):.0f} s together."
    assert any(told in note for note in section.notes)
    old = json.loads(cells[0].read_text())
    del old["seconds"]
    cells[0].write_text(json.dumps(old))
    (section,) = make("table2", Work(small, tmp_path))
    assert not any("together" in note for note in section.notes)


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


def test_results_are_not_compared_with_a_printed_row_of_their_name(small, tmp_path):
    results = tmp_path / "results" / "DIBCO2014"
    results.mkdir(parents=True)
    for truth in (small / "DIBCO2014").glob("*.gt.png"):
        (results / truth.name.replace(".gt", "")).write_bytes(truth.read_bytes())
    given = {name: tmp_path / "results" for name in ("otsu", "a|b")}
    (section,) = make("table5", Work(small, tmp_path / "out", predictions=given))
    mine, ours = (row for row in section.rows if row[0] == "otsu")
    assert mine[2].printed is None and ours[2].printed == 91.7
    lines = section.markdown().splitlines()
    assert len({line.replace("\\|", "").count("|") for line in lines if line.startswith("|")}) == 1


def test_sets_that_lack_are_told(small, tmp_path):
    for name in ("DIBCO2011", "Monk"):
        shutil.copytree(small / "DIBCO2011", tmp_path / "two" / name)
    work = Work(tmp_path / "two", tmp_path / "out")
    (section,) = make("table5", work)
    assert "DIBCO2014 is not in the data folder" in section.markdown()
    for name in ("table2", "table3"):
        (section,) = make(name, work)
        assert "no mean: DIBCO2009, DIBCO2010, DIBCO2012," in section.notes[-1] and "2011" not in section.notes[-1]
    assert not any("data folder" in note for note in make("table4", work)[0].notes)


def test_nothing_is_trained_on_one_set(small, tmp_path):
    shutil.copytree(small / "DIBCO2011", tmp_path / "one" / "DIBCO2011")
    (section,) = make("table2", Work(tmp_path / "one", tmp_path / "out"))
    assert [row[6].ours is None for row in section.rows] == [r["train_k"] or r["train_r"] for r in PRINTED["table2"]]


def test_predictions_of_some_sets_only(small, tmp_path):
    results = tmp_path / "results"
    (results / "DIBCO2014").mkdir(parents=True)
    truths = sorted((small / "DIBCO2014").glob("*.gt.png"))
    (results / "DIBCO2014" / "H01.png").write_bytes(truths[0].read_bytes())
    work = Work(small, tmp_path / "out", predictions={"mine": results})
    with pytest.raises(BadData, match="DIBCO2014 H02: no prediction"):  # half a set is a mistake
        make("table5", work)
    (results / "DIBCO2014" / "H02.png").write_bytes(truths[1].read_bytes())
    for name, expected in (("table4", "not given"), ("table5", "100.00"), ("table6", "not given")):
        (section,) = make(name, work)
        (row,) = (row for row in section.rows if row[0] == "mine")
        assert str(row[2]) == expected
    (results / "DIBCO2014").rename(results / "DIBCO2041")
    with pytest.raises(BadData, match="no prediction found"):  # of no set: the names are wrong
        make("table4", work)


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
    assert "DIBCO2011 2 of 16" in text and "No network of the lower half has been trained yet." in text
    assert f"sauvolanet paper all --data DIR --out OUT --report {page}\n```" in text
    pictures = sorted(p.name for p in (page.parent / "images").iterdir())
    assert "paper-figure3.png" in pictures and not [p for p in pictures if "figure4" in p]  # no page of a data set
    assert all(f"images/{p}" in text for p in pictures)
    assert (tmp_path / "out" / "figure4-a.png").exists() and (tmp_path / "out" / "figure4-a.svg").exists()


def test_a_lost_sheet_of_figure4_is_drawn_again(small, tmp_path):
    (first,) = make("figure4", Work(small, tmp_path))
    lost = [tmp_path / "figure4-a.png", tmp_path / "figure4-b.svg"]
    content = [path.read_bytes() for path in lost]
    for path in lost:
        path.unlink()
    kept = (tmp_path / "figure4-c.png").stat().st_mtime_ns
    (second,) = make("figure4", Work(small, tmp_path))
    assert second.pictures == first.pictures and len(first.pictures) == 8
    assert [path.read_bytes() for path in lost] == content
    assert (tmp_path / "figure4-c.png").stat().st_mtime_ns == kept


def test_figure3_has_a_row_per_window(small, tmp_path):
    (section,) = make("figure3", Work(small, tmp_path))
    rows = list(csv.DictReader((tmp_path / "figure3.csv").read_text().splitlines()))
    assert [row["w"] for row in rows] == ["7", "15", "23", "31", "39", "47", "55", "63"]
    assert sum(float(row["mean attention"]) for row in rows) == pytest.approx(1, abs=1e-4)
    assert rows[0]["k"] == "1.399093" and rows[1]["k"] == "0.0" and "| 1.399 |" in section.markdown()
    assert all(0 <= float(row["FM of its threshold alone"]) <= 100 for row in rows)
    page = small / "DIBCO2011" / "H01.png"
    (section,) = make("figure3", Work(small, tmp_path, page=page))
    assert {row[3] for row in section.rows} == {"no truth"}


def test_the_page_says_how_it_is_made_again(tmp_path):
    work = Work(tmp_path, tmp_path, models=["my model"])
    assert commands(work, Path("docs/paper.md")) == [
        "sauvolanet paper figure1 --data DIR --out OUT --model 'my model'  # on a machine with nothing else to do",
        "sauvolanet paper table3 --data DIR --out OUT --networks stated --preset paper --steps 8000",
        "sauvolanet paper all --data DIR --out OUT --model 'my model' --report docs/paper.md",
    ]


def test_figure1_measures_only_when_asked(small, tmp_path, monkeypatch):
    monkeypatch.setattr("sauvolanet.paper.figures.ROUNDS", 1)
    work = Work(small, tmp_path)
    assert figure1(work, measure=False).pictures == []
    (section,) = make("figure1", work)
    assert section.pictures == ["figure1.png", "figure1.svg"]
    assert all(row[2] is not None for row in section.rows)


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["table7"], "unknown table or figure"),
        (["table2", "--shard", "3/2"], "--shard"),
        (["table2", "--report", "x.md"], "--report does nothing for table2; it belongs to all"),
        (["table2", "--predictions", "x=y"], "--predictions does nothing"),
        (["table3", "--model", "original"], "--model does nothing"),
        (["table4", "--networks", "stated"], "--networks does nothing"),
        (["figure4", "--page", "x.png"], "--page does nothing"),
        (["table3", "--steps", "50"], "--networks"),
        (["table3", "--networks", "stated", "--steps", "0"], "--steps"),
        (["table2", "--minutes", "nan"], "--minutes"),
        (["table2", "--minutes", "-1"], "--minutes"),
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


def test_names_of_near_points_do_not_cover_each_other() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    from matplotlib.text import Text

    figure, axes = pyplot.subplots()
    axes.set(xlim=(0, 10), ylim=(0, 10))
    points = [(name, 5 + i / 100, 5.0) for i, name in enumerate(("original", "paper", "sauvola", "bradley"))]
    name_points(axes, points, axes.annotate("beside", (1, 1)))
    renderer = figure.canvas.get_renderer()
    boxes = [Text.get_window_extent(text, renderer) for text in axes.texts]
    assert [text.get_text() for text in axes.texts] == ["beside", "original", "paper", "sauvola", "bradley"]
    assert all(box.count_overlaps(boxes) == 1 for box in boxes)  # itself
    pyplot.close(figure)
