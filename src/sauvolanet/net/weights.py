"""The arrays of a model's file, checked before they are unpacked: a small file may claim gigabytes, or hold no numbers."""

from __future__ import annotations

import io
import math
import zipfile

import numpy as np

from ..errors import BadModel
from .architecture import Architecture
from .buffers import Array

_HEADER_BYTES = 4096  # before the numbers of each array
_WIDEST = 8  # bytes of a number


def read_weights(data: bytes, architecture: Architecture, bits: int) -> dict[str, Array]:
    """The arrays of an .npz that this network needs, no other and in these shapes; anything else is a BadModel.

    bits : 32, or 8 for a network that has the range of each input of its convolutions, too.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for layer in architecture.convolutions():
        shapes |= {f"{layer.name}.weight": layer.shape, f"{layer.name}.bias": (layer.outputs,)}
        if bits == 8:
            shapes |= {f"{layer.name}.{end}": (layer.inputs,) for end in ("low", "high")}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            sizes = {member.filename.removesuffix(".npy"): member.file_size for member in archive.infolist()}
        if odd := sorted(sizes.keys() ^ shapes.keys()):
            raise BadModel(f"missing or unknown arrays: {', '.join(odd[:5])}")
        for name, shape in shapes.items():
            if sizes[name] > _HEADER_BYTES + _WIDEST * math.prod(shape):
                raise BadModel(f"{name} has {sizes[name]} bytes, more than {shape} can take")
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            weights: dict[str, Array] = {
                name: np.asarray(arrays[name]) for name in shapes
            }  # else bytes, without header
    except BadModel:
        raise
    except Exception as problem:  # zip, zlib and numpy's headers fail in many ways
        raise BadModel(
            f"damaged ({str(problem).splitlines()[0] if str(problem) else type(problem).__name__})"
        ) from None
    for name, shape in shapes.items():
        if weights[name].shape != shape or weights[name].dtype.kind != "f":
            raise BadModel(f"{name} has shape {weights[name].shape} of {weights[name].dtype}, not {shape} of float32")
        if not np.isfinite(weights[name]).all():
            raise BadModel(f"{name} holds values that are not numbers")
    return weights
