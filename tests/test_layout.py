"""The house: which room may import which, what stays light, what is never said."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path, PurePath

import pytest

import sauvolanet

ROOT = Path(sauvolanet.__file__).parent
REPOSITORY = Path(__file__).parents[1]

# imports go one way: a room may import rooms of a lower floor, or its own; `train` and `synth` stand beside `net`
FLOORS = [
    {"errors"}, {"options", "atomic"}, {"windows", "window_kernels"}, {"page"}, {"components", "component_kernels"}, {"classic", "net"}, {"binarize"},
    {"explain", "metrics", "metric_kernels", "metric_weights", "thinning", "datasets", "standalone"}, {"evaluate", "sheet", "files"},
    {"paper", "serve", "plugins"}, {"cli"},
]  # fmt: skip
FLOOR = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
BESIDE = {"train": FLOOR["evaluate"], "synth": FLOOR["net"], "demo": FLOOR["cli"]}
HEAVY = {
    "numba",
    "torch",
    "onnx",
    "onnxruntime",
    "matplotlib",
    "h5py",
    "starlette",
    "uvicorn",
    "scipy",
    "skimage",
    "cv2",
    "dask",
    "distributed",
    "fsspec",
}
MAY_BE_HEAVY = re.compile(r"_kernels$|^train\.|^net\.vector$|^serve\.|^plugins\.")


def modules() -> list[tuple[str, Path]]:
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found.append((".".join(p for p in parts if p != "__init__"), path))
    return [(name, path) for name, path in found if name]


def imports(name: str, path: Path, only_top: bool = False) -> set[str]:
    """Full names of what a module imports from the package and from outside (those with a leading dot are ours)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if only_top else list(ast.walk(tree))
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module or "")
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1]
            for alias in node.names:
                target = [*base, *(node.module or alias.name).split(".")]
                found.add("." + ".".join(target))
    return found


@pytest.mark.parametrize(("name", "path"), modules(), ids=lambda v: v if isinstance(v, str) else "")
def test_no_arrow_points_back(name: str, path: Path) -> None:
    room = name.split(".")[0]
    if room in ("__main__",):
        return
    level = {**FLOOR, **BESIDE}[room]
    for target in imports(name, path):
        if not target.startswith("."):
            continue
        other = target[1:].split(".")[0]
        if other in ("", "__version__", room):
            continue
        assert other in {**FLOOR, **BESIDE}, f"{name} imports {other}, a room without a floor"
        if other in ("train", "synth"):
            assert room in ("cli", "paper", "train", "synth", "demo", "serve"), f"{name} imports {other}"
        elif other in FLOOR:
            assert FLOOR[other] <= level, f"{name} imports {other}"


@pytest.mark.parametrize(("name", "path"), modules(), ids=lambda v: v if isinstance(v, str) else "")
def test_heavy_packages_are_imported_where_they_are_used(name: str, path: Path) -> None:
    if MAY_BE_HEAVY.search(name):
        return
    heavy = {target.split(".")[0] for target in imports(name, path, only_top=True)} & HEAVY
    assert not heavy, f"{name} imports {heavy} at module level"


@pytest.mark.parametrize("code", ["import sauvolanet", "import sauvolanet.cli; sauvolanet.cli.COMMANDS"])
def test_importing_stays_light(code: str) -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"], check=True, capture_output=True, text=True
    )
    names = {name.split(".")[0] for name in loaded.stdout.split()}
    assert not names & (HEAVY | {"numpy", "PIL", "tqdm"})


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    from sauvolanet.cli import COMMANDS, main

    for command in COMMANDS:
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])
        assert stop.value.code == 0
        assert command in capsys.readouterr().out


def test_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    from sauvolanet.cli import main

    assert main(["binarise"]) == 2
    assert capsys.readouterr().err == "sauvolanet: unknown command 'binarise'; did you mean binarize?\n"
    assert main([]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_interrupted_while_a_command_is_loaded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from sauvolanet import cli

    def interrupt(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.importlib, "import_module", interrupt)
    assert cli.main(["binarize", "scans"]) == 130
    assert capsys.readouterr().err == "sauvolanet: interrupted\n"


def test_weights_and_all_other_data_are_in_the_wheel() -> None:
    listed = subprocess.run(["git", "ls-files", "src/sauvolanet"], cwd=REPOSITORY, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]["sauvolanet"]
    data = [PurePath(name).relative_to("src/sauvolanet") for name in listed.stdout.splitlines() if name[-3:] != ".py"]
    assert PurePath("models/swift.npz") in data
    assert [path for path in data if not any(path.match(pattern) for pattern in patterns)] == []


def test_the_project_speaks_of_itself_alone() -> None:
    """No path of a machine and no package registry's host in any text of the repository."""
    listed = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    forbidden = re.compile("/work" + "/|/tmp" + "/|/root" + r"/|pypi\." + r"org|files\.pythonhosted")
    for name in listed.stdout.splitlines():
        path = REPOSITORY / name
        if (
            path.suffix in {".py", ".md", ".toml", ".txt", ".json", ".cff", ".sh", ".js", ".css", ".html", ".csv"}
            and path.is_file()
        ):
            found = forbidden.search(path.read_text(encoding="utf-8"))
            assert not found, f"{name} says {found[0]}"
