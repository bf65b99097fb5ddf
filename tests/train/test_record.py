"""What a model says of its training is what the run has used."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("torch")

from sauvolanet.train.record import partition_of, provenance, together
from sauvolanet.train.settings import PRESETS


def test_sets_and_pages_are_those_of_the_manifest() -> None:
    manifest = {
        "train_pages": ["DIBCO2009/H01", "DIBCO2009/H03", "Monk/H01"],
        "validation_pages": ["DIBCO2009/H02", "DIBCO2013/H01", "DIBCO2013/H02"],
        "data_sha256": "abc",
    }
    told = provenance(PRESETS["swift"], manifest, None)
    assert told["train"] == ["DIBCO2009", "Monk"]
    assert told["validate"] == ["DIBCO2009/H02", "DIBCO2013"]
    assert (told["partition"], told["data_sha256"]) == ("wide", "abc")
    assert provenance(PRESETS["swift"], None, None)["partition"] == "unknown"


@pytest.mark.parametrize(
    ("origin", "partition"), [(None, "wide"), ("wide", "wide"), ("all", "all"), ("unknown", "unknown")]
)
def test_the_first_model_counts_for_the_partition(origin: str | None, partition: str) -> None:
    assert partition_of(PRESETS["swift"], {"name": "m", "partition": origin} if origin else None) == partition


def test_a_partition_with_a_set_left_out_has_no_name() -> None:
    assert partition_of(replace(PRESETS["paper"], leave_out=("DIBCO2009",)), None) == "unknown"


@pytest.mark.parametrize(
    ("train", "partition"), [(("DIBCO2010", "dibco2012"), "wide"), (("DIBCO2011",), "unknown"), (("mine",), "unknown")]
)
def test_weights_trained_on_a_part_of_what_they_know(train: tuple[str, ...], partition: str) -> None:
    settings = replace(PRESETS["swift"], train=train)
    assert partition_of(settings, {"name": "m", "partition": "wide"}) == partition
    assert partition_of(settings, None) == "unknown"


def test_all_sets_hold_every_partition() -> None:
    assert partition_of(replace(PRESETS["swift"], train=("all",)), {"name": "m", "partition": "wide"}) == "all"
    everything = {"name": "m", "partition": "all"}  # what has seen the test sets cannot be judged by them any more
    assert partition_of(replace(PRESETS["swift"], train=("mine",)), everything) == "all"
    assert partition_of(replace(PRESETS["swift"], leave_out=("DIBCO2011",)), everything) == "all"
    assert together("wide", "all") == together("unknown", "all") == "all"
    assert together("stated", "wide") == together("wide", "stated") == "wide"
    assert together("stated", "unknown") == "unknown"
