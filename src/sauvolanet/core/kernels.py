"""The way to the compiled kernels.

Kernels live in modules named ``…_kernels`` that import numba at the top and are loaded with `compiled`, so that
importing sauvolanet stays light and numpy serves where numba is absent.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import shutil
import stat
import warnings
from functools import cache
from pathlib import Path
from types import ModuleType

from ..errors import UsageError

_warned = False


def _move_cache() -> None:
    import numba
    from numba.core.dispatcher import Dispatcher

    try:
        numba.config.CACHE_DIR = str(cache_folder())
    except OSError:  # a system that is read-only throughout
        Dispatcher.enable_caching = lambda self: None  # type: ignore[method-assign]


def cache_folder() -> Path:
    """A temporary folder that is this user's alone: a cache is code, and who may write into it runs it as this user."""
    import tempfile

    user = os.geteuid() if hasattr(os, "geteuid") else 0
    place = Path(tempfile.gettempdir(), f"sauvolanet-cache-{user}")
    with contextlib.suppress(FileExistsError):
        place.mkdir(mode=0o700)
    found = place.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o077:
        return place
    place = Path(tempfile.mkdtemp(prefix="sauvolanet-cache-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


def compiled(module: str) -> ModuleType | None:
    """The kernel module of that full name, or None where numba cannot be used (one warning, then numpy serves).

    ``SAUVOLANET_NO_NUMBA=1`` asks for numpy on purpose. Numba keeps its cache beside the package, or in the user's
    cache folder where that is not writable; where neither can be written, a temporary folder of this user serves, and
    where nothing at all can be written they are compiled anew in each process.
    """
    global _warned
    if os.environ.get("SAUVOLANET_NO_NUMBA"):
        return None
    try:
        return importlib.import_module(module)
    except RuntimeError as problem:  # numba: "no locator available"
        if "locator" not in str(problem):
            raise
        _move_cache()
        return importlib.import_module(module)
    except ImportError as problem:
        if not _warned:
            _warned = True
            warnings.warn(f"numba is not usable ({problem}); numpy serves instead, several times slower",
                          RuntimeWarning, stacklevel=2)  # fmt: skip
        return None


def native() -> ModuleType | None:
    """The compiled kernels for this processor, or None where they were not built (one warning, then numpy serves).

    ``SAUVOLANET_NO_NATIVE=1`` asks for numpy on purpose; ``SAUVOLANET_PROCESSOR`` asks for a lower level of processors
    than this machine has (plain, avx2, avx512 or neon). The level is the module's ``level``.
    """
    if os.environ.get("SAUVOLANET_NO_NATIVE"):
        return None
    extension = _extension()
    if extension is None:
        return None
    wanted = os.environ.get("SAUVOLANET_PROCESSOR", extension.levels[-1])
    if wanted not in extension.levels:
        raise UsageError(f"SAUVOLANET_PROCESSOR is {wanted!r}; this machine has {', '.join(extension.levels)}")
    level: ModuleType = getattr(extension, wanted)
    return level


def levels() -> list[str]:
    """The levels of processors that this machine can run, lowest first; none where the kernels were not built."""
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
