"""Malformed uploads: each is refused with a 4xx and a clear message, and the next good request is answered."""

from __future__ import annotations

import gzip
import io
import socket
import struct
import threading
import zipfile
import zlib
from dataclasses import replace

import numpy as np
import pikepdf
import pytest
from PIL import Image

from sauvolanet import synth
from sauvolanet.serve import Limits
from sauvolanet.serve.work import Result

from .conftest import until

LIMITS = Limits(queue=4, max_upload=2_000_000, max_pixels=50_000_000, max_pages=20)
IMPATIENT = replace(LIMITS, body_seconds=1.0, idle_seconds=1.0)  # for clients that are slow on purpose
GRAY = synth.page(5, kind="manuscript", height=150, width=200)[0]


def image(kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    Image.fromarray(GRAY).save(file, kind, **options)
    return file.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, *extra: bytes, rows: bytes = b"\0\0") -> bytes:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    body = b"".join(extra) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + header + body


def tiff(*entries: tuple[int, int, int, int], following: int = 0) -> bytes:
    packed = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    return b"II*\0" + struct.pack("<IH", 8, len(entries)) + packed + struct.pack("<I", following)


def endless_tiff() -> bytes:
    """A thousand directories, one after the other."""
    places = [8 + 6 * i for i in range(1000)]
    return b"II*\0" + struct.pack("<I", 8) + b"".join(struct.pack("<HI", 0, p + 6) for p in places)


def big_tiff(order: str, *following: int) -> bytes:
    """BigTIFF directories without entries, one after the other from byte 16, each with the place of the next."""
    start = b"II+\0" if order == "<" else b"MM\0+"
    chain = b"".join(struct.pack(f"{order}QQ", 0, place) for place in following)
    return start + struct.pack(f"{order}HHQ", 8, 0, 16) + chain


def encrypted_pdf() -> bytes:
    file = io.BytesIO()
    with pikepdf.new() as pdf:
        pdf.add_blank_page()
        pdf.save(file, encryption=pikepdf.Encryption(owner="a", user="b"))
    return file.getvalue()


def zip_bomb() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("page.png", bytes(5_000_000))
    return file.getvalue()


def pdf_page(side: int) -> bytes:
    file = io.BytesIO()
    with pikepdf.new() as pdf:
        pdf.add_blank_page(page_size=(side, side))
        pdf.save(file)
    return file.getvalue()


WIDE = [(256, 4, 1, 60_000), (257, 4, 1, 60_000), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 8),
        (277, 3, 1, 1), (278, 4, 1, 60_000), (279, 4, 1, 10)]  # fmt: skip
JPEG = image("JPEG")
SOF = JPEG.index(b"\xff\xc0") + 5

# the file's bytes -> the status they deserve
CONTENTS: dict[str, tuple[bytes, int]] = {
    **{f"png cut at {n}": (image("PNG")[:n], 422) for n in (8, 20, 60, 5_000, -500)},
    **{f"jpeg cut at {n}": (JPEG[:n], 422) for n in (10, 200, -500)},
    **{f"tiff cut at {n}": (image("TIFF", compression="tiff_deflate")[:n], 422) for n in (6, 9, 5_000)},
    **{
        f"{kind} cut in half": (image(kind)[: len(image(kind)) // 2], 422)
        for kind in ("BMP", "GIF", "WEBP", "PPM", "JPEG2000")
    },
    "pdf cut": (pdf_page(100)[:200], 422),
    "pdf header alone": (b"%PDF-1.7\n", 422),
    "encrypted pdf": (encrypted_pdf(), 422),
    "noise after the start of a png": (b"\x89PNG\r\n\x1a\n" + np.random.default_rng(1).bytes(5_000), 422),
    "png of no width": (png(0, 10), 422),
    "png with a text that inflates": (png(10, 10, chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(90_000_000)))), 422),
    "tiff whose pages form a ring": (tiff((256, 4, 1, 1), following=8), 422),
    **{f"big tiff {order} whose pages form a ring": (big_tiff(order, 32, 16), 422) for order in "<>"},
    "big tiff that goes on beyond every disk": (big_tiff("<", 2**64 - 1), 422),
    "empty": (b"", 422),
    "png of 60,000 × 60,000": (png(60_000, 60_000), 413),
    "png that inflates to 400 megapixels": (png(20_000, 20_000, rows=bytes(20_001 * 50)), 413),
    "tiff of 60,000 × 60,000": (tiff(*WIDE), 413),
    "bmp of 60,000 × 60,000": (image("BMP")[:18] + struct.pack("<ii", 60_000, 60_000) + image("BMP")[26:], 413),
    "pnm of 60,000 × 60,000": (b"P5 60000 60000 255\n" + bytes(100), 413),
    "gif of 65,535 × 65,535": (image("GIF")[:6] + b"\xff\xff\xff\xff" + image("GIF")[10:], 413),
    "jpeg of 65,000 × 65,000": (JPEG[:SOF] + struct.pack(">HH", 65_000, 65_000) + JPEG[SOF + 4 :], 413),
    "pdf page of 200 inches": (pdf_page(14_400), 413),
    "tiff of a thousand pages": (endless_tiff(), 413),
    **{f"big tiff {order} of a thousand pages": (big_tiff(order, *range(32, 16_032, 16)), 413) for order in "<>"},
    "too many bytes": (bytes(2_000_001), 413),
    "zip bomb": (zip_bomb(), 415),
    "gzip": (gzip.compress(image("PNG")), 415),
    "html": (b"<!doctype html><script>alert(1)</script>", 415),
    "svg": (b"<svg xmlns='http://www.w3.org/2000/svg'/>", 415),
    "postscript": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(/etc/passwd) run\n", 415),
    "program": (b"\x7fELF" + bytes(200), 415),
    "url": (b"http://127.0.0.1/page.png", 415),
}

GOOD = image("PNG")
PATHS = ("../../etc/passwd", "..\\..\\windows\\win.ini", "/etc/passwd", "C:page.png", "..", "a\x07b.png", "page.png:stream",
         "x" * 300 + ".png", "%00/page.png", "<img src=x onerror=alert(1)>.png")  # fmt: skip


def multipart(*parts: tuple[str, bytes], boundary: str = "frontier") -> bytes:
    """A body from (header of the part, content)."""
    body = b"".join(f"--{boundary}\r\n{head}\r\n\r\n".encode() + content + b"\r\n" for head, content in parts)
    return body + f"--{boundary}--\r\n".encode()


PART = 'Content-Disposition: form-data; name="file"; filename="page.png"'
FIELD = 'Content-Disposition: form-data; name="{}"'
FORM = "multipart/form-data; boundary=frontier"

# (content type, body, status) of requests that are wrong before the file is
REQUESTS: dict[str, tuple[str | None, bytes, int]] = {
    "no content type": (None, GOOD, 415),
    "bare png": ("image/png", GOOD, 415),
    "json": ("application/json", b'{"file": "http://example.com/page.png"}', 415),
    "urlencoded": ("application/x-www-form-urlencoded", b"file=page.png", 415),
    "no boundary": ("multipart/form-data", multipart((PART, GOOD)), 400),
    "other boundary": ("multipart/form-data; boundary=other", multipart((PART, GOOD)), 400),
    "no body": (FORM, b"", 400),
    "no parts": (FORM, b"--frontier--\r\n", 400),
    "body cut short": (FORM, multipart((PART, GOOD))[:-2000], 400),
    "file without a name": (FORM, multipart((FIELD.format("file"), GOOD)), 400),
    "part without a name": (FORM, multipart(("Content-Disposition: form-data", GOOD)), 400),
    "file in another field": (FORM, multipart((PART.replace('"file"', '"image"'), GOOD)), 400),
    "two files": (FORM, multipart((PART, GOOD), (PART, GOOD)), 400),
    "said to be html": (FORM, multipart((PART + "\r\nContent-Type: text/html", GOOD)), 415),
    "unknown field": (FORM, multipart((PART, GOOD), (FIELD.format("strenght"), b"0.5")), 400),
    "field twice": (FORM, multipart((PART, GOOD), (FIELD.format("page"), b"1"), (FIELD.format("page"), b"1")), 400),
    "unknown field beside a method": (FORM, multipart((PART, GOOD), (FIELD.format("method"), b"otsu"), (FIELD.format("enlarge"), b"4")), 400),
    "field with the name of an argument": (FORM, multipart((PART, GOOD), (FIELD.format("method"), b"otsu"), (FIELD.format("self"), b"1")), 400),
    "neither yes nor no": (FORM, multipart((PART, GOOD), (FIELD.format("keep_gray"), b"maybe")), 400),
    "nan": (FORM, multipart((PART, GOOD), (FIELD.format("strength"), b"nan")), 400),
    "model and method": (FORM, multipart((PART, GOOD), (FIELD.format("model"), b"original"), (FIELD.format("method"), b"otsu")), 400),
    "a hundred fields": (FORM, multipart((PART, GOOD), *((FIELD.format(f"f{i}"), b"1") for i in range(100))), 400),
    "a field of a megabyte": (FORM, multipart((PART, GOOD), (FIELD.format("method"), bytes(1_000_000))), 400),
    "not text": (FORM, multipart((PART, GOOD), (FIELD.format("method"), b"\xff\xfe\x00")), 400),
}  # fmt: skip


@pytest.fixture(scope="module")
def guarded(start):
    return start(limits=LIMITS)


@pytest.fixture(scope="module")
def impatient(start):
    return start(limits=IMPATIENT)


def check(service, answer, status: int) -> None:
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert error["code"] and error["message"] and "\n" not in error["message"]
    assert "Traceback" not in answer.text and "/tmp" not in answer.text
    assert service.post("/v1/binarize", GOOD, method="otsu").status_code == 200


def test_there_are_fifty():
    assert len(CONTENTS) + len(PATHS) + len(REQUESTS) >= 50


@pytest.mark.parametrize("name", CONTENTS)
def test_malformed_file(guarded, name):
    content, status = CONTENTS[name]
    check(guarded, guarded.post("/v1/binarize", content), status)


@pytest.mark.parametrize("name", PATHS)
def test_path_tricks_in_the_file_s_name(guarded, name):
    quoted = name.replace("\\", "\\\\").replace('"', "%22")
    body = multipart((f'Content-Disposition: form-data; name="file"; filename="{quoted}"', GOOD))
    check(guarded, guarded.client.post("/v1/binarize", content=body, headers={"Content-Type": FORM}), 400)


@pytest.mark.parametrize("name", REQUESTS)
def test_malformed_request(guarded, name):
    kind, body, status = REQUESTS[name]
    headers = {"Content-Type": kind} if kind else {}
    check(guarded, guarded.client.post("/v1/binarize", content=body, headers=headers), status)


def test_compressed_body(guarded):
    body = gzip.compress(multipart((PART, GOOD)))
    headers = {"Content-Type": FORM, "Content-Encoding": "gzip"}
    check(guarded, guarded.client.post("/v1/binarize", content=body, headers=headers), 415)


def test_endless_chunked_body(guarded):
    def chunks():
        yield multipart((PART, GOOD))[:-20]
        for _ in range(40):
            yield bytes(100_000)

    check(guarded, guarded.client.post("/v1/binarize", content=chunks(), headers={"Content-Type": FORM}), 413)


def test_wrong_verb(guarded):
    check(guarded, guarded.client.get("/v1/binarize"), 405)


def connect(service) -> socket.socket:
    return socket.create_connection(("127.0.0.1", service.port), timeout=60)


def head(path: str, length: int) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM}\r\nContent-Length: {length}\r\n\r\n".encode()
    )


def test_slow_body(impatient):
    with connect(impatient) as line:
        line.sendall(head("/v1/binarize", 5000) + b"--frontier\r\n")
        answer = b"".join(iter(lambda: line.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 408 ") and b'"slow_body"' in answer
    assert impatient.post("/v1/binarize", GOOD, method="otsu").status_code == 200


@pytest.mark.parametrize("sent", [b"", b"POST /v1/binarize HTTP/1.1\r\nHo"])
def test_slow_head_is_hung_up_on(impatient, sent):
    with connect(impatient) as line:
        line.sendall(sent)
        assert line.recv(100) == b""


class Large(io.BytesIO):
    """A result that is larger than what the system holds for a connection, and tells when it is freed."""

    def __init__(self) -> None:
        super().__init__(bytes(30_000_000))
        self.freed = threading.Event()

    def close(self) -> None:
        super().close()
        self.freed.set()


def test_client_that_takes_no_answer_is_hung_up_on(start, caplog, monkeypatch):
    large = Large()
    monkeypatch.setattr("sauvolanet.serve.app.binarize_upload", lambda *_: Result(large, "image/png", "page.png"))
    service = start(limits=IMPATIENT)
    with connect(service) as line:
        body = multipart((PART, GOOD))
        line.sendall(head("/v1/binarize", len(body)) + body)
        assert line.recv(15) == b"HTTP/1.1 200 OK"
        assert large.freed.wait(60)  # it comes after the connection's end, in the service's own time
        rest = sum(map(len, iter(lambda: line.recv(1 << 20), b"")))
    assert rest < 30_000_000  # what the system held, then the end
    assert service.taken() == 0
    assert [r for r in caplog.records if r.name.startswith("uvicorn")] == []


def test_client_that_hangs_up_leaves_nothing_behind(guarded):
    body, before = multipart((PART, GOOD)), len(guarded.log)
    for sent in (100, 8_000):
        with connect(guarded) as line:
            line.sendall(head("/v1/explain", len(body)) + body[:sent])
    until(lambda: sum(" POST /v1/explain " in line for line in guarded.log[before:]) == 2)  # both came, and ended
    assert guarded.taken() == 0
