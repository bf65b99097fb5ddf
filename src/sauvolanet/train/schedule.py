"""How long a run is, and how its learning rate goes."""

from __future__ import annotations

import math

from .settings import Settings

MEASURE_STEPS = 40  # how many steps are made before --minutes fixes the length of a run
UNTIMED_STEPS = 10  # the first of them are not timed: memory and the queue of patches fill


def measured(minutes: float, times: list[float]) -> bool:
    """Whether the steps so far tell how long one takes, or a quarter of the time is up."""
    return len(times) == MEASURE_STEPS or (len(times) > 1 and sum(times) > 15 * minutes)


def fitted_steps(minutes: float, step: int, seconds: float, times: list[float]) -> int:
    """How many steps a run of so many minutes has, after ``step`` steps that took ``seconds``, the latest ``times``."""
    timed = times[min(UNTIMED_STEPS, len(times) // 2) :]
    return step + max(int((minutes * 60 - seconds) * len(timed) / sum(timed)), 1)


def schedule(step: int, s: Settings) -> float:
    """Factor of the learning rate: warm-up, plateau, and a cosine to zero over the last share of the steps."""
    if step < s.warmup:
        return (step + 1) / s.warmup
    falling = int(s.steps * s.decay)
    left = s.steps - step
    return 0.5 * (1 - math.cos(math.pi * left / falling)) if falling and left < falling else 1.0
