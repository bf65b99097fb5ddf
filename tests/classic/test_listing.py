"""``sauvolanet methods`` and the page of documentation made from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sauvolanet.classic import METHODS
from sauvolanet.cli import main


def test_lists_every_method(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(any(line.split()[:1] == [name] for line in lines) for name in METHODS)


def test_one_method_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods", "nick", "--json"]) == 0
    (nick,) = json.loads(capsys.readouterr().out)
    assert nick["doi"] == "10.1117/12.805827"
    assert {o["name"]: o["default"] for o in nick["options"]} == {"window": 19, "k": -0.2}


def test_unknown_method_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods", "sauvlo"]) == 2
    assert "did you mean sauvola" in capsys.readouterr().err


def test_documentation_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    """If this fails: sauvolanet methods --markdown > docs/methods.md"""
    main(["methods", "--markdown"])
    assert (Path(__file__).parents[2] / "docs" / "methods.md").read_text() == capsys.readouterr().out
