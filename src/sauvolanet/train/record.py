"""What a run tells of itself: its manifest, its log and curve, and the part ``training`` of its model's JSON."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import platform
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .. import __version__
from ..core.atomic import atomic
from ..errors import BadData, UnknownName
from ..net.model import Model
from ..score.datasets import Page, resolve
from .settings import Settings

LOG = "log.csv"
MANIFEST = "manifest.json"
CURVE = "curve.png"
TEST = "test.json"
PARTITIONS = {"stated-train": "stated", "wide-train": "wide", "all": "all"}


def write_manifest(folder: Path, settings: Settings, command: str, training: list[Page], validation: list[Page],
                   origin: dict[str, str] | None, teacher: dict[str, str] | None, materials: str = "") -> None:  # fmt: skip
    """The manifest: what the run depends on, and the pages it uses; ``origin`` is the model it began with.

    materials : the digest of what composed pages are made of.
    """
    if teacher:
        settings = replace(settings, teacher=teacher["name"])  # not where somebody keeps it
    manifest = {
        "settings": settings.to_json(), "command": command, "origin": origin, "teacher": teacher, "versions": versions(),
        "data_sha256": checksum(training, materials), "train_pages": [f"{p.set}/{p.id}" for p in training],
        "validation_pages": [f"{p.set}/{p.id}" for p in validation],
    }  # fmt: skip
    with atomic(folder / MANIFEST) as file:
        file.write((json.dumps(manifest, indent=1) + "\n").encode())


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The run's manifest, or None where it has none."""
    path = folder / MANIFEST
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    except ValueError:
        raise BadData(f"{path}: damaged; remove it, and the run writes it anew") from None


def check_pages(folder: Path, training: list[Page], materials: str = "") -> None:
    """Refuse to go on with other training pages than the run began with."""
    manifest = read_manifest(folder)
    if manifest and manifest["data_sha256"] != checksum(training, materials):
        raise BadData(
            f"the training pages are not those that the run in {folder} began with; put them back, or use another --out"
        )


def provenance(s: Settings, manifest: dict[str, Any] | None, origin: dict[str, str] | None) -> dict[str, Any]:
    """Partition, sets and checksum, as a model's JSON states them, from the pages that were really used.

    A validation set that nothing was trained on goes by its name, pages held out of a training set by SET/ID.
    """
    if manifest is None:
        return {"partition": "unknown", "train": [], "validate": [], "data_sha256": None}
    train = list(dict.fromkeys(_set(page) for page in manifest["train_pages"]))
    validate = {page if _set(page) in train else _set(page) for page in manifest["validation_pages"]}
    return {
        "partition": partition_of(s, origin), "train": train, "validate": sorted(validate),
        "data_sha256": manifest["data_sha256"],
    }  # fmt: skip


def _set(page: str) -> str:
    return page.partition("/")[0]


def partition_of(s: Settings, origin: dict[str, str] | None) -> str:
    """Name of the partition; weights that began on another one have seen more than the run's own pages."""
    own = "unknown" if s.leave_out else PARTITIONS.get(" ".join(s.train), "unknown")
    if origin is None:
        return own
    before = origin["partition"]
    try:
        new = set(resolve(s.train)).difference(*(resolve([g]) for g, p in PARTITIONS.items() if p == before))
    except UnknownName:  # a set of the user's own
        return together(own, before)
    return together(own, before) if new else before


def known_of(model: Model) -> dict[str, str]:
    """What a run remembers of a model that it began with or learns from."""
    partition = model.about["training"].get("partition", "unknown")
    return {"name": model.name, "partition": partition, "digest": model.digest}


def together(own: str, other: str) -> str:
    """The partition of weights that come from two: the larger one where it contains the other.

    What has seen all sets stays so, whatever else it has seen: no public set can judge it.
    """
    if "all" in (own, other):
        return "all"
    return "wide" if {own, other} == {"stated", "wide"} else own if own == other else "unknown"


def write_test(folder: Path, scores: dict[str, float]) -> None:
    """The scores on the test sets, taken once, at the end of a run."""
    with atomic(folder / TEST) as file:
        file.write((json.dumps(scores, indent=1) + "\n").encode())


def checksum(pages: list[Page], materials: str = "") -> str:
    """SHA-256 over the training files, in order, and the digest of what the composed pages among them are made of."""
    digest = hashlib.sha256(materials.encode())
    for page in pages:
        digest.update(page.image.read_bytes())
        digest.update(page.truth.read_bytes())
    return digest.hexdigest()


def versions() -> dict[str, str]:
    return {
        "sauvolanet": __version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "pillow": version("pillow"),
        "python": platform.python_version(),
    }


def write_log(folder: Path, history: list[dict[str, Any]]) -> None:
    """Loss and scores of every validation, as a table and as a picture."""
    names = list(dict.fromkeys(n for row in history for n in row))
    lines = [names] + [[row.get(n, "") for n in names] for row in history]
    text = io.StringIO(newline="")
    csv.writer(text).writerows(lines)
    with atomic(folder / LOG) as file:
        file.write(text.getvalue().encode())
    draw_curve(history, folder / CURVE)


def draw_curve(history: list[dict[str, Any]], path: Path) -> None:
    """Loss and validation FM against steps, as a picture; nothing where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure((8, 4.5), layout="constrained")
    left = figure.add_subplot(xlabel="step", ylabel="loss")
    left.plot([row["step"] for row in history], [row["loss"] for row in history], ".-", color="0.6", label="loss")
    if any("fm" in row for row in history):
        right = left.twinx()
        right.set_ylabel("FM on the validation pages")
        sets = [n for n in history[-1] if n not in ("step", "seconds", "loss", "alpha")]
        for name in sets:
            width = 2.5 if name == "fm" else 0.8
            right.plot(
                [row["step"] for row in history],
                [row.get(name, np.nan) for row in history],
                ".-",
                linewidth=width,
                label=name,
            )
        right.legend(fontsize=7, loc="lower right")
    with atomic(path) as file:
        figure.savefig(file, format="png", dpi=100)
