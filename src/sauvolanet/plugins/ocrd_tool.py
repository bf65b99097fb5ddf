"""What OCR-D is told about the processor (``ocrd-tool.json``), made from the declared options.

python -m sauvolanet.plugins.ocrd_tool > src/sauvolanet/ocrd-tool.json
"""

from __future__ import annotations

import json
from typing import Any

from .. import __version__
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


if __name__ == "__main__":
    print(json.dumps(tool_description(), indent=2))
