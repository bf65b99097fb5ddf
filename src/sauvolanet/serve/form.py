"""A multipart form, parsed as its bytes come: small fields in memory, one file in a temporary file."""

from __future__ import annotations

import tempfile
from typing import IO

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from .refusal import Refusal

_FIELDS = 64  # more than any method has options
_FIELD_BYTES = 10_000
_IN_MEMORY = 8_000_000  # larger files wait in a temporary file on the disk, which has no name


class Form:
    """`write` the body's bytes, then `finish`; whatever is wrong is a Refusal. `close` frees the file."""

    def __init__(self, content_type: str) -> None:
        kind, options = parse_options_header(content_type)
        if kind != b"multipart/form-data":
            raise Refusal(415, "send the page as multipart/form-data, in the field 'file'")
        self.fields: dict[str, str] = {}
        self.file: IO[bytes] | None = None
        self.file_name = self.file_type = ""
        self._in_file = self._ended = False
        self._header = self._value = b""
        self._headers: dict[bytes, bytes] = {}
        self._name, self._data = "", bytearray()
        try:
            self._parser = MultipartParser(options[b"boundary"], {
                "on_part_begin": self._begin, "on_header_field": self._header_name, "on_header_value": self._header_value,
                "on_header_end": self._header_end, "on_headers_finished": self._headers_end,
                "on_part_data": self._part, "on_part_end": self._part_end, "on_end": self._end,
            })  # fmt: skip
        except (KeyError, FormParserError):
            raise Refusal(400, "the content type names no boundary, or one that cannot be used") from None

    def write(self, data: bytes) -> None:
        try:
            self._parser.write(data)
        except FormParserError:
            raise Refusal(400, "the multipart body is malformed") from None

    def finish(self) -> IO[bytes]:
        """The file, at its beginning."""
        if not self._ended:
            raise Refusal(400, "the multipart body is empty or cut short")
        if self.file is None:
            raise Refusal(400, "no page: the field 'file' is missing")
        self.file.seek(0)
        return self.file

    def close(self) -> None:
        if self.file is not None:
            self.file.close()

    def _begin(self) -> None:
        self._headers, self._data, self._in_file = {}, bytearray(), False

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        self._headers[self._header.lower()] = self._value
        self._header = self._value = b""

    def _headers_end(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        self._name = options.get(b"name", b"").decode("utf-8", "replace")
        if b"filename" not in options:
            if self._name == "file":
                raise Refusal(400, "the field 'file' must be a file, with a file name")
            if not self._name.isprintable() or not self._name or len(self._name) > 100:
                raise Refusal(400, "a part of the form has no name, or one that cannot be used")
            if self._name in self.fields:
                raise Refusal(400, f"the field '{self._name}' is there twice")
            if len(self.fields) == _FIELDS:
                raise Refusal(400, f"the form has more than {_FIELDS} fields")
            return
        if self._name != "file":
            raise Refusal(400, "the page belongs into the field 'file'")
        if self.file is not None:
            raise Refusal(400, "send one file at a time")
        self.file_name = options[b"filename"].decode("utf-8", "replace")
        self.file_type = self._headers.get(b"content-type", b"").decode("latin-1").split(";")[0].strip().lower()
        self.file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115
        self._in_file = True

    def _part(self, data: bytes, start: int, end: int) -> None:
        if self._in_file and self.file is not None:
            self.file.write(data[start:end])
            return
        self._data += data[start:end]
        if len(self._data) > _FIELD_BYTES:
            raise Refusal(400, f"the field '{self._name}' is longer than {_FIELD_BYTES} bytes")

    def _part_end(self) -> None:
        if not self._in_file:
            self.fields[self._name] = self._data.decode("utf-8", "replace")

    def _end(self) -> None:
        self._ended = True
