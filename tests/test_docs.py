"""The documents: links lead somewhere, files that are named exist, commands that are shown are understood."""

from __future__ import annotations

import importlib
import re
import shlex
from pathlib import Path

import pytest

from sauvolanet.cli import COMMANDS, main

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "sauvolanet"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *PACKAGE.glob("models/*.md"), *PACKAGE.rglob("data/*.md")])  # fmt: skip
every_document = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def prose(text: str) -> str:
    """The text without its blocks of code."""
    return re.sub(r"^```.*?^```$|^ {4}.*$", "", text, flags=re.M | re.S)


def anchors(path: Path) -> set[str]:
    """What a link may name after ``#``, by the rule of the sites that show Markdown."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def shown_whole(text: str) -> list[str]:
    """The commands of ours in blocks of code."""
    found = re.findall(r"^ *(?:cat \S+ \| )?(sauvolanet [a-z][^#\n]*)", text, re.M)
    return [command.split(">")[0].strip() for command in found]


def named(text: str) -> list[str]:
    """The commands of ours in sentences and tables, which may leave out what does not matter there."""
    return re.findall(r"`(sauvolanet [a-z][^`\n]*)`", text)


@every_document
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", prose(path.read_text(encoding="utf-8")))
    for link in links:
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        assert target.exists(), f"{link} leads nowhere"
        assert not anchor or anchor in anchors(target), f"{link}: there is no such title"


@every_document
def test_files_that_are_named_exist(path: Path) -> None:
    files = re.findall(
        r"(?<![\w/.-])[\w-]+(?:/[\w-]+)+\.(?:py|json|md|toml|txt|cff)\b", path.read_text(encoding="utf-8")
    )
    for name in files:
        assert (ROOT / name).exists() or (PACKAGE / name).exists(), f"there is no {name}"


@every_document
def test_commands_that_are_shown_are_understood(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for command in shown_whole(path.read_text(encoding="utf-8")):
        _, name, *words = shlex.split(command)
        module = importlib.import_module(f"sauvolanet.cli.{name.replace('-', '_')}")
        monkeypatch.setattr(module, "run", lambda args: 0)
        assert main([name, *words]) == 0, command


@every_document
def test_commands_that_are_named_have_the_options(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in named(path.read_text(encoding="utf-8")):
        _, name, *words = command.split()
        assert name in COMMANDS, command
        with pytest.raises(SystemExit):
            main([name, "--help"])
        known = set(re.findall(r"(?<!\w)--?[a-z][a-z-]*", capsys.readouterr().out))
        assert {word for word in words if re.match(r"--?[a-z]", word)} <= known, command


def test_make_targets_that_are_named_exist() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    for path in DOCUMENTS:
        named = re.findall(r"(?:`|^ {4})make ([a-z]+)", path.read_text(encoding="utf-8"), re.M)
        assert set(named) <= targets, path.name


def test_the_map_shows_every_room() -> None:
    """CONTRIBUTING.md has a line for each folder and module of the package, and for nothing else."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| `(\w+/|\w+\.py)` \|", text, re.M)
    rooms = {path.name + "/" for path in PACKAGE.iterdir() if path.is_dir() and path.name[0] != "_"}
    modules = {path.name for path in PACKAGE.glob("*.py") if path.name[0] != "_"}
    assert sorted(shown) == sorted(rooms | modules)
