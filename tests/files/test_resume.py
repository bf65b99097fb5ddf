"""What is finished stays, what exists is not replaced, and a killed run goes on: the journal and the results."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sauvolanet import Binarizer
from sauvolanet.files import binarize_many, folders, plan_batch, write
from sauvolanet.files.convert import Conversion

Run = Callable[..., list[dict[str, Any]]]
Statuses = Callable[[list[dict[str, Any]]], list[str]]


def test_what_exists_is_not_replaced(scans: Path, tmp_path: Path, run: Run) -> None:
    ink = tmp_path / "ink"
    ink.mkdir()
    (ink / "0.png").write_text("mine")
    rows = run(scans, ink)
    (failed,) = [row for row in rows if row["status"] == "failed"]
    assert (
        failed["error"]
        == f"{ink}/0.png exists and was not made from this input with these options; --force replaces it"
    )
    assert (ink / "0.png").read_text() == "mine"
    run(scans, ink, force=True)
    assert (ink / "0.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("format", ["png", "tiff"])
def test_what_was_found_is_remembered(scans: Path, tmp_path: Path, format: str, run: Run) -> None:
    empty = np.full((120, 90), 230, np.uint8)
    Image.fromarray(empty).save(scans / "empty.png")
    done, again = ({row["input"]: row for row in run(scans, tmp_path / "ink", format=format)} for _ in range(2))
    assert {row["status"] for row in again.values()} == {"skipped"}
    assert {name: row["found"] for name, row in again.items()} == {name: row["found"] for name, row in done.items()}
    assert again[str(scans / "empty.png")]["found"]["look"] == ["nearly blank"]


def test_a_journal_that_tells_less_or_other_things(scans: Path, tmp_path: Path, run: Run) -> None:
    run(scans, tmp_path / "ink")
    journal = tmp_path / "ink" / ".sauvolanet" / "journal.jsonl"
    rows = [json.loads(line) for line in journal.read_text().splitlines()]
    for row in rows[::2]:
        del row["found"]
    for row in rows[1::2]:
        row["found"] = "much"
    journal.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [(row["status"], row["found"]) for row in run(scans, tmp_path / "ink")] == [("skipped", None)] * 6


@pytest.mark.parametrize("change", ["options", "input", "output"])
def test_finished_means_nothing_changed(scans: Path, tmp_path: Path, change: str, run: Run) -> None:
    ink = tmp_path / "ink"
    run(scans, ink)
    options = {}
    if change == "options":
        options = {"strength": 0.1}
    elif change == "input":
        os.utime(scans / "0.png", (1, 1))
    else:
        (ink / "0.png").write_text("other")
    rows = run(scans, ink, **options)
    statuses = {row["output"]: row["status"] for row in rows}
    assert statuses["0.png"] == "failed"
    assert set(statuses.values()) == ({"failed"} if change == "options" else {"failed", "skipped"})
    told = next(row["error"] for row in rows if row["output"] == "0.png")
    assert told.endswith("--force replaces it" if change == "output" else "; delete it to have it alone made again")
    (ink / "0.png").unlink()
    assert [row["output"] for row in run(scans, ink, **options) if row["status"] == "done"] == ["0.png"]


def test_whatever_may_change_the_bytes_is_in_the_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    def digest(format: str = "png", method: str = "otsu", enlarge: int | str = 1, threads: int = 1,
               channel: str = "auto", **how: Any) -> str:  # fmt: skip
        binarizer = Binarizer(method=method, enlarge=enlarge, threads=threads, channel=channel)
        return Conversion(binarizer, **how).digest(format)

    plain = digest()
    others = [digest("tiff"), digest("pdf"), digest(method="nick"), digest(enlarge=2), digest(keep_gray=True), digest(channel="gray"),
              digest(dpi=200), digest(enlarge="auto"), digest(enlarge="auto", max_pixels=1000)]  # fmt: skip
    assert len({plain, *others}) == 10
    assert digest(threads=3) == digest(max_pixels=1000) == plain  # neither changes what is written
    monkeypatch.setattr(write.zlib, "compress", lambda data, level: bytes(data))
    assert digest() != plain


def test_crash_between_journal_and_rename(
    scans: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, statuses: Statuses
) -> None:
    """A row without its file, and half a line at the end of the journal: the page is done again."""
    ink = tmp_path / "ink"
    run(scans, ink)
    (ink / "1.png").rename(ink / ".1.png.part")
    with (ink / ".sauvolanet/journal.jsonl").open("a") as file:
        file.write('{"input": "hal')
    assert statuses(run(scans, ink)) == ["done"] + ["skipped"] * 5
    assert statuses(run(scans, ink)) == ["skipped"] * 6
    assert not list(ink.glob(".*.part"))


def test_incomplete_lines_of_the_journal_are_passed_over(
    scans: Path, tmp_path: Path, run: Run, statuses: Statuses
) -> None:
    run(scans, tmp_path / "ink")
    with (tmp_path / "ink/.sauvolanet/journal.jsonl").open("a") as file:
        file.write('{"output": null, "status": "done"}\n{"output": "0.png", "status": "done"}\n')
        file.write(
            '{"input": "a", "output": "0-0001.png", "status": "done", "page": null, "pages": 2, "output_size": 9}\n'
        )
    assert statuses(run(scans, tmp_path / "ink")) == ["skipped"] * 6


@pytest.mark.parametrize("another", [False, True])
def test_interrupted_before_the_file_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, another: bool) -> None:
    """The temporary file goes, unless another run is writing it."""
    fcntl = pytest.importorskip("fcntl")
    part = tmp_path / ".a.png.part"
    real = fcntl.flock

    def flock(file: Any, how: int) -> None:
        if how & fcntl.LOCK_NB:
            return real(file, how)
        raise KeyboardInterrupt

    with (part if another else tmp_path / "other").open("wb") as held:
        real(held, fcntl.LOCK_EX)
        monkeypatch.setattr(fcntl, "flock", flock)
        with pytest.raises(KeyboardInterrupt):
            folders.Folder(str(tmp_path), None).write("a.png", lambda file: [])
        assert part.exists() == another


@pytest.mark.parametrize("options", [{}, {"jobs": 2}, {"format": "tiff"}, {"shard": (1, 1)}], ids=str)
def test_two_runs_at_once_know_each_others_results(
    scans: Path, tmp_path: Path, options: dict[str, Any], run: Run, statuses: Statuses
) -> None:
    plan_batch(scans, tmp_path / "ink", shard_size=6, method="otsu", format=options.get("format"))
    first = binarize_many(scans, tmp_path / "ink", method="otsu", **options)
    rows = [next(first)]
    assert "failed" not in statuses(run(scans, tmp_path / "ink", **{**options, "jobs": 1}))
    rows += first
    assert len(rows) == 6
    assert "failed" not in statuses(rows)


def test_the_journal_is_on_disk_before_the_result(
    scans: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("no /proc to tell which file is flushed")
    ink, real, appeared = tmp_path / "ink", os.fsync, []

    def fsync(descriptor: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").readlink().name == "journal.jsonl":
            appeared.append(len(list(ink.rglob("*.png"))))
        real(descriptor)

    monkeypatch.setattr(folders.os, "fsync", fsync)
    run(scans, ink)
    assert (appeared[0], appeared[-1]) == (0, 6)  # with the first page, then now and then, and at the end
    appeared.clear()
    monkeypatch.setattr(folders, "SYNC_SECONDS", -1)
    ink.rename(tmp_path / "old")
    run(scans, ink)
    assert appeared == [0, 1, 2, 3, 4, 5, 6]
