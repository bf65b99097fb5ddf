"""A table or figure of the report: rows with printed values beside ours, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core.atomic import atomic

NOT_RUN = "not run"
PRINTED: dict[str, Any] = json.loads((Path(__file__).parent / "printed.json").read_text(encoding="utf-8"))
SCORES = ("FM", "Fps", "PSNR", "DRD")


@dataclass(frozen=True)
class Beside:
    """Our value beside the printed one; None for a value that is not there."""

    ours: float | None
    printed: float | None
    places: int = 2

    @property
    def difference(self) -> float | None:
        return None if self.ours is None or self.printed is None else self.ours - self.printed

    def __str__(self) -> str:
        p = self.places
        ours = NOT_RUN if self.ours is None else f"{self.ours:.{p}f}"
        if self.printed is None:
            return ours
        if self.ours is None:
            return f"{ours} · {self.printed:.{p}f}"
        return f"{ours} · {self.printed:.{p}f} · {self.difference:+.{p}f}"


@dataclass(frozen=True)
class Spread(Beside):
    """Our mean beside the printed one, each with its deviation; None for the deviation of a value that was fixed."""

    places: int = 3
    deviation: float | None = None
    printed_deviation: float | None = None

    def __str__(self) -> str:
        def told(mean: float | None, deviation: float | None) -> str:
            if mean is None:
                return NOT_RUN
            return f"{mean:.2f}" if deviation is None else f"{mean:.{self.places}f} ± {deviation:.{self.places}f}"

        # the printed means have two places, whatever their deviations have
        printed = f"{self.printed:.2f}" + (f" ± {self.printed_deviation}" if self.printed_deviation is not None else "")
        parts = [told(self.ours, self.deviation), printed]
        return " · ".join(parts if self.difference is None else [*parts, f"{self.difference:+.{self.places}f}"])


@dataclass(frozen=True)
class Fine:
    """A number that needs more places than the two of a score; the CSV has all of them."""

    value: float
    places: int

    def __str__(self) -> str:
        return f"{self.value:.{self.places}f}"


@dataclass
class Section:
    """One table or figure: columns and rows of text, numbers and `Beside`; notes below; pictures by file name.

    public : whether its pictures may be published; those that show pages of the data sets may not.
    csv_only : how many of the last columns are for the CSV alone, so that the table stays readable.
    """

    name: str
    title: str
    columns: list[str] = field(default_factory=list)
    rows: list[list[Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)
    public: bool = True
    csv_only: int = 0

    def markdown(self, pictures_in: str = "") -> str:
        """The section as Markdown; pictures are linked in the folder given."""
        lines = [f"## {self.title}", ""]
        if self.rows:
            shown_columns = len(self.columns) - self.csv_only
            lines += ["| " + " | ".join(self.columns[:shown_columns]) + " |", "|" + "---|" * shown_columns]
            lines += ["| " + " | ".join(_text(v) for v in row[:shown_columns]) + " |" for row in self.rows] + [""]
        public = [p for p in self.pictures if p.endswith(".png")] if self.public or not pictures_in else []
        lines += [line for p in public for line in (f"![{self.title}]({pictures_in}{p})", "")]
        return "\n".join([*lines, *(line for note in self.notes for line in (note, ""))])

    def csv(self) -> str:
        """The rows as CSV; a column of `Beside` becomes three: ours, printed, difference."""
        wide = [any(isinstance(row[i], Beside) for row in self.rows) for i in range(len(self.columns))]
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        names = zip(self.columns, wide, strict=True)
        writer.writerow([n for c, w in names for n in ((c, f"{c} printed", f"{c} difference") if w else (c,))])
        for row in self.rows:
            line: list[Any] = []
            for value, w in zip(row, wide, strict=True):
                three = (value.ours, value.printed, value.difference) if isinstance(value, Beside) else (value, "", "")
                line += [_plain(v) for v in (three if w else three[:1])]
            writer.writerow(line)
        return text.getvalue()

    def write(self, folder: Path) -> list[Path]:
        """Write NAME.md and, where there are rows, NAME.csv."""
        files = {f"{self.name}.md": self.markdown()} | ({f"{self.name}.csv": self.csv()} if self.rows else {})
        for name, text in files.items():
            with atomic(folder / name) as file:
                file.write(text.encode())
        return [folder / name for name in (*files, *self.pictures)]


def _text(value: Any) -> str:
    if value is None:
        return NOT_RUN
    return f"{value:.2f}" if isinstance(value, float) else str(value).replace("|", "\\|")


def _plain(value: Any) -> Any:
    value = value.value if isinstance(value, Fine) else value
    return "" if value is None else round(value, 6) if isinstance(value, float) else value


def beside(ours: list[float | None] | None, printed: list[float] | None) -> list[Beside]:
    """The paper's four scores, ours beside the printed ones."""
    empty: list[float | None] = [None] * len(SCORES)
    return [Beside(o, p) for o, p in zip(ours or empty, printed or empty, strict=True)]
