"""Batches made ahead by worker processes and handed over in shared memory.

Python threads in the training process would take turns with the kernels' threads for the interpreter lock; a worker
process does not. Workers are forked with the pages already in memory, so nothing is loaded or sent twice; where there
is no fork (Windows) the training process makes each batch when it is asked for.
"""

from __future__ import annotations

import atexit
import mmap
import multiprocessing
import os
import signal
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from ..errors import RunFailed
from .patches import Batch, Patches

_KILLED = "a process that prepares patches was killed; the same command goes on from the last checkpoint"


class Feed:
    """Batches of steps first, first + 1, …: worker w of W makes every W-th, two ahead."""

    def __init__(self, patches: Patches, parts: list[range], first: int, workers: int = 2, ahead: int = 2) -> None:
        self.patches, self.parts, self.first, self.ahead = patches, parts, first, ahead
        self.workers = workers if "fork" in multiprocessing.get_all_start_methods() else 0
        self.pipes: list[Connection] = []
        self.processes: list[Any] = []
        if self.workers:
            self._start()

    def _start(self) -> None:
        sample = self.patches.batch(self.first, self.parts[0])
        self.shapes = [(array.shape, array.dtype) for array in sample]
        size = len(self.parts) * sum(array.nbytes for array in sample)
        self.slots = [[mmap.mmap(-1, size) for _ in range(self.ahead)] for _ in range(self.workers)]
        atexit.register(self.close)  # at the end multiprocessing would ask them by a signal that they ignore, and wait
        context = multiprocessing.get_context("fork")
        for worker in range(self.workers):
            here, there = context.Pipe()
            process = context.Process(target=self._work, args=(worker, there, here), daemon=True)
            process.start()
            there.close()
            self.pipes.append(here)
            self.processes.append(process)

    def __enter__(self) -> Feed:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """End the workers."""
        atexit.unregister(self.close)
        for process in self.processes:
            process.kill()
            process.join()

    def get(self, step: int) -> list[Batch[np.ndarray]]:
        """The batches of a step; the memory is valid until `done` is told of the step."""
        if not self.workers:
            return [self.patches.batch(step, part) for part in self.parts]
        worker = (step - self.first) % self.workers
        try:
            problem = self.pipes[worker].recv()
        except (EOFError, OSError):
            raise RunFailed(_KILLED) from None
        if problem:
            raise RunFailed(f"a patch of step {step} cannot be made: {problem}")
        return self._arrays(worker, step)

    def done(self, step: int) -> None:
        """The batches of a step are no longer needed."""
        if self.workers:
            try:
                self.pipes[(step - self.first) % self.workers].send(None)
            except OSError:
                raise RunFailed(_KILLED) from None

    def _arrays(self, worker: int, step: int) -> list[Batch[np.ndarray]]:
        slot = self.slots[worker][(step - self.first) // self.workers % self.ahead]
        at, batches = 0, []
        for _ in self.parts:
            values = []
            for shape, kind in self.shapes:
                count = int(np.prod(shape))
                values.append(np.frombuffer(slot, kind, count, at).reshape(shape))
                at += count * kind.itemsize
            batches.append(Batch(*values))
        return batches

    def _work(self, worker: int, pipe: Connection, parents: Connection) -> None:
        for inherited in (parents, *self.pipes):  # only then does the end of the parent reach this process
            inherited.close()
        for number in (signal.SIGINT, signal.SIGTERM):  # they are for the parent, which may still want a batch
            signal.signal(number, signal.SIG_IGN)
        os.environ["OMP_NUM_THREADS"] = "1"
        step, waiting = self.first + worker, 0
        try:
            while True:
                if waiting == self.ahead:
                    pipe.recv()
                    waiting -= 1
                problem = ""
                try:
                    for shared, part in zip(self._arrays(worker, step), self.parts, strict=True):
                        for array, made in zip(shared, self.patches.batch(step, part), strict=True):
                            array[:] = made
                except Exception as failure:
                    problem = f"{type(failure).__name__}: {failure}"
                pipe.send(problem)
                step, waiting = step + self.workers, waiting + 1
        except (EOFError, ConnectionError, KeyboardInterrupt):
            pass  # the parent is gone
