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

from ..core.arrays import Gray, Ink, Surface
from ..core.atomic import atomic
from ..errors import BadModel, UnknownName, UsageError
from ..page.margins import BedStrip, Margins, Region, clear, margins_from_json
from ..page.numbers import PageNumbers
from ..page.reading import Reading, reading_from_json
from .architecture import Architecture, architecture_from_json
from .buffers import Array
from .eight import Network8, fits, layers_of
from .inputs import PageInputs, Scale, check_scaling, page_scale
from .run import Layer, Network, halo_of, pack
from .view import sampled
from .weights import read_weights

FORMAT = 1
_LONGEST = 10_000_000  # bytes of a description
SHIPPED = Path(__file__).parent.parent / "models"
_RESULT_KEYS = {
    "architecture",
    "windows",
    "k",
    "r",
    "constants",
    "scaling",
    "margins",
    "reading",
    "bits",
    "sha256",
}  # what makes the result
_KEYS = _RESULT_KEYS | {"format", "name", "file", "licence", "copyright", "source", "alpha", "halo", "multiple",
                        "parameters", "macs_per_pixel", "training", "recipe", "recipe_sha256"}  # fmt: skip


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
        self.margins: Margins | None = margins_from_json(about["margins"])
        self.reading: Reading | None = reading_from_json(about["reading"])
        self.weights = dict(weights)

    @cached_property
    def digest(self) -> str:
        """Same digest, same results: of the weights and of what the description says of how they are used."""
        used = {name: self.about[name] for name in _RESULT_KEYS - {"sha256"}}
        if used["bits"] == 32:
            del used["bits"]  # digests from before there were others stay what they are
        used["sha256"] = self.about.get("sha256") or hashlib.sha256(packed(self.weights)).hexdigest()  # not saved yet
        return hashlib.sha256(json.dumps(used, sort_keys=True).encode()).hexdigest()

    @cached_property
    def network(self) -> Network:
        """The network with its weights packed for the kernels."""
        layers = {}
        for layer in self.architecture.convolutions():
            try:
                weight, bias = self.weights[f"{layer.name}.weight"], self.weights[f"{layer.name}.bias"]
            except KeyError as missing:
                raise BadModel(f"model {self.name} lacks {missing}") from None
            if weight.shape != layer.shape or bias.shape != (layer.outputs,):
                raise BadModel(f"model {self.name}: {layer.name} has shape {weight.shape}, not {layer.shape}")
            extra = -layer.outputs % 8  # kernels work on eight outputs at a time
            weight = np.concatenate([weight, np.zeros((extra, *weight.shape[1:]), np.float32)]).astype(np.float32)
            bias = np.concatenate([bias, np.zeros(extra)]).astype(np.float32)
            relu = layer.normalised and self.architecture.norm == "batch"
            layers[layer.name] = Layer(weight, bias, pack(weight), layer.outputs, layer.dilation, relu)
        k, r = (np.asarray(self.about[n], np.float32) for n in ("k", "r"))
        if self.about["bits"] == 8:
            return Network8(self.architecture, layers, k, r, layers_of(self.architecture, self.weights))
        return Network(self.architecture, layers, k, r)

    def scale(self, numbers: PageNumbers) -> Scale:
        """How the page's gray is scaled for this model."""
        return page_scale(numbers, self.about["scaling"], self.margins)

    def inputs(self, gray: Gray, numbers: PageNumbers) -> PageInputs:
        """The page as the network reads it."""
        return PageInputs.of(gray, numbers, self.architecture, self.about["scaling"], self.margins)

    def bed(self, gray: Gray, scale: Scale) -> list[BedStrip]:
        """Where the scanner's bed shows in the margins of the page: no ink, whatever the network says."""
        return [] if self.margins is None else self.margins.bed(gray, scale.floor, scale.contrast)

    def tiles(self, gray: Gray, numbers: PageNumbers, threads: int | None = None,
              largest: int | None = None) -> Iterator[tuple[Region, Surface]]:  # fmt: skip
        """The surface tile by tile: (rows, columns), float32 on the 0–255 scale; ink is gray < surface."""
        page = self.inputs(gray, numbers)
        bed = self.bed(gray, page.scale)
        for tile in self.network.tiles(page, threads, largest):
            yield tile.core, clear(page.scale.to_gray(tile.threshold, threads), tile.core, bed)

    def surface(self, gray: Gray, numbers: PageNumbers, threads: int | None = None,
                largest: int | None = None) -> Surface:  # fmt: skip
        """The whole surface: float32 (H, W) on the 0–255 scale; ink is gray < surface."""
        out = np.empty(gray.shape, np.float32)
        for core, part in self.tiles(gray, numbers, threads, largest):
            out[core] = part
        return out

    def writing(self, ink: Ink) -> Ink:
        """Of what the surface makes ink (True), that which is writing: with margins all but strips along the sides."""
        return ink if self.margins is None else self.margins.writing(ink)

    def explain(self, gray: Gray, numbers: PageNumbers, threads: int | None = None) -> tuple[Array, Array, Array]:
        """Sauvola thresholds (H, W, windows), attention (H, W, choices), surface; thresholds on the 0–255 scale."""
        network, page = self.network, self.inputs(gray, numbers)
        bed = self.bed(gray, page.scale)
        surfaces = np.empty((*gray.shape, len(self.architecture.windows)), np.float32)
        attention = np.empty((*gray.shape, self.architecture.choices), np.float32)
        surface = np.empty(gray.shape, np.float32)
        for tile in network.tiles(page, threads, keep=True):
            attention[tile.core] = tile.attention
            surface[tile.core] = clear(page.scale.to_gray(tile.threshold), tile.core, bed)
            each = tile.mean * (1 + network.k * (tile.deviation / network.r - 1))
            surfaces[tile.core] = page.scale.to_gray(each)
        return surfaces, attention, surface

    def in_view(self, gray: Gray, numbers: PageNumbers, threads: int | None = None) -> Array | None:
        """(H, W) float32, 0 … 1: how sure the network is, seeing the page as a whole, that a place has writing at all.

        None for a network without a view.
        """
        page = self.inputs(gray, numbers)
        seen = self.network.view(page, threads)
        if page.view is None or seen is None:
            return None
        whole = (slice(0, gray.shape[0]), slice(0, gray.shape[1]))
        logit = sampled(np.ascontiguousarray(seen[..., :1]), page.view, whole, 1)[..., 0]
        return np.asarray(1 / (1 + np.exp(-logit)), np.float32)


def describe(name: str, architecture: Architecture, k: list[float], r: list[float], alpha: float, scaling: dict[str, Any],
             margins: Margins | None, reading: Reading | None, parameters: int, licence: str, copyright: str, source: str,
             training: dict[str, Any]) -> dict[str, Any]:  # fmt: skip
    """The JSON of a model; `save` adds file and checksum, the walk of a recipe its name and digest."""
    return {
        "format": FORMAT, "name": name, "licence": licence, "copyright": copyright, "source": source,
        "architecture": architecture.to_json(), "windows": list(architecture.windows), "k": k, "r": r,
        "constants": list(architecture.constants), "alpha": alpha, "scaling": scaling,
        "margins": margins and margins.to_json(), "reading": reading and reading.to_json(), "halo": halo_of(architecture), "multiple": architecture.multiple,
        "bits": 32, "parameters": parameters,
        "macs_per_pixel": round(architecture.macs_per_pixel, 1), "recipe": None, "recipe_sha256": None, "training": training,
    }  # fmt: skip


def save(about: Mapping[str, Any], weights: Mapping[str, Array], path: str | os.PathLike[str]) -> Path:
    """Write PATH.npz, then PATH.json, each under a temporary name first; the JSON's path is returned."""
    base = base_of(path)
    data = packed(weights)
    about = {**about, "file": f"{base.name}.npz", "sha256": hashlib.sha256(data).hexdigest()}
    with atomic(base.with_name(base.name + ".npz")) as file:
        file.write(data)
    target = base.with_name(base.name + ".json")
    with atomic(target) as file:
        file.write((json.dumps(about, indent=1, ensure_ascii=False) + "\n").encode())
    return target


def packed(weights: Mapping[str, Array]) -> bytes:
    """The content of a model's .npz: the same for the same weights."""
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {n: np.asarray(w, np.float32) for n, w in weights.items()}
    np.savez(buffer, **arrays)
    return buffer.getvalue()


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
    return load_once(path, stat.st_mtime_ns, stat.st_size)


_LARGEST, _LEAST_R = 1e9, 1e-6  # single precision computes with them, and k / r stays finite


def _number(value: Any) -> float:
    if isinstance(value, (bool, str)) or not abs(number := float(value)) < _LARGEST:
        raise BadModel(f"{value!r} is not a number below {_LARGEST:g}")
    return number


def _check(about: dict[str, Any]) -> None:
    """Fail on a description that would fail later, on every page."""
    windows = Model(about, {}).architecture.windows
    for name in ("k", "r"):
        if len([_number(value) for value in about[name]]) != len(windows):
            raise BadModel(f"{name} must be one for each of the {len(windows)} windows")
    if min(about["r"], default=1) < _LEAST_R:
        raise BadModel(f"r must be at least {_LEAST_R:g}")
    for value in (about["alpha"], *about["constants"], about["parameters"], about["macs_per_pixel"]):
        _number(value)
    if not isinstance(about["name"], str) or not about["name"]:
        raise BadModel("name must be text")
    check_scaling(about["scaling"])
    if about["bits"] not in (8, 32) or (about["bits"] == 8 and not fits(Model(about, {}).architecture)):
        raise BadModel("bits must be 32, or 8 for a network of the second kind")
    if not isinstance(about["training"].get("partition", ""), str):
        raise BadModel("partition must be text")
    if Path(about["file"]).name != about["file"]:
        raise BadModel("file must be a name without a folder")


@lru_cache(maxsize=8)
def load_once(path: Path, *_: int) -> Model:
    try:
        if path.stat().st_size > _LONGEST:
            raise ValueError(f"longer than {_LONGEST} bytes")
        about = json.loads(path.read_text(encoding="utf-8"))
        version = int(about["format"])
    except RecursionError:
        raise BadModel(f"{path}: not the description of a model (nested too deep)") from None
    except (OSError, ValueError, TypeError, KeyError, OverflowError) as problem:
        raise BadModel(f"{path}: not the description of a model ({problem})") from None
    if version > FORMAT:
        raise BadModel(f"{path}: format {version}; this version reads up to {FORMAT}, a newer sauvolanet reads it")
    if set(about) != _KEYS:
        raise BadModel(f"{path}: missing or unknown keys: {', '.join(sorted(set(about) ^ _KEYS))}")
    try:
        _check(about)
    except (BadModel, UsageError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as problem:
        raise BadModel(f"{path}: not the description of a model ({problem})") from None
    file = path.with_name(about["file"])
    try:
        data = file.read_bytes()
    except OSError as problem:
        raise BadModel(f"{file}: {problem.strerror}") from None
    if hashlib.sha256(data).hexdigest() != about["sha256"]:
        raise BadModel(f"{file}: checksum differs from {path.name}; the file is damaged or belongs to another model")
    model = Model(about, {})
    try:
        model.weights = read_weights(data, model.architecture, about["bits"])
    except BadModel as problem:
        raise BadModel(f"{file}: {problem}") from None
    return model
