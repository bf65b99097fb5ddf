"""Document binarization: black ink on white paper, by SauvolaNet and by every classic method.

>>> import sauvolanet                               # doctest: +SKIP
>>> ink = sauvolanet.binarize(page)                 # bool, True = ink
>>> ink = sauvolanet.binarize(page, method="nick", window=25)
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
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


class _Package(ModuleType):
    """Keeps ``sauvolanet.binarize`` the function: importing the module of that name must not hide it."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _PUBLIC and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
