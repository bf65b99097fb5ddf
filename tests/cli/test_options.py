"""What several commands share: the page of a document that is asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sauvolanet.cli import main


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a page, and with books of three pages, each of its own height."""
    monkeypatch.chdir(tmp_path)
    pages = []
    for height in (60, 70, 80):
        gray = np.full((height, 90), 220, np.uint8)
        gray[20:40, 10:60] = 30
        pages.append(Image.fromarray(gray))
    pages[0].save("page.png")
    for name in ("book.tif", "book.pdf"):
        pages[0].save(name, save_all=True, append_images=pages[1:])
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "height", "told"),
    [("page.png", 60, ""), ("book.tif", 60, "sauvolanet: page 1 of 3; --page shows another\n"), ("book.tif --page 2", 70, ""),
     ("book.pdf", 60, "sauvolanet: page 1 of 3; --page shows another\n"), ("book.pdf --page 3", 80, "")],
)  # fmt: skip
def test_a_page_of_a_document(
    here: Path, arguments: str, height: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", *arguments.split(), "-o", "explained.png", "--arrays", "arrays.npz"]) == 0
    assert capsys.readouterr().err == told
    with np.load("arrays.npz") as found:
        assert found["gray"].shape == (height, 90)
    assert main(["compare", *arguments.split(), "-o", "sheet.png", "--models", "--methods", "otsu"]) == 0
    assert capsys.readouterr().err == f"{told}otsu …\n"
    assert Path("sheet.png").exists()


@pytest.mark.parametrize("command", ["explain", "compare"])
@pytest.mark.parametrize(
    ("arguments", "told"),
    [("book.pdf --page 4", "book.pdf has no page 4; its last is page 3"), ("page.png --page 2", "page.png has no page 2; its last is page 1"),
     ("book.tif --page 0", "page must be a whole number, at least 1, not '0'")],
)  # fmt: skip
def test_a_page_that_is_not_there(
    here: Path, command: str, arguments: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, *arguments.split(), "-o", "picture.png"]) == 2
    assert capsys.readouterr().err == f"sauvolanet: {told}\n"
    assert not Path("picture.png").exists()
