"""Standard streams that are closed, full or strict."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def kept_streams() -> Iterator[None]:
    """Standard error is there; standard output takes any file's name, and is flushed while its failure can be told."""
    if sys.stderr is None:  # closed, as by 2>&-: no file of ours may get its number, nor one of a worker process
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
        os.set_inheritable(sys.stderr.fileno(), True)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        try:
            if sys.stdout is not None:
                sys.stdout.flush()
        except OSError as problem:
            forget_output()
            if not isinstance(problem, BrokenPipeError):
                raise


def forget_output() -> None:
    """What standard output still holds, and cannot get rid of, goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
