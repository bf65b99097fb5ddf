"""What OCR-D is told about the processor (``ocrd-tool.json``), made from the declared options; and its command.

python -m sauvolanet.plugins.ocrd_tool > src/sauvolanet/ocrd-tool.json
"""

from __future__ import annotations

import json
import sys
from typing import Any

from .. import __version__
from ..errors import MissingExtra
from ..options import Option
from . import OPTIONS

EXECUTABLE = "ocrd-sauvolanet-binarize"
LEVEL = Option("level-of-operation", str, "page", choices=("page", "region", "line"),
               help="Binarize whole pages, each text region, or each text line.")  # fmt: skip


def tool_description() -> dict[str, Any]:
    """The contents of ``ocrd-tool.json``."""
    return {
        "version": __version__,
        "git_url": "",  # required by the schema; the package names no public address
        "tools": {
            EXECUTABLE: {
                "executable": EXECUTABLE,
                "description": "Binarize with SauvolaNet, its faster successor or a classic method.",
                "categories": ["Image preprocessing"],
                "steps": ["preprocessing/optimization/binarization"],
                "input_file_grp_cardinality": 1,
                "output_file_grp_cardinality": 1,
                "parameters": {o.name: _parameter(o) for o in (LEVEL, *OPTIONS)},
            }
        },
    }


def _parameter(option: Option) -> dict[str, Any]:
    kind = {int: "number", float: "number", str: "string", bool: "boolean"}[option.type]
    default = "" if option.default is None else option.default  # OCR-D has no "not given"; an empty text says it
    told: dict[str, Any] = {"type": kind, "default": default, "description": option.help}
    if option.choices:
        told["enum"] = list(option.choices)
    if option.type is int:
        told |= {"format": "integer", "multipleOf": 1}
    if option.low is not None:
        told["minimum"] = option.low
    if option.high is not None:
        told["maximum"] = option.high
    return told


def main() -> None:
    """The console script; it says what to install where OCR-D is missing."""
    try:
        from .ocrd import command
    except ModuleNotFoundError as problem:
        if (problem.name or "").startswith("sauvolanet"):
            raise  # our own mistake; whatever else is missing comes with the extra
        missing = MissingExtra("ocrd", EXECUTABLE)
        print(f"sauvolanet: {missing}", file=sys.stderr)
        sys.exit(missing.exit_code)
    command()


if __name__ == "__main__":
    print(json.dumps(tool_description(), indent=2))
