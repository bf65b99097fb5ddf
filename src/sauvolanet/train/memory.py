"""Keep freed memory for the next step: large arrays otherwise go back to the system and are cleared page by page again."""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX, _ARENA_MAX = -1, -2, -4, -8  # from glibc's malloc.h


def keep_memory() -> None:
    """Tell glibc's malloc to reuse large blocks; elsewhere nothing happens."""
    if sys.platform != "linux":
        return
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return  # another C library
    for option, value in ((_ARENA_MAX, 1), (_MMAP_MAX, 0), (_TOP_PAD, 1 << 26), (_TRIM_THRESHOLD, (1 << 31) - 1)):
        mallopt(option, value)
