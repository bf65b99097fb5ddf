"""The console script ``ocrd-sauvolanet-binarize``; it says what to install where OCR-D is missing."""

from __future__ import annotations

import sys

from ..errors import MissingExtra
from .ocrd_tool import EXECUTABLE


def main() -> None:
    """Run the processor."""
    try:
        from .ocrd import command
    except ModuleNotFoundError as problem:
        if (problem.name or "").startswith("sauvolanet"):
            raise  # our own mistake; whatever else is missing comes with the extra
        missing = MissingExtra("ocrd", EXECUTABLE)
        print(f"sauvolanet: {missing}", file=sys.stderr)
        sys.exit(missing.exit_code)
    command()
