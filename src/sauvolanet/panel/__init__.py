"""The panel: kinds of pages down, methods across, F-measure in each cell. It decides which change is a better one.

    from sauvolanet import panel

    rows = panel.run(panel.pages("DATA", ["ruled", "Office"]), {"mine": lambda gray: gray < 100})
    print(panel.table(rows))

DATA holds ``documents``, ``kinds``, ``papers`` and ``ink``. No page of the panel is ever trained on.
"""

from __future__ import annotations

from .pages import KINDS, Page, Source, pages, sources
from .scores import mean, names, run, score, table

__all__ = ["KINDS", "Page", "Source", "mean", "names", "pages", "run", "score", "sources", "table"]
