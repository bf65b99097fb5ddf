"""The classic methods: one published method per file, and the registry that lists them."""

from __future__ import annotations

import importlib.util

from ..options import Method
from . import (
    adotsu,
    bataineh,
    bernsen,
    bradley,
    feng,
    gatos,
    howe,
    isauvola,
    niblack,
    nick,
    otsu,
    phansalkar,
    sauvola,
    sauvola_grid,
    sauvola_ms,
    sauvola_swt,
    su,
    trsingh,
    wan,
    wolf,
)

METHODS: dict[str, Method] = {
    m.METHOD.name: m.METHOD
    for m in (
        otsu,
        bernsen,
        niblack,
        sauvola,
        wolf,
        nick,
        feng,
        bradley,
        phansalkar,
        trsingh,
        bataineh,
        wan,
        isauvola,
        gatos,
        su,
        adotsu,
        sauvola_grid,
        sauvola_ms,
        sauvola_swt,
        howe,
    )
}

_PACKAGES = {"howe": "maxflow"}  # extra -> the package that must be importable


def available(method: Method) -> bool:
    """Whether the optional package that the method needs is installed."""
    return not method.extra or importlib.util.find_spec(_PACKAGES[method.extra]) is not None
