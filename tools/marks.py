"""Generated parts of documents stand between marks; scripts here and in benchmarks put them there."""

from __future__ import annotations

import os
from pathlib import Path

from sauvolanet.core.atomic import atomic
from sauvolanet.errors import OutputError


def put_between(path: str | os.PathLike[str], mark: str, text: str) -> None:
    """Replace what stands between the lines ``<!-- MARK -->`` and ``<!-- end of MARK -->`` of a Markdown file."""
    begin, end = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->"
    before, found, rest = Path(path).read_text(encoding="utf-8").partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise OutputError(f"{path} lacks its marks {begin.strip()} and {end}")
    with atomic(path) as file:
        file.write(f"{before}{begin}{text}\n{end}{after}".encode())
