"""Text between the marks of a document."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from sauvolanet.errors import OutputError

put_between = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "marks.py"))["put_between"]


def test_only_what_stands_between_the_marks_changes(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("before\n<!-- speed -->\nold\n<!-- end of speed -->\nafter\n", encoding="utf-8")
    put_between(path, "speed", "| 1 |")
    assert path.read_text(encoding="utf-8") == "before\n<!-- speed -->\n| 1 |\n<!-- end of speed -->\nafter\n"
    with pytest.raises(OutputError, match="lacks its marks <!-- size --> and <!-- end of size -->"):
        put_between(path, "size", "")
