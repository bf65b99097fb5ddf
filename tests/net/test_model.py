"""Models on disk: what loads, what does not and why; the authors' Keras file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from sauvolanet.cli import main
from sauvolanet.errors import BadModel, OutputError, UnknownName
from sauvolanet.net import load, shipped
from sauvolanet.net.model import SHIPPED, Model, save
from sauvolanet.page.margins import Margins

H5 = "../reference/sauvolanet-original.h5"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The model `original` in a folder of its own; the path of its JSON."""
    for suffix in ("json", "npz"):
        shutil.copy(SHIPPED / f"original.{suffix}", tmp_path)
    return tmp_path / "original.json"


def test_shipped_models_load_and_are_small() -> None:
    assert "original" in shipped()
    for name in shipped():
        model = load(name)
        assert model.name == name
        assert (SHIPPED / f"{name}.npz").stat().st_size < 1_000_000
        assert (SHIPPED / f"{name}.md").exists()
        model.network  # noqa: B018 - every layer is there and has its shape


@pytest.mark.parametrize("how", ["original", "original.json", "original.npz"])
def test_a_model_is_named_by_path_with_or_without_suffix(copy: Path, how: str) -> None:
    assert load(str(copy.parent / how)).name == "original"


def test_unknown_names() -> None:
    with pytest.raises(UnknownName, match="did you mean original"):
        load("orginal")
    for nowhere in ("folder/orginal", ".", "/", ".."):
        with pytest.raises(BadModel, match="no model there"):
            load(nowhere)


def test_a_damaged_file_does_not_load(copy: Path) -> None:
    weights = copy.with_suffix(".npz")
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(BadModel, match="checksum"):
        load(str(copy))
    weights.unlink()
    with pytest.raises(BadModel, match="No such file"):
        load(str(copy))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "a newer sauvolanet reads it"),
        ({"colour": 1}, "unknown keys: colour"),
        ({"architecture": {"kind": "u"}}, "architecture"),
        ({"format": "new"}, "not the description of a model"),
        ({"format": None}, "not the description of a model"),
        ({"windows": 7}, "not the description of a model"),
        ({"windows": ["a"] * 8}, "not the description of a model"),
        ({"scaling": None}, "not the description of a model"),
        ({"scaling": {"kind": "odd"}}, "unknown kind of scaling"),
        ({"scaling": {"kind": "percentile"}}, "not the description of a model"),
        ({"scaling": {"kind": "inner", "low": 0.5, "high": 99.0, "least": 16.0}}, "unknown kind of scaling"),
        ({"scaling": {"kind": "percentile", "low": 9, "high": 1, "least": 16}}, "low must be below high"),
        ({"scaling": {"kind": "minmax", "low": 0.5}}, "unknown keys: low"),
        ({"margins": {}}, "margins: missing or unknown keys"),
        ({"margins": {**Margins().to_json(), "part": 20}}, "margins: part must be"),
        ({"margins": 25}, "not the description of a model"),
        ({"k": [0.1]}, "k must be one for each of the 8 windows"),
        ({"r": "rr"}, "not the description of a model"),
        ({"r": [0.5] * 7 + [1e-50]}, "r must be at least 1e-06"),
        ({"r": [0.5] * 7 + [-0.1]}, "r must be at least 1e-06"),
        ({"k": [0.5] * 7 + ["0.5"]}, "'0.5' is not a number"),
        ({"r": [0.5] * 7 + [True]}, "True is not a number"),
        ({"alpha": "5"}, "'5' is not a number"),
        ({"parameters": "44,041"}, "'44,041' is not a number"),
        ({"macs_per_pixel": None}, "not the description of a model"),
        ({"file": "../original.npz"}, "without a folder"),
        ({"training": None}, "not the description of a model"),
        ({"training": {"partition": 1}}, "partition must be text"),
    ],
)
def test_a_foreign_description_does_not_load(copy: Path, change: dict[str, object], message: str) -> None:
    copy.write_text(json.dumps({**json.loads(copy.read_text()), **change}))
    with pytest.raises(BadModel, match=message):
        load(str(copy))


def test_whatever_changes_a_result_changes_the_digest() -> None:
    model = load("swift")
    margins = {
        "bed_contrast": 0.5,
        "strip_depth": 21,
        "strip_shape": 7,
        "line_part": 0.5,
        "line_shape": 11,
        "sparse_contrast": 9,
    }
    assert margins.keys() | {"part"} == model.about["margins"].keys()
    changes: list[dict[str, object]] = [{"margins": {**model.about["margins"], n: v}} for n, v in margins.items()]
    changes += [{"margins": None}, {"k": model.about["r"]}, {"scaling": {**model.about["scaling"], "low": 1.0}}]
    digests = {Model({**model.about, **change}, {}).digest for change in changes}
    assert len(digests - {model.digest}) == len(changes)
    assert Model({**model.about, "source": "elsewhere"}, {}).digest == model.digest


def test_half_a_description_does_not_load(copy: Path) -> None:
    copy.write_text(copy.read_text()[:100])
    with pytest.raises(BadModel, match="not the description of a model"):
        load(str(copy))


def test_a_model_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    model = load("original")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        save(model.about, model.weights, tmp_path / "file" / "model")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_the_shipped_original_is_the_authors_file(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("h5py", reason="needs the extra keras")
    assert main(["import-keras", str(data / H5), "-o", str(tmp_path / "M")]) == 0
    assert "44,041 numbers" in capsys.readouterr().out
    imported, ours = load(str(tmp_path / "M")), load("original")
    assert imported.weights.keys() == ours.weights.keys()
    assert all(np.array_equal(imported.weights[n], ours.weights[n]) for n in ours.weights)
    assert np.round(imported.about["k"], 3).tolist() == [1.399, 0, 0.258, 0.471, 0, 0.05, 0.604, 0.095]
    assert imported.about["r"] == pytest.approx([0.762, 1.545, 0.58, 1.282, 0.282, 0.048, 0.294, 0.0074], abs=6e-4)
    assert imported.about["alpha"] == pytest.approx(5.18, abs=0.005)


def test_bad_keras_files(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    h5py = pytest.importorskip("h5py", reason="needs the extra keras")
    whole = (data / H5).read_bytes()
    (tmp_path / "cut.h5").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.h5").write_bytes(b"")
    with h5py.File(tmp_path / "foreign.h5", "w") as file:
        file["weights"] = [1, 2]
    shutil.copy(data / H5, tmp_path / "lacks.h5")
    (tmp_path / "lacks.h5").chmod(0o644)
    with h5py.File(tmp_path / "lacks.h5", "a") as file:
        del file["model_weights/conv_att"]
    for name, message in [("cut", "not a complete HDF5 file"), ("empty", "not a complete HDF5 file"), ("foreign", "names no windows"),
                          ("lacks", "it lacks model_weights/conv_att"), ("none", "no such file")]:  # fmt: skip
        assert main(["import-keras", str(tmp_path / f"{name}.h5"), "-o", str(tmp_path / "M")]) == 4
        told = capsys.readouterr().err
        assert message in told
        assert told.count("\n") == 1
    assert main(["import-keras", str(tmp_path), "-o", str(tmp_path / "M")]) == 4
    assert not list(tmp_path.glob("M*"))
