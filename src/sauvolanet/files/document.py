"""A document and its pages, whatever decodes them; and the rules under which every decoder works."""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import InputError, PageTooLarge, UnreadablePage
from ..options import Option
from ..page.gray import GrayPage

PAGE_SECONDS = Option("page_seconds", float, None, 0.1, 86_400,
                      help="Give up on a page whose decoding takes longer than this: its row fails, the batch goes on. Without "
                           "it PDF pages have 300 seconds; with it images, too, are decoded by a process that can be "
                           "killed.")  # fmt: skip
SECONDS = 300.0  # for one page of a PDF where nothing else is said


@dataclass(frozen=True)
class DecodedPage(GrayPage):
    """One page as read: gray, and of which channel; dots per inch across and down if known; a description."""

    dpi: tuple[float, float] | None = None
    description: str = ""


@dataclass(frozen=True)
class Patience:
    """How long one page may be decoded, and an event that ends it before, if there is one."""

    seconds: float = SECONDS
    cancelled: threading.Event | None = None


class Document(Protocol):
    """A file with pages, numbered from 0. `check` looks at the header only; `page` decodes."""

    def __len__(self) -> int: ...
    def check(self, index: int) -> None: ...
    def page(self, index: int) -> DecodedPage: ...


def refuse_large(name: str, width: int, height: int, max_pixels: int, times: int = 1) -> None:
    """Raise PageTooLarge for a page, or one that will be enlarged so many times, of more pixels than allowed."""
    if width * height * times**2 > max_pixels:
        size = f"{width} × {height} pixels" + (f", enlarged {width * times} × {height * times}" if times > 1 else "")
        raise PageTooLarge(f"{name} has {size}, more than {max_pixels}; allow it with --max-pixels")


def sane_dpi(x: Any, y: Any) -> tuple[float, float] | None:
    """The resolution, unless it is none: files say 0, 1 or nonsense when they do not know."""
    try:
        pair = float(x), float(y)
    except (TypeError, ValueError, ZeroDivisionError):
        return None
    return pair if all(math.isfinite(v) and 10 <= v <= 20_000 for v in pair) else None


class _OurRules:
    """While any thread opens or decodes, Pillow has no limit on pixels (ours is ``max_pixels``) and frowns in silence.

    So does pypdfium2. These settings belong to the whole process, so the first thread to come changes them and the last
    to go restores them; in between all may decode at once.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.before = contextlib.ExitStack()

    def __enter__(self) -> None:
        from PIL import Image

        with self.lock:
            if not self.inside:
                self.before.callback(setattr, Image, "MAX_IMAGE_PIXELS", Image.MAX_IMAGE_PIXELS)
                Image.MAX_IMAGE_PIXELS = None
                self.before.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore")
                logger = logging.getLogger("pypdfium2")
                self.before.callback(logger.setLevel, logger.level)
                logger.setLevel(logging.ERROR)
            self.inside += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.inside -= 1
            if not self.inside:
                self.before.close()


_our_rules = _OurRules()


@contextlib.contextmanager
def decoding(name: str) -> Iterator[None]:
    """Whatever a decoder raises on damaged bytes becomes one line; what it merely frowns at is no news to the user."""
    try:
        with _our_rules:
            yield
    except (InputError, MemoryError):
        raise
    except Exception as problem:  # decoders raise nearly anything: OSError, SyntaxError, struct.error, KeyError …
        reason = str(problem).partition(" <_io.")[0] or type(problem).__name__  # Pillow shows the file object
        raise UnreadablePage(f"{name} is damaged or cut short: {reason}") from None
