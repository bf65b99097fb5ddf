"""The panel: kinds of pages down, methods across, F-measure in each cell. It decides which change is a better one.

    from sauvolanet import panel

    rows = panel.run(panel.pages("DATA", ["ruled", "Office"]), {"mine": lambda gray: gray < 100})
    print(panel.table(rows))

DATA holds ``documents``, ``kinds``, ``papers`` and ``ink``, and for error rates of OCR ``ocr``. No page of the panel is
ever trained on.
"""

from __future__ import annotations

from .ocr import AS_IT_IS, Scan, scans
from .pages import KINDS, Page, Source, pages, sources
from .scores import error_table, mean, names, run, score, table

__all__ = ["AS_IT_IS", "KINDS", "Page", "Scan", "Source", "error_table", "mean", "names", "pages", "run", "scans",
           "score", "sources", "table"]  # fmt: skip
