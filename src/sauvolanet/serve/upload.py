"""The body of a request, read as it comes with a limit on bytes and on time; checked before any decoder sees it."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from dataclasses import dataclass
from typing import IO

from starlette.requests import Request
from starlette.types import Message

from ..files.decode import START, kind_of
from .form import Form
from .limits import Limits
from .refusal import Refusal

_DRAIN_SECONDS = 2.0
_MEDIA = ("image/", "application/pdf", "application/octet-stream")


@dataclass
class Upload:
    """What the client sent: the file (temporary, gone after `close`), its plain name, and the other fields."""

    file: IO[bytes]
    name: str
    fields: dict[str, str]

    def close(self) -> None:
        self.file.close()

    def __del__(self) -> None:
        self.close()  # where it was made for a client, or a service, that is gone: nobody else can close it


class Body:
    """The body of a request, and whether all of it has come."""

    def __init__(self, request: Request) -> None:
        self.ended = False
        self.request = Request(request.scope, self._receive)
        self._source = request.receive

    async def _receive(self) -> Message:
        message = await self._source()
        self.ended |= message["type"] != "http.request" or not message.get("more_body", False)
        return message

    async def read(self, limits: Limits) -> Upload:
        """Read all of it, or raise the Refusal that says what is wrong with it."""
        headers = self.request.headers
        form = Form(headers.get("content-type", ""))
        try:
            if headers.get("content-encoding", "identity") != "identity":
                raise Refusal(415, "a compressed request body is not accepted")
            length = headers.get("content-length", "0")
            if length.isdigit() and int(length) > limits.max_upload:
                raise _too_many_bytes(limits)
            async with asyncio.timeout(limits.body_seconds):
                total = 0
                async for chunk in self.request.stream():
                    total += len(chunk)
                    if total > limits.max_upload:
                        raise _too_many_bytes(limits)
                    form.write(chunk)
            return _checked(form, limits)
        except TimeoutError:
            form.close()
            late = f"the upload took longer than {limits.body_seconds:g} seconds"
            raise Refusal(408, late, Connection="close") from None
        except BaseException:
            form.close()
            raise

    async def drain(self, limits: Limits) -> None:
        """Read on for a moment after a refusal: a client that is still sending would not see the answer."""
        left = limits.max_upload
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_SECONDS):
                while left > 0 and not self.ended:
                    left -= len((await self._receive()).get("body", b""))

    async def disconnected(self) -> None:
        """Ends when the client has hung up; to be called when the body has come."""
        while (await self._source())["type"] != "http.disconnect":
            pass


def _too_many_bytes(limits: Limits) -> Refusal:
    return Refusal(413, f"the upload has more than {limits.max_upload} bytes")


def _checked(form: Form, limits: Limits) -> Upload:
    file, name = form.finish(), form.file_name
    if name in ("", ".", "..") or len(name) > 255 or any(c in '/\\:*?"<>|' or not c.isprintable() for c in name):
        raise Refusal(400, "the file's name must be a plain name, without folders or control characters")
    if not (form.file_type or "application/octet-stream").startswith(_MEDIA):
        raise Refusal(415, f"{name} is said to be of another type; images and PDF are accepted")
    _check_start(file, name, limits)
    return Upload(file, name, form.fields)


def _check_start(file: IO[bytes], name: str, limits: Limits) -> None:
    """Look at the first bytes: only kinds that we read go further, and no TIFF with an endless chain of pages."""
    start = file.read(START)
    if not start:
        raise Refusal(422, f"{name} is empty")
    kind = kind_of(start)
    if kind is None:
        raise Refusal(
            415, f"{name} is not an image or PDF; PNG, JPEG, TIFF, JPEG 2000, WebP, BMP, PNM, GIF and PDF are read"
        )
    if kind == "tiff":
        order = "<" if start[:2] == b"II" else ">"
        big = b"+" in start[2:4]
        offset, number, entry = ("Q", "Q", 20) if big else ("I", "H", 12)
        wide, counted = struct.calcsize(offset), struct.calcsize(number)
        at, seen = start[8:16] if big else start[4:8], set()
        while len(at) == wide and (place := struct.unpack(order + offset, at)[0]):
            if place in seen:
                raise Refusal(422, f"{name} is damaged: its pages form a ring")
            seen.add(place)
            if len(seen) > 4 * limits.max_pages:  # reduced copies of pages are no pages
                raise Refusal(413, f"{name} has more than {limits.max_pages} pages")
            file.seek(min(place, limits.max_upload))  # no file goes on there, and no file system knows 2^64
            count = file.read(counted)
            if len(count) < counted:
                break  # the decoder says what is missing
            further = place + counted + entry * struct.unpack(order + number, count)[0]
            file.seek(min(further, limits.max_upload))
            at = file.read(wide)
    file.seek(0)
