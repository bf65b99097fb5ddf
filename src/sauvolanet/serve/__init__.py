"""The HTTP service and the web page, behind the extra ``serve``.

    request ─guard─▶ upload ─▶ order ─▶ queue ─▶ worker thread ─▶ temporary file ─▶ response

`create_app` makes the ASGI application, `run` serves it with uvicorn. Nothing is kept after the response.
"""

from __future__ import annotations

import importlib
from typing import Any

from .limits import Limits

_PUBLIC = {"create_app": "app", "run": "server"}
__all__ = ["Limits", "create_app", "run"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        from ..errors import MissingExtra

        try:
            module = importlib.import_module(f".{_PUBLIC[name]}", __name__)
        except ModuleNotFoundError as problem:
            if (problem.name or "").split(".")[0] in ("starlette", "uvicorn", "python_multipart", "anyio", "h11"):
                raise MissingExtra("serve", "the service") from None
            raise
        return getattr(module, name)
    raise AttributeError(f"module 'sauvolanet.serve' has no attribute '{name}'")
