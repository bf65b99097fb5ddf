"""Bands of rows on threads."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sauvolanet.core import windows


def test_bands_cover_the_page_in_order() -> None:
    assert windows.run_bands(100, 3, lambda a, b: (a, b)) == [(0, 33), (33, 66), (66, 100)]
    assert windows.run_bands(20, 4, lambda a, b: (a, b)) == [(0, 20)]


def test_bands_within_bands_do_not_wait_for_each_other() -> None:
    """Every thread of the pool is busy with an outer band while the inner ones are handed out."""
    inner = lambda: sum(windows.run_bands(64, 4, lambda a, b: b - a))  # noqa: E731
    assert sum(sum(r) for r in windows.run_bands(64, 4, lambda a, b: [inner() for _ in range(4)])) == 64 * 16


FORKED = """
import os, signal, threading
from sauvolanet.core import bands

begun, goes_on, Pool = threading.Event(), threading.Event(), bands.ThreadPoolExecutor

def waiting(*args, **options):
    begun.set()
    goes_on.wait()
    return Pool(*args, **options)

bands.ThreadPoolExecutor = waiting
other = threading.Thread(target=bands.run_bands, args=(64, 2, lambda a, b: None))
other.start()
begun.wait()
child = os.fork()
if not child:
    signal.alarm(20)  # ends a child that waits for ever
    bands.ThreadPoolExecutor = Pool
    os._exit(sum(bands.run_bands(64, 2, lambda a, b: b - a)))
_, status = os.waitpid(child, 0)
goes_on.set()
other.join()
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_while_another_thread_makes_the_pool() -> None:
    """Nothing is left taken that the child would wait for; it tells by its exit code how many rows it did."""
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60)
    assert done.stdout == "64\n", done.stderr
