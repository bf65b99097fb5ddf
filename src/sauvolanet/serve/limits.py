"""What the service takes and what it refuses: every limit declared once, for --help, `Limits` and ``/v1/methods``."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.bands import cores
from ..options import Option

WORKERS = Option("workers", int, None, 1, 256,
                 help="Requests worked on at once; without it one per core, and they share the cores.")  # fmt: skip
QUEUE = Option("queue", int, 16, 0, 10_000,
               help="Requests that may wait; past that clients get 503 with Retry-After.")  # fmt: skip
MAX_UPLOAD = Option("max_upload", int, 100_000_000, 1_000, None,
                    help="Refuse uploads of more bytes than this.")  # fmt: skip
MAX_PIXELS = Option("max_pixels", int, 100_000_000, 1, None,
                    help="Refuse pages with more pixels than this; the header tells, nothing is decoded.")  # fmt: skip
MAX_PAGES = Option("max_pages", int, 200, 1, None,
                   help="Refuse documents with more pages than this.")  # fmt: skip
MAX_EXPLAINED = Option("max_explained", int, 16_000_000, 0, None,
                       help="Pages with more pixels than this are shown without window attention, which takes some "
                            "hundred bytes a pixel.")  # fmt: skip
BODY_SECONDS = Option("body_seconds", float, 60.0, 0.1, 86_400,
                      help="Give up on an upload that takes longer than this.")  # fmt: skip
WORK_SECONDS = Option("work_seconds", float, 600.0, 0.01, 86_400,
                      help="Give up on a request that waits and works longer than this.")  # fmt: skip
PAGE_SECONDS = Option("page_seconds", float, 60.0, 0.1, 86_400,
                      help="Refuse a document of which one page takes longer than this to decode.")  # fmt: skip
IDLE_SECONDS = Option("idle_seconds", float, 15.0, 0.1, 3_600,
                      help="Close a connection that sends no complete request head, or takes nothing of a result, for "
                           "this long.")  # fmt: skip

OPTIONS = (
    WORKERS,
    QUEUE,
    MAX_UPLOAD,
    MAX_PIXELS,
    MAX_PAGES,
    MAX_EXPLAINED,
    BODY_SECONDS,
    WORK_SECONDS,
    PAGE_SECONDS,
    IDLE_SECONDS,
)


@dataclass(frozen=True)
class Limits:
    """The service's limits; see the options of the same names."""

    workers: int | None = WORKERS.default
    queue: int = QUEUE.default
    max_upload: int = MAX_UPLOAD.default
    max_pixels: int = MAX_PIXELS.default
    max_pages: int = MAX_PAGES.default
    max_explained: int = MAX_EXPLAINED.default
    body_seconds: float = BODY_SECONDS.default
    work_seconds: float = WORK_SECONDS.default
    page_seconds: float = PAGE_SECONDS.default
    idle_seconds: float = IDLE_SECONDS.default

    @property
    def at_once(self) -> int:
        """Worker threads."""
        return self.workers or cores()
