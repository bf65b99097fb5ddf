"""OCR-D processor ``ocrd-sauvolanet-binarize``: pages, regions or lines get a binarized ``AlternativeImage``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import click
from ocrd import Processor
from ocrd.decorators import ocrd_cli_options, ocrd_cli_wrap_processor
from ocrd.processor.ocrd_page_result import OcrdPageResult, OcrdPageResultImage
from ocrd_models.ocrd_page import AlternativeImageType, OcrdPage
from PIL import ExifTags, Image

from ..errors import SauvolanetError
from . import OPTIONS, shared_binarizer
from .ocrd_tool import EXECUTABLE, LEVEL, tool_description


class SauvolanetBinarize(Processor):
    """Binarize the images of pages, text regions or text lines, and annotate the results as alternative images."""

    @cached_property
    def metadata_rawdict(self) -> dict[str, Any]:
        return tool_description()

    @property
    def executable(self) -> str:
        return EXECUTABLE

    def setup(self) -> None:
        """Load the model. Pages run in processes forked after this, so no thread may be started here: one is enough."""
        given = {o.name: self.parameter[o.name] for o in OPTIONS if self.parameter[o.name] not in ("", None)}
        try:
            self.binarizer = shared_binarizer(threads=1, **given)
        except SauvolanetError as problem:
            raise ValueError(f"{EXECUTABLE}: {problem}") from None

    def process_page_pcgts(self, *input_pcgts: OcrdPage | None, page_id: str | None = None) -> OcrdPageResult:
        (pcgts,) = input_pcgts
        assert pcgts is not None  # one input group: a page without a file is not handed to us
        result = OcrdPageResult(pcgts)
        page = pcgts.get_Page()
        for segment, image, coordinates in self._segments(page, page_id):
            image.getexif()[ExifTags.Base.Orientation] = 1  # PAGE's coordinates count pixels as they are stored
            binarized = Image.fromarray(~self.binarizer(image))
            binarized.info.update({"dpi": image.info["dpi"]} if "dpi" in image.info else {})
            features = [f for f in coordinates["features"].split(",") if f]
            reference = AlternativeImageType(comments=",".join([*features, "binarized"]))
            segment.add_AlternativeImage(reference)
            name = "" if segment is page else segment.id
            result.images.append(OcrdPageResultImage(binarized, f"{name}.IMG-BIN", reference))
        return result

    def _segments(self, page: Any, page_id: str | None) -> Iterator[tuple[Any, Image.Image, dict[str, Any]]]:
        """Segments of the asked level, each with its newest image that is not binarized and its coordinates."""
        plain = {"feature_filter": "binarized"}
        image, coordinates, _ = self.workspace.image_from_page(page, page_id, **plain)
        level = self.parameter[LEVEL.name]
        if level == "page":
            yield page, image, coordinates
            return
        for region in page.get_AllRegions(classes=["Text"]):
            part = self.workspace.image_from_segment(region, image, coordinates, **plain)
            if level == "region":
                yield region, *part
                continue
            for line in region.get_TextLine():
                yield line, *self.workspace.image_from_segment(line, *part, **plain)


@click.command()
@ocrd_cli_options
def command(*args: Any, **kwargs: Any) -> Any:
    return ocrd_cli_wrap_processor(SauvolanetBinarize, *args, **kwargs)
