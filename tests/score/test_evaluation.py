"""Oracles: scores computed page by page with metrics.score, and doxapy's Otsu on the three test sets."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import sauvolanet
from sauvolanet.cli import main
from sauvolanet.errors import BadData, UnknownName, UsageError
from sauvolanet.score.datasets import find, read_gray, read_truth
from sauvolanet.score.evaluation import evaluate, score_pages
from sauvolanet.score.metrics import METRICS, score


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    """Two sets of three and two pages: bars on noisy paper, the truth a little smaller than the bars."""
    rng = np.random.default_rng(0)
    for name, count in (("DIBCO2011", 3), ("letters", 2)):
        (tmp_path / "data" / name).mkdir(parents=True)
        for i in range(1, count + 1):
            gray = rng.integers(180, 230, (40, 60)).astype(np.uint8)
            gray[10:20, 5 : 30 + i] = rng.integers(20, 60, (10, 25 + i))
            truth = np.full(gray.shape, 255, np.uint8)
            truth[10:20, 6 : 30 + i] = 0
            Image.fromarray(gray).save(tmp_path / "data" / name / f"H0{i}.png")
            Image.fromarray(truth).save(tmp_path / "data" / name / f"H0{i}.gt.png")
    return tmp_path / "data"


def test_scores_are_those_of_the_pages(sets: Path) -> None:
    result = evaluate(sets, method="otsu")
    assert list(result) == ["datasets", "pages"]
    for page, row in zip(find(sets), result["pages"], strict=True):
        ink = sauvolanet.binarize(read_gray(page), method="otsu", invert="no")
        assert {name: row[name] for name in METRICS} == score(ink, read_truth(page))
        assert (row["dataset"], row["page"], row["status"], row["error"]) == (page.set, page.id, "done", None)
    for name, means in result["datasets"].items():
        rows = [row for row in result["pages"] if row["dataset"] == name]
        assert means["n"] == means["psnr_n"] == len(rows)
        assert means["fm"] == pytest.approx(np.mean([row["fm"] for row in rows]))


def test_jobs_do_not_change_the_result(sets: Path) -> None:
    seen: list[tuple[int, int]] = []
    several = evaluate(sets, method="otsu", jobs=2, progress=lambda done, total: seen.append((done, total)))
    assert several == evaluate(sets, method="otsu")
    assert seen == [(i, 5) for i in range(1, 6)]


def test_perfect_pages_are_left_out_of_psnr(sets: Path) -> None:
    truths = iter([read_truth(page) for page in find(sets, ["letters"])])

    def first_right_then_blank(gray: np.ndarray) -> np.ndarray:
        truth = next(truths)
        return truth if gray[15, 31] > 100 else np.zeros_like(truth)  # only the first bar ends before column 31

    result = score_pages(find(sets, ["letters"]), first_right_then_blank)
    means, rows = result["datasets"]["letters"], result["pages"]
    assert [row["psnr"] is None for row in rows] == [True, False]
    assert means["psnr_n"] == 1 and means["psnr"] == rows[1]["psnr"] and means["n"] == 2 and means["fm"] == 50


def test_all_perfect_means_no_psnr(sets: Path) -> None:
    truths = iter([read_truth(page) for page in find(sets, ["letters"])])
    means = score_pages(find(sets, ["letters"]), lambda _: next(truths), metrics=["fm", "psnr"])["datasets"]["letters"]
    assert means == {"n": 2, "fm": 100, "psnr": None, "psnr_n": 0}


@pytest.mark.parametrize("name", ["{set}/{id}.png", "{set}_{id}.tif", "dibco-2011/{id}.bmp"])
def test_predictions(sets: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "results"
    for page in find(sets, ["2011"]):
        path = folder / name.format(set=page.set, id=page.id)
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.where(read_truth(page), 0, 255).astype(np.uint8)).save(path)
    assert evaluate(sets, ["2011"], predictions=folder)["datasets"]["DIBCO2011"]["fm"] == 100


def test_plain_ids_count_for_a_single_set_only(sets: Path, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    for page in find(sets, ["2011"]):
        Image.fromarray(np.where(read_truth(page), 0, 255).astype(np.uint8)).save(folder / f"{page.id}.png")
    assert evaluate(sets, ["2011"], predictions=folder, metrics=["fm"])["datasets"] == {
        "DIBCO2011": {"n": 3, "fm": 100}
    }
    with pytest.raises(BadData, match=r"name them DIBCO2011/H01\.png"):
        evaluate(sets, predictions=folder)


def test_missing_and_unfitting_predictions_fail_alone(sets: Path, tmp_path: Path) -> None:
    folder = tmp_path / "results" / "letters"
    folder.mkdir(parents=True)
    Image.fromarray(np.zeros((40, 61), np.uint8)).save(folder / "H01.png")
    with pytest.raises(BadData, match=r"61×40 pixels, its page 60×40.*1 more"):
        evaluate(sets, ["letters"], predictions=folder.parent)
    Image.fromarray(np.zeros((40, 60), np.uint8)).save(folder / "H02.png")
    result = evaluate(sets, ["letters"], predictions=folder.parent)
    assert [row["status"] for row in result["pages"]] == ["failed", "done"]
    assert result["datasets"]["letters"]["n"] == 1


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"method": "otzu"}, UnknownName),
        ({"method": "otsu", "window": 3}, UnknownName),
        ({"method": "otsu", "metrics": ["fmm"]}, UnknownName),
        ({"method": "otsu", "datasets": ["dibco2011", "lettres"]}, UnknownName),
        ({"method": "otsu", "model": "original"}, UsageError),
        ({"method": "otsu", "predictions": "."}, UsageError),
        ({"method": "otsu", "invert": "yes"}, UsageError),
        ({"method": "otsu", "channel": "red"}, UsageError),
        ({"method": "otsu", "jobs": 0}, UsageError),
        ({"method": "otsu", "datasets": ["2014"]}, BadData),
        ({"predictions": "/nowhere"}, BadData),
    ],
)
def test_bad_requests(sets: Path, options: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        evaluate(sets, **options)
    assert "\n" not in str(caught.value)


def test_table_json_and_csv(sets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = evaluate(sets, method="otsu")
    command = ["evaluate", "--data", str(sets), "--method", "otsu"]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and lines[0].split()[:2] == ["n", "fm"]
    assert lines[1].split()[:3] == ["DIBCO2011", "3", f"{expected['datasets']['DIBCO2011']['fm']:.2f}"]
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == expected
    assert main([*command, "--csv", "--metrics", "fm", "drd"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["page"] for row in rows] == ["H01", "H02", "H03", "H01", "H02", "mean", "mean"]
    assert float(rows[-1]["drd"]) == expected["datasets"]["letters"]["drd"]


def test_a_damaged_page_does_not_stop_the_others(sets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (sets / "letters" / "H01.gt.png").write_bytes(b"")
    assert main(["evaluate", "--data", str(sets), "--method", "otsu", "--json"]) == 3
    out, err = capsys.readouterr()
    assert json.loads(out)["datasets"]["letters"]["n"] == 1
    assert err.splitlines()[-1] == "sauvolanet: 1 of 5 pages could not be scored" and "H01.gt.png" in err


def test_a_truth_that_may_be_inverted_is_told(sets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = sets / "letters" / "H02.gt.png"
    with Image.open(truth) as image:
        inverted = Image.fromarray(255 - np.asarray(image))
    inverted.save(truth)
    command = ["evaluate", "--data", str(sets), "--method", "otsu", "--metrics", "fm"]
    assert main(command) == 0
    share = (np.asarray(inverted) == 0).mean()
    told = f"doubtful letters H02: {truth}: {share:.0%} of the page is ink; is the truth inverted?\n"
    assert capsys.readouterr().err == told


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--data", "/nowhere", "--method", "otsu"], 4),
        (["--data", "DATA", "--method", "otsu", "-p", "window"], 2),
        (["--data", "DATA", "--method", "otsu", "--method", "sauvola"], 2),
        (["--data", "DATA", "--datasets", "letters", "--datasets", "DIBCO2011"], 2),
        (["--data", "DATA", "--method", "otsu", "--jobs", "1", "--jobs", "1"], 2),
        (["--data", "DATA", "--method", "otsu", "-p", "quality=best"], 2),
        (["--data", "DATA", "--method", "otsu", "--quality", "good"], 2),
        (["--data", "DATA", "--method", "otsu", "--datasets", "dibco201"], 2),
        (["--data", "DATA", "--predictions", "DATA/letters/H01.png"], 4),
    ],
)
def test_exit_codes(sets: Path, arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", *(text.replace("DATA", str(sets)) for text in arguments)]) == code
    out, err = capsys.readouterr()
    assert not out and err.startswith("sauvolanet: ") and err.count("\n") == 1


def test_otsu_on_the_test_sets(data: Path) -> None:
    result = evaluate(data / "documents", ["test"], method="otsu", metrics=["fm"])["datasets"]
    fm = [result[name]["fm"] for name in ("DIBCO2011", "DIBCO2014", "DIBCO2016")]
    assert fm == pytest.approx([82.1, 91.6, 86.6], abs=0.3)  # doxapy 0.9.2


@pytest.mark.slow
def test_the_papers_figures(data: Path) -> None:
    names = ("DIBCO2011", "DIBCO2014", "DIBCO2016")
    printed = {"fm": (94.32, 97.83, 90.25), "pfm": (96.40, 98.74, 95.26), "psnr": (20.55, 24.13, 18.97),
               "drd": (1.97, 0.65, 3.51)}  # fmt: skip
    result = evaluate(data / "paper-gray", names, model="original", metrics=list(printed))["datasets"]
    for metric, values in printed.items():
        assert [result[name][metric] for name in names] == pytest.approx(values, abs=0.02)
