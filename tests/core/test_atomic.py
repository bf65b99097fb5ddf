from __future__ import annotations

from pathlib import Path

import pytest

from sauvolanet.core.atomic import atomic, part_name
from sauvolanet.errors import OutputError


def test_a_name_as_long_as_may_be(tmp_path: Path) -> None:
    """255 bytes, as most file systems take them; the temporary name is longer only where that does no harm."""
    path = tmp_path / ("ü" * 125 + "x.png")
    with atomic(path) as file:
        file.write(b"whole")
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [b"whole"]
    with pytest.raises(OutputError, match="File name too long"), atomic(tmp_path / ("x" * 256)):
        pass


def test_temporary_names_follow_from_the_name() -> None:
    assert part_name("a.png", ".12") == ".a.png.12.part"
    long = ["x" * 200, "x" * 199 + "y"]
    assert len({part_name(name, mark) for name in long for mark in ("", ".1", ".2")}) == 6
    assert part_name(long[0]) == part_name(long[0])
    assert all(part_name(name).startswith(".") and len(part_name(name)) <= 143 for name in long)
