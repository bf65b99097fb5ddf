"""Damaged and hostile model files: one line, exit code 4."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import random
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from sauvolanet import cli
from sauvolanet.errors import BadModel
from sauvolanet.net.model import SHIPPED, load

from . import making

WEIGHTS = (SHIPPED / "original.npz").read_bytes()
ABOUT = json.loads((SHIPPED / "original.json").read_text(encoding="utf-8"))


def write(folder: Path, weights: bytes = WEIGHTS, text: str | None = None, **changed: object) -> str:
    """A model with the right checksum, whatever its weights are."""
    (folder / "m.npz").write_bytes(weights)
    about = {**ABOUT, "name": "m", "file": "m.npz", "sha256": hashlib.sha256(weights).hexdigest(), **changed}
    (folder / "m.json").write_text(json.dumps(about) if text is None else text, encoding="utf-8")
    return str(folder / "m.json")


def arrays(**changed: np.ndarray | None) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(WEIGHTS)) as archive:
        kept = {**dict(archive), **{n.replace("__", "."): v for n, v in changed.items()}}
    return {name: value for name, value in kept.items() if value is not None}


def packed(save=np.savez, **changed: np.ndarray | None) -> bytes:
    file = io.BytesIO()
    save(file, **arrays(**changed))
    return file.getvalue()


def with_member(name: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(WEIGHTS)) as old, zipfile.ZipFile(file, "w") as new:
        for member in old.infolist():
            new.writestr(member.filename, data if member.filename == name else old.read(member))
    return file.getvalue()


HEAD = arrays()["head.weight"]
BAD = {
    "empty": b"",
    "zip without members": b"PK\x05\x06" + bytes(18),
    "cut": WEIGHTS[: len(WEIGHTS) // 2],
    "cut at the end": WEIGHTS[:-30],
    "pickle": pickle.dumps(arrays()),
    "array alone": b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }".ljust(118) + bytes(12),
    "pickled objects": with_member("head.bias.npy", b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': '|O', 'fortran_order': False, 'shape': (8,), }".ljust(118) + pickle.dumps([1] * 8)),
    "header of nonsense": with_member("head.bias.npy", b"\x93NUMPY\x01\x00\x76\x00" + b"(" * 118),
    "member without header": with_member("head.bias.npy", b"nothing"),
    "false shape": packed(head__weight=np.zeros((2, 2), np.float32)),
    "turned": packed(head__weight=HEAD.transpose(1, 0, 2, 3)),
    "whole numbers": packed(head__weight=HEAD.astype(np.int32)),
    "an array too few": packed(head__bias=None),
    "an array too many": packed(other=np.zeros(3)),
    "not a number": packed(head__weight=np.full_like(HEAD, np.nan)),
    "infinite": packed(head__bias=np.full(8, np.inf, np.float32)),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_damaged_weights(tmp_path, capsys, kind):
    page = tmp_path / "page.png"
    page.write_bytes(making.image())
    model = write(tmp_path, BAD[kind])
    assert cli.main(["binarize", str(page), "-o", str(tmp_path / "out.png"), "--model", model]) == BadModel.exit_code
    told = capsys.readouterr().err
    assert told.startswith("sauvolanet: ") and told.count("\n") == 1 and "m.npz" in told


TEXTS = {
    "nested": "[" * 200_000,
    "nested objects": '{"a":' * 200_000,
    "not json": "weights",
    "list": "[]",
    "null": "null",
    "long": '{"format": 1, "name": "' + "a" * 11_000_000 + '"}',
    "format of nonsense": '{"format": "x"}',
    "format without end": '{"format": 1e999}',
    "long number": '{"format": ' + "9" * 10_000 + "}",
}


@pytest.mark.parametrize("kind", TEXTS)
def test_damaged_description(tmp_path, capsys, kind):
    assert cli.main(["models", write(tmp_path, text=TEXTS[kind])]) == BadModel.exit_code
    told = capsys.readouterr().err
    assert told.startswith("sauvolanet: ") and told.count("\n") == 1


CHANGED = {
    "k is NaN": {"k": [float("nan")] * 8},
    "alpha is infinite": {"alpha": float("inf")},
    "no windows": {"windows": []},
    "even window": {"windows": [8] * 8},
    "width of 10^9": {"architecture": {**ABOUT["architecture"], "widths": [[10**9, 16, 24, 32, 40, 48]]}},
    "width is text": {"architecture": {**ABOUT["architecture"], "widths": [["8", 16, 24, 32, 40, 48]]}},
    "architecture is null": {"architecture": None},
    "name is a list": {"name": []},
    "file elsewhere": {"file": "../m.npz"},
    "scaling of nothing": {"scaling": None},
    "training is text": {"training": "much"},
}


@pytest.mark.parametrize("kind", CHANGED)
def test_description_that_contradicts_itself(tmp_path, kind):
    with pytest.raises(BadModel) as told:
        load(write(tmp_path, **CHANGED[kind]))
    assert "\n" not in str(told.value)


def test_every_value_replaced_by_every_other(tmp_path):
    """A model loads, or says why not: no other exception, whatever stands where in the description."""
    values = [None, True, 0, -1, 1e308, 10**30, "", "x", [], [[]], {}, [None], [10**30], float("nan")]
    rng = random.Random(25)
    for number in range(300):
        key, value = rng.choice(sorted(ABOUT)), rng.choice(values)
        (tmp_path / str(number)).mkdir()
        try:
            load(write(tmp_path / str(number), **{key: value}))
        except BadModel as problem:
            assert "\n" not in str(problem)


BOMB = """
import resource, sys
from sauvolanet.errors import BadModel
from sauvolanet.net.model import load
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    load(sys.argv[1])
except BadModel as problem:
    print(problem)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1000)
"""


def test_sizes_are_checked_before_anything_is_inflated(tmp_path):
    """A few hundred kilobytes that hold 240 MB of zeros."""
    bomb = packed(np.savez_compressed, head__weight=np.zeros((60_000_000,), np.float32))
    assert len(bomb) < 1_000_000
    done = subprocess.run(
        [sys.executable, "-c", BOMB, write(tmp_path, bomb)], capture_output=True, text=True, check=True
    )
    said, megabytes = done.stdout.splitlines()
    assert "more than" in said and int(megabytes) < 100


def test_keras_files(tmp_path, capsys):
    h5py = pytest.importorskip("h5py")

    def keras(name: str, config: str, **layers: np.ndarray) -> Path:
        path = tmp_path / f"{name}.h5"
        with h5py.File(path, "w") as file:
            file.attrs["model_config"] = config
            for key, value in layers.items():
                file[key.replace("__", "/")] = value
        return path

    config = '{"name": "Sauvola_x_w7.15_x"}'
    bias = {"model_weights__conv0__conv0__bias:0": np.zeros(8)}
    files = [
        keras("windows", '{"name": "Sauvola_x_w7..15._x"}', **bias),
        keras("even", '{"name": "Sauvola_x_w8.16_x"}', **bias),
        keras("group", config, model_weights__conv0__conv0=np.zeros(3)),
        keras("text", config, **{"model_weights__conv0__conv0__bias:0": np.bytes_("text")}),
        keras("flat", config, **bias, **{"model_weights__conv0__conv0__kernel:0": np.zeros(8)}),
        keras("nan", config, **{"model_weights__conv0__conv0__bias:0": np.full(8, np.nan)}),
        keras("scalar", config, **{"model_weights__conv0__conv0__bias:0": np.float32(1)}),
    ]
    whole = files[0].read_bytes()
    rng = random.Random(25)
    for number in range(20):
        data = bytearray(whole)
        for _ in range(30):
            data[rng.randrange(len(data))] = rng.randrange(256)
        files.append(tmp_path / f"mutated{number}.h5")
        files[-1].write_bytes(data)
    for file in files:
        assert cli.main(["import-keras", str(file), "-o", str(tmp_path / "new")]) == BadModel.exit_code, file
        told = capsys.readouterr().err
        assert told.startswith("sauvolanet: ") and told.count("\n") == 1


@pytest.mark.slow
def test_checkpoints(tmp_path, capsys):
    torch = pytest.importorskip("torch")
    good = {"settings": {}, "step": 1, "net": {}, "average": {}, "optimizers": []}
    for number, state in enumerate([
        b"", b"nothing", pickle.dumps({"settings": 1}), good, {**good, "settings": None}, {**good, "settings": {"preset": []}},
        [1], {"step": 1}, {**good, "net": {"x": torch.zeros(3)}},
    ]):  # fmt: skip
        run = tmp_path / str(number)
        run.mkdir()
        if isinstance(state, bytes):
            (run / "checkpoint.pt").write_bytes(state)
        else:
            torch.save(state, run / "checkpoint.pt")
        assert cli.main(["export", str(run), "-o", str(tmp_path / "new"), "--source", "x"]) in (2, 4), state
        told = capsys.readouterr().err
        assert told.startswith("sauvolanet: ") and told.count("\n") == 1
