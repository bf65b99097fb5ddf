"""OCRmyPDF plugin: binarize the image that OCR reads, the page that people see, or both.

    ocrmypdf --sauvolanet-for ocr|page|both [--sauvolanet-model NAME] in.pdf out.pdf

Installed beside OCRmyPDF it is found by itself (`ocrmypdf_entry`); ``--plugin sauvolanet.plugins.ocrmypdf`` names it.
Without ``--sauvolanet-for`` it changes nothing and loads none of our heavy modules.
"""

from __future__ import annotations

import logging
from argparse import ArgumentParser
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ocrmypdf import hookimpl
from ocrmypdf.exceptions import BadArgsError, InputFileError
from PIL import Image
from pydantic import BaseModel, BeforeValidator, Field, create_model

from ..errors import SauvolanetError
from ..options import ENLARGE, Option
from . import OPTIONS as OF_ALL_HOSTS
from . import shared_binarizer

if TYPE_CHECKING:
    from ocrmypdf import OcrOptions, PageContext
    from ocrmypdf.pdfinfo import PdfInfo

FOR = Option("for", str, None, choices=("ocr", "page", "both"),
             help="Binarize the image that OCR reads, the visible page (then 1-bit Group 4), or both.")  # fmt: skip
KEEP_GRAY = Option("keep_gray", bool, False,
                   help="Give OCR the gray page with its paper made white, not black and white.")  # fmt: skip
PICTURES = Option("pictures", str, "keep", choices=("keep", "flatten"),
                  help="Keep visible pages with colour pictures, or make them 1-bit all the same.")  # fmt: skip
# OCRmyPDF places text by the image's resolution, not by its pixels; small letters are better read at twice the size
OPTIONS = (*OF_ALL_HOSTS, replace(ENLARGE, default="auto"))
_ALL = (FOR, *OPTIONS, KEEP_GRAY, PICTURES)
_MADE = "sauvolanet"  # marks an image that this plugin has made

log = logging.getLogger(f"ocrmypdf.{_MADE}")  # OCRmyPDF shows what is logged below its own name

_fields: dict[str, Any] = {
    o.name: (Any if o in OPTIONS else Annotated[Any, BeforeValidator(o.parse)], Field(o.default, description=o.help))
    for o in _ALL
}  # those of the binarizer are checked by itself
SauvolanetOptions: type[BaseModel] = create_model("SauvolanetOptions", __module__=__name__, **_fields)


@hookimpl
def register_options() -> dict[str, type[BaseModel]]:
    return {"sauvolanet": SauvolanetOptions}


@hookimpl
def add_options(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("sauvolanet", "Document binarization.")
    for option in _ALL:
        flag = f"--sauvolanet-{option.name.replace('_', '-')}"
        if option.type is bool:
            group.add_argument(flag, action="store_true", help=option.help)
        else:
            default = "" if option.default is None else f" (default {option.default})"
            text = f"{option.help} Takes {option.expected()}{default}."
            group.add_argument(flag, metavar=option.name.upper(), help=text.replace("%", "%%"))


@hookimpl
def check_options(options: OcrOptions) -> None:
    """Wrong options and damaged models end the run here, before any page."""
    try:
        chosen = _chosen(options)
        if chosen:
            shared_binarizer(**_verb(chosen))
    except SauvolanetError as problem:
        raise BadArgsError(f"sauvolanet: {problem}") from None
    if chosen.get("for") in ("page", "both") and options.mode in ("skip", "redo", "strip"):
        raise BadArgsError(f"sauvolanet: --mode {options.mode} keeps the visible pages, and --sauvolanet-for "
                           f"{chosen['for']} replaces them; use --sauvolanet-for ocr, or --force-ocr")  # fmt: skip


@hookimpl
def validate(pdfinfo: PdfInfo, options: OcrOptions) -> None:
    """A new visible page needs OCRmyPDF to draw pages anew, which it does with ``--force-ocr`` and filters only.

    For scans the force is ours to give: they hold no text that could be lost. A page that holds text stops the run as
    ever (exit code 6), and a page without an image is not made into one unasked.
    """
    chosen = _chosen(options)
    if not chosen or chosen["for"] == "ocr" or not options.lossless_reconstruction:
        return
    drawn = [str(n) for n, page in enumerate(pdfinfo, 1) if page is not None and not page.images and not page.has_text]
    if drawn:
        raise InputFileError(f"sauvolanet: page {', '.join(drawn)} holds no scanned image to binarize; use "
                             "--sauvolanet-for ocr, or add --force-ocr to turn such pages into images")  # fmt: skip
    if not any(page is not None and page.has_text for page in pdfinfo):
        options.mode = "force"


@hookimpl(wrapper=True)
def filter_ocr_image(page: PageContext, image: Image.Image) -> Generator[None, Image.Image | None, Image.Image | None]:
    """Binarize what the other filters give, as Tesseract's own, which makes huge pages smaller."""
    given = yield
    chosen = _chosen(page.options)
    if not chosen or chosen["for"] == "page":
        return given
    source = image if given is None else given
    if _MADE in source.info:
        return source
    from ..api import normalized

    found = shared_binarizer(**_verb(chosen)).run(source)
    times = found.prepared.times
    result = Image.fromarray(normalized(found) if chosen["keep_gray"] else ~found.ink)
    across, down = image.info["dpi"]
    # another plugin's image may not say its resolution; it shows the same page
    same_page = across * source.width / image.width, down * source.height / image.height
    across, down = source.info.get("dpi", same_page)
    result.info.update({"dpi": (across * times, down * times), _MADE: True})
    return result


@hookimpl(wrapper=True)
def filter_page_image(page: PageContext, image_filename: Path) -> Generator[None, Path | None, Path | None]:
    """Write the visible page beside the given one as Group 4, of the same physical size."""
    given = yield
    chosen = _chosen(page.options)
    if not chosen or chosen["for"] == "ocr":
        return given
    source = given or image_filename
    if source.stem.endswith(f"-{_MADE}"):
        return source
    from ..files.write import TiffWriter
    from ..page.formats import open_image
    from .colour import has_colour_picture

    with open_image(source) as image:
        if chosen["pictures"] == "keep" and has_colour_picture(image):
            log.info("page %d: kept as it is, it holds a colour picture (--sauvolanet-pictures flatten to insist)",
                     page.pageno + 1)  # fmt: skip
            return source
        found = shared_binarizer(**_verb(chosen)).run(image)
        dpi = image.info.get("dpi")
        dpi = dpi and tuple(value * found.prepared.times for value in dpi)
    target = source.with_name(f"{source.stem}-{_MADE}.tif")
    with target.open("w+b") as file:  # a private folder of this run: nobody else reads it meanwhile
        writer = TiffWriter(file)
        writer.add(found.ink, dpi, "")
        writer.close()
    return target


def _chosen(options: OcrOptions) -> dict[str, Any]:
    """The plugin's options, or nothing where ``--sauvolanet-for`` was not given."""
    values = options.sauvolanet.model_dump()
    return values if values["for"] else {}


def _verb(chosen: dict[str, Any]) -> dict[str, Any]:
    return {o.name: chosen[o.name] for o in OPTIONS}
