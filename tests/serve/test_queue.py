"""Load, patience and the end: what the service does with more work than it can do, and when it is stopped."""

from __future__ import annotations

import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

import pytest
from starlette.datastructures import Headers

from sauvolanet import binarize
from sauvolanet.cli import main
from sauvolanet.serve import Limits, work
from sauvolanet.serve.refusal import Refusal

from .conftest import until


@pytest.fixture
def gate(monkeypatch):
    """Workers wait at this gate until the test opens it; `gate.entered` counts those who came."""
    opened = threading.Event()
    opened.entered, counting = 0, threading.Lock()
    original = work.Binarizer.run

    def wait(self, image, **how):
        with counting:
            opened.entered += 1
        assert opened.wait(120)
        return original(self, image, **how)

    monkeypatch.setattr(work.Binarizer, "run", wait)
    yield opened
    opened.set()


@pytest.mark.slow
def test_past_the_bound_clients_are_told_to_come_back(start, png, gray, decode, gate):
    service = start(limits=Limits(workers=2, queue=3))
    with ThreadPoolExecutor(5) as clients:
        taken = [clients.submit(service.post, "/v1/binarize", png, method="otsu") for _ in range(5)]
        until(lambda: service.taken() == 5 and gate.entered == 2)
        for _ in range(20):
            answer = service.post("/v1/binarize", png, method="otsu")
            assert answer.status_code == 503 and answer.json()["error"]["code"] == "busy"
            assert int(answer.headers["retry-after"]) >= 1
        assert gate.entered == 2
        gate.set()
        for request in taken:
            assert (decode(request.result().content) == binarize(gray, method="otsu")).all()
    until(lambda: service.taken() == 0)
    assert service.post("/v1/binarize", png, method="otsu").status_code == 200


def test_eight_clients_at_once_get_their_own_pages(start, gray, encode, decode):
    service = start(limits=Limits(queue=8))
    pages = [gray[:, i:].copy() for i in range(8)]

    def client(i: int) -> bool:
        answers = [service.post("/v1/binarize", encode(pages[i]), method="sauvola") for _ in range(4)]
        return all((decode(a.content) == binarize(pages[i], method="sauvola")).all() for a in answers)

    with ThreadPoolExecutor(8) as clients:
        assert all(clients.map(client, range(8)))


@pytest.mark.slow
def test_work_that_takes_too_long_is_given_up_and_keeps_its_place(start, png, gate):
    service = start(limits=Limits(workers=1, queue=0, work_seconds=2.0))
    answer = service.post("/v1/binarize", png, method="otsu")
    assert answer.status_code == 504 and answer.json()["error"]["code"] == "timeout"
    assert service.post("/v1/binarize", png, method="otsu").status_code == 503  # the thread is still at it
    gate.set()
    until(lambda: service.taken() == 0)
    assert service.post("/v1/binarize", png, method="otsu").status_code == 200


def test_a_client_that_hangs_up_frees_its_place_in_the_queue(start, png, gate):
    service = start(limits=Limits(workers=1, queue=1))
    leaving = service.client.build_request(
        "POST", "/v1/binarize", files={"file": ("a.png", png)}, data={"method": "otsu"}
    )
    head = "".join(f"{name}: {value}\r\n" for name, value in leaving.headers.items())
    with ThreadPoolExecutor(1) as clients:
        first = clients.submit(service.post, "/v1/binarize", png, method="otsu")
        until(lambda: gate.entered == 1)
        with socket.create_connection(("127.0.0.1", service.port), timeout=60) as line:
            line.sendall(f"POST /v1/binarize HTTP/1.1\r\n{head}\r\n".encode() + leaving.read())
            until(lambda: service.taken() == 2)
        until(lambda: service.taken() == 1)
        gate.set()
        assert first.result().status_code == 200
    assert gate.entered == 1  # nobody worked for the one who left


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=60).close()
    except ConnectionError:
        return False
    return True


def test_shutdown_finishes_what_is_under_way(start, png, gray, decode, gate):
    service = start(limits=Limits(workers=1, queue=2))
    with ThreadPoolExecutor(2) as clients:
        requests = [clients.submit(service.post, "/v1/binarize", png, method="otsu") for _ in range(2)]
        until(lambda: service.taken() == 2)
        service.server.should_exit = True
        until(lambda: not listens(service.port))
        gate.set()
        for request in requests:
            assert (decode(request.result().content) == binarize(gray, method="otsu")).all()
    service.thread.join(120)
    assert not service.thread.is_alive()


def test_progress_of_a_job(start, png, gate):
    service = start(limits=Limits(workers=1, queue=2))
    assert service.client.get("/v1/progress/some-job-name").json()["state"] == "none"
    with ThreadPoolExecutor(1) as clients:
        request = clients.submit(service.post, "/v1/binarize?job=some-job-name", png, method="otsu")
        until(lambda: gate.entered == 1)
        told = service.client.get("/v1/progress/some-job-name").json()
        assert (told["state"], told["page"], told["pages"]) == ("working", 1, 1)
        assert service.post("/v1/binarize?job=some-job-name", png).status_code == 400
        gate.set()
        assert request.result().status_code == 200
    assert service.client.get("/v1/progress/some-job-name").json()["state"] == "none"  # nothing is kept
    assert service.post("/v1/binarize?job=a/b", png).status_code == 400


def test_results_larger_than_memory_allows_are_streamed_from_a_temporary_file(service, gray, png, decode, monkeypatch):
    monkeypatch.setattr(work, "IN_MEMORY", 10)
    answer = service.post("/v1/binarize", png, method="otsu")
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert (decode(answer.content) == binarize(gray, method="otsu")).all()


def test_command_line_refuses_an_open_door(capsys):
    assert main(["serve", "--host", "0.0.0.0"]) == 2
    assert "--token" in capsys.readouterr().err
    assert main(["serve", "--token", "short"]) == 2
    assert main(["serve", "--queue", "many"]) == 2
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    text = capsys.readouterr().out
    assert "--max-upload" in text and str(Limits().max_upload) in text


@pytest.mark.parametrize("token", [None, "a-long-secret", "a%41#&?/long"])
def test_open_shows_the_page_in_the_browser(monkeypatch, capsys, token):
    from sauvolanet.serve import server

    shown = []
    monkeypatch.setattr(server.webbrowser, "open", shown.append)
    monkeypatch.setattr(server.uvicorn.Server, "run", lambda self, sockets: sockets[0].close())
    assert main(["serve", "--open", "--port", "0", *(["--token", token] if token else [])]) == 0
    (address,) = shown
    page, _, fragment = address.partition("#")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", page) and page in capsys.readouterr().err
    assert unquote(fragment) == (f"token={token}" if token else "")


def test_the_service_answers_to_the_address_it_was_given(monkeypatch):
    from sauvolanet.serve import server

    served = []
    monkeypatch.setattr(
        server.uvicorn.Server, "run", lambda self, sockets: (served.append(self.config.app), sockets[0].close())
    )
    assert main(["serve", "--host", "127.0.0.2", "--port", "0"]) == 0
    (app,) = served
    app.check("/", Headers({"host": "127.0.0.2:8765"}))
    with pytest.raises(Refusal):
        app.check("/", Headers({"host": "127.0.0.3:8765"}))
