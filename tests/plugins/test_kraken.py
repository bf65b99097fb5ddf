"""The real kraken pipeline with our step first, in an environment of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from sauvolanet import binarize

Run = Callable[..., "subprocess.CompletedProcess[str]"]
pytestmark = pytest.mark.slow

# A torchvision built for CUDA cannot load its operators beside a torch for CPUs and then fails to be imported for want
# of these two, which none of kraken's steps here uses; where it loads, it declares them itself.
KRAKEN = """
import importlib.util, sys, torch
spec = importlib.util.find_spec("torchvision")
try:
    torch.ops.load_library(spec.submodule_search_locations[0] + "/_C.so")
except OSError:
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
from kraken.kraken import cli
cli(prog_name="kraken")
"""


@pytest.fixture()
def page(tmp_path: Path) -> Path:
    image = Image.new("L", (600, 240), 205)
    for row in range(3):
        ImageDraw.Draw(image).text((40, 30 + 60 * row), "the quick brown fox jumps over", fill=45, font_size=34)
    image.save(tmp_path / "page.png", dpi=(300, 300))
    return tmp_path / "page.png"


def test_the_step_alone_writes_our_ink(kraken: Run, page: Path, tmp_path: Path) -> None:
    done = kraken("python", "-c", KRAKEN, "-r", "-i", page, tmp_path / "ink.png", "sauvolanet")
    assert done.returncode == 0, done.stderr
    with Image.open(tmp_path / "ink.png") as ink:
        assert ink.mode == "1"
        assert ink.info["dpi"] == pytest.approx((300, 300), abs=0.1)
        assert np.array_equal(~np.asarray(ink), binarize(Image.open(page)))


def test_segmentation_follows(kraken: Run, page: Path, tmp_path: Path) -> None:
    done = kraken(
        "python", "-c", KRAKEN, "-r", "-i", page, tmp_path / "lines.json", "sauvolanet", "--method", "otsu", "segment"
    )
    assert done.returncode == 0, done.stderr
    assert len(json.loads((tmp_path / "lines.json").read_text())["lines"]) == 3


def test_wrong_options_and_places_are_one_line(kraken: Run, page: Path, tmp_path: Path) -> None:
    for steps, line in (
        (["sauvolanet", "--model", "orignal"], "unknown model 'orignal'; did you mean original?"),
        (["sauvolanet", "--strength", "3"], "strength must be a number from -1 to 1, not '3'"),
        (["binarize", "sauvolanet"], "sauvolanet has to be the first step"),
    ):
        done = kraken("python", "-c", KRAKEN, "-r", "-i", page, tmp_path / "out.png", *steps)
        assert done.returncode != 0
        assert line in " ".join((done.stdout + done.stderr).split())
