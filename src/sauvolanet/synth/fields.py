"""Float pictures and what is done to them: smooth noise, blur, shrinking and enlarging."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image

Field = npt.NDArray[np.float32]


def resize(field: Field, height: int, width: int, how: Image.Resampling = Image.Resampling.BILINEAR,
           box: tuple[float, float, float, float] | None = None) -> Field:  # fmt: skip
    """The field (or the box left, top, right, bottom of it) at another size."""
    return np.asarray(Image.fromarray(field).resize((width, height), how, box=box), np.float32)


def noise(rng: np.random.Generator, shape: tuple[int, ...], cell: float) -> Field:
    """Smooth noise of mean 0 and deviation about 0.7, with blobs of about ``cell`` pixels."""
    height, width = shape
    if cell <= 1:
        return rng.standard_normal(shape, np.float32) * np.float32(0.7)
    if cell > 16:  # smooth enough for a quarter of the size
        return resize(noise(rng, (-(-height // 4), -(-width // 4)), cell / 4), height, width)
    h, w = height / cell, width / cell
    grid = rng.standard_normal((int(h) + 4, int(w) + 4), np.float32)
    x, y = rng.uniform(0.5, 2.5, 2)
    how = Image.Resampling.BICUBIC if cell > 4 else Image.Resampling.BILINEAR
    return resize(grid, height, width, how, (x, y, x + w, y + h))


def fractal(rng: np.random.Generator, shape: tuple[int, ...], cell: float, keep: float) -> Field:
    """Noise of all sizes from ``cell`` pixels down to one, half as large with ``keep`` of the strength; deviation 1."""
    height, width = shape
    levels = max(int(np.log2(max(cell, 2))), 1)
    sizes = [(-(-height >> i) + 1, -(-width >> i) + 1) for i in range(levels, -1, -1)]
    field = rng.standard_normal(sizes[0], np.float32)
    for i, size in enumerate(sizes[1:], 1):
        field = resize(field, *size) + rng.standard_normal(size, np.float32) * np.float32(keep**i)
    field = field[:height, :width] - field.mean()
    return np.asarray(field / (field.std() + 1e-6), np.float32)


def _along(field: Field, weights: Field, axis: int) -> Field:
    """Convolution along one axis, the border repeated."""
    reach = len(weights) // 2
    pad = [(0, 0), (0, 0)]
    pad[axis] = (reach, reach)
    wide = np.pad(field, pad, "edge")
    n = field.shape[axis]
    result = np.zeros_like(field)
    for i, weight in enumerate(weights):
        result += weight * (wide[i : i + n] if axis == 0 else wide[:, i : i + n])
    return result


def blur(field: Field, sigma_y: float, sigma_x: float | None = None) -> Field:
    """Gaussian blur, another width along x if given; wide ones work on a smaller copy."""
    sigma_x = sigma_y if sigma_x is None else sigma_x
    height, width = field.shape
    factor = int(min(sigma_y, sigma_x, height / 4, width / 4) / 2)
    if factor > 1:
        small = resize(field, -(-height // factor), -(-width // factor), Image.Resampling.BOX)
        return resize(blur(small, sigma_y / factor, sigma_x / factor), height, width)
    for axis, sigma in ((0, sigma_y), (1, sigma_x)):
        if sigma > 0.2:
            at = np.arange(-int(2.5 * sigma + 0.99), int(2.5 * sigma + 0.99) + 1)
            weights = np.exp(-0.5 * (at / sigma) ** 2)
            field = _along(field, (weights / weights.sum()).astype(np.float32), axis)
    return field


def largest(field: Field, reach: int) -> Field:
    """The largest value within ``reach`` pixels in both directions."""
    for axis in (0, 1):
        wide = np.pad(field, [(reach, reach) if a == axis else (0, 0) for a in (0, 1)])
        n = field.shape[axis]
        field = wide[:n] if axis == 0 else wide[:, :n]
        for i in range(1, 2 * reach + 1):
            field = np.maximum(field, wide[i : i + n] if axis == 0 else wide[:, i : i + n])
    return field


def coordinates(shape: tuple[int, ...]) -> tuple[Field, Field]:
    """y (H, 1) and x (1, W) in pixels."""
    return np.arange(shape[0], dtype=np.float32)[:, None], np.arange(shape[1], dtype=np.float32)[None, :]
