"""Files are written to a temporary name in the same folder, flushed, then renamed: a reader never meets half a file."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ..errors import OutputError

_LONGEST = 143  # bytes of a name that every file system takes; most take 255


@contextlib.contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file that becomes ``path`` when the block ends well; otherwise what was there stays as it was.

    A folder that is missing is made. Whatever the disk refuses is an OutputError that names the file.
    """
    target = Path(path)
    part = target.parent / part_name(target.name, f".{os.urandom(4).hex()}")  # named first: an interrupt leaves none
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with part.open("x+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except (FileExistsError, NotADirectoryError):
        raise OutputError(f"cannot write {target}: {target.parent} is not a folder") from None
    except OSError as problem:
        raise OutputError(f"cannot write {target}: {problem.strerror or problem}") from None
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def part_name(name: str, mark: str = "") -> str:
    """The hidden name a file has while it is written; it follows from the file's own, and from ``mark``."""
    part = f".{name}{mark}.part"
    if len(os.fsencode(part)) <= _LONGEST:
        return part
    return f".{hashlib.blake2b(os.fsencode(name), digest_size=16).hexdigest()}{mark}.part"
