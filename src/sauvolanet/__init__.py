"""Document binarization: black ink on white paper, by SauvolaNet and by every classic method.

>>> import sauvolanet                               # doctest: +SKIP
>>> ink = sauvolanet.binarize(page)                 # bool, True = ink
>>> ink = sauvolanet.binarize(page, method="nick", window=25)
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# public name -> module that has it; loaded at first use so that importing sauvolanet stays light
_PUBLIC = {
    "Binarizer": "api",
    "binarize": "api",
    "threshold": "api",
    "normalize": "api",
    "Explanation": "api",
    "explain": "api",
    "evaluate": "score.evaluation",
    "binarize_many": "files",
    "SauvolanetError": "errors",
}
__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = getattr(importlib.import_module(f".{_PUBLIC[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'sauvolanet' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
