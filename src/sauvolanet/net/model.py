"""A model on disk: NAME.npz with the weights, and NAME.json that describes it; and the same thing loaded.

The JSON is written last and carries the weights' checksum, so a half-written model never loads.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic import atomic
from ..components import EDGE_RULES, drop_edge_strips
from ..errors import BadModel, UnknownName
from ..page import RIM, SPARSE_CONTRAST, PageNumbers
from ..windows import Gray, Ink, Surface
from .architecture import Architecture, architecture_from_json
from .buffers import Array
from .features import BED, SCALINGS, Scale, page_numbers, page_scale
from .run import Layer, Network, halo_of

FORMAT = 1
SHIPPED = Path(__file__).parent.parent / "models"
_KEYS = {"format", "name", "file", "sha256", "licence", "copyright", "source", "architecture", "windows", "k", "r",
         "constants", "alpha", "scaling", "halo", "multiple", "parameters", "macs_per_pixel", "training"}  # fmt: skip


class Model:
    """A trained network: ``surface(gray, numbers)`` gives the threshold per pixel.

    Weights are the convolutions as they run: normalisation over the batch is folded into weight and bias, instance
    normalisation follows the plain convolution. Loading and packing happen at first use.
    """

    def __init__(self, about: Mapping[str, Any], weights: Mapping[str, Array]) -> None:
        self.about = dict(about)
        self.name: str = about["name"]
        self.architecture: Architecture = architecture_from_json(
            about["architecture"], about["windows"], about["constants"]
        )
        self.weights = dict(weights)

    @cached_property
    def digest(self) -> str:
        """Same digest, same results: of the weights and of what the description says of how they are used."""
        used = [self.about[n] for n in ("architecture", "windows", "k", "r", "constants", "scaling", "sha256")]
        if self.doubts_rim:
            used.append([RIM, BED, *EDGE_RULES, SPARSE_CONTRAST])
        return hashlib.sha256(json.dumps(used, sort_keys=True).encode()).hexdigest()

    @cached_property
    def network(self) -> Network:
        """The network with its weights packed for the kernels."""
        layers = {}
        for name, inputs, outputs, size, dilation, normalised, _ in self.architecture.convolutions():
            try:
                weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
            except KeyError as missing:
                raise BadModel(f"model {self.name} lacks {missing}") from None
            if weight.shape != (outputs, inputs, size, size) or bias.shape != (outputs,):
                raise BadModel(
                    f"model {self.name}: {name} has shape {weight.shape}, not {(outputs, inputs, size, size)}"
                )
            extra = -outputs % 8  # kernels work on eight outputs at a time
            weight = np.concatenate([weight, np.zeros((extra, *weight.shape[1:]), np.float32)]).astype(np.float32)
            bias = np.concatenate([bias, np.zeros(extra)]).astype(np.float32)
            relu = normalised and self.architecture.norm == "batch"
            layers[name] = Layer(weight, bias, _pack(weight), outputs, dilation, relu)
        k, r = (np.asarray(self.about[n], np.float32) for n in ("k", "r"))
        return Network(self.architecture, layers, k, r)

    def scale(self, numbers: PageNumbers) -> Scale:
        """How the page's gray is scaled for this model."""
        return page_scale(numbers, self.about["scaling"])

    def _known(self, numbers: PageNumbers) -> Array:
        return page_numbers(numbers, self.about["scaling"])

    def tiles(self, gray: Gray, numbers: PageNumbers, threads: int | None = None,
              largest: int | None = None) -> Iterator[tuple[tuple[slice, slice], Surface]]:  # fmt: skip
        """The surface tile by tile: (rows, columns), float32 on the 0–255 scale; ink is gray < surface."""
        return self.network.tiles(gray, self._known(numbers), self.scale(numbers), threads, largest)

    def surface(
        self, gray: Gray, numbers: PageNumbers, threads: int | None = None, largest: int | None = None
    ) -> Surface:
        """The whole surface: float32 (H, W) on the 0–255 scale; ink is gray < surface."""
        out = np.empty(gray.shape, np.float32)
        for core, part in self.tiles(gray, numbers, threads, largest):
            out[core] = part
        return out

    @property
    def doubts_rim(self) -> bool:
        """Whether dark things along the sides of a page are rather a scanner's bed, a fold or a frame than ink."""
        return bool(self.about["scaling"]["kind"] == "inner")

    def writing(self, ink: Ink) -> Ink:
        """Of what the surface makes ink, that which is writing: for some models all but strips along the page's sides."""
        return drop_edge_strips(ink) if self.doubts_rim else ink

    def explain(self, gray: Gray, numbers: PageNumbers, threads: int | None = None) -> tuple[Array, Array, Array]:
        """Sauvola thresholds per window, attention per choice, surface; see `Network.explain`."""
        return self.network.explain(gray, self._known(numbers), self.scale(numbers), threads)


def _pack(weight: Array) -> Array:
    from ..windows import compiled

    kernels = compiled("sauvolanet.net.conv_kernels")
    return weight if kernels is None else kernels.pack(weight)


def describe(name: str, architecture: Architecture, k: list[float], r: list[float], alpha: float, scaling: dict[str, Any],
             parameters: int, licence: str, copyright: str, source: str, training: dict[str, Any]) -> dict[str, Any]:  # fmt: skip
    """The JSON of a model; `save` adds file and checksum."""
    return {
        "format": FORMAT, "name": name, "licence": licence, "copyright": copyright, "source": source,
        "architecture": architecture.to_json(), "windows": list(architecture.windows), "k": k, "r": r,
        "constants": list(architecture.constants), "alpha": alpha, "scaling": scaling, "halo": halo_of(architecture),
        "multiple": architecture.multiple, "parameters": parameters,
        "macs_per_pixel": round(architecture.macs_per_pixel, 1), "training": training,
    }  # fmt: skip


def save(about: Mapping[str, Any], weights: Mapping[str, Array], path: str | os.PathLike[str]) -> Path:
    """Write PATH.npz, then PATH.json, each under a temporary name first; the JSON's path is returned."""
    base = base_of(path)
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {n: np.asarray(w, np.float32) for n, w in weights.items()}
    np.savez(buffer, **arrays)
    data = buffer.getvalue()
    about = {**about, "file": f"{base.name}.npz", "sha256": hashlib.sha256(data).hexdigest()}
    with atomic(base.with_name(base.name + ".npz")) as file:
        file.write(data)
    target = base.with_name(base.name + ".json")
    with atomic(target) as file:
        file.write((json.dumps(about, indent=1, ensure_ascii=False) + "\n").encode())
    return target


def base_of(path: str | os.PathLike[str]) -> Path:
    """PATH without .json or .npz: what `save` writes to; its last part is the model's name."""
    base = Path(path)
    return base.with_suffix("") if base.suffix in (".json", ".npz") else base


def shipped() -> list[str]:
    """Names of the models in the package."""
    return sorted(p.stem for p in SHIPPED.glob("*.json"))


def locate(name: str) -> Path:
    """The JSON of a shipped model, or of a model named by a path (with or without .json)."""
    if name in shipped():
        return SHIPPED / f"{name}.json"
    path = Path(name)
    for candidate in (path, path.with_name(path.name + ".json"), path.with_suffix(".json")) if path.name else ():
        if candidate.suffix == ".json" and candidate.is_file():
            return candidate
    if path.suffix or "/" in name or os.sep in name or path.exists():
        raise BadModel(f"{name}: no model there (a model is NAME.npz with its NAME.json)")
    raise UnknownName("model", name, shipped())


def load(name: str) -> Model:
    """A shipped model by name, or one on disk by path; checked against its checksum. Kept for the next call."""
    path = locate(name)
    stat = path.stat()
    return _load(path, stat.st_mtime_ns, stat.st_size)


def _check(about: dict[str, Any]) -> None:
    """Fail on a description that would fail later, on every page."""
    windows = Model(about, {}).architecture.windows
    for name in ("k", "r"):
        if len([float(value) for value in about[name]]) != len(windows):
            raise BadModel(f"{name} must be one for each of the {len(windows)} windows")
    float(about["alpha"])
    if about["scaling"]["kind"] not in SCALINGS:
        raise BadModel(f"unknown kind of scaling {about['scaling']['kind']!r}")
    page_scale(PageNumbers.of(np.zeros((1, 1), np.uint8)), about["scaling"])
    about["training"].get("partition")
    if Path(about["file"]).name != about["file"]:
        raise BadModel("file must be a name without a folder")


@lru_cache(maxsize=8)
def _load(path: Path, *_: int) -> Model:
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        version = int(about["format"])
    except (OSError, ValueError, TypeError, KeyError) as problem:
        raise BadModel(f"{path}: not the description of a model ({problem})") from None
    if version > FORMAT:
        raise BadModel(f"{path}: format {version}; this version reads up to {FORMAT}, a newer sauvolanet reads it")
    if set(about) != _KEYS:
        raise BadModel(f"{path}: missing or unknown keys: {', '.join(sorted(set(about) ^ _KEYS))}")
    try:
        _check(about)
    except (BadModel, TypeError, ValueError, KeyError, AttributeError) as problem:
        raise BadModel(f"{path}: not the description of a model ({problem})") from None
    file = path.with_name(about["file"])
    try:
        data = file.read_bytes()
    except OSError as problem:
        raise BadModel(f"{file}: {problem.strerror}") from None
    if hashlib.sha256(data).hexdigest() != about["sha256"]:
        raise BadModel(f"{file}: checksum differs from {path.name}; the file is damaged or belongs to another model")
    with np.load(io.BytesIO(data)) as archive:
        return Model(about, dict(archive))
