"""What a worker thread does: the uploaded document through the verb into a file, or one page explained into a zip."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .. import __version__, classic, net
from ..binarize import DEFAULT_MODEL, Binarizer, normalize, strengthen
from ..errors import PageTooLarge, UnknownName, UsageError
from ..explain import explain
from ..files.batch import DPI, FORMAT, KEEP_GRAY
from ..files.read import Document, open_document
from ..files.write import FORMATS, Pixels
from ..options import DESPECKLE, INVERT, QUALITY, STRENGTH, Option
from ..page import PageNumbers
from ..windows import Gray, Surface
from .jobs import Job
from .limits import Limits

if TYPE_CHECKING:
    from .upload import Upload

PAGE = Option("page", int, None, 1, None, help="Only this page of a document, counted from 1.")
SHAPES = (INVERT, QUALITY, DPI, PAGE)  # options of both requests; /v1/explain has no others of its own
BINARIZE = (STRENGTH, DESPECKLE, *SHAPES, FORMAT, KEEP_GRAY)
MEDIA = {"png": "image/png", "tiff": "image/tiff", "pdf": "application/pdf"}
STRENGTHS = tuple(round(i / 50 - 1, 2) for i in range(101))  # the positions of the page's slider
THRESHOLD_SCALE = 256  # threshold.png holds ceil(256 T): gray < T exactly where 256 gray < threshold.png
_IN_MEMORY = 16_000_000  # larger results wait in a temporary file


@dataclass
class Result:
    """A finished answer in a temporary file."""

    file: IO[bytes]
    media: str
    name: str

    def close(self) -> None:
        self.file.close()


@dataclass(frozen=True)
class Order:
    """What a client wants, checked: what makes the ink, its options, and the options of the answer."""

    what: dict[str, Any]  # model or method, and the method's own options
    options: dict[str, Any] = field(default_factory=dict)  # those given, of SHAPES or BINARIZE

    def verb(self, *names: str) -> dict[str, Any]:
        """The options of that names which were given, and what makes the ink."""
        return {**self.what, **{n: v for n, v in self.options.items() if n in names}}

    def __getitem__(self, option: Option) -> Any:
        return self.options.get(option.name, option.default)


def read_order(fields: dict[str, str], options: tuple[Option, ...], models: dict[str, str]) -> Order:
    """The fields of a form as an order; everything wrong with them is a UsageError.

    models : name -> shipped name or path. A client names models of this list only, never a path.
    """
    rest = dict(fields)
    model, method = rest.pop("model", None), rest.pop("method", None)
    if model is not None and model not in models:
        raise UnknownName("model", model, models)
    given = {o.name: o.parse(rest.pop(o.name)) for o in options if o.name in rest}
    if method is not None and method not in classic.METHODS:
        raise UnknownName("method", method, classic.METHODS)
    own = {o.name for o in classic.METHODS[method].all_options} if method else set()
    for name in rest:
        if name not in own:
            raise UnknownName("option", name, own | {o.name for o in options} | {"file", "model", "method"})
    what = {"method": method, **rest} if method else {"model": models[model or next(iter(models))]}
    if model is not None and method is not None:
        raise UsageError("give a model or a method, not both")
    order = Order(what, given)
    Binarizer(**order.verb("strength", "invert", "despeckle", "quality"))  # a wrong option is refused before the queue
    return order


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
    if wanted > len(document):
        raise UsageError(f"{name} has {len(document)} pages; there is no page {wanted}")
    return [wanted - 1]


def binarize_upload(upload: Upload, order: Order, limits: Limits, job: Job) -> Result:
    """The document in black and white (or even gray) as PNG, Group 4 TIFF or PDF, resolution kept."""
    options = {**order.verb("strength", "invert", "despeckle", "quality"), "threads": job.threads}
    binarizer = Binarizer(**options)
    key = f"{binarizer.name} {binarizer.quality}"
    with open_document(upload.file, upload.name, dpi=order[DPI], max_pixels=limits.max_pixels) as document:
        pages = _pages(document, upload.name, order, limits)
        chosen = order[FORMAT] or ("png" if len(pages) == 1 else "tiff")
        suffix, many, make = FORMATS[chosen]
        if len(pages) > 1 and not many:
            raise UsageError(
                f"{upload.name} has {len(pages)} pages and PNG holds one; say which with page=N, or ask for tiff or pdf"
            )
        result = Result(_temporary(), MEDIA[chosen], PurePath(upload.name).stem + suffix)
        try:
            writer = make(result.file, order[DPI])
            for number, index in enumerate(pages, 1):
                page = document.page(index)
                with job.working_on(number, len(pages), key, page.gray.size):
                    pixels: Pixels = normalize(page.gray, **options) if order[KEEP_GRAY] else binarizer(page.gray)
                writer.add(pixels, page.dpi, page.description)
            writer.close()
        except BaseException:
            result.close()
            raise
    return result


def explain_upload(upload: Upload, order: Order, limits: Limits, job: Job) -> Result:
    """One page explained: a zip of stored PNGs and meta.json, as docs/service.md lists them."""
    options = {**order.verb("invert", "quality"), "threads": job.threads}
    binarizer = Binarizer(**options)
    with open_document(upload.file, upload.name, dpi=order[DPI], max_pixels=limits.max_pixels) as document:
        index = _pages(document, upload.name, order, limits)[0]
        page, count = document.page(index), len(document)
    meta: dict[str, Any] = {
        "version": __version__, "name": binarizer.name, "kind": "method" if binarizer.method else "model",
        "page": index + 1, "pages": count, "width": page.gray.shape[1], "height": page.gray.shape[0], "dpi": page.dpi,
    }  # fmt: skip
    pictures: dict[str, npt.NDArray[Any]] = {}
    key = f"explain {binarizer.name} {binarizer.quality}"
    with job.working_on(1, 1, key, page.gray.size):
        gray, numbers = binarizer.prepare(page.gray)
        meta |= {"inverted": bool(gray[0, 0] != page.gray[0, 0]), "blank": numbers.blank, "levels": numbers.levels()}
        choices: list[dict[str, Any]] = []
        pictures["gray.png"] = gray
        if binarizer.model is not None and gray.size <= limits.max_explained:
            result = explain(page.gray, **options)
            surface = result.threshold
            for i, (name, colour) in enumerate(zip(result.choices, result.colours, strict=True)):
                choice: dict[str, Any] = {"name": name, "colour": colour, "attention": f"attention-{i}.png"}
                pictures[f"attention-{i}.png"] = np.rint(result.attention[i] * 255).astype(np.uint8)
                if i < len(result.windows):
                    choice |= {"window": result.windows[i], "ink": f"ink-{i}.png"}
                    pictures[f"ink-{i}.png"] = ~(gray < result.surfaces[i])
                else:
                    choice["constant"] = result.constants[i - len(result.windows)]
                choices.append(choice)
        elif binarizer.has_surface:
            surface = np.zeros(gray.shape, np.float32) if numbers.blank else binarizer.surface(gray, numbers)
        else:
            surface = None
            pictures["ink.png"] = ~binarizer(page.gray)
        meta |= {"choices": choices, "surface": surface is not None}
        if surface is not None:
            scaled = np.ceil(surface.astype(np.float64) * THRESHOLD_SCALE)
            pictures["threshold.png"] = np.clip(scaled, 0, 65535).astype(np.uint16)
            pictures["onset.png"] = onset(gray, surface, numbers)
            meta |= {"threshold_scale": THRESHOLD_SCALE, "strengths": STRENGTHS}
        if binarizer.model is not None and not choices:
            meta["left_out"] = f"attention: the page has more than {limits.max_explained} pixels"
        return Result(_zip(pictures, meta), "application/zip", PurePath(upload.name).stem + ".zip")


def onset(gray: Gray, surface: Surface, numbers: PageNumbers) -> npt.NDArray[np.uint8]:
    """For each pixel the first of `STRENGTHS` at which it is ink; len(STRENGTHS) where it never is.

    Ink grows with strength, so this one number tells the ink at every position of a slider, exactly as `strengthen`
    does. The first threshold that is above each gray level once strengthened is found by bisection over the floats.
    """
    strengths: Any = np.array(STRENGTHS)[:, None]
    low = np.zeros((len(STRENGTHS), 256), np.int32)  # the bits of positive floats are in the order of the floats
    high = np.full_like(low, np.float32(257).view(np.int32))
    while (high - low > 1).any():
        middle = low + (high - low) // 2
        tried = middle.view(np.float32)
        above = np.where(strengths == 0, tried, strengthen(tried, strengths, numbers)) > np.arange(256)
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    cuts = high.view(np.float32)  # ink where surface >= cut
    result = np.where(surface >= cuts[0][gray], 0, len(STRENGTHS)).astype(np.uint8)
    between = np.flatnonzero((result > 0) & (surface >= cuts[-1][gray]))  # the few pixels that the slider changes
    shade, height = gray.reshape(-1)[between], surface.reshape(-1)[between]
    first, last = np.zeros(len(between), np.intp), np.full(len(between), len(STRENGTHS) - 1)
    while len(between) and (last - first > 1).any():
        middle = (first + last) >> 1
        ink = height >= cuts[middle, shade]
        first, last = np.where(ink, first, middle), np.where(ink, middle, last)
    result.reshape(-1)[between] = last
    return result


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
    return tempfile.SpooledTemporaryFile(_IN_MEMORY)
