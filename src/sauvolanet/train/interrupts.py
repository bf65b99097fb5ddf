"""Ctrl-C and SIGTERM as a question that the loop answers between two steps.

In the middle of a step the weights have moved and the average has not; a checkpoint of that moment would never be met
by a run that was left alone.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class Stopped(KeyboardInterrupt):
    """A run was asked to stop, ended its step and saved its checkpoint."""


class Interrupts:
    """While it is open a signal only sets ``asked``; a second Ctrl-C is the usual KeyboardInterrupt.

    patient : any number of signals is one question, as torchrun repeats to its processes what the terminal sent them.
    """

    def __init__(self, patient: bool = False) -> None:
        self.asked, self.patient = False, patient
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():  # Python gives signals to no other
            self._before = {n: signal.signal(n, self._note) for n in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: Any) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, _: FrameType | None) -> None:
        if self.asked and number == signal.SIGINT and not self.patient:
            raise KeyboardInterrupt
        self.asked = True
