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
    "Binarizer": "binarize",
    "binarize": "binarize",
    "threshold": "binarize",
    "normalize": "binarize",
    "Explanation": "explain",
    "explain": "explain",
    "evaluate": "evaluate",
    "SauvolanetError": "errors",
}
__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = getattr(importlib.import_module(f".{_PUBLIC[name]}", __name__), name)
        globals()[name] = value  # the module of the same name must not hide the function
        return value
    raise AttributeError(f"module 'sauvolanet' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
