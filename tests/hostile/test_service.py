"""A service that nobody can wedge: hostile uploads, and the next good page."""

from __future__ import annotations

import io
import os
import random
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sauvolanet.serve import Limits

from . import making

httpx = pytest.importorskip("httpx")
pytest.importorskip("uvicorn")

GOOD = making.image()
HOSTILE = {
    "forms in forms": making.pdf_of_forms(8),
    "operators": making.pdf_of_operators(260),
    "filters": making.pdf_image(making.deflated(900), "/FlateDecode"),
    "two filters": making.pdf_image(making.hex_of_deflated(900), "[/ASCIIHexDecode/FlateDecode]"),
    "postscript": making.pdf_image(making.POSTSCRIPT, "/DCTDecode"),
    "endless postscript": making.pdf_image(making.ENDLESS_POSTSCRIPT, "/JPXDecode"),
    "png of 60,000 × 60,000": making.png_bomb(60_000),
    "tiff without end": making.tiff_chain(5_000),
    "half a jpeg": making.image("JPEG")[:400],
    "nothing": b"",
}


def send(url: str, data: bytes, **fields: str) -> httpx.Response:
    return httpx.post(
        f"{url}/v1/binarize", files={"file": ("page.png", data)}, data={"method": "otsu", **fields}, timeout=300
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", HOSTILE)
def test_each_is_refused_and_the_next_page_is_good(start, kind):
    service = start(limits=Limits(workers=1, queue=4, page_seconds=6))
    answer = send(service.url, HOSTILE[kind])
    assert answer.status_code in (413, 422), answer.text
    assert "\n" not in answer.json()["error"]["message"]
    assert send(service.url, GOOD).status_code == 200


@pytest.mark.slow
def test_a_thread_is_free_again_when_its_time_is_over(start):
    service = start(limits=Limits(workers=1, queue=4, work_seconds=1, page_seconds=600))
    for _ in range(2):
        assert send(service.url, HOSTILE["forms in forms"]).status_code == 504
    for _ in range(600):
        if service.taken() == 0:
            break
        time.sleep(0.1)
    assert httpx.get(f"{service.url}/healthz").json() == {"status": "ok", "taken": 0}


def test_health_tells_when_no_worker_is_left(start, monkeypatch):
    import threading

    release = threading.Event()
    monkeypatch.setattr("sauvolanet.serve.app.binarize_upload", lambda *_: release.wait(120) and 1 / 0)
    service = start(limits=Limits(workers=1, queue=4, work_seconds=0.2))
    assert send(service.url, GOOD).status_code == 504
    answer = httpx.get(f"{service.url}/healthz")
    assert (answer.status_code, answer.json()["status"]) == (503, "stuck")
    release.set()
    for _ in range(600):
        if httpx.get(f"{service.url}/healthz").status_code == 200:
            break
        time.sleep(0.1)
    assert httpx.get(f"{service.url}/healthz").json() == {"status": "ok", "taken": 0}


class Program:
    """The service as people start it."""

    def __init__(self, *options: str) -> None:
        command = [sys.executable, "-m", "sauvolanet", "serve", "--port", "0", *options]
        # a shell starts its background jobs with SIGINT ignored, and a test run may be one
        heard = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heard)
        assert self.process.stderr is not None
        self.url = re.search(r"http://\S+", self.process.stderr.readline())[0].rstrip("/")
        self.reader = ThreadPoolExecutor(1)
        self.log = self.reader.submit(self.process.stderr.read)

    def memory(self) -> int:
        """Resident bytes of the service itself; how many decoders it has just then, and how full, is chance."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def end(self) -> float:
        """Seconds from SIGTERM to the end."""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) is not None
        return time.monotonic() - begin


def page_of(side: int) -> bytes:
    gray = np.full((side, side), 220, np.uint8)
    gray[::40, 30:-30] = 30
    file = io.BytesIO()
    Image.fromarray(gray).save(file, "PNG")
    return file.getvalue()


@pytest.mark.slow
def test_a_hundred_hostile_uploads_from_eight_clients(pytestconfig):
    """Then the next good page is answered, memory is what it was, and SIGTERM ends it."""
    program = Program("--workers", "2", "--queue", "200", "--page-seconds", "5")
    try:
        good = page_of(1000)
        for _ in range(4):  # kernels, children, buffers
            assert send(program.url, good).status_code == 200
        with ThreadPoolExecutor(8) as clients:  # until both workers have a child of their own
            list(clients.map(lambda _: send(program.url, good), range(40)))
        before = program.memory()
        begin = time.monotonic()
        assert send(program.url, good).status_code == 200
        usual = time.monotonic() - begin
        kinds = random.Random(25).choices(list(HOSTILE), k=100)
        with ThreadPoolExecutor(8) as clients:
            answers = list(clients.map(lambda kind: send(program.url, HOSTILE[kind]), kinds))
        assert {answer.status_code for answer in answers} <= {413, 422}
        begin = time.monotonic()
        assert send(program.url, good).status_code == 200
        after = time.monotonic() - begin
        assert httpx.get(f"{program.url}/healthz").json() == {"status": "ok", "taken": 0}
        memory = program.memory()
        print(
            f"good page {usual:.2f} s before, {after:.2f} s after; memory {before / 1e6:.0f} MB, {memory / 1e6:.0f} MB"
        )
        assert memory < 1.2 * before
        with ThreadPoolExecutor(2) as clients:  # the worst of them under way
            waiting = [clients.submit(send, program.url, HOSTILE["forms in forms"]) for _ in range(2)]
            for _ in range(600):
                if httpx.get(f"{program.url}/healthz").json()["taken"] == 2:
                    break
                time.sleep(0.02)
            else:
                pytest.fail("the two were never under way together")
            seconds = program.end()
            print(f"SIGTERM: {seconds:.1f} s")
            for one in waiting:
                one.exception()
        assert seconds < 10  # docs/security.md
        assert "Traceback" not in program.log.result()
    finally:
        program.process.kill()
        program.process.wait()
        program.reader.shutdown()
        program.process.stderr.close()


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_it_ends_while_it_is_getting_ready(sent):
    """Right after the start a worker gets ready; nobody waits for it."""
    program = Program()
    try:
        program.process.send_signal(sent)
        assert program.process.wait(60) is not None
        assert "Traceback" not in program.log.result()
    finally:
        program.process.kill()
        program.process.wait()
        program.reader.shutdown()
        program.process.stderr.close()
