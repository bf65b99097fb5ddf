"""Small synthetic sets, and few methods, so that a table takes a moment."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sauvolanet import classic, synth

SETS = ("DIBCO2009", "DIBCO2011", "DIBCO2014", "DIBCO2016", "Synchromedia")


@pytest.fixture(scope="session")
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
    monkeypatch.setattr("sauvolanet.paper.figures.SHEET_METHODS", ("otsu", "su"))
