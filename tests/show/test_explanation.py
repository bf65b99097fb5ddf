"""The explanation: arrays that add up, one picture, the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sauvolanet import binarize, explain
from sauvolanet.cli import main
from sauvolanet.errors import UsageError
from sauvolanet.net import shipped
from sauvolanet.show.explanation import choice_colours, picture, window_colours
from sauvolanet.synth import page

GRAY, TRUTH = page(6, kind="manuscript", height=140, width=180)


@pytest.mark.parametrize("model", shipped())
def test_arrays_add_up(model: str) -> None:
    result = explain(GRAY, model=model)
    assert np.array_equal(result.ink, binarize(GRAY, model=model))
    assert np.array_equal(result.ink, result.gray < result.threshold)
    assert result.surfaces.shape == (len(result.windows), *GRAY.shape)
    assert result.attention.shape == (len(result.choices), *GRAY.shape)
    assert np.allclose(result.attention.sum(0), 1, atol=1e-5)
    assert len(set(choice_colours(result))) == len(result.choices)


def test_the_papers_colours() -> None:
    assert window_colours(8)[0] == (0, 0, 128)
    assert window_colours(8)[7] == (128, 0, 0)
    assert len(set(window_colours(5))) == 5


def test_at_a_prompt_it_is_one_line() -> None:
    result = explain(GRAY)
    assert repr(result) == f"Explanation(model='swift', 180×140 pixels, windows={result.windows})"


def test_strength_is_shown() -> None:
    result = explain(GRAY, strength=0.5)
    assert np.array_equal(result.ink, binarize(GRAY, strength=0.5))


def test_specks_are_dropped() -> None:
    result = explain(GRAY, model="original", despeckle=20)
    assert np.array_equal(result.ink, binarize(GRAY, model="original", despeckle=20))
    assert (result.ink != (result.gray < result.threshold)).any()


def test_a_classic_method_has_no_steps() -> None:
    with pytest.raises(UsageError, match="otsu is a classic method"):
        explain(GRAY, method="otsu")


def test_picture_of_a_tiny_page() -> None:
    assert picture(explain(np.array([[0, 255], [255, 0]], np.uint8))).width > 100


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Image.fromarray(GRAY).save(tmp_path / "page.png")
    Image.fromarray(~TRUTH).save(tmp_path / "truth.png")
    out, arrays = tmp_path / "out" / "explained.png", tmp_path / "arrays.npz"
    assert (
        main(
            [
                "explain",
                str(tmp_path / "page.png"),
                "-o",
                str(out),
                "--truth",
                str(tmp_path / "truth.png"),
                "--arrays",
                str(arrays),
            ]
        )
        == 0
    )
    with Image.open(out) as shown:
        assert shown.width > 1000
    with np.load(arrays) as found:
        assert found["attention"].shape[1:] == GRAY.shape


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [(["none.png", "-o", "x.png"], 4, "no such file"), ([".", "-o", "x.png"], 4, "Is a directory"), (["page.png", "-o", "x.xyz"], 2, "no picture format"),
     (["page.png", "-o", "x.png", "--model", "orignal"], 2, "did you mean original"), (["empty.png", "-o", "x.png"], 4, "empty"),
     (["page.png", "-o", "x.png", "--truth", "small.png"], 4, "differ in size"), (["page.png", "-o", "x.png", "--strength", "3"], 2, "from -1 to 1")],
)  # fmt: skip
def test_bad_input(
    arguments: list[str],
    code: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Image.fromarray(GRAY).save("page.png")
    Image.new("1", (5, 5)).save("small.png")
    Path("empty.png").write_bytes(b"")
    assert main(["explain", *arguments]) == code
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
    assert not Path("x.png").exists()


@pytest.mark.parametrize("arguments", ["-o page.png", "-o ./truth.png", "-o x.png --arrays page.png"])
def test_no_input_is_replaced(
    arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Image.fromarray(GRAY).save("page.png")
    Image.fromarray(~TRUTH).save("truth.png")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert main(["explain", "page.png", "--truth", "truth.png", *arguments.split()]) == 2
    assert "would replace an input" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
