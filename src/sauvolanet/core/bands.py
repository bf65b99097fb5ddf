"""Bands of rows on threads of our own pool."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

_pools: dict[int, ThreadPoolExecutor] = {}  # by the process it was made in; no lock, which a fork could leave taken


def cores() -> int:
    """Processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_bands(
    height: int, threads: int | None, work: Callable[[int, int], Any], least: int = 16, pieces: int = 1
) -> list[Any]:
    """Run ``work(first, last)`` on bands of rows that together cover ``range(height)``; results in order.

    threads : None means all cores; 1 runs in the caller's thread. pieces : bands per thread; threads take the next one
        as they become free, so that a slow one holds nobody up. No band has fewer than ``least`` rows. The pool
        belongs to the process: after a fork the child makes its own.
    """
    count = max(1, min(threads or cores(), height // least))
    if count == 1:
        return [work(0, height)]
    bands = min(count * pieces, height // least)
    edges = [height * i // bands for i in range(bands + 1)]
    results: list[Any] = [None] * bands
    tickets = iter(range(bands))

    def take() -> None:
        for i in tickets:
            results[i] = work(edges[i], edges[i + 1])

    pool = _pools.get(os.getpid())
    if pool is None:  # of two made at once one is kept; the other, without a task, has no threads
        pool = _pools.setdefault(os.getpid(), ThreadPoolExecutor(max(cores(), 2), thread_name_prefix="sauvolanet"))
    others = [pool.submit(take) for _ in range(count - 1)]
    take()
    for other in others:
        if not other.cancel():  # one that has not begun finds nothing left to do; waiting for it could be for ever
            other.result()
    return results
