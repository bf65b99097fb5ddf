"""A step of kraken's pipeline in the place of its ``binarize``: ``kraken -i a.jpg a.txt sauvolanet segment ocr``."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from ..errors import SauvolanetError, UnreadablePage
from . import OPTIONS, shared_binarizer


@click.command("sauvolanet")
@click.pass_context
def sauvolanet(context: click.Context, /, **options: Any) -> Callable[..., None]:
    """Binarizes page images with a trained model or a classic method."""
    from kraken.containers import ProcessingStep

    try:
        given = {o.name: options[o.name] for o in OPTIONS if options[o.name] is not None}
        binarizer = shared_binarizer(threads=context.meta["num_threads"], **given)
    except SauvolanetError as problem:
        raise click.UsageError(str(problem)) from None
    checked = {n: getattr(binarizer.options, n, v) for n, v in given.items()}
    context.meta["steps"].append(ProcessingStep(id=f"_{uuid.uuid4()}", category="preprocessing",
                                                description="Image binarization",
                                                settings={"sauvolanet": binarizer.name, **checked}))  # fmt: skip
    return partial(write_ink, binarizer)


for _option in reversed(OPTIONS):  # click lists them in the order in which they were added, last first
    _text = f"{_option.help} Takes {_option.expected()}."
    sauvolanet = click.option(f"--{_option.name}", metavar=_option.name.upper(), help=_text)(sauvolanet)


def write_ink(binarizer: Callable[[Any], Any], input: str | Path, output: str | Path) -> None:
    """One page: read ``input``, write ink (black = ink) to ``output``, which the next step reads."""
    from PIL import UnidentifiedImageError

    from ..core.atomic import atomic
    from ..files.read import sane_dpi
    from ..files.write import FORMATS, SUFFIXES
    from ..page.formats import open_image

    meta = click.get_current_context().meta
    if not meta["first_process"]:
        raise click.UsageError("sauvolanet has to be the first step")
    if meta["last_process"] and meta["output_mode"] != "native":
        raise click.UsageError("sauvolanet alone gives an image; add segment and ocr for other formats")
    if meta["input_format_type"] != "image":
        from kraken.lib.xml import XMLPage

        input = XMLPage(input).imagename
    meta["first_process"] = False
    try:
        with open_image(input) as page:
            dpi = sane_dpi(*page.info.get("dpi", (None, None)))
            ink = binarizer(page)
    except (OSError, UnidentifiedImageError) as problem:
        raise UnreadablePage(f"{input}: {problem}") from None
    make = FORMATS[SUFFIXES.get(Path(output).suffix.lower(), "png")][
        2
    ]  # kraken's own files between steps lack a suffix
    with atomic(output) as file:
        writer = make(file, 300)
        writer.add(ink, dpi, "")
        writer.close()
    meta["base_image"] = output
