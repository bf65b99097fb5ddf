"""The torch-free runtime: model files, and the kernels that run them."""

from .model import Model, load, shipped

__all__ = ["Model", "load", "shipped"]
