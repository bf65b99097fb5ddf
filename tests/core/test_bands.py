"""Bands of rows on threads."""

from __future__ import annotations

from sauvolanet.core import windows


def test_bands_cover_the_page_in_order() -> None:
    assert windows.run_bands(100, 3, lambda a, b: (a, b)) == [(0, 33), (33, 66), (66, 100)]
    assert windows.run_bands(20, 4, lambda a, b: (a, b)) == [(0, 20)]


def test_bands_within_bands_do_not_wait_for_each_other() -> None:
    """Every thread of the pool is busy with an outer band while the inner ones are handed out."""
    inner = lambda: sum(windows.run_bands(64, 4, lambda a, b: b - a))  # noqa: E731
    assert sum(sum(r) for r in windows.run_bands(64, 4, lambda a, b: [inner() for _ in range(4)])) == 64 * 16
