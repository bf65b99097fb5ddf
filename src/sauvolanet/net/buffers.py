"""Memory for the layers of a network, used again from page to page.

A layer of the paper's network takes a hundred megabytes on a small page. The operating system hands out such memory
page by page, zeroed, and takes it back at once: a fifth of the time of a page. Here an array returns to a short list
when its last user is gone, and the next layer, or the next page, takes it from there.
"""

from __future__ import annotations

import math
import weakref

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]

KEEP = 300_000_000  # bytes that may lie idle
SMALL = 100_000  # below this the C library does the same

idle: dict[int, np.ndarray] = {}  # oldest first; only single, atomic steps on it, so that no lock can outlive a fork


def empty(*shape: int) -> Array:
    """An uninitialised float32 array; its memory is taken again when neither it nor a view of it is in use."""
    return _taken(4 * math.prod(shape)).view(np.float32).reshape(shape)


def empty_bytes(*shape: int) -> npt.NDArray[np.uint8]:
    """The same of bytes."""
    return _taken(math.prod(shape)).reshape(shape)


def _taken(size: int) -> npt.NDArray[np.uint8]:
    if size < SMALL:
        return np.empty(size, np.uint8)
    fitting = [raw for raw in list(idle.values()) if size <= raw.nbytes <= 2 * size]
    for raw in sorted(fitting, key=len):
        if idle.pop(id(raw), None) is not None:
            break
    else:
        raw = np.empty(size, np.uint8)
    # through a memoryview, because numpy would let views refer to `raw` directly and the array end before them
    flat = np.frombuffer(raw.data, np.uint8, size)
    weakref.finalize(flat, _release, raw).atexit = False
    return flat


def _release(raw: np.ndarray) -> None:
    idle[id(raw)] = raw
    held = list(idle.values())
    excess = sum(r.nbytes for r in held) - KEEP
    for old in held:
        if excess <= 0:
            break
        if idle.pop(id(old), None) is not None:
            excess -= old.nbytes
