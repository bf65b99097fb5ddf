"""A tiny network, tiny pages and a tiny run, so that training is tested in seconds."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("torch", reason="training needs torch: pip install 'sauvolanet[train]'")

from sauvolanet.net.architecture import Architecture
from sauvolanet.synth import compose, page
from sauvolanet.train.settings import PRESETS, Settings

SMALL = ["--set", "hold_out=false", "--set", "patch=32", "--set", "batch=2", "--set", "synthetic=0.0"]
TINY = Architecture(kind="u", widths=((8,), (8,)), dilations=((1,), (1,)), norm="batch", fold=2, head=1, refine=(8,),
                    features=("gray", "mean", "deviation", "numbers"), windows=(7, 15, 31), constants=(0.0, 1.0),
                    view=(8, 8))  # fmt: skip


@pytest.fixture(scope="session")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one set of eight synthetic pairs, `mine`, and one of two, `other`."""
    root = tmp_path_factory.mktemp("pairs")
    for name, count in (("mine", 8), ("other", 2)):
        (root / name).mkdir()
        for i in range(count):
            gray, truth = page(100 + i, kind="letter", height=160, width=200)
            Image.fromarray(gray).save(root / name / f"p{i}.png")
            Image.fromarray(~truth).save(root / name / f"p{i}.gt.png")
    return root


@pytest.fixture
def tiny() -> Settings:
    """A run of 24 small steps with every kind of augmentation."""
    return replace(PRESETS["swift"], architecture=TINY, train=("mine",), validate=("other",), hold_out=False, patch=64,
                   batch=4, steps=24, warmup=4, k=(0.1, 0.2, 0.2), synthetic=0.1, set_weights={}, validate_every=12,
                   checkpoint_every=6)  # fmt: skip


def weights_of(folder: Path) -> dict[str, np.ndarray]:
    """All trained numbers of a run's checkpoint: weights, averaged weights and optimizer."""
    import torch

    state = torch.load(folder / "checkpoint.pt", weights_only=True)
    found = {f"{part}.{name}": value.numpy() for part in ("net", "average") for name, value in state[part].items()}
    for n, optimizer in enumerate(state["optimizers"]):
        for i, values in optimizer["state"].items():
            found |= {f"optimizer.{n}.{i}.{name}": np.asarray(value) for name, value in values.items()}
    return found


def assert_same_weights(one: Path, other: Path) -> None:
    """The checkpoints of two runs are equal, bit for bit."""
    mine, yours = weights_of(one), weights_of(other)
    assert mine.keys() == yours.keys()
    for name, value in mine.items():
        assert np.array_equal(value, yours[name]), name


@pytest.fixture
def copied(pairs: Path, tmp_path: Path) -> Path:
    """The pairs as a folder that a test may change."""
    return Path(shutil.copytree(pairs, tmp_path / "data"))


@pytest.fixture
def materials(tmp_path: Path) -> Path:
    """A folder with one ruled paper, one texture and two inks that may be trained on."""
    root = tmp_path / "materials"
    ruled = np.full((120, 90, 3), (215, 205, 190), np.uint8)
    ruled[10::20] = (120, 120, 140)
    y, x = np.mgrid[:160, :200]
    bars = ((x + y // 2) % 23 < 5) & (y >= 6) & (y < 154) & (x >= 6) & (x < 194)  # what lies at an end is no writing
    pictures = {
        "papers/lined": ruled, "papers/texture": np.full((120, 90, 3), 200, np.uint8),
        "ink/written": np.where(bars, 128, 255).astype(np.uint8), "ink/printed": ~bars,
    }  # fmt: skip
    for folder, picture in pictures.items():
        assert compose.part_of(folder.partition("/")[2], 2) == "train"
        (root / folder).mkdir(parents=True)
        Image.fromarray(picture).save(root / folder / "002.png")
    assert "ruled" in compose.papers(root / "papers", "train")[0].traits
    return root
