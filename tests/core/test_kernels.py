"""The way to the compiled core: what it refuses, which level is taken, and what happens without it."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from sauvolanet.core import kernels
from sauvolanet.errors import UsageError

GRAY = np.array([[10, 20, 30], [40, 50, 60]], np.uint8)
SURFACE = np.full((2, 3), 25, np.float32)
NOT_BUILT = "import sys; sys.modules['sauvolanet.core._native'] = None"
PAGE = "numpy.pad(numpy.full((4, 30), 20, 'u1'), 20, constant_values=220)"  # a bar of ink
BINARIZE = f"import numpy, sauvolanet; print(sauvolanet.binarize({PAGE}, method='nick').sum())"


def native() -> Any:
    return kernels.native()


def test_a_kernel_writes_into_its_last_array(level: str) -> None:
    ink = np.empty((2, 3), bool)
    assert native().below(GRAY, SURFACE, ink) is None
    assert ink.tolist() == [[True, True, False], [False] * 3]
    assert native().level == level


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ((GRAY, SURFACE), TypeError, "3 arguments wanted, 2 given"),
        ((7, SURFACE, None), TypeError, "argument 1 is no array"),
        ((GRAY, SURFACE.astype(float), None), TypeError, "argument 2 has the wrong type, d of 8 bytes"),
        ((GRAY, SURFACE.view(np.int32), None), TypeError, "argument 2 has the wrong type, i of 4 bytes"),
        ((GRAY, SURFACE[0], None), ValueError, "argument 2 has 1 dimensions instead of 2"),
        ((GRAY[:, ::2], SURFACE, None), ValueError, "argument 1: the numbers of a row are not neighbours"),
        ((GRAY.T, SURFACE, None), ValueError, "argument 1: the numbers of a row are not neighbours"),
        ((GRAY, SURFACE, np.frombuffer(b"......", bool).reshape(2, 3)), ValueError, "argument 3 .* read-only"),
    ],
)
def test_what_does_not_fit_is_refused(given: tuple[Any, ...], error: type[Exception], message: str, level: str) -> None:
    with pytest.raises(error, match=message):
        native().below(*given)


def test_numbers_that_do_not_fit_are_refused(level: str) -> None:
    counts = np.zeros(1, np.int64)
    with pytest.raises(OverflowError):
        native().link(counts, counts, counts, 1 << 64, counts)
    with pytest.raises(TypeError):
        native().link(counts, counts, counts, "1", counts)


def test_levels_that_this_machine_has_not_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAUVOLANET_PROCESSOR", "8086")
    with pytest.raises(UsageError, match=re.escape(", ".join(kernels.levels()))):
        kernels.native()


def test_the_highest_level_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAUVOLANET_PROCESSOR", raising=False)
    assert native().level == kernels.levels()[-1]


def run(code: str) -> tuple[str, str]:
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout, done.stderr


def test_without_the_core_numpy_serves_with_one_warning() -> None:
    assert run(BINARIZE) == ("120\n", "")
    result, told = run(f"{NOT_BUILT}; {BINARIZE}")
    assert result == "120\n"
    assert told.count("RuntimeWarning") == 1
    assert "C++ compiler" in told


def test_numpy_on_purpose_needs_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAUVOLANET_NO_NATIVE", "1")
    assert kernels.native() is None
    assert run(BINARIZE) == ("120\n", "")
