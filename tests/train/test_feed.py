"""Batches made ahead: the same as without workers, and workers that end when they should and not before."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from sauvolanet.errors import RunFailed
from sauvolanet.score import datasets
from sauvolanet.train.feed import Feed
from sauvolanet.train.patches import Patches, load_pages
from sauvolanet.train.settings import Settings


@pytest.fixture
def patches(tiny: Settings, pairs: Path) -> Patches:
    return Patches(load_pages(datasets.find(pairs, ["mine"]), False, tiny.patch), tiny)


def grays(feed: Feed, first: int = 3) -> list[np.ndarray]:
    """The gray of four steps."""
    found = []
    for step in range(first, first + 4):
        found += [batch.gray.copy() for batch in feed.get(step)]
        feed.done(step)
    return found


def test_without_fork_the_batches_are_the_same(patches: Patches, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [range(2), range(2, 4)]
    with Feed(patches, parts, 3) as feed:
        assert len(feed.processes) == 2
        forked = grays(feed)
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    monkeypatch.delattr(multiprocessing, "get_context")
    with Feed(patches, parts, 3) as feed:
        assert not feed.processes
        assert all(np.array_equal(a, b) for a, b in zip(forked, grays(feed), strict=True))


def test_signals_to_the_whole_group_leave_the_workers_to_their_parent(patches: Patches) -> None:
    with Feed(patches, [range(1)], 3) as feed:
        grays(feed)
        for process in feed.processes:
            os.kill(process.pid, signal.SIGTERM)
        assert len(grays(feed, 7)) == 4
    assert not any(process.is_alive() for process in feed.processes)


@pytest.mark.parametrize("moment", ["before a batch", "before the answer", "after the answer"])
def test_a_killed_worker_is_named(patches: Patches, moment: str) -> None:
    """As the system does when memory is short."""
    with Feed(patches, [range(1)], 3) as feed, pytest.raises(RunFailed, match="was killed"):
        for step in range(3, 11):
            if step == 5 and moment == "before a batch":
                _kill(feed)
            feed.get(step)
            if step == 5 and moment == "before the answer":
                _kill(feed)
            if step == 5 and moment == "after the answer":
                for process in feed.processes:
                    os.kill(process.pid, signal.SIGSTOP)  # the answer stays unread
            feed.done(step)
            if step == 5 and moment == "after the answer":
                _kill(feed)


def _kill(feed: Feed) -> None:
    for process in feed.processes:
        process.kill()
        process.join()


def test_a_feed_that_nobody_closed_does_not_keep_the_process(pairs: Path) -> None:
    code = _START + "feed.get(1)"
    subprocess.run([sys.executable, "-c", code, str(pairs)], check=True, timeout=120)


def test_workers_end_with_a_killed_parent(pairs: Path) -> None:
    code = (
        _START + "[p.poll(60) for p in feed.pipes]\nprint(*(p.pid for p in feed.processes), flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(pairs)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    workers = [int(pid) for pid in parent.stdout.readline().split()]
    parent.kill()
    assert parent.communicate(timeout=60)[1] == ""  # they do not complain of answers that nobody reads any more
    assert len(workers) == 2
    for _ in range(1200):
        if not any(_alive(pid) for pid in workers):
            return
        time.sleep(0.1)
    raise AssertionError("workers outlive their parent")


def _alive(pid: int) -> bool:
    """Whether a process runs (one that has ended and waits for its parent does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


_START = """
import sys, time
from sauvolanet.score import datasets
from sauvolanet.train.feed import Feed
from sauvolanet.train.patches import Patches, load_pages
from sauvolanet.train.settings import PRESETS
sheets = load_pages(datasets.find(sys.argv[1], ["mine"]), False, 256)
feed = Feed(Patches(sheets, PRESETS["paper"]), [range(1)], 0)
feed.get(0)
"""
