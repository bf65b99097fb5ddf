"""Batches made ahead by worker processes and handed over in shared memory.

Python threads in the training process would take turns with the kernels' threads for the interpreter lock; a worker
process does not. Workers are forked with the pages already in memory, so nothing is loaded or sent twice.
"""

from __future__ import annotations

import mmap
import multiprocessing
import os
import signal
from typing import Any

import numpy as np

from ..errors import RunFailed
from .patches import Batch, Patches

_FIELDS = ("gray", "mean", "deviation", "features", "truth", "share")


class Feed:
    """Batches of steps first, first + 1, …: worker w of W makes the steps with step mod W = w, two ahead."""

    def __init__(self, patches: Patches, parts: list[range], first: int, workers: int = 2, ahead: int = 2) -> None:
        self.parts, self.first, self.workers, self.ahead = parts, first, workers, ahead
        sample = patches.batch(first, parts[0])
        self.shapes = [(n, getattr(sample, n).shape, getattr(sample, n).dtype) for n in _FIELDS]
        size = sum(np.dtype(kind).itemsize * int(np.prod(shape)) for _, shape, kind in self.shapes) * len(parts)
        self.slots = [[mmap.mmap(-1, size) for _ in range(ahead)] for _ in range(workers)]
        context = multiprocessing.get_context("fork")
        self.pipes, self.processes = [], []
        for worker in range(workers):
            here, there = context.Pipe()
            process = context.Process(target=self._work, args=(patches, worker, there, here), daemon=True)
            process.start()
            there.close()
            self.pipes.append(here)
            self.processes.append(process)

    def __enter__(self) -> Feed:
        return self

    def __exit__(self, *_: Any) -> None:
        for process in self.processes:
            process.terminate()
            process.join()

    def get(self, step: int) -> list[Batch]:
        """The batches of a step; the memory is valid until the same worker's next but one step is asked for."""
        worker = (step - self.first) % self.workers
        try:
            problem = self.pipes[worker].recv()
        except EOFError:
            raise RunFailed(
                "a process that prepares patches was killed; the same command goes on from the last checkpoint"
            ) from None
        if problem:
            raise RunFailed(f"a patch of step {step} cannot be made: {problem}")
        return self._arrays(worker, step)

    def done(self, step: int) -> None:
        """The batches of a step are no longer needed."""
        self.pipes[(step - self.first) % self.workers].send(None)

    def _arrays(self, worker: int, step: int) -> list[Batch]:
        slot = self.slots[worker][(step - self.first) // self.workers % self.ahead]
        at, batches = 0, []
        for _ in self.parts:
            values = []
            for _, shape, kind in self.shapes:
                count = int(np.prod(shape))
                values.append(np.frombuffer(slot, kind, count, at).reshape(shape))
                at += count * np.dtype(kind).itemsize
            batches.append(Batch(*values))
        return batches

    def _work(self, patches: Patches, worker: int, pipe: Any, parents: Any) -> None:
        for inherited in (parents, *self.pipes):  # only then does the end of the parent reach this process
            inherited.close()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
        os.environ["OMP_NUM_THREADS"] = "1"
        step, waiting = self.first + worker, 0
        try:
            while True:
                if waiting == self.ahead:
                    pipe.recv()
                    waiting -= 1
                problem = ""
                try:
                    for target, part in zip(self._arrays(worker, step), self.parts, strict=True):
                        made = patches.batch(step, part)
                        for name in _FIELDS:
                            getattr(target, name)[:] = getattr(made, name)
                except Exception as failure:
                    problem = f"{type(failure).__name__}: {failure}"
                pipe.send(problem)
                step, waiting = step + self.workers, waiting + 1
        except (EOFError, BrokenPipeError, KeyboardInterrupt):
            pass  # the parent is gone
