"""What a worker thread does: the uploaded document through the verb into a file, or one page explained into a zip."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .. import __version__, classic, net
from ..api import Binarizer
from ..errors import PageTooLarge, UnknownName, UsageError
from ..files.convert import DPI, FORMAT, KEEP_GRAY, Conversion
from ..files.read import PAGE, Document, Patience, index_of
from ..files.write import FORMATS
from ..options import CHANNEL, DESPECKLE, INVERT, LINES, QUALITY, STRENGTH, VERB_OPTIONS, Option, validate
from ..page.found import Found
from ..page.strength import Edges
from ..pipeline import DEFAULT_MODEL, Selection
from ..show.explanation import choice_colours
from .jobs import Job
from .limits import Limits

if TYPE_CHECKING:
    from .upload import Upload

SHAPES = (INVERT, CHANNEL, LINES, QUALITY, DPI, PAGE)  # options of both requests; /v1/explain has no others of its own
BINARIZE = (STRENGTH, DESPECKLE, *SHAPES, FORMAT, KEEP_GRAY)
MEDIA = {"png": "image/png", "tiff": "image/tiff", "pdf": "application/pdf"}
STRENGTHS = tuple(round(i / 50 - 1, 2) for i in range(101))  # the positions of the page's slider
THRESHOLD_SCALE = 256  # threshold.png holds ceil(256 T): gray < T exactly where 256 gray < threshold.png
IN_MEMORY = 16_000_000  # larger results wait in a temporary file


@dataclass
class Result:
    """A finished answer in a temporary file."""

    file: IO[bytes]
    media: str
    name: str
    found: dict[int, Found] = field(default_factory=dict)  # by page, from 1

    def close(self) -> None:
        self.file.close()

    def __del__(self) -> None:
        self.close()  # where it was made for a client, or a service, that is gone: nobody else can close it


@dataclass(frozen=True)
class Order:
    """What a client wants, checked: what makes the ink, and the options of the answer."""

    selection: Selection
    options: dict[str, Any]

    def __getitem__(self, option: Option) -> Any:
        return self.options[option.name]

    def binarizer(self, threads: int) -> Binarizer:
        return Binarizer(self.selection.with_options(threads=threads))


def read_order(fields: dict[str, str], options: tuple[Option, ...], models: dict[str, str]) -> Order:
    """The fields of a form as an order; everything wrong with them is a UsageError.

    options : those of the request, of the verb and of the answer. models : name -> shipped name or path. A client names
    models of this list only, never a path.
    """
    rest = dict(fields)
    model, method = rest.pop("model", None), rest.pop("method", None)
    if model is not None and model not in models:
        raise UnknownName("model", model, models)
    answer = {o.name for o in options if o not in VERB_OPTIONS}
    own = validate((o for o in options if o.name in answer), {n: rest.pop(n) for n in answer & set(rest)}, "option")
    if method is not None and method not in classic.METHODS:
        raise UnknownName("method", method, classic.METHODS)
    known = {o.name for o in options} | {o.name for o in (classic.METHODS[method].all_options if method else ())}
    for name in rest:
        if name not in known:
            raise UnknownName("option", name, known | {"file", "model", "method"})
    if method is None:
        model = models[model or next(iter(models))]
    return Order(Selection.of(model=model, method=method, **rest), own)


def known_models(extra: str | None = None) -> dict[str, str]:
    """name -> shipped name or path, the default first; ``extra`` (a name or path) becomes the default."""
    names = {name: name for name in net.shipped()}
    first = net.load(extra).name if extra else DEFAULT_MODEL
    return {first: extra or first, **{n: p for n, p in names.items() if n != first}}


def _pages(document: Document, name: str, order: Order, limits: Limits) -> list[int]:
    """Numbers of the pages to do, from 0."""
    if len(document) > limits.max_pages:
        raise PageTooLarge(f"{name} has {len(document)} pages, more than {limits.max_pages}")
    wanted = order[PAGE]
    if wanted is None:
        return list(range(len(document)))
    return [index_of(wanted, document, name)]


def binarize_upload(upload: Upload, order: Order, limits: Limits, job: Job) -> Result:
    """The document in black and white (or even gray) as PNG, Group 4 TIFF or PDF, resolution kept."""
    binarizer = order.binarizer(job.threads)
    patience = Patience(limits.page_seconds, job.cancelled)
    conversion = Conversion(binarizer, order[KEEP_GRAY], order[DPI], limits.max_pixels, patience)
    key = f"{binarizer.name} {binarizer.options.quality}"
    with conversion.open(upload.file, upload.name) as document:
        pages = _pages(document, upload.name, order, limits)
        chosen = order[FORMAT] or ("png" if len(pages) == 1 else "tiff")
        suffix, many, _ = FORMATS[chosen]
        if len(pages) > 1 and not many:
            raise UsageError(
                f"{upload.name} has {len(pages)} pages and PNG holds one; say which with page=N, or ask for tiff or pdf"
            )

        def watch(index: int, pixels: int) -> AbstractContextManager[None]:
            return job.working_on(pages.index(index) + 1, len(pages), key, pixels)

        result = Result(_temporary(), MEDIA[chosen], PurePath(upload.name).stem + suffix)
        try:
            for index, found in conversion.write(document, pages, result.file, chosen, watch):
                result.found[index + 1] = found
        except BaseException:
            result.close()
            raise
    return result


def explain_upload(upload: Upload, order: Order, limits: Limits, job: Job) -> Result:
    """One page explained: a zip of stored PNGs and meta.json, as docs/service.md lists them."""
    binarizer = order.binarizer(job.threads)
    patience = Patience(limits.page_seconds, job.cancelled)
    conversion = Conversion(binarizer, dpi=order[DPI], max_pixels=limits.max_pixels, patience=patience)
    with conversion.open(upload.file, upload.name) as document:
        index = _pages(document, upload.name, order, limits)[0]
        page, count = document.page(index), len(document)
    meta: dict[str, Any] = {
        "version": __version__, "name": binarizer.name, "kind": binarizer.engine.kind,
        "page": index + 1, "pages": count, "width": page.gray.shape[1], "height": page.gray.shape[0], "dpi": page.dpi,
    }  # fmt: skip
    pictures: dict[str, npt.NDArray[Any]] = {}
    key = f"explain {binarizer.name} {binarizer.options.quality}"
    with job.working_on(1, 1, key, page.gray.size):
        choices: list[dict[str, Any]] = []
        if binarizer.engine.has_steps and page.gray.size <= limits.max_explained:
            steps = binarizer.explain(page)
            result = steps.result
            pictures["gray.png"] = steps.gray
            for i, (name, colour) in enumerate(zip(steps.choices, choice_colours(steps), strict=True)):
                choice: dict[str, Any] = {"name": name, "colour": colour, "attention": f"attention-{i}.png"}
                pictures[f"attention-{i}.png"] = np.rint(steps.attention[i] * 255).astype(np.uint8)
                if i < len(steps.windows):
                    choice |= {"window": steps.windows[i], "ink": f"ink-{i}.png"}
                    pictures[f"ink-{i}.png"] = ~(steps.gray < steps.surfaces[i])
                else:
                    choice["constant"] = steps.constants[i - len(steps.windows)]
                choices.append(choice)
            if steps.view is not None:
                pictures["view.png"] = np.rint(steps.view * 255).astype(np.uint8)
        else:
            result = binarizer.run(page, keep_surface=binarizer.has_surface)
            pictures["gray.png"] = result.prepared.gray
            if result.surface is None:
                pictures["ink.png"] = ~result.ink
        prepared, surface = result.prepared, result.surface
        meta |= {
            "inverted": prepared.inverted,
            "channel": prepared.channel,
            "blank": prepared.blank,
            "levels": prepared.numbers.levels(),
            "found": result.found.to_json(),
        }
        meta |= {"choices": choices, "surface": surface is not None, "view": "view.png" in pictures}
        if surface is not None:
            scaled = np.ceil(surface.astype(np.float64) * THRESHOLD_SCALE)
            pictures["threshold.png"] = np.clip(scaled, 0, 65535).astype(np.uint16)
            edges = Edges.of(prepared.gray, result.ink, result.free, prepared.paper, job.threads)
            pictures["onset.png"] = edges.onset(STRENGTHS)
            meta |= {"threshold_scale": THRESHOLD_SCALE, "strengths": STRENGTHS}
        if binarizer.engine.has_steps and not choices:
            meta["left_out"] = f"attention: the page has more than {limits.max_explained} pixels"
        return Result(_zip(pictures, meta), "application/zip", PurePath(upload.name).stem + ".zip")


def _zip(pictures: dict[str, npt.NDArray[Any]], meta: dict[str, Any]) -> IO[bytes]:
    from PIL import Image

    file = _temporary()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:  # PNGs are compressed already

        def put(name: str, data: bytes | memoryview) -> None:
            archive.writestr(zipfile.ZipInfo(name), data)  # no date: same page, same bytes

        put("meta.json", json.dumps(meta).encode())
        for name, pixels in pictures.items():
            encoded = io.BytesIO()
            Image.fromarray(pixels).save(encoded, "PNG", compress_level=1)
            put(name, encoded.getvalue())
    return file


def _temporary() -> IO[bytes]:
    return tempfile.SpooledTemporaryFile(IN_MEMORY)
