"""Environments with the real hosts, each on its own because their pins conflict with ours and with one another.

They are made once, under ``.venv-hosts`` or the folder that SAUVOLANET_HOSTS names, and used again while the host's
version, our entry points and our dependencies stay the same. Large hosts need SAUVOLANET_HOST_TESTS=1.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOSTS = Path(os.environ.get("SAUVOLANET_HOSTS", ROOT / ".venv-hosts"))
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def host(name: str, version: str, *, large: bool) -> Run:
    """A function that runs a command of the host's environment: ``run("ocrmypdf", "--version", cwd=…)``."""
    if large and os.environ.get("SAUVOLANET_HOST_TESTS") != "1":
        pytest.skip(f"{name} is large: set SAUVOLANET_HOST_TESTS=1 to install and test it")
    home = HOSTS / name
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ours = [ours["dependencies"], ours["scripts"], ours["entry-points"]]
    wanted = f"{name}=={version} " + hashlib.sha256(json.dumps(ours).encode()).hexdigest()
    HOSTS.mkdir(parents=True, exist_ok=True)
    with (HOSTS / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test runs share the environment
        marker = home / "installed"
        if not marker.exists() or marker.read_text() != wanted:
            _install(home, f"{name}=={version}")
            marker.write_text(wanted)

    def run(*command: str | Path, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        program, *rest = map(str, command)
        path = f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run([home / "bin" / program, *rest], cwd=cwd, capture_output=True, text=True, timeout=1200,
                              env={**os.environ, "PATH": path, "OMP_THREAD_LIMIT": "1", **environment})  # fmt: skip

    return run


def _install(home: Path, requirement: str) -> None:
    pip = [home / "bin" / "python", "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt"]
    for command in ([sys.executable, "-m", "venv", home], [*pip, requirement, "-e", ROOT]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if not line.startswith("WARNING")]
            pytest.skip(f"{requirement} cannot be installed: {lines[-1] if lines else 'no reason given'}")


@pytest.fixture(scope="session")
def ocrmypdf() -> Run:
    return host("ocrmypdf", "17.13.0", large=False)


@pytest.fixture(scope="session")
def ocrd() -> Run:
    return host("ocrd", "3.13.3", large=True)


@pytest.fixture(scope="session")
def kraken() -> Run:
    return host("kraken", "7.1.1", large=True)
