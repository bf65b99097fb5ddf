"""Shared fixtures: where the data is, and a summary line that says what could not be checked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from sauvolanet.core.kernels import levels

os.environ.setdefault("SAUVOLANET_DATA", str(Path(__file__).parents[2] / "shared" / "data"))

DATA = Path(os.environ["SAUVOLANET_DATA"])
_without_data: list[str] = []

# Property tests try the same values in every run. hypothesis would mix in the constants of those of our modules that are
# imported by then, hence other values for one test than for all, and for a clone in a folder of another name.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")
providers._get_local_constants = providers.Constants


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--mutated", type=int, default=300, help="Files that the fuzzer of tests/hostile makes.")
    parser.addoption("--kills", type=int, default=4, help="How often tests/hostile kills a batch.")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder with `documents`, `paper-gray` and `ocr`; tests that need it are skipped without it."""
    if not (DATA / "documents").is_dir():
        pytest.skip("no data: set SAUVOLANET_DATA")
    return DATA


@pytest.fixture(params=levels() or ["none"])
def level(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each level of processors that this machine can run, one after the other."""
    if request.param == "none":
        pytest.skip("the compiled core is not built")
    monkeypatch.setenv("SAUVOLANET_PROCESSOR", request.param)
    return str(request.param)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever asks for `data`, itself or through a fixture, has the mark; a parameter of that name is something else."""
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", ())
        if "data" in getattr(item, "fixturenames", ()) and "data" not in parameters:
            item.add_marker("data")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and "no data" in str(report.longrepr):
        _without_data.append(report.nodeid)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _without_data:
        terminalreporter.write_line(f"{len(_without_data)} tests skipped without data: paper figures NOT checked")
