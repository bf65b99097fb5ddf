"""Composed pages for training: made once, the same each time, never of a mixture of materials."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sauvolanet.errors import BadData, UsageError
from sauvolanet.synth import compose
from sauvolanet.train import composed
from sauvolanet.train.composed import composed_pages, make_composed
from sauvolanet.train.loop import Run
from sauvolanet.train.settings import Settings

from .conftest import assert_same_weights

SPEC = {"pages": 3, "seed": 7, "looks": {"ruled": 1, "any": 1}}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Composed pages of 160 × 200 pixels."""
    whole = compose.compose
    monkeypatch.setattr(compose, "compose", lambda *given: whole(*given, height=160, width=200))


@pytest.mark.usefixtures("small")
def test_pages_are_made_once_and_each_time_the_same(materials: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    assert make_composed(SPEC, materials, one) == make_composed({**SPEC, "pages": 1}, materials, other)
    before = (other / "7-ruled.png").stat().st_mtime_ns
    make_composed(SPEC, materials, other)  # two pages lack
    assert (other / "7-ruled.png").stat().st_mtime_ns == before
    pages = composed_pages(SPEC, one)
    assert [p.id for p in pages] == ["7-ruled", "8-any", "9-ruled"] and {p.set for p in pages} == {"Composed"}
    for page in pages:
        for file in (page.image, page.truth):
            assert file.read_bytes() == (other / file.name).read_bytes()
    colour, truth, _ = compose.compose(8, *composed.materials(materials), None)
    assert np.array_equal(np.asarray(Image.open(one / "8-any.png")), colour)
    assert np.array_equal(np.asarray(Image.open(one / "8-any.gt.png")), ~truth)


@pytest.mark.usefixtures("small")
def test_pages_of_other_materials_are_not_mixed(
    materials: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make_composed(SPEC, materials, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(compose, "version", lambda: "another")
        assert make_composed(SPEC, materials, tmp_path) == first  # nothing has to be made
        with pytest.raises(BadData, match="another version"):
            make_composed({**SPEC, "pages": 4}, materials, tmp_path)
    paper = next((materials / "papers" / "lined").iterdir())
    Image.fromarray(np.full((120, 90, 3), 199, np.uint8)).save(paper)
    with pytest.raises(BadData, match="other papers or inks"):
        make_composed(SPEC, materials, tmp_path)
    with pytest.raises(BadData, match="no folder 'papers'"):
        make_composed(SPEC, tmp_path, tmp_path / "new")


@pytest.mark.parametrize(
    "spec",
    [{"pages": 3, "seed": 7}, {**SPEC, "kind": 1}, {**SPEC, "pages": 0}, {**SPEC, "pages": 2.5}, {**SPEC, "seed": -1},
     {**SPEC, "looks": {}}, {**SPEC, "looks": {"rulde": 1}}, {**SPEC, "looks": {"ruled": 0}}, {**SPEC, "looks": 3}],
)  # fmt: skip
def test_what_cannot_be_composed_is_named(spec: dict[str, object], tiny: Settings) -> None:
    with pytest.raises(UsageError, match="composed"):
        replace(tiny, composed=spec)


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_a_run_on_composed_pages_goes_on_to_the_same_weights(
    tiny: Settings, materials: Path, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (materials / "documents").symlink_to(pairs)
    settings = replace(tiny, composed=SPEC, set_weights={"Composed": 3.0}, steps=6, checkpoint_every=2)
    Run(settings, materials, tmp_path / "whole").train()
    Run(settings, materials, tmp_path / "parts").train(stop_after=3)
    monkeypatch.setattr(compose, "compose", None)  # whoever goes on makes none
    Run(settings, materials, tmp_path / "parts").train()
    assert_same_weights(tmp_path / "whole", tmp_path / "parts")
    run = Run(settings, materials, tmp_path / "whole")
    assert run.ended
    run.check_data()
    manifest = json.loads((tmp_path / "whole" / "manifest.json").read_text())
    assert "Composed/8-any" in manifest["train_pages"]
    page = tmp_path / "whole" / "composed" / "8-any.png"
    page.write_bytes((tmp_path / "whole" / "composed" / "7-ruled.png").read_bytes())
    with pytest.raises(BadData, match="not those that the run"):
        run.check_data()
