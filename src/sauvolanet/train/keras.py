"""The authors' Keras checkpoint becomes a model, with h5py and neither TensorFlow nor torch."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadModel, MissingExtra
from ..net.architecture import Architecture
from ..net.model import describe

_MOST = 10_000_000  # numbers of one layer; theirs have 23 thousand


def read_keras(path: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Description and weights of the model in a Keras HDF5 file of SauvolaNet.

    A file that is no HDF5, or lacks a layer, is a BadModel that names what is missing.
    """
    try:
        import h5py
    except ImportError:
        raise MissingExtra("keras", "import-keras") from None
    path = Path(path)
    if path.is_dir():
        raise BadModel(f"{path}: a folder, not a Keras file")
    if not path.exists():
        raise BadModel(f"{path}: no such file")
    try:
        with h5py.File(path) as file:
            return _read(file, path)
    except BadModel:
        raise
    except Exception as problem:  # HDF5 fails in many ways
        reason = str(problem).partition("\n")[0] or type(problem).__name__
        raise BadModel(f"{path}: not a complete HDF5 file of SauvolaNet ({reason})") from None


def _read(file: Any, path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    def get(layer: str, name: str) -> np.ndarray:
        key = f"model_weights/{layer}/{layer}/{name}:0"
        if key not in file:
            raise BadModel(f"{path}: not a SauvolaNet checkpoint, it lacks {key}")
        if not 0 < file[key].size <= _MOST:
            raise BadModel(f"{path}: {key} has {file[key].size} numbers")
        array = np.asarray(file[key], np.float32)
        if not np.isfinite(array).all():
            raise BadModel(f"{path}: {key} holds values that are not numbers")
        return array

    config = str(file.attrs.get("model_config", ""))
    named = re.search(r'"name": "Sauvola_[^"]*_w([0-9.]+)_', config)
    if not named:
        raise BadModel(f"{path}: not a SauvolaNet checkpoint, its model_config names no windows")
    windows = tuple(int(w) for w in named[1].split("."))
    depth = 0
    while f"model_weights/conv{depth}" in file:
        depth += 1
    layers = [f"conv{i}" for i in range(max(depth, 1))]
    widths = tuple(int(get(n, "bias").shape[0]) for n in layers)
    architecture = Architecture(widths=(widths,), dilations=((1, *[2] * (len(widths) - 1)),), windows=windows)
    weights: dict[str, np.ndarray] = {}
    for ours, theirs in zip([*(f"down0.{i}" for i in range(len(widths))), "head"], [*layers, "conv_att"], strict=True):
        weights[f"{ours}.weight"] = get(theirs, "kernel").transpose(3, 2, 0, 1)
        weights[f"{ours}.bias"] = get(theirs, "bias")
    k, r = (get("sauvola", n).reshape(-1) for n in ("Sauvola_k", "Sauvola_R"))
    alpha = get("difference_thresh", "alpha").reshape(-1)
    if len(k) != len(windows) or len(r) != len(windows):
        raise BadModel(f"{path}: {len(windows)} windows but {len(k)} values of k and {len(r)} of r")
    numbers = sum(w.size for w in weights.values()) + k.size + r.size + alpha.size
    training: dict[str, Any] = {
        "partition": "unknown", "train": [], "validate": [], "preset": "authors", "seed": None, "steps": None,
        "patches": None, "command": None, "data_sha256": None, "versions": {},
    }  # fmt: skip
    about = describe("original", architecture, [float(v) for v in k], [float(v) for v in r], float(alpha[0]),
                     {"kind": "minmax"}, None, None, numbers, "MIT", "Copyright (c) 2021 Leedeng",
                     "the checkpoint published by the authors (repository Leedeng/SauvolaNet)", training)  # fmt: skip
    return about, weights
