"""Memory of layers that is used again."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from sauvolanet.net import buffers


def test_memory_comes_back_only_when_no_view_is_left() -> None:
    gc.collect()
    buffers.idle.clear()
    first = buffers.empty(100, 1000)
    view = first[10:20]
    view[:] = 7
    del first
    second = buffers.empty(100, 1000)
    second[:] = 1
    assert (view == 7).all() and not np.shares_memory(view, second)
    where = second.__array_interface__["data"][0]
    del second
    assert buffers.empty(100, 1000).__array_interface__["data"][0] == where


def test_idle_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    buffers.idle.clear()
    monkeypatch.setattr(buffers, "KEEP", 1_000_000)
    arrays = [buffers.empty(100_000) for _ in range(5)]
    del arrays
    assert 0 < sum(raw.nbytes for raw in buffers.idle.values()) <= 1_000_000
