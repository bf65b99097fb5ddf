"""What every classic method must do, whatever its formula."""

from __future__ import annotations

import numpy as np
import pytest

import sauvolanet
from sauvolanet.classic import METHODS
from sauvolanet.core.arrays import Gray, Ink
from sauvolanet.errors import UnknownName, UsageError

NAMES = [
    "otsu", "bernsen", "niblack", "sauvola", "wolf", "nick", "feng", "bradley", "phansalkar", "trsingh", "bataineh",
    "wan", "isauvola", "gatos", "su", "adotsu", "sauvola-grid", "sauvola-ms", "sauvola-swt", "howe",
]  # fmt: skip
SURFACES = [n for n in NAMES if METHODS[n].surface]


def ink(name: str, gray: Gray, threads: int = 1, **options: object) -> Ink:
    method = METHODS[name]
    result = method.function(gray, threads=threads, **method.values(options))
    return gray < result if method.surface else result


def test_the_names_of_the_issue() -> None:
    assert sorted(METHODS) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_finds_writing(name: str, written: Gray, strokes: Ink) -> None:
    found = ink(name, written)
    assert found.dtype == bool
    assert found.shape == written.shape
    score = 2 * (found & strokes).sum() / (found.sum() + strokes.sum())
    assert score > {"niblack": 0.2, "sauvola-grid": 0.4}.get(name, 0.7)


@pytest.mark.parametrize("name", NAMES)
def test_threads_change_nothing(name: str, written: Gray) -> None:
    np.testing.assert_array_equal(ink(name, written), ink(name, written, threads=3))


@pytest.mark.parametrize("name", NAMES)
def test_numpy_gives_the_same_as_kernels(name: str, written: Gray, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "howe":
        pytest.importorskip("maxflow")
        written = written[:70, :80].copy()
    compiled = ink(name, written)
    monkeypatch.setenv("SAUVOLANET_NO_NATIVE", "1")
    np.testing.assert_array_equal(compiled, ink(name, written))


@pytest.mark.parametrize("name", ["otsu", "bernsen", "sauvola", "isauvola", "su"])
def test_numpy_gives_the_same_on_real_pages(name: str, crops: list[Gray], monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = [ink(name, gray, threads=2) for gray in crops]
    monkeypatch.setenv("SAUVOLANET_NO_NATIVE", "1")
    for gray, result in zip(crops, compiled, strict=True):
        np.testing.assert_array_equal(result, ink(name, gray))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [0, 128, 255])
def test_constant_pages_are_paper(name: str, value: int) -> None:
    gray = np.full((40, 50), value, np.uint8)
    result = sauvolanet.binarize(gray, method=name, invert="no")
    assert not result.any()
    assert ink(name, gray).shape == gray.shape  # the method itself survives, too


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(1, 1), (1, 30), (30, 1), (2, 3), (5, 5), (13, 16)])
def test_tiny_pages_and_windows_larger_than_the_page(name: str, shape: tuple[int, int]) -> None:
    gray = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    assert ink(name, gray).shape == shape


@pytest.mark.parametrize("name", [n for n in NAMES if any(o.name == "window" for o in METHODS[n].options)])
def test_window_501_on_a_white_page(name: str) -> None:
    gray = np.full((520, 530), 255, np.uint8)
    gray[250:260, 260:262] = 0
    found = ink(name, gray, window=501)
    assert found.shape == gray.shape
    if name not in ("feng", "su"):  # there a spot raises the threshold above white as far as the window sees it
        assert not found[:200].any()
        assert not found[300:].any()


@pytest.mark.parametrize("name", SURFACES)
def test_fused_ink_is_gray_below_the_surface(name: str, written: Gray) -> None:
    method = METHODS[name]
    surface = method.function(written, threads=1, **method.values({}))
    assert surface.dtype == np.float32
    assert np.isfinite(surface).all()
    np.testing.assert_array_equal(sauvolanet.binarize(written, method=name, invert="no"), written < surface)
    np.testing.assert_array_equal(sauvolanet.threshold(written, method=name, invert="no"), surface)
    if method.fused:
        np.testing.assert_array_equal(method.function(written, threads=2, ink=True), written < surface)


@pytest.mark.parametrize("name", NAMES)
def test_an_inverted_page_gives_the_same_ink(name: str, written: Gray) -> None:
    light_on_dark = 255 - written
    np.testing.assert_array_equal(
        sauvolanet.binarize(light_on_dark, method=name, invert="yes"),
        sauvolanet.binarize(written, method=name, invert="no"),
    )


@pytest.mark.parametrize("name", ["niblack", "bernsen"])
def test_symmetric_formulas_swap_ink_and_paper(name: str) -> None:
    """m + k·s and (min + max)/2 mirror with the gray scale: what was below the threshold lies above it."""
    gray = np.random.default_rng(3).integers(0, 256, (60, 70), dtype=np.uint8)
    options = {"niblack": {"k": 0.0}, "bernsen": {"contrast": 0}}[name]
    up = METHODS[name].function(gray, **options)
    down = METHODS[name].function(255 - gray, **options)
    np.testing.assert_allclose(up + down, 256 if name == "bernsen" else 255, atol=1e-3)


def test_unknown_names_say_the_nearest() -> None:
    page = np.zeros((4, 4), np.uint8)
    with pytest.raises(UnknownName, match="sauvola"):
        sauvolanet.binarize(page, method="sauvolla")
    with pytest.raises(UnknownName, match="window"):
        sauvolanet.binarize(page, method="nick", windw=3)
    with pytest.raises(UsageError, match="odd"):
        sauvolanet.binarize(page, method="nick", window=4)


@pytest.mark.parametrize("name", NAMES)
def test_declared_defaults_are_the_functions_own(name: str) -> None:
    import inspect

    method = METHODS[name]
    parameters = inspect.signature(method.function).parameters
    assert {o.name: o.default for o in method.options} == {
        n: p.default for n, p in parameters.items() if n not in ("gray", "threads", "ink")
    }
    assert "**Deviations**" in (method.function.__doc__ or "")


def test_presets_of_sauvola() -> None:
    values = METHODS["sauvola"].values
    assert values({"preset": "opencv"}) == {"window": 11, "k": 0.5, "r": 0.5}
    assert values({"preset": "scikit-image"}) == {"window": 15, "k": 0.2, "r": 0.5}
    assert values({"preset": "pythreshold", "k": 0.1}) == {"window": 15, "k": 0.1, "r": 0.5}


def test_rows_of_table_1() -> None:
    rows = {n: m.table1 for n, m in METHODS.items() if m.table1}
    assert sorted(rows) == ["isauvola", "sauvola", "sauvola-grid", "sauvola-ms", "sauvola-swt"]
    assert all(list(r) == ["trainable", "w", "k", "r", "scales", "preproc", "postproc"] for r in rows.values())
