"""Standard streams that are closed, full or strict."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO, cast


class _WhoeverReads:
    """Standard error whose reader may go away, as that of ``2>&1 | head`` does: the work goes on without it."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        with contextlib.suppress(BrokenPipeError):
            return self.stream.write(text)
        forget_output(self.stream)
        return len(text)


@contextlib.contextmanager
def kept_streams() -> Iterator[None]:
    """Standard error is there, and nobody has to read it; standard output takes any file's name, and is flushed while its failure can be told."""
    if sys.stderr is None:  # closed, as by 2>&-: no file of ours may get its number, nor one of a worker process
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
        os.set_inheritable(sys.stderr.fileno(), True)
    stderr, sys.stderr = sys.stderr, cast(TextIO, _WhoeverReads(sys.stderr))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        sys.stderr = stderr
        try:
            if sys.stdout is not None:
                sys.stdout.flush()
        except OSError as problem:
            forget_output(sys.stdout)
            if not isinstance(problem, BrokenPipeError):
                raise


def forget_output(stream: TextIO) -> None:
    """What a standard stream still holds, and cannot get rid of, goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
