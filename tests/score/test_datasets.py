"""Layouts are built in a temporary folder; counts of the real sets are those of the paper less the known gaps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sauvolanet.cli import main
from sauvolanet.errors import BadData, UnknownName, UnreadablePage
from sauvolanet.score import datasets
from sauvolanet.score.datasets import CATALOGUE, GROUPS, check, find, read_gray, read_truth, read_weights, resolve

SHAPE = (12, 20)


def picture(path: Path, shape: tuple[int, int] = SHAPE, value: int | None = None) -> Path:
    """A light page with a dark bar, which may be its own truth, or one of one value."""
    path.parent.mkdir(parents=True, exist_ok=True)
    gray = np.full(shape, 240 if value is None else value, np.uint8)
    if value is None:
        gray[3:6, 4:15] = 20
    Image.fromarray(gray).save(path)
    return path


def ids(pages: list[datasets.Page]) -> list[tuple[str, str]]:
    return [(page.set, page.id) for page in pages]


def test_catalogue_is_the_papers() -> None:
    assert len(CATALOGUE) == 13
    pages = {"DIBCO2009": 10, "DIBCO2010": 10, "DIBCO2011": 16, "DIBCO2012": 14, "DIBCO2013": 16, "DIBCO2014": 10,
             "DIBCO2016": 10, "DIBCO2017": 20, "DIBCO2018": 10, "PHIBD": 15, "Bickley": 7, "Synchromedia": 31,
             "Monk": 25}  # fmt: skip
    assert {name: s.pages for name, s in CATALOGUE.items()} == pages
    assert all(s.url.startswith("http") and s.licence and len(s.ids) == s.pages for s in CATALOGUE.values())


def test_groups_do_not_leak() -> None:
    assert set(GROUPS["all"]) == set(CATALOGUE)
    assert set(GROUPS["wide-train"]) == set(CATALOGUE) - set(GROUPS["test"])
    assert not set(GROUPS["stated-train"]) & ({*GROUPS["test"], *GROUPS["validate"]})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["dibco2011"], ["DIBCO2011"]),
        (["H-DIBCO 2016", "2016"], ["DIBCO2016"]),
        (["SMADI", "phidb", "bickely2010"], ["Synchromedia", "PHIBD", "Bickley"]),
        (["Test", "Monk"], ["DIBCO2011", "DIBCO2014", "DIBCO2016", "Monk"]),
    ],
)
def test_names_aliases_and_groups(given: list[str], expected: list[str]) -> None:
    assert resolve(given) == expected


def test_a_folder_of_ones_own_may_have_the_name_of_a_group(tmp_path: Path) -> None:
    for name in ("test", "Validate"):
        picture(tmp_path / name / "a.png")
        picture(tmp_path / name / "a.gt.png")
    assert ids(find(tmp_path, ["test", "validate"])) == [("test", "a"), ("Validate", "a")]
    with pytest.raises(BadData, match="DIBCO2009"):
        find(tmp_path, ["all"])


def test_unknown_name_says_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Synchromedia"):
        resolve(["sincromedia"])


def test_folder_per_set(tmp_path: Path) -> None:
    for name in ("H10²", "H10", "H2", "H01"):
        picture(tmp_path / "dibco2011" / f"{name}.webp")
        picture(tmp_path / "dibco2011" / f"{name}.gt.png")
    picture(tmp_path / "readme.png")
    assert ids(find(tmp_path)) == [("DIBCO2011", i) for i in ("H01", "H2", "H10", "H10²")]
    assert ids(find(tmp_path / "dibco2011", ["2011"])) == ids(find(tmp_path))


def test_flat_layout_of_the_authors(tmp_path: Path) -> None:
    for stem in ("Bickely2010_H01", "DIBCO2009_P02", "My_own_H03"):
        picture(tmp_path / "Dataset" / f"{stem}_source.png")
        picture(tmp_path / "Dataset" / f"{stem}_target.png")
    assert ids(find(tmp_path)) == [("DIBCO2009", "P02"), ("Bickley", "H01"), ("My_own", "H03")]
    assert find(tmp_path, ["bickley"])[0].truth.name == "Bickely2010_H01_target.png"


def test_archives_of_dibco(tmp_path: Path) -> None:
    picture(tmp_path / "DIBCO2009" / "DIBC02009_Test_images-handwritten" / "H01.bmp")
    picture(tmp_path / "DIBCO2009" / "DIBCO2009-GT-Test-images_handwritten" / "H01.tiff")
    picture(tmp_path / "H-DIBCO2010" / "H01.tif")
    picture(tmp_path / "H-DIBCO2010" / "H01_estGT.tiff")
    picture(tmp_path / "H-DIBCO2010" / "H01_skelGT.tif")
    picture(tmp_path / "2018" / "dataset" / "1.bmp")
    picture(tmp_path / "2018" / "gt" / "1_gt.bmp")
    picture(tmp_path / "DIBCO2013" / "imgs" / "HW1.png")
    picture(tmp_path / "DIBCO2013" / "gt" / "HW1_GT.png")
    expected = [("DIBCO2009", "H01"), ("DIBCO2010", "H01"), ("DIBCO2013", "HW1"), ("DIBCO2018", "1")]
    assert ids(find(tmp_path)) == expected


@pytest.mark.parametrize(
    "names", [("a.jpg", "a.gt.png"), ("imgs/a.png", "gt/a.png"), ("pages/a.tif", "truth/a.gt.bmp")]
)
def test_a_users_own_folder(tmp_path: Path, names: tuple[str, str]) -> None:
    folder = tmp_path / "letters"
    page, truth = (picture(folder / name) for name in names)
    for data in (tmp_path, folder):
        assert find(data) == [datasets.Page("letters", "a", page, truth)]
        assert find(data, ["Letters"]) == find(data)


def test_weight_files_are_found_and_read(tmp_path: Path) -> None:
    picture(tmp_path / "DIBCO2013" / "PR1.bmp")
    picture(tmp_path / "DIBCO2013" / "PR1_estGT.tiff")
    for kind in "RP":
        numbers = "0.500000  " * (SHAPE[0] * SHAPE[1])
        (tmp_path / "DIBCO2013" / f"PR1_estGT_{kind}Weights.dat").write_text(numbers)
    [page] = find(tmp_path)
    weights = read_weights(page, SHAPE)
    assert weights is not None and all((w == 0.5).all() and w.shape == SHAPE for w in weights)
    assert page.recall_weights is not None and page.recall_weights.name == "PR1_estGT_RWeights.dat"


def test_truth_is_cut_above_127(tmp_path: Path) -> None:
    picture(tmp_path / "s" / "a.png", (1, 44))
    Image.fromarray(np.array([[0, 127, 128, *[255] * 41]], np.uint8)).save(tmp_path / "s" / "a.gt.png")
    [page] = find(tmp_path)
    assert read_truth(page).tolist() == [[True, True, *[False] * 42]]
    assert read_gray(page).dtype == np.uint8


def test_other_size_is_bad_data(tmp_path: Path) -> None:
    picture(tmp_path / "s" / "a.png")
    picture(tmp_path / "s" / "a.gt.png", (12, 21))
    [page] = find(tmp_path)
    with pytest.raises(BadData, match="21×12 pixels, its page 20×12"):
        read_truth(page)


def test_what_cannot_be_found(tmp_path: Path) -> None:
    with pytest.raises(BadData, match="no such folder"):
        find(tmp_path / "nowhere")
    with pytest.raises(BadData, match="is a file"):
        find(picture(tmp_path / "a.png"))
    with pytest.raises(BadData, match="no pages with truth"):
        find(tmp_path)
    picture(tmp_path / "DIBCO2011" / "H01.png")
    picture(tmp_path / "DIBCO2011" / "H01.gt.png")
    with pytest.raises(BadData, match="no pages of DIBCO2014; found: DIBCO2011"):
        find(tmp_path, ["2011", "2014"])
    picture(tmp_path / "DIBCO2011" / "H01.tif")
    with pytest.raises(BadData, match="more than one"):
        find(tmp_path)


@pytest.mark.parametrize("content", [b"", b"not an image", None])
def test_unreadable_page(tmp_path: Path, content: bytes | None) -> None:
    good = picture(tmp_path / "s" / "a.png", (300, 400))
    picture(tmp_path / "s" / "a.gt.png", (300, 400))
    good.write_bytes(good.read_bytes()[: good.stat().st_size // 2] if content is None else content)
    [page] = find(tmp_path)
    with pytest.raises(UnreadablePage, match=r"a\.png: "):
        read_gray(page)


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """PHIBD with pages H01 to H04: two sound, one of another size, one empty; a page without truth."""
    for i in range(1, 5):
        picture(tmp_path / "PHIBD" / f"H0{i}.png")
        picture(tmp_path / "PHIBD" / f"H0{i}.gt.png", (12, 99) if i == 3 else SHAPE)
    (tmp_path / "PHIBD" / "H04.gt.png").write_bytes(b"")
    picture(tmp_path / "PHIBD" / "H05.png")
    return tmp_path


def test_check_tells_found_missing_and_damaged(damaged: Path) -> None:
    [report] = check(damaged)
    assert (report.set, report.expected, report.pages) == ("PHIBD", 15, 2)
    assert report.missing == [f"H{i:02}" for i in range(5, 16)]
    assert report.unpaired == [str(damaged / "PHIBD" / "H05.png")]
    assert ["its page 20×12" in report.damaged[0], "the file is empty" in report.damaged[1]] == [True, True]


def test_check_on_the_command_line(damaged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", "check", str(damaged)]) == 3
    out, err = capsys.readouterr()
    assert "PHIBD: 2 of 15 pages" in out and out.count("damaged:") == 2 and err.count("\n") == 1
    assert main(["datasets", "check", str(damaged), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["datasets"][0]["pages"] == 2


def test_an_inverted_truth_is_told_and_not_punished(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture(tmp_path / "mine" / "a.png")
    picture(tmp_path / "mine" / "a.gt.png", value=0)
    assert main(["datasets", "check", str(tmp_path)]) == 0
    assert "doubtful:" in capsys.readouterr().out


@pytest.mark.parametrize(("arguments", "code"), [(["check"], 2), (["check", "/nowhere"], 4), ([], 0), (["--json"], 0)])
def test_command_line_codes(arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", *arguments]) == code
    out, err = capsys.readouterr()
    assert ("Synchromedia" in out) == (code == 0) and err.count("\n") == (code != 0)


def test_check_of_an_empty_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", "check", str(tmp_path)]) == 4
    assert "no pages with truth" in capsys.readouterr().err


def test_the_real_sets(data: Path) -> None:
    counts = {name: s.pages for name, s in CATALOGUE.items()}
    counts |= {"PHIBD": 14, "Synchromedia": 30, "Monk": 24}  # one page of each is missing there
    pages = find(data / "documents")
    assert {name: sum(page.set == name for page in pages) for name in counts} == counts
    assert len(find(data / "paper-gray", ["test"])) == 36
    page = find(data / "documents", ["Monk"])[0]
    assert read_truth(page).shape == read_gray(page).shape


def test_no_test_set_is_in_the_validation_list() -> None:
    assert not {name for name, _ in datasets.held_out_pages()} & {"DIBCO2011", "DIBCO2014", "DIBCO2016"}
