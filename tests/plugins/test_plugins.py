"""What can be checked without any host."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import sauvolanet
from sauvolanet.errors import UnknownName, UsageError
from sauvolanet.plugins import OPTIONS, shared_binarizer
from sauvolanet.plugins.colour import has_colour_picture
from sauvolanet.plugins.ocrd_tool import EXECUTABLE, tool_description


def test_ocrd_tool_file_says_what_the_declarations_say() -> None:
    file = Path(sauvolanet.__file__).with_name("ocrd-tool.json")
    assert json.loads(file.read_text()) == tool_description(), "run python -m sauvolanet.plugins.ocrd_tool > " + str(
        file
    )


def test_ocrd_tool_has_every_option_with_its_range_and_default() -> None:
    told = tool_description()["tools"][EXECUTABLE]["parameters"]
    assert set(told) == {"level-of-operation"} | {o.name for o in OPTIONS}
    assert told["strength"] | {"description": ""} == {
        "type": "number", "default": 0.0, "minimum": -1.0, "maximum": 1.0, "description": ""}  # fmt: skip
    assert told["invert"]["enum"] == ["auto", "yes", "no"]
    assert told["model"]["default"] == ""


@pytest.mark.parametrize("missing", ["ocrd", "click"])
def test_a_missing_host_is_one_line_with_the_pip_command(missing: str) -> None:
    hide = f"import sys; sys.modules['{missing}'] = None; from sauvolanet.plugins.ocrd_entry import main; main()"
    done = subprocess.run([sys.executable, "-c", hide], capture_output=True, text=True)
    line = f"sauvolanet: {EXECUTABLE} needs an optional package: pip install 'sauvolanet[ocrd]'\n"
    assert (done.returncode, done.stderr) == (2, line)


def test_options_are_light_until_a_binarizer_is_asked_for() -> None:
    code = "import sys, sauvolanet.plugins.ocrd_entry; print(any(m in sys.modules for m in ('numpy', 'PIL')))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_equal_options_share_one_binarizer() -> None:
    first = shared_binarizer(method="otsu", strength=0.5)
    assert shared_binarizer(strength=0.5, method="otsu") is first
    assert first.options.threads == 1
    assert shared_binarizer(method="otsu") is not first


def test_one_thread_is_the_callers() -> None:
    """OCR-D forks after the model is loaded, and OCRmyPDF runs as many pages at once as there are cores."""
    code = (
        "import threading, numpy as np; from sauvolanet.plugins import shared_binarizer\n"
        "page = np.random.default_rng(0).integers(0, 256, (400, 300), np.uint8)\n"
        "shared_binarizer(threads=1)(page); print(threading.active_count())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "1\n", done.stderr


def test_wrong_options_are_usage_errors() -> None:
    with pytest.raises(UnknownName, match="swfit"):
        shared_binarizer(model="swfit")
    with pytest.raises(UsageError, match="not both"):
        shared_binarizer(model="original", method="otsu")


@pytest.mark.parametrize("dpi", [(1, 1), (0, 0), (72, 1)])
def test_kraken_passes_on_no_resolution_that_is_none(tmp_path: Path, dpi: tuple[int, int]) -> None:
    click = pytest.importorskip("click")
    from sauvolanet.plugins.kraken import write_ink

    as_image(scan((235, 215, 170))).save(tmp_path / "page.tif", dpi=dpi)
    with click.Context(click.Command("kraken")) as context:
        context.meta.update(first_process=True, last_process=False, output_mode="native", input_format_type="image")
        write_ink(shared_binarizer(method="otsu"), tmp_path / "page.tif", tmp_path / "ink")
    with Image.open(tmp_path / "ink") as ink:
        assert "dpi" not in ink.info


def scan(tint: tuple[int, int, int]) -> np.ndarray:
    """A page of paper with rows of black strokes; light falls off to the right."""
    page = np.full((600, 400, 3), tint, float)
    page[50:550:20, 40:360] = page[51:550:20, 40:360] = 20
    return page * np.linspace(1, 0.5, 400)[None, :, None]


def as_image(page: np.ndarray) -> Image.Image:
    return Image.fromarray(page.astype(np.uint8))


def test_yellow_paper_in_bad_light_is_no_picture() -> None:
    assert not has_colour_picture(as_image(scan((235, 215, 170))))


def test_coloured_ink_and_a_stamp_are_no_picture() -> None:
    page = scan((235, 215, 170))
    page[60:550:20, 40:360] = page[61:550:20, 40:360] = (30, 40, 160)
    page[480:510, 300:303] = page[480:510, 347:350] = page[480:483, 300:350] = page[507:510, 300:350] = (200, 20, 20)
    assert not has_colour_picture(as_image(page))


@pytest.mark.parametrize("colour", [(40, 90, 200), (30, 140, 40), (200, 40, 30)])
def test_a_coloured_area_above_two_percent_is_a_picture(colour: tuple[int, int, int]) -> None:
    page = scan((235, 215, 170))
    page[100:170, 100:200] = colour  # 2.9 % of the page, 2.7 % after its rim is taken off
    assert has_colour_picture(as_image(page))
    page[100:170, 150:200] = page[20, 20]  # half of it
    assert not has_colour_picture(as_image(page))


def test_gray_pages_hold_no_colour_picture() -> None:
    rng = np.random.default_rng(0)
    assert not has_colour_picture(Image.fromarray(rng.integers(0, 256, (64, 64), np.uint8)))
    assert not has_colour_picture(Image.fromarray(rng.random((64, 64)) > 0.5))


def test_scanned_text_pages_hold_no_colour_picture(data: Path) -> None:
    for image in sorted((data / "ocr").glob("*.jpg"))[::4]:
        with Image.open(image) as page:
            assert not has_colour_picture(page), image.name
