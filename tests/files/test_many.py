from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sauvolanet.errors import InputError, UsageError
from sauvolanet.files.many import plan_batch
from sauvolanet.files.shards import run_shard

Run = Callable[..., list[dict[str, Any]]]
Statuses = Callable[[list[dict[str, Any]]], list[str]]


@pytest.fixture
def crowd(tmp_path: Path, gray: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where we are: beside a folder in which the second page of a.tif would become a-0002.png, which is an input."""
    monkeypatch.chdir(tmp_path)
    Path("crowd").mkdir()
    first, second = Image.fromarray(gray), Image.fromarray(gray[::-1])
    first.save("crowd/a.tif", save_all=True, append_images=[second])
    second.save("crowd/a-0002.png")
    second.save("top.png")
    Path("link").symlink_to("crowd")
    return tmp_path / "crowd"


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("inputs", "output"),
    [
        (["crowd/a.tif", "crowd/a-0002.png"], "crowd"),
        (["crowd/*"], "crowd"),
        (["crowd", "top.jpg"], "."),  # beside others a folder lends its name
        (["link/a.tif", "crowd/a-0002.png"], "link"),
    ],
)
def test_no_page_replaces_another_input(crowd: Path, inputs: list[str], output: str, jobs: int, run: Run) -> None:
    Path("top.png").rename("top.jpg")
    before = (crowd / "a-0002.png").read_bytes()
    rows = {(Path(row["input"]).name, row["page"]): row for row in run(inputs, output, jobs=jobs, force=True)}
    refused = rows.pop(("a.tif", 2))
    assert {row["status"] for row in rows.values()} == {"done"}
    assert (refused["status"], refused["code"]) == ("failed", 5)
    assert "/a-0002.png is another input and is not replaced" in refused["error"]
    assert (crowd / "a-0002.png").read_bytes() == before


def test_no_shard_replaces_an_input_of_another(crowd: Path, statuses: Statuses) -> None:
    plan = plan_batch("crowd/*", "crowd", shard_size=1)
    before = (crowd / "a-0002.png").read_bytes()
    rows = [row for shard in range(plan.shards) for row in run_shard(plan.root, plan.batch, shard, force=True)]
    assert statuses(rows) == ["done", "done", "failed"]
    assert (crowd / "a-0002.png").read_bytes() == before


def test_no_page_replaces_another_input_in_a_store(crowd: Path, run: Run, statuses: Statuses) -> None:
    memory = pytest.importorskip("fsspec").filesystem("memory")
    try:
        memory.put(str(crowd / "*"), "/crowd/")
        rows = run(["memory://crowd/a.tif", "memory:///crowd/a-0002.png"], "memory://crowd", force=True)
        assert statuses(rows) == ["done", "done", "failed"]
        assert memory.cat_file("/crowd/a-0002.png") == (crowd / "a-0002.png").read_bytes()
    finally:
        memory.rm("/crowd", recursive=True)


def test_other_files_beside_the_inputs_are_replaced_by_force(crowd: Path, run: Run, statuses: Statuses) -> None:
    for _ in range(2):
        assert statuses(run(["crowd/a.tif", "top.png"], "crowd", force=True)) == ["done"] * 3
    assert statuses(run(["crowd/a.tif", "top.png"], ".", force=True)) == ["done", "done", "failed"]  # top.png itself


@pytest.mark.parametrize("shard", [(0, 0), (0, 2), (3, 2), (1, -1)])
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_share_that_is_none(scans: Path, tmp_path: Path, shard: tuple[int, int], dry_run: bool, run: Run) -> None:
    with pytest.raises(UsageError, match=f"must be from 1 to {shard[1]}"):
        run(scans, tmp_path / "ink", shard=shard, dry_run=dry_run)
    assert not (tmp_path / "ink").exists()


def test_a_pattern_for_one_output_file(scans: Path, tmp_path: Path, run: Run) -> None:
    for _ in range(2):  # the second time the output matches, too
        (row,) = run(f"{scans}/0*", scans / "0-ink.png", force=True)
        assert (row["status"], row["input"]) == ("done", f"{scans}/0.png")
    with pytest.raises(UsageError, match=r"\*\.png matches 5 files, and several inputs need a folder"):
        run(f"{scans}/*.png", tmp_path / "ink.png")
    with pytest.raises(InputError, match="nothing matches"):
        run(f"{scans}/*.gif", tmp_path / "ink.png")
    assert not (tmp_path / "ink.png").exists()
