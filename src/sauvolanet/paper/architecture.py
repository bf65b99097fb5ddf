"""Figure 2: a network drawn from its description, whatever it is."""

from __future__ import annotations

from typing import Any

from .. import net
from ..net.architecture import Convolution
from .cells import Work
from .figures import pyplot, save_drawing
from .tables import Section

_COLOURS = {"page": "#f3f3f3", "window": "#d8e8fb", "convolution": "#dff2df", "softmax": "#fff3b8", "result": "#fbe0dc"}


def figure2(work: Work) -> Section:
    """The shipped networks, one drawing each."""
    section = Section(
        "figure2", "Figure 2: the networks", ["model", "windows", "numbers", "multiply-adds per pixel", "convolutions"]
    )
    drawn: dict[Any, str] = {}
    for name in [*net.shipped(), *work.models]:
        model = net.load(name)
        arch = model.architecture
        section.rows.append([model.name, ", ".join(map(str, arch.windows)), model.about["parameters"],
                             round(model.about["macs_per_pixel"]), len(arch.convolutions())])  # fmt: skip
        if arch not in drawn:
            drawn[arch] = model.name
            section.pictures += save_drawing(draw(model), work.out, f"figure2-{model.name}")
    section.notes = ["Drawn from the models' JSON: above the Sauvola threshold of each window with its k and r (MWS), below the attention (PWA), "
                     "right their weighted sum (AST) and the comparison. Each convolution: filters@side×side, d = dilation, ÷ = pixels of the page per pixel."]  # fmt: skip
    return section


def draw(model: net.Model) -> Any:
    """A matplotlib figure of a model: two branches from the page, joined by the weighted sum."""
    plt = pyplot()
    arch, about = model.architecture, model.about
    layers = [layer for layer in arch.convolutions() if not layer.name.startswith("view")]
    seeing = arch.convolutions()[: len(arch.view)]
    columns = max(len(arch.windows), (len(layers) + 1) // 2 if len(layers) > 9 else len(layers))
    lines = -(-len(layers) // columns)
    figure, axes = plt.subplots(figsize=(1.25 * columns + 5, 2.2 + 1.3 * lines + 1.7 * bool(seeing)))
    axes.set_axis_off()
    top, step = 1.5 * lines + 0.6, 1.3

    def box(x: float, y: float, text: str, kind: str, width: float = 1.12, height: float = 0.95) -> None:
        axes.add_patch(
            plt.Rectangle((x - width / 2, y - height / 2), width, height, facecolor=_COLOURS[kind], edgecolor="black")
        )
        axes.text(x, y, text, ha="center", va="center", fontsize=7.5)

    def arrow(x0: float, y0: float, x1: float, y1: float) -> None:
        axes.annotate("", (x1, y1), (x0, y0), arrowprops={"arrowstyle": "->", "lw": 1})

    first, last = 2.0, 2.0 + (columns - 1) * step
    middle = (top + 1.5 * (lines - 1) / 2) / 2
    box(0, middle, "page D\ngray", "page")
    for i, (window, k, r) in enumerate(zip(arch.windows, about["k"], about["r"], strict=True)):
        box(first + i * step, top, f"w = {window}\nk = {abs(k):.3f}\nr = {r:.3f}", "window")
    axes.text(first - 0.55, top + 0.65, "Multi-window Sauvola: S", fontsize=9, weight="bold")
    axes.add_patch(
        plt.Rectangle((first - 0.66, top - 0.58), len(arch.windows) * step + 0.02, 1.16, fill=False, linestyle=":")
    )

    def convolution(layer: Convolution) -> str:
        text = f"{layer.outputs}@{layer.side}×{layer.side}"
        text += f"\nd = {layer.dilation}" if layer.dilation > 1 else ""
        text += f"\n÷{layer.span}" if layer.span > 1 else ""
        text = f"+ skip\n{text}" if layer.name.startswith("up") else text
        text = f"+ view\n{text}" if seeing and layer.name == f"down{len(arch.widths) - 1}.0" else text
        return text + (f"\n{arch.norm} norm\nReLU" if layer.normalised else "")

    for i, layer in enumerate(seeing):
        box(first + i * step, -2, convolution(layer), "convolution")
        if i:
            arrow(first + (i - 1) * step + 0.56, -2, first + i * step - 0.56, -2)
    if seeing:
        axes.text(first - 0.55, -1.35, "The whole page in view, made once; + view reads it", fontsize=9, weight="bold")
        arrow(0, middle - 0.48, first - 0.56, -2)
    for i, layer in enumerate(layers):
        line, column = divmod(i, columns)
        text = convolution(layer)
        y = 1.5 * (lines - 1 - line)
        box(first + column * step, y, text, "convolution")
        if column:
            arrow(first + (column - 1) * step + 0.56, y, first + column * step - 0.56, y)
    axes.text(
        first - 0.55,
        1.5 * (lines - 1) + 0.65,
        f"Pixelwise window attention, sees {', '.join(arch.features)}",
        fontsize=9,
        weight="bold",
    )
    for line in range(1, lines):  # a line of boxes goes on in the next
        y = 1.5 * (lines - line)
        axes.plot(
            [last + 0.56, last + 0.72, last + 0.72, first - 0.8, first - 0.8],
            [y, y, y - 0.75, y - 0.75, y - 1.5],
            "k",
            lw=1,
        )
        arrow(first - 0.8, y - 1.5, first - 0.56, y - 1.5)
    end = first + ((len(layers) - 1) % columns) * step
    names = "" if not arch.constants else f",\n{len(arch.constants)} of them fixed"
    box(last + 1.5, 0, f"softmax: A\n{arch.choices} choices{names}", "softmax", 1.4)
    arrow(end + 0.56, 0, last + 0.82, 0)
    box(last + 1.5, top, "T = Σ A·S", "result", 1.35)
    arrow(first + len(arch.windows) * step - 0.64, top, last + 0.82, top)
    arrow(last + 1.5, 0.48, last + 1.5, top - 0.48)
    box(last + 3.1, top, "ink:\nD < T", "result")
    arrow(last + 2.18, top, last + 2.54, top)
    arrow(0.3, middle + 0.48, first - 0.66, top)
    arrow(0.3, middle - 0.48, first - 0.56, 1.5 * (lines - 1))
    axes.set(xlim=(-0.8, last + 3.9), ylim=(-2.8 if seeing else -0.8, top + 1.1))
    axes.set_title(
        f"{model.name}: {about['parameters']:,} numbers, {about['macs_per_pixel']:,.0f} multiply-adds per pixel",
        fontsize=11,
    )
    return figure
