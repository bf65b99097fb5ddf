"""Files in and out: images, TIFF and PDF; batches that resume; object stores; shards for many machines."""

from __future__ import annotations

import importlib
from typing import Any

_PUBLIC = {"binarize_many": "many", "plan_batch": "many", "run_shard": "shards"}
__all__ = ["binarize_many", "plan_batch", "run_shard"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(f".{_PUBLIC[name]}", __name__), name)
    raise AttributeError(f"module 'sauvolanet.files' has no attribute '{name}'")
