"""The pipeline's own promises: what is decided once, and a fingerprint that tells every change of a result."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from sauvolanet import Binarizer, explain
from sauvolanet.errors import UsageError
from sauvolanet.net import load
from sauvolanet.options import ENLARGE, VERB_OPTIONS
from sauvolanet.pipeline import Options, Selection, fingerprint, probes, run
from sauvolanet.synth import page

GRAY, _ = page(5, kind="letter", height=150, width=170)


def key(**given: object) -> str:
    selection = Selection.of(**given)  # type: ignore[arg-type]
    return fingerprint(selection.engine(), selection.options)


def test_options_are_the_verbs_options() -> None:
    assert asdict(Options()) == {o.name: o.default for o in VERB_OPTIONS}


def test_a_selection_survives_json() -> None:
    selection = Selection.of(method="nick", window="25", strength=np.float32(0.5), enlarge="auto", despeckle="3")
    assert Selection.from_json(json.loads(json.dumps(asdict(selection)))) == selection
    assert selection.options == Options(strength=0.5, enlarge="auto", despeckle=3)
    assert selection.params["window"] == 25


def test_a_loaded_model_is_as_good_as_its_name() -> None:
    assert np.array_equal(Binarizer(model=load("original"))(GRAY), Binarizer(model="original")(GRAY))


@pytest.mark.parametrize("what", [{}, {"method": "otsu"}, {"method": "gatos"}], ids=str)
def test_a_result_says_what_was_decided(what: dict[str, str]) -> None:
    ordinary, _, blank, white, *_ = probes()
    binarizer = Binarizer(**what)
    assert not binarizer.run(ordinary).prepared.blank
    assert binarizer.run(blank).prepared.blank
    found = binarizer.run(white)
    assert found.prepared.inverted
    assert np.array_equal(found.prepared.gray, 255 - white)
    assert Binarizer(enlarge=3, **what).run(blank).prepared.times == 3


def test_a_page_that_would_be_too_large_is_not_enlarged() -> None:
    gray = np.full((90, 120), 240, np.uint8)
    for top in range(5, 70, 20):
        gray[top : top + 8, 5:110:6] = 20
    binarizer = Binarizer(method="otsu", enlarge="auto")
    assert binarizer.run(gray).prepared.times == 2
    assert binarizer.run(gray, max_pixels=4 * gray.size - 1).prepared.times == 1


def test_explain_prepares_the_page_as_everybody() -> None:
    white = probes()[3]
    steps = explain(white, strength=0.3, despeckle=4)
    result = Binarizer(strength=0.3, despeckle=4).run(white, keep_surface=True)
    assert steps.result.prepared.inverted
    assert np.array_equal(steps.threshold, result.surface)
    assert np.array_equal(steps.ink, result.ink)
    with pytest.raises(UsageError, match="otsu is a classic method"):
        explain(white, method="otsu")


def test_the_probes_have_something_at_every_turn() -> None:
    engine = Selection().engine()
    few, sides = probes()[1], probes()[4]
    assert 0 < run(engine, few, Options()).ink.mean() < 0.005
    dark = sides < 80
    writing = engine.writing(dark)
    bed, strip, line = np.s_[:, :4], np.s_[:3, 30:140], np.s_[-4:-2, 20:120]
    for place in (strip, line):
        assert dark[place].all() and not writing[place].any()
    assert dark[bed].all() and run(engine, sides, Options()).ink[bed].mean() < 0.2


@pytest.mark.parametrize("what", [{}, {"method": "sauvola"}, {"method": "gatos"}], ids=str)
def test_the_fingerprint_does_not_depend_on_threads(what: dict[str, str]) -> None:
    assert key(threads=1, **what) == key(threads=3, **what) == key(**what)


def test_every_value_is_in_the_fingerprint() -> None:
    given: list[dict[str, object]] = [
        {}, {"window": 25}, {"k": -0.21}, {"strength": 0.01}, {"invert": "no"}, {"despeckle": 1}, {"quality": "best"},
        {ENLARGE.name: 2}, {ENLARGE.name: "auto"},
    ]  # fmt: skip
    assert len({key(method="nick", **values) for values in given}) == len(given)
    assert len({key(model=name) for name in ("swift", "original", "paper")}) == 3


@pytest.mark.parametrize("what", [{}, {"method": "otsu"}, {"method": "gatos"}], ids=str)
def test_a_change_of_code_is_in_the_fingerprint(what: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(**what)
    monkeypatch.setattr("sauvolanet.page.numbers.BLANK_RANGE", 5)  # no file of the engine's own
    assert key(**what) != before


def test_a_surface_that_makes_the_same_ink_is_another_result() -> None:
    selection = Selection.of(method="niblack")
    engine = selection.engine()
    before = fingerprint(engine, selection.options)
    function = engine.method.function  # type: ignore[attr-defined]

    def higher(gray: np.ndarray, **given: object) -> np.ndarray:
        found = function(gray, **given)
        return found if given.get("ink") else np.nextafter(found, np.float32(300))

    other = replace(engine, method=replace(engine.method, function=higher))  # type: ignore[type-var, attr-defined]
    assert fingerprint(other, selection.options) != before
