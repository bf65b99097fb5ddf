"""The service of tests/serve, and how many files the fuzzer makes."""

from __future__ import annotations

from ..serve.conftest import start

__all__ = ["start"]
