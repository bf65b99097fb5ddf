"""The way to the compiled core, and to numpy where there is none.

Kernels are C++ functions in `core/native`, each beside a numpy function that defines what it gives.
"""

from __future__ import annotations

import importlib
import os
import warnings
from functools import cache
from types import ModuleType

from ..errors import UsageError


def native() -> ModuleType | None:
    """The compiled kernels for this processor, or None where they were not built (one warning, then numpy serves).

    ``SAUVOLANET_NO_NATIVE=1`` asks for numpy on purpose; ``SAUVOLANET_PROCESSOR`` asks for a lower level of processors
    than this machine has, see `levels`. The level is the module's ``level``.
    """
    if os.environ.get("SAUVOLANET_NO_NATIVE"):
        return None
    extension = _extension()
    if extension is None:
        return None
    wanted = os.environ.get("SAUVOLANET_PROCESSOR") or extension.levels[-1]
    if wanted not in extension.levels:
        raise UsageError(f"SAUVOLANET_PROCESSOR is {wanted!r}; this machine has {', '.join(extension.levels)}")
    level: ModuleType = getattr(extension, wanted)
    return level


def levels() -> list[str]:
    """The levels of processors that this machine can run, lowest first (plain, avx2, avx512, or neon); none without core."""
    extension = _extension()
    return [] if extension is None else list(extension.levels)


@cache
def _extension() -> ModuleType | None:
    try:
        return importlib.import_module("._native", __package__)
    except ImportError as problem:
        warnings.warn(f"the compiled core is missing ({problem}); numpy serves instead, many times slower: install a C++ "
                      "compiler, then sauvolanet again", RuntimeWarning, stacklevel=3)  # fmt: skip
        return None
