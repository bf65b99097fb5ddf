"""Shared fixtures: where the data is, and a summary line that says what could not be checked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("SAUVOLANET_DATA", str(Path(__file__).parents[2] / "shared" / "data"))

DATA = Path(os.environ["SAUVOLANET_DATA"])
_without_data: list[str] = []


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder with `documents`, `paper-gray` and `ocr`; tests that need it are skipped without it."""
    if not (DATA / "documents").is_dir():
        pytest.skip("no data: set SAUVOLANET_DATA")
    return DATA


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and "no data" in str(report.longrepr):
        _without_data.append(report.nodeid)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _without_data:
        terminalreporter.write_line(f"{len(_without_data)} tests skipped without data: paper figures NOT checked")
