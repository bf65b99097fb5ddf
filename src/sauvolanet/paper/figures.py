"""Figures 1, 3 and 4: speed against accuracy, intermediate results, and sheets of pages with their errors."""

from __future__ import annotations

import base64
import io
import platform
import statistics
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

from .. import classic, net
from ..api import Binarizer, explain
from ..core.atomic import atomic
from ..core.bands import cores
from ..errors import BadData, MissingExtra
from ..score.datasets import PAPER_ABOVE, Page, read_gray, read_image, read_truth
from ..score.metrics import fm
from ..show.explanation import picture
from ..show.sheet import sheet
from .cells import Work, engine_key, means, metrics_key, pages_digest
from .comparison import TEST_TABLES, Entry, entries, models
from .tables import PRINTED, Beside, Fine, Section

if TYPE_CHECKING:
    from PIL.Image import Image

ROUNDS = 5
SHEET_METHODS = ("otsu", "sauvola", "su", "howe")


def pyplot() -> Any:
    """Matplotlib without a screen, writing the same bytes every time."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtra("train", "drawing figures") from None
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "sauvolanet"
    import matplotlib.pyplot as plt

    return plt


def save_drawing(figure: Any, folder: Path, name: str) -> list[str]:
    """Write a matplotlib figure as NAME.png and NAME.svg."""
    for kind in ("png", "svg"):
        data = io.BytesIO()
        figure.savefig(
            data, format=kind, dpi=150, bbox_inches="tight", metadata={"Date": None} if kind == "svg" else None
        )
        with atomic(folder / f"{name}.{kind}") as file:
            file.write(data.getbuffer())
    pyplot().close(figure)
    return [f"{name}.png", f"{name}.svg"]


def save_picture(image: Image, folder: Path, name: str) -> list[str]:
    """Write a picture as NAME.png, and as an SVG that holds it."""
    data = io.BytesIO()
    image.save(data, "PNG", optimize=True)
    href = quoteattr("data:image/png;base64," + base64.b64encode(data.getvalue()).decode())
    size = f'width="{image.width}" height="{image.height}"'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><image {size} href={href}/></svg>\n'
    for suffix, content in (("png", data.getvalue()), ("svg", svg.encode())):
        with atomic(folder / f"{name}.{suffix}") as file:
            file.write(content)
    return [f"{name}.png", f"{name}.svg"]


# -- Figure 1 ------------------------------------------------------------------------------------------------------


def speeds(work: Work, measure: bool) -> dict[str, Any] | None:
    """Pages per second of models and methods on DIBCO 2011, measured in turns in one run on this machine."""
    pages = work.pages("DIBCO2011")
    machine = {"processor": _processor(), "cores": cores()}
    names = [*models(work)[0], *(n for n in classic.METHODS if classic.available(classic.METHODS[n]))]
    depends = {"pages": pages_digest(pages), "machine": machine, "engines": _engines(names), "rounds": ROUNDS}

    def compute() -> dict[str, Any]:
        grays = [read_gray(p) for p in pages]
        tools = {n: Binarizer(**{"method" if n in classic.METHODS else "model": n}, invert="no") for n in names}
        seconds: dict[str, list[float]] = {n: [] for n in names}
        for tool in tools.values():
            tool(grays[0])  # load
        for _ in range(ROUNDS):
            for name, tool in tools.items():
                if name == "howe" and seconds[name]:
                    continue  # seconds a page: one round tells enough
                begun = time.perf_counter()
                for gray in grays:
                    tool(gray)
                seconds[name].append(time.perf_counter() - begun)
        rate = {n: len(grays) / statistics.median(s) for n, s in seconds.items()}
        return {"machine": machine, "pages_per_second": rate}

    return work.cell("speed", depends, compute if measure else None) if pages else None


def _engines(names: list[str]) -> dict[str, str]:
    """What each model or method of that name would give."""
    return {n: engine_key(**{"method" if n in classic.METHODS else "model": n}) for n in names}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def figure1(work: Work, measure: bool = True) -> Section:
    """FM on DIBCO 2011 against pages per second against size. ``measure`` allows timing; else what is there is shown."""
    printed = PRINTED["figure1"]
    section = Section("figure1", "Figure 1: accuracy, speed and size on DIBCO 2011",
                      ["method", "FM", "pages per second", "numbers in the model", "where"])  # fmt: skip
    found = speeds(work, measure)
    rate = found["pages_per_second"] if found else {}
    where = f"{found['machine']['processor']}, {found['machine']['cores']} cores" if found else ""
    for entry in entries(work):
        if entry.gray or entry.predictions:
            continue
        rows = entry.scores(work, "DIBCO2011")
        size = net.load(entry.model).about["parameters"] if entry.model else 0
        section.rows.append(
            [entry.label, means(rows)[0] if rows else None, rate.get(entry.model or entry.label), size, where]
        )
    printed_fm, printed_size = PRINTED["table4"]["rows"]["SauvolaNet"][0], PRINTED["claims"]["parameters"]
    section.rows.append(["SauvolaNet, as printed", printed_fm, "not in the text", printed_size, "the authors' GPU"])
    section.notes = [
        f"Pages of about {printed['height']}×{printed['width']} pixels; {ROUNDS} rounds in turns, the median counts. "
        "The paper's figure shows GPU speeds of other networks that are not in its text; they are not repeated from memory.",
    ]
    if not found:
        section.notes.append("Speeds are not measured yet: run `sauvolanet paper figure1` on a quiet machine.")
        return section
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(8, 5))
    points = [row for row in section.rows[:-1] if row[1] is not None and row[2] is not None]
    for _, score, speed, size, _ in points:
        axes.scatter(speed, score, s=30 + size / 150, alpha=0.6, color="tab:blue" if size else "tab:gray")
    axes.axhline(printed_fm, color="teal", linewidth=1, linestyle="--")
    axes.set(xscale="log", xlabel=f"pages per second ({where})", ylabel="FM on DIBCO 2011, %",
             title="Area: numbers in the model; gray: methods without training")  # fmt: skip
    line = axes.annotate(f"SauvolaNet as printed (GPU, {printed_size // 1000} K)", (0.02, printed_fm), xycoords=("axes fraction", "data"), fontsize=8,
                         color="teal", xytext=(0, 3), textcoords="offset points")  # fmt: skip
    name_points(axes, [(name, speed, score) for name, score, speed, _, _ in points], line)
    section.pictures = save_drawing(figure, work.out, "figure1")
    return section


def name_points(axes: Any, points: list[tuple[str, float, float]], beside: Any) -> None:
    """Write each name at the first place around its point where it covers no other, no point, nor ``beside``.

    A name that is not next to its point is joined to it by a line.
    """
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    axes.figure.canvas.draw()  # only then do texts know where they are
    renderer = axes.figure.canvas.get_renderer()
    frame, taken = axes.get_window_extent(), [beside.get_window_extent()]
    dots = [Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in axes.transData.transform([p[1:] for p in points])]
    places = [(away, side) for away in (4, -10, 16, -22, 28, -34) for side in ("left", "right")]
    for i, (name, x, y) in enumerate(points):
        others = taken + dots[:i] + dots[i + 1 :]
        for away, side in places:
            line = {"arrowstyle": "-", "color": "tab:gray", "linewidth": 0.5} if away not in (4, -10) else None
            text = axes.annotate(name, (x, y), xytext=(4 if side == "left" else -4, away), ha=side, fontsize=8,
                                 textcoords="offset points", arrowprops=line)  # fmt: skip
            text.update_positions(renderer)
            box = Text.get_window_extent(text, renderer)  # without the line
            if frame.x0 < box.x0 and box.x1 < frame.x1 and box.count_overlaps(others) == 0:
                break
            if (away, side) != places[-1]:  # somewhere it must stand
                text.remove()
        taken.append(box)


# -- Figure 3 ------------------------------------------------------------------------------------------------------


def figure3(work: Work) -> Section:
    """Intermediate results on the page given, else on a synthetic one with exact truth."""
    from ..synth import page as synthetic

    truth = None
    if work.page:
        gray, page_name = read_image(work.page), work.page.name
        if work.truth:
            truth = read_image(work.truth) <= PAPER_ABOVE
            if truth.shape != gray.shape:
                raise BadData(f"{work.truth}: the truth and the page differ in size")
    else:
        gray, truth = synthetic(7, kind="print", height=300, width=640)
        page_name = "a synthetic page with exact truth"
    section = Section("figure3", "Figure 3: intermediate results", public=work.page is None,
                      columns=["w", "k", "r", "FM of its threshold alone", "mean attention"])  # fmt: skip
    about = net.load("original").about
    steps = explain(gray, model="original", invert="no")
    for i, (window, surface) in enumerate(zip(steps.windows, steps.surfaces, strict=True)):
        k, r = (Fine(about[n][i] + 0.0, 3) for n in "kr")  # + 0.0: the file has a k of −0
        alone = "no truth" if truth is None else fm(gray < surface, truth)
        section.rows.append([window, k, r, alone, Fine(float(steps.attention[i].mean()), 3)])
    section.pictures = save_picture(picture(steps, truth, width=400), work.out, "figure3")
    whole = "" if truth is None else f"The FM of the adaptive threshold T is {fm(steps.ink, truth):.2f}. "
    section.notes = [f"Thresholds of the single windows, their results, attention, adaptive threshold and output of the authors' weights on {page_name}. {whole}"
                     "Another page: `sauvolanet paper figure3 --page FILE --truth FILE`, or `sauvolanet explain`."]  # fmt: skip
    return section


# -- Figure 4 ------------------------------------------------------------------------------------------------------


def figure4(work: Work) -> Section:
    """Sheets of the pages that Figure 4 shows: those on which the authors' weights score what is printed."""
    section = Section("figure4", "Figure 4: qualitative comparison", public=False,
                      columns=["row", "page", "SauvolaNet", "cGANs, printed", "DeepOtsu, printed", "MRAtt, printed"])  # fmt: skip
    methods = [n for n in SHEET_METHODS if classic.available(classic.METHODS[n])]
    names = ["original", *(n for n in models(work)[0] if n != "original"), *methods]
    section.columns += names[1:]
    gray = work.paper_gray is not None
    by_set = [Entry("original", "", gray, "original").scores(work, PRINTED[name]["set"]) for name in TEST_TABLES]
    rows = [] if None in by_set else [row for part in by_set for row in part or []]
    for printed in PRINTED["figure4"]:
        if not rows:
            section.rows.append(
                [
                    printed["row"],
                    None,
                    Beside(None, printed["SauvolaNet"]),
                    *(printed[n] for n in ("cGANs", "DeepOtsu", "MRAtt")),
                    *[None] * (len(names) - 1),
                ]
            )
            continue
        best = min(rows, key=lambda row: abs(row["fm"] - printed["SauvolaNet"]))
        page = next(p for p in work.pages(best["dataset"], gray) if p.id == best["page"])
        depends = {
            "page": pages_digest([page]),
            "engines": _engines(names),
            "metrics": metrics_key(),
        }
        draw = partial(_draw_sheet, work, page, printed["row"], names)
        found = work.cell(f"figure4-{printed['row']}", depends, draw) or {}
        section.rows.append([printed["row"], f"{best['dataset']} {best['page']}", Beside(best["fm"], printed["SauvolaNet"]),
                             *(printed[n] for n in ("cGANs", "DeepOtsu", "MRAtt")), *(found.get(n) for n in names[1:])])  # fmt: skip
        files = _sheet_files(printed["row"])
        if found and not work.late and not all((work.out / p).exists() for p in files):
            draw()  # the cell came from another folder, or somebody took the picture
        section.pictures += [p for p in files if found and (work.out / p).exists()]
    section.notes = ["The pages are found by the score of the authors' weights; other columns without \"printed\" are ours, FM of that page in the same gray. "
                     "The sheets, with false ink red and missed ink blue, are written beside the table; they show pages of the data sets and are not published here."]  # fmt: skip
    return section


def _sheet_files(row: str) -> list[str]:
    return [f"figure4-{row}.png", f"figure4-{row}.svg"]


def _draw_sheet(work: Work, page: Page, row: str, names: list[str]) -> dict[str, float]:
    """Write the sheet of a page; the FM of every result on it."""
    gray = read_gray(page)
    truth = read_truth(page, gray.shape)
    tools = {n: Binarizer(**{"method" if n in classic.METHODS else "model": n}, invert="no") for n in names}
    results = {n: tool(gray) for n, tool in tools.items()}
    title = f"({row}) {page.set} {page.id}"
    save_picture(sheet(gray, results, truth, title=title, width=600), work.out, f"figure4-{row}")
    return {n: fm(ink, truth) for n, ink in results.items()}
