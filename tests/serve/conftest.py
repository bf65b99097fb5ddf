"""A real service in a thread of the test process, and pages to send to it."""

from __future__ import annotations

import io
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sauvolanet import synth
from sauvolanet.core.arrays import Gray

httpx = pytest.importorskip("httpx")
uvicorn = pytest.importorskip("uvicorn")


def until(condition: Callable[[], Any], seconds: float = 120) -> Any:
    """What the condition gives as soon as it is true; the time is long because a busy machine may take it."""
    end = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return result


class Service:
    """A running service: its address, its log, and a way to stop it as Ctrl-C does."""

    def __init__(self, **options: Any) -> None:
        from sauvolanet.serve import Limits, create_app
        from sauvolanet.serve.server import patient_for

        self.log: list[str] = []
        limits = options.pop("limits", Limits(queue=4))
        listening = socket.create_server(("127.0.0.1", 0))
        self.port = listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        app = create_app(limits, log=self.log.append, **options)
        config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False, lifespan="on", ws="none",
                                http=patient_for(limits.idle_seconds), timeout_graceful_shutdown=20)  # fmt: skip
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [listening]})
        self.thread.start()
        until(lambda: self.server.started)
        self.client = httpx.Client(base_url=self.url, timeout=60)

    def post(self, path: str, data: bytes, name: str = "page.png", /, **fields: Any) -> httpx.Response:
        return self.client.post(path, files={"file": (name, data)}, data=fields)

    def taken(self) -> int:
        """The requests that are under way."""
        return int(self.client.get("/healthz").json()["taken"])

    def stop(self) -> None:
        self.client.close()
        self.server.should_exit = True
        self.thread.join(120)
        assert not self.thread.is_alive()


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    running = Service()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def start() -> Iterator[Callable[..., Service]]:
    """Starts a service with limits of its own; it is stopped when the module's tests have ended."""
    running: list[Service] = []

    def begin(**options: Any) -> Service:
        running.append(Service(**options))
        return running[-1]

    yield begin
    for one in running:
        one.stop()


@pytest.fixture(scope="session")
def gray() -> Gray:
    return synth.page(5, kind="manuscript", height=150, width=200)[0]


def _encode(gray: Gray, kind: str = "PNG", **options: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(gray).save(file, kind, **options)
    return file.getvalue()


@pytest.fixture(scope="session")
def encode() -> Callable[..., bytes]:
    """encode(gray, kind="PNG", **options) gives the bytes of an image file."""
    return _encode


@pytest.fixture(scope="session")
def decode() -> Callable[[bytes], Any]:
    """decode(bytes) gives the ink (True = ink) of a 1-bit PNG or TIFF."""
    return lambda data: ~np.asarray(Image.open(io.BytesIO(data)).convert("1"))


@pytest.fixture(scope="session")
def png(gray: Gray) -> bytes:
    return _encode(gray, dpi=(300, 300))
