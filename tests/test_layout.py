"""The house: which room may import which, what stays light, what stands once, what is never said."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePath

import pytest

import sauvolanet

ROOT = Path(sauvolanet.__file__).parent
REPOSITORY = Path(__file__).parents[1]
SETTINGS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))

# Imports go one way: from a room to lower floors and, on one floor, from room to room without coming back.
# `synth` draws pages and knows no method, so that everybody may draw one.
FLOORS = [
    {"errors"}, {"options"}, {"core"}, {"page"}, {"classic", "net", "synth"}, {"pipeline"}, {"api"},
    {"score", "show", "files"}, {"train", "paper", "panel", "serve", "plugins"}, {"cli"}, {"sauvolanet", "__main__"},
]  # fmt: skip
FLOOR = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
HEAVY = {
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
MAY_BE_HEAVY = re.compile(r"^sauvolanet\.(train|serve|plugins)\.")


def modules() -> dict[str, Path]:
    """Every module of the package by its full name."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def room(name: str) -> str:
    return name.split(".")[1] if "." in name else name


def imported(name: str, *, at_load: bool = False) -> set[str]:
    """Full names of what a module imports, ours and others', anywhere in it or only when it is loaded.

    An import by a string counts: the name of one of our modules as a text, a table of public names, and a name put
    together from ``__name__``, which may be that of every module in the package.
    """
    path = MODULES[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in tree.body if at_load else ast.walk(tree):
        match node:
            case ast.Import():
                found |= {alias.name for alias in node.names}
            case ast.ImportFrom():
                above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
                source = ".".join([*above, *filter(None, [node.module])])
                found |= {f"{source}.{alias.name}" for alias in node.names if alias.name != "__version__"}
            case ast.Constant(value=str(text)) if text in MODULES and "." in text:
                found.add(text)
            case ast.Assign(targets=[ast.Name(id="_PUBLIC")], value=ast.Dict(values=values)):
                found |= {f"{package}.{value.value}" for value in values if isinstance(value, ast.Constant)}
            case ast.Call(args=[ast.JoinedStr() as text, *_]) if ast.unparse(node.func).endswith("import_module"):
                written = ast.unparse(text)[2:-1]  # without f and quotes
                if written.startswith("{__name__}."):
                    found |= {other for other in MODULES if other.startswith(f"{package}.")}
                else:
                    assert written == ".{_PUBLIC[name]}", f"{name}: whom does {written} import?"
    return found


def needs(name: str) -> set[str]:
    """The modules of ours that a module imports."""
    found = set()
    for target in imported(name):
        while target and target not in MODULES:  # a name in a module, or nothing of ours
            target = target.rpartition(".")[0]
        found |= {target} - {"", name}
    return found


NEEDS = {name: needs(name) for name in MODULES}


def test_the_graph_is_seen_whole() -> None:
    """One import of each kind, so that the tests below cannot pass because they see nothing."""
    assert "sauvolanet.core.windows" in NEEDS["sauvolanet.classic.nick"]  # from ..core.windows import …
    assert "sauvolanet.score.evaluation" in NEEDS["sauvolanet"]  # a table
    assert "sauvolanet.cli.train" in NEEDS["sauvolanet.cli"]  # put together
    assert "sauvolanet.train.loop" in NEEDS["sauvolanet.cli.train"]  # inside a function


@pytest.mark.parametrize("name", MODULES)
def test_no_arrow_points_up(name: str) -> None:
    for target in NEEDS[name]:
        assert room(target) in FLOOR, f"{target} is in a room without a floor"
        assert FLOOR[room(target)] <= FLOOR[room(name)], f"{name} imports {target}"


def assert_no_ring(arrows: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as problem:
        raise AssertionError(" ◂ ".join(problem.args[1])) from None


def test_no_two_modules_need_each_other() -> None:
    assert_no_ring(NEEDS)


def test_no_two_rooms_need_each_other() -> None:
    rooms = defaultdict(set)
    for name, targets in NEEDS.items():
        rooms[room(name)] |= {room(target) for target in targets} - {room(name)}
    assert_no_ring(rooms)


def test_training_is_imported_by_those_who_train_and_when_they_do() -> None:
    for name, targets in NEEDS.items():
        if room(name) != "train" and any(room(target) == "train" for target in targets):
            assert room(name) in ("cli", "paper"), f"{name} imports train"
            assert not any(t.startswith("sauvolanet.train") for t in imported(name, at_load=True)), name


def test_entry_points_are_there() -> None:
    project = SETTINGS["project"]
    groups = [project["scripts"], *project["entry-points"].values()]
    for entry in [entry for group in groups for entry in group.values()]:
        module, _, attribute = entry.partition(":")
        assert module in MODULES, entry
        defined = {getattr(node, "name", "") for node in ast.parse(MODULES[module].read_text(encoding="utf-8")).body}
        assert not attribute or attribute in defined, entry


def test_types_are_checked_everywhere() -> None:
    """Hosts of plugins are not installed beside the tests: what is subclassed or decorated there has no types."""
    hosts = {"disallow_subclassing_any", "disallow_untyped_decorators", "warn_unused_ignores"}
    for override in SETTINGS["tool"]["mypy"]["overrides"]:
        ours = {name for name in override["module"] if name.startswith("sauvolanet")}
        if ours == {"sauvolanet.plugins.*"}:
            assert set(override) - {"module"} == hosts
        else:
            assert not ours


def test_nothing_is_written_twice() -> None:
    """No run of eight equal lines, blank ones left out, stands at two places of the sources."""
    first: dict[tuple[str, ...], str] = {}
    for path in sorted(p for p in ROOT.rglob("*") if p.suffix in {".py", ".js", ".css", ".html", ".cpp", ".h"}):
        lines = [(n, line.strip()) for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)]
        lines = [(n, line) for n, line in lines if line]
        for at in range(len(lines) - 7):
            here = f"{path.relative_to(ROOT)}:{lines[at][0]}"
            there = first.setdefault(tuple(line for _, line in lines[at : at + 8]), here)
            assert there == here, f"{here} repeats {there}"


@pytest.mark.parametrize("name", MODULES)
def test_heavy_packages_are_imported_where_they_are_used(name: str) -> None:
    if MAY_BE_HEAVY.search(name):
        return
    heavy = {target.split(".")[0] for target in imported(name, at_load=True)} & HEAVY
    assert not heavy, f"{name} imports {heavy} at module level"


@pytest.mark.parametrize("code", ["import sauvolanet", "import sauvolanet.cli; sauvolanet.cli.COMMANDS"])
def test_importing_stays_light(code: str) -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"], check=True, capture_output=True, text=True
    )
    names = {name.split(".")[0] for name in loaded.stdout.split()}
    assert not names & (HEAVY | {"numpy", "PIL", "tqdm"})


PRIVATE = re.compile(r"_(?!_|asdict|replace|fields|make)\w+$")


@pytest.mark.parametrize("path", sorted(Path(__file__).parent.rglob("*.py")), ids=lambda path: path.stem)
def test_tests_come_in_through_the_public_door(path: Path) -> None:
    """No test takes or replaces a private name of ours: what a test needs is an interface."""
    ours: set[str] = set()  # names of this file that are ours
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sauvolanet"):
            assert not [alias.name for alias in node.names if PRIVATE.match(alias.name)], f"{path}:{node.lineno}"
            ours |= {alias.asname or alias.name for alias in node.names}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in ours:
                assert not PRIVATE.match(name), f"{path}:{node.lineno}"
            case ast.Call(func=ast.Attribute(attr="setattr"), args=[_, ast.Constant(value=str(name)), *_]):
                assert not PRIVATE.match(name), f"{path}:{node.lineno}"
            case ast.Constant(value=str(text)) if text.startswith("sauvolanet."):
                assert not PRIVATE.match(text.rpartition(".")[2]), f"{path}:{node.lineno}"


def test_weights_and_all_other_data_are_in_the_wheel() -> None:
    listed = subprocess.run(["git", "ls-files", "src/sauvolanet"], cwd=REPOSITORY, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    patterns = SETTINGS["tool"]["setuptools"]["package-data"]["sauvolanet"]
    paths = [PurePath(name).relative_to("src/sauvolanet") for name in listed.stdout.splitlines()]
    data = [path for path in paths if path.suffix != ".py" and not path.is_relative_to("core/native")]
    assert PurePath("models/swift.npz") in data
    assert [path for path in data if not any(path.match(pattern) for pattern in patterns)] == []


TEXTS = {".py", ".cpp", ".h", ".md", ".toml", ".yml", ".txt", ".json", ".cff", ".sh", ".js", ".css", ".html", ".csv"}


def test_the_project_speaks_of_itself_alone() -> None:
    """No path of a machine and no package registry's host in any text of the repository."""
    listed = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    forbidden = re.compile("/work" + "/|/tmp" + "/|/root" + r"/|pypi\." + r"org|files\.pythonhosted")
    for name in listed.stdout.splitlines():
        path = REPOSITORY / name
        if path.suffix in TEXTS and path.is_file():
            found = forbidden.search(path.read_text(encoding="utf-8"))
            assert not found, f"{name} says {found[0]}"
