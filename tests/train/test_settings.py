"""Settings: what makes no sense is named, changes fit together, and JSON keeps them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sauvolanet.errors import BadData, UsageError
from sauvolanet.page.margins import Margins
from sauvolanet.train.settings import PRESETS, settings_from_json, with_changes


@pytest.mark.parametrize(
    "change",
    ["loss=hing", "optimizer=sgd", "positive=x", "k=abc", "k=[0.1,0.2]", "k=-1", "r=NaN", "seed=-1", "steps=0", "batch=0",
     "patch=0", "patch=33", "patch=40", "rim=-1", "rim=128", "validate_every=0", "checkpoint_every=0", "rate=-1", "rate=NaN", "epsilon=-1",
     "weight_decay=-1", "alpha=0", "average=2", "tone=1.5", 'set_weights={"a":-1}', 'set_weights={"a":"b"}',
     "rescale_range=[1]", "rescale_range=[0,1]", "rescale_range=[2,1]", 'rescale_range=["a","b"]',
     'scaling={"kind":"foo"}', 'scaling={"kind":"inner"}', 'scaling={"kind":"percentile"}', "margins=25", "margins=true",
     'margins={"part":20}', 'margins={"depth":1}', 'scaling={"kind":"percentile","low":"x","high":9,"least":1}',
     'scaling={"kind":"percentile","low":90,"high":1,"least":1}', "architecture.windows=[8]", "architecture.windows=[]",
     "architecture.windows=[7,15]", 'architecture.windows=["a"]', "architecture.widths=[8]", 'architecture.refine=["a"]', "architecture.refine=[4]",
     "architecture.view=[8,12]",
     "architecture.dilations=[[1,0],[1,1],[1,1],[1,1]]", "architecture.features=[]", "rescale_range=[0.5,1000]",
     'architecture.features=["gray","gray"]', 'architecture.constants=["a"]', "rescale_range=[1,Infinity]", "train=[1]",
     "validate=[1]", "rate=1e38", "weight_decay=1e300", "seed=100000000000000000000000",
     'conventions={"DIBCO":1.5}', 'conventions={"DIBCO":"thick"}', "kinds=[1]", "kinds=Office", 'composed={"pages":3}'],
)  # fmt: skip
def test_a_setting_that_makes_no_sense_is_named(change: str) -> None:
    name, _, value = change.partition("=")
    with pytest.raises(UsageError, match=name.partition(".")[0]):
        with_changes(PRESETS["swift"], {name: value})


def test_settings_that_fit_each_other_change_together() -> None:
    """Each of these alone contradicts the preset."""
    changes = {"architecture.widths": "[[8, 8]]", "architecture.dilations": "[[1, 2]]", "architecture.kind": "chain"}
    changes |= {"architecture.windows": "[7, 15, 31]", "k": "[0.1, 0.2, 0.3]", "patch": "50"}
    changed = with_changes(PRESETS["swift"], changes)
    assert (changed.architecture.widths, changed.k, changed.patch) == (((8, 8),), (0.1, 0.2, 0.3), 50)


def test_the_message_shows_how_a_value_is_written() -> None:
    with pytest.raises(UsageError, match='flips must be like true, not "True"'):
        with_changes(PRESETS["swift"], {"flips": "True"})


def test_a_run_of_another_version_is_named() -> None:
    with pytest.raises(BadData, match="unknown settings: lens"):
        settings_from_json({**PRESETS["paper"].to_json(), "lens": 2})


def test_settings_survive_json_and_take_changes() -> None:
    composed = {"pages": 3, "seed": 1, "looks": {"ruled": 2, "any": 1}}
    others = replace(PRESETS["swift"], composed=composed, kinds=("Nabuco",), conventions={"DIBCO": 0.62})
    for s in (*PRESETS.values(), replace(PRESETS["better"], teacher="swift-heldout", taught=0.3, rim=12), others):
        assert settings_from_json(json.loads(json.dumps(s.to_json()))) == s
    changed = with_changes(
        PRESETS["swift"], {"rate": "1e-3", "architecture.refine": "[8, 8]", "leave_out": "DIBCO2018"}
    )
    assert (changed.rate, changed.architecture.refine, changed.leave_out) == (1e-3, (8, 8), ("DIBCO2018",))
    assert {"taught", "rim"}.isdisjoint(PRESETS["better"].to_json())  # what is known of earlier runs stays valid
    assert with_changes(PRESETS["swift"], {"margins": "null"}).margins is None
    assert with_changes(PRESETS["paper"], {"margins": '{"strip_depth": 9}'}).margins == Margins(strip_depth=9)
    with pytest.raises(UsageError, match="did you mean"):
        with_changes(PRESETS["swift"], {"rat": "1"})
    with pytest.raises(UsageError, match="must be like"):
        with_changes(PRESETS["swift"], {"batch": "many"})
