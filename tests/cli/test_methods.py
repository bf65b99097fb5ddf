"""The list of methods names where each was published."""

from __future__ import annotations

import pytest

from sauvolanet.classic import METHODS
from sauvolanet.cli import main


def test_every_reference_is_in_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line[:1].strip()}
    with_doi = [method for method in METHODS.values() if method.doi]
    assert len(with_doi) > 10
    for method in with_doi:
        assert f"doi:{method.doi}" in lines[method.name]
