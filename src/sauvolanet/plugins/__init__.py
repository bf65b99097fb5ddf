"""Binarization inside OCRmyPDF, OCR-D and kraken: one module per host, which imports nothing but that host and us.

All hosts offer the same options, read from the declarations. Hosts that run pages in parallel give each page one
thread.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..options import ENLARGE, THREADS, VERB_OPTIONS, Option

if TYPE_CHECKING:
    from ..api import Binarizer

MODEL = Option("model", str, None,
               help="A shipped model's name, or the path of a model; without it the default model.")  # fmt: skip
METHOD = Option("method", str, None, help="A classic method instead of a model, see 'sauvolanet methods'.")
# the hosts' coordinates are those of the page's pixels, so none of these changes its size
OPTIONS = (MODEL, METHOD, *(o for o in VERB_OPTIONS if o not in (THREADS, ENLARGE)))


def shared_binarizer(threads: int | None = 1, **options: Any) -> Binarizer:
    """The binarizer of these options, one per process, safe in threads; wrong options are UsageErrors."""
    return _kept(threads, tuple(sorted(options.items())))


@lru_cache(maxsize=8)
def _kept(threads: int | None, options: tuple[tuple[str, Any], ...]) -> Binarizer:
    from ..api import Binarizer  # only now numpy and the model are loaded

    return Binarizer(threads=threads, **dict(options))
