"""Worker processes that the system kills."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sauvolanet.files import pool
from sauvolanet.files.inputs import Item
from sauvolanet.files.worker import BatchSettings, Task, Worker
from sauvolanet.pipeline import Selection

from .conftest import make_book

Run = Callable[..., list[dict[str, Any]]]


Statuses = Callable[[list[dict[str, Any]]], list[str]]


def test_a_killed_worker_costs_its_page(
    gray: np.ndarray, scans: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, statuses: Statuses
) -> None:
    make_book(scans / "book.tif", gray, pages=3)
    monkeypatch.setenv("SAUVOLANET_TEST_KILL", "book.tif 2")
    monkeypatch.setattr(pool, "work_off", _serve_and_die)
    rows = run(scans, tmp_path / "ink", jobs=2)
    (failed,) = [row for row in rows if row["status"] == "failed"]
    assert (Path(failed["input"]).name, failed["page"]) == ("book.tif", 2)
    assert "SIGKILL" in failed["error"]
    assert statuses(rows) == ["done"] * 8 + ["failed"]
    monkeypatch.undo()
    assert statuses(run(scans, tmp_path / "ink", jobs=2)) == ["done"] + ["skipped"] * 8


def test_a_worker_killed_in_a_book_fails_all_its_pages(
    gray: np.ndarray, scans: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, statuses: Statuses
) -> None:
    make_book(scans / "book.tif", gray, pages=3)
    monkeypatch.setattr(pool, "work_off", _serve_and_die_in_a_book)
    rows = run(scans, tmp_path / "ink", jobs=2, format="tiff")
    failed = [row for row in rows if row["status"] == "failed"]
    assert [row["page"] for row in failed] == [1, 2, 3]
    assert "SIGKILL" in failed[1]["error"] and "not written: page 2 failed" in failed[0]["error"]
    assert statuses(rows) == ["done"] * 6 + ["failed"] * 3


def test_a_worker_killed_after_its_last_task_costs_nothing(scans: Path, tmp_path: Path, statuses: Statuses) -> None:
    before = multiprocessing.active_children()

    def tasks() -> Iterator[Task]:
        yield Task(Item(str(scans / "0.png"), "0"), {})
        for idle in multiprocessing.active_children():  # a worker that has done its task asks for the next
            if idle not in before:
                idle.kill()
                idle.join()

    settings = BatchSettings(Selection.of(method="otsu"))
    setup = settings, str(tmp_path / "ink"), None, None, 1, None
    assert statuses(list(pool.run_tasks(tasks(), 1, setup, lambda *begun: None))) == ["done"]
    assert (tmp_path / "ink" / "0.png").exists()


def _serve_and_die_in_a_book(*args: Any) -> None:
    real = Worker.begun_pages

    def begun(self: Worker, row: dict[str, Any], first: int = 1) -> Any:
        for page in real(self, row, first):
            if page == 2:
                os.kill(os.getpid(), 9)
            yield page

    Worker.begun_pages = begun  # type: ignore[method-assign]
    pool_serve(*args)


def _serve_and_die(*args: Any) -> None:
    """A worker that the system kills on one page (it runs in a process of its own)."""
    name, page = os.environ["SAUVOLANET_TEST_KILL"].split()
    real = Worker.in_own_file

    def apart(self: Worker, task: Any, document: Any, row: dict[str, Any]) -> list[dict[str, Any]]:
        if row["input"].endswith(name) and row["page"] == int(page):
            os.kill(os.getpid(), 9)
        return real(self, task, document, row)

    Worker.in_own_file = apart  # type: ignore[method-assign]
    pool_serve(*args)


pool_serve = pool.work_off
