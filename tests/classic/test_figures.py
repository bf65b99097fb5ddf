"""Published F-measures on DIBCO 2011, 2014 and 2016; no parameter was chosen by them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sauvolanet.classic import METHODS

SETS = ("DIBCO2011", "DIBCO2014", "DIBCO2016")
# printed in Tables 4 to 6 of the SauvolaNet paper
PRINTED = {"otsu": (82.10, 91.70, 86.60), "howe": (91.70, 96.50, 87.50), "sauvola-ms": (79.70, 85.83, 79.84)}


def mean_fm(name: str, folder: Path, pages: str = "*") -> float:
    scores = []
    for path in sorted(folder.glob(f"{pages}.webp")):
        gray = np.ascontiguousarray(Image.open(path).convert("L"))
        truth = np.asarray(Image.open(path.with_suffix(".gt.png"))) == 0
        result = METHODS[name].function(gray, threads=None)
        ink = gray < result if METHODS[name].surface else result
        scores.append(200 * (ink & truth).sum() / (ink.sum() + truth.sum()))
    return float(np.mean(scores))


@pytest.mark.slow
@pytest.mark.parametrize("i", range(3))
def test_otsu(i: int, data: Path) -> None:
    assert mean_fm("otsu", data / "documents" / SETS[i]) == pytest.approx(PRINTED["otsu"][i], abs=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("i", range(3))
def test_sauvola_ms(i: int, data: Path) -> None:
    assert mean_fm("sauvola-ms", data / "documents" / SETS[i]) == pytest.approx(PRINTED["sauvola-ms"][i], abs=2)


@pytest.mark.slow
@pytest.mark.parametrize("i", [1, 2])
def test_sauvola_ms_on_the_gray_that_others_used(i: int, data: Path) -> None:
    assert mean_fm("sauvola-ms", data / "paper-gray" / SETS[i]) == pytest.approx(PRINTED["sauvola-ms"][i], abs=0.1)


@pytest.mark.slow
def test_howe_on_three_small_pages(data: Path) -> None:
    """The three smallest pages of 2014 stand for the set; all sets take a quarter of an hour."""
    assert mean_fm("howe", data / "documents" / "DIBCO2014", "H0[456]") == pytest.approx(PRINTED["howe"][1], abs=1.5)
