"""Requests that are wrong before a page is looked at."""

from __future__ import annotations

import socket
import tomllib
from pathlib import Path

import pytest

from . import making

pytest.importorskip("httpx")
pytest.importorskip("uvicorn")

TOKEN = "a long secret"


@pytest.fixture(scope="module")
def guarded(start):
    return start(token=TOKEN)


@pytest.fixture(scope="module")
def open_to_all(start):
    return start()


@pytest.mark.parametrize("given", [TOKEN, f"Basic {TOKEN}", f"Bearer{TOKEN}", f"Token {TOKEN}", "Bearer", ""])
def test_the_token_needs_its_scheme(guarded, given):
    answer = guarded.client.get("/v1/methods", headers={"Authorization": given})
    assert answer.status_code == 401 and answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_has_no_case(guarded, scheme):
    assert guarded.client.get("/v1/methods", headers={"Authorization": f"{scheme} {TOKEN}"}).status_code == 200


@pytest.mark.parametrize(("method", "path", "allowed"), [
    ("GET", "/v1/binarize", {"POST"}), ("DELETE", "/v1/explain", {"POST"}), ("OPTIONS", "/v1/binarize", {"POST"}),
    ("HEAD", "/v1/explain", {"POST"}), ("BREW", "/v1/explain", {"POST"}), ("OPTIONS", "/v1/methods", {"GET", "HEAD"}),
    ("POST", "/v1/methods", {"GET", "HEAD"}),
    ("PUT", "/healthz", {"GET", "HEAD"}), ("POST", "/", {"GET", "HEAD"}), ("DELETE", "/app.js", {"GET", "HEAD"}),
])  # fmt: skip
def test_not_allowed_says_what_is(open_to_all, method, path, allowed):
    answer = open_to_all.client.request(method, path)
    assert answer.status_code == 405 and set(answer.headers["Allow"].split(", ")) == allowed


@pytest.mark.parametrize("headers", [{f"a{i}": "b" for i in range(10_000)}, {"a": "b" * 40_000}], ids=["many", "long"])
def test_headers_are_bounded(open_to_all, headers):
    with socket.create_connection(("127.0.0.1", open_to_all.port), timeout=60) as line:
        head = "".join(f"{name}:{value}\r\n" for name, value in headers.items())
        try:
            line.sendall(f"GET /healthz HTTP/1.1\r\nHost: localhost\r\n{head}\r\n".encode())
            answer = line.recv(4096)
        except ConnectionError:  # it may hang up while we are still sending
            answer = b""
    assert answer[:12] in (b"HTTP/1.1 431", b"HTTP/1.1 400", b"")
    assert open_to_all.client.get("/healthz").status_code == 200


def test_two_hundred_headers_are_too_many(open_to_all):
    answer = open_to_all.client.get("/healthz", headers={f"a{i}": "b" for i in range(200)})
    assert answer.status_code == 431 and answer.json()["error"]["code"] == "headers"


@pytest.mark.parametrize(
    "path", ["/%00", "/examples/%00.png", "/v1/%00", "/%00/app.js", "/%ff", "/..%2f..%2fetc%2fpasswd"]
)
def test_odd_paths_are_not_there(open_to_all, path):
    assert open_to_all.client.get(path).status_code == 404


def test_a_part_header_without_end_is_refused_at_once(open_to_all):
    body = b"--frontier\r\nContent-Disposition: form-data; " + b"a" * 1_000_000
    answer = open_to_all.client.post(
        "/v1/binarize", content=body, headers={"Content-Type": "multipart/form-data; boundary=frontier"}
    )
    assert answer.status_code == 400


@pytest.mark.parametrize("fields", [
    {"strength": ""}, {"page": ""}, {"invert": ""}, {"format": ""}, {"keep_gray": ""}, {"model": ""}, {"method": ""},
    {"method": "nick", "window": ""}, {"method": "sauvola", "preset": ""},
], ids=lambda fields: list(fields)[-1])  # fmt: skip
def test_an_empty_value_is_a_wrong_value(open_to_all, fields):
    answer = open_to_all.post("/v1/binarize", making.image(), **fields)
    assert answer.status_code == 400 and list(fields)[-1] in answer.json()["error"]["message"]


@pytest.mark.parametrize("path", ["/v1/binarize", "/v1/explain"])
@pytest.mark.parametrize("query", ["strength=0.3", "job=abcdefgh&window=25", "window", "method=", "=1", "a%0Ab=1"])
def test_options_in_the_address_are_refused(open_to_all, path, query):
    answer = open_to_all.post(f"{path}?{query}", making.image(), method="otsu")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "usage")
    assert error["message"].endswith("options are fields of the form") and "\n" not in error["message"]


def test_a_job_has_one_name(open_to_all):
    answer = open_to_all.post("/v1/binarize?job=abcdefgh&job=ijklmnop", making.image(), method="otsu")
    assert answer.status_code == 400 and "twice" in answer.json()["error"]["message"]


@pytest.mark.parametrize("path", [
    "/", "/app.js", "/healthz", "/openapi.json", "/examples/letter.png", "/v1/methods", "/v1/progress/abcdefgh",
])  # fmt: skip
def test_other_addresses_take_no_parameter(open_to_all, path):
    assert open_to_all.client.get(path).status_code == 200
    for query in ("job=abcdefgh", "strength=0.3"):
        answer = open_to_all.client.get(f"{path}?{query}")
        assert answer.status_code == 400 and query.split("=")[0] in answer.json()["error"]["message"]


def test_lower_bounds_are_of_versions_that_hold():
    settings = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    bounds = dict(line.split(">=") for line in settings["project"]["optional-dependencies"]["serve"])

    def numbers(name: str) -> list[int]:
        return [int(part) for part in bounds[name].split(".")]

    assert numbers("python-multipart") >= [0, 0, 27] and numbers("starlette") >= [1, 0]


def test_the_description_tells_what_a_flag_takes(open_to_all):
    form = open_to_all.client.get("/openapi.json").json()["paths"]["/v1/binarize"]["post"]["requestBody"]["content"]
    flag = form["multipart/form-data"]["schema"]["properties"]["keep_gray"]
    assert flag["type"] == "string"
    for value in flag["enum"]:
        answer = open_to_all.post("/v1/binarize", making.image(), method="otsu", keep_gray=value)
        assert answer.status_code == 200
    for value in ("2", "{}", "null", "y", "0.0"):
        answer = open_to_all.post("/v1/binarize", making.image(), method="otsu", keep_gray=value)
        assert answer.status_code == 400
