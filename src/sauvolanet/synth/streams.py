"""Where random numbers come from: one stream for each use, so that no page of one can turn up in another."""

from __future__ import annotations

import numpy as np

FREE, TRAIN, COMPOSED = range(3)
EXAMPLE = 1892  # seed of the example page


def stream(use: int, *seed: int) -> np.random.Generator:
    """A generator that depends on the use and the seed only; a negative seed is as good as any."""
    return np.random.default_rng([use, *(s % (1 << 64) for s in seed)])
