"""The arrays that flow through: a page's gray, a threshold surface, ink."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Gray = npt.NDArray[np.uint8]  # (H, W), 0 = black
Surface = npt.NDArray[np.float32]  # (H, W), a threshold per pixel on the 0–255 scale of the gray
Ink = npt.NDArray[np.bool_]  # (H, W), True = ink
Values = TypeVar("Values", Gray, Surface)
Array = TypeVar("Array", bound=npt.NDArray[Any])


def by_rows(values: Array) -> Array:
    """The array as compiled kernels read it, the numbers of a row neighbours in memory: itself, or else a copy."""
    return values if values.strides[-1] == values.itemsize else values.copy()
