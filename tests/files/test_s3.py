"""The S3 protocol: against a real server, and against one that refuses."""

from __future__ import annotations

import http.server
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from sauvolanet.cli import main
from sauvolanet.errors import OutputError
from sauvolanet.files import plan_batch, run_shard

from .conftest import local_results

Run = Callable[..., list[dict[str, Any]]]
Statuses = Callable[[list[dict[str, Any]]], list[str]]

pytest.importorskip("fsspec")


MOTO = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """A moto server on loopback, and a bucket in it."""
    pytest.importorskip("moto.server", exc_type=ImportError)
    s3fs = pytest.importorskip("s3fs")
    log = (tmp_path / "moto.log").open("wb")
    server = subprocess.Popen([sys.executable, "-c", MOTO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
    assert server.stdin is not None and server.stdout is not None
    port = server.stdout.readline().strip().decode()  # it listens by now
    assert port, (tmp_path / "moto.log").read_text()
    url = f"http://127.0.0.1:{port}"
    for name, value in {"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
                        "AWS_DEFAULT_REGION": "us-east-1"}.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    try:
        fs = s3fs.S3FileSystem(skip_instance_cache=True)
        fs.mkdir("bucket")
        yield fs
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        server.kill()
        server.communicate()
        log.close()


class Bucket(http.server.BaseHTTPRequestHandler):
    """An empty S3 bucket that refuses everything, or with ``readable`` only what is written into it."""

    protocol_version = "HTTP/1.1"
    readable = False
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.asked.append(self.command)
        status, body = 403, "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
        if self.readable and self.command == "HEAD":
            status = 404
        elif self.readable and self.command == "GET":
            status, body = 200, "<ListBucketResult><Name>closed</Name><KeyCount>0</KeyCount></ListBucketResult>"
        self.send_response(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body.encode())

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

    def log_message(self, *args: Any) -> None:
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """Say nothing when a worker is stopped in the middle of a request: the tests look at what we say."""


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Bucket]]:
    s3fs = pytest.importorskip("s3fs")
    s3fs.S3FileSystem.clear_instance_cache()
    with Server(("127.0.0.1", 0), Bucket) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        for name, value in {"AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
                            "AWS_DEFAULT_REGION": "us-east-1"}.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(Bucket, "asked", [])
        yield Bucket
        server.shutdown()
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.mark.filterwarnings("ignore")  # of botocore and aiohttp, not ours
@pytest.mark.parametrize("what", ["s3://closed/scans", "s3://closed/scans/a.png", "s3://closed/scans/*.png"])
def test_a_bucket_that_may_not_be_read(
    closed: type[Bucket], what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["binarize", what, "-o", str(tmp_path / "ink"), "--method", "otsu"]) == 4
    told = capsys.readouterr().err.splitlines()
    assert re.fullmatch(rf"sauvolanet: cannot read {re.escape(what)}: (Access Denied|Forbidden)", told[0])
    assert not (tmp_path / "ink").exists()


@pytest.mark.filterwarnings("ignore")
def test_a_page_that_may_not_be_read_does_not_stop_the_others(
    closed: type[Bucket], scans: Path, tmp_path: Path, run: Run
) -> None:
    rows = run(["s3://closed/a.png", scans / "0.png"], tmp_path / "ink")
    assert {row["input"]: row["status"] for row in rows} == {
        "s3://closed/a.png": "failed",
        str(scans / "0.png"): "done",
    }


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("more", [["--jobs", "1"], ["--jobs", "2"], ["--shard", "1/2"]], ids=" ".join)
@pytest.mark.parametrize("readable", [False, True])
def test_a_bucket_that_may_not_be_written(
    closed: type[Bucket], readable: bool, more: list[str], scans: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(closed, "readable", readable)
    assert main(["binarize", str(scans), "-o", "s3://closed/ink", "--method", "otsu", *more]) == 5
    (told,) = capsys.readouterr().err.splitlines()
    verb = "write" if readable else "use"
    assert re.fullmatch(rf"sauvolanet: cannot {verb} s3://closed/ink/\.sauvolanet\S*: (Access Denied|Forbidden)", told)
    assert closed.asked.count("PUT") <= (2 if readable else 0)  # at most the first try of each worker


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of botocore and aiohttp, not ours
def test_s3_list_read_write_resume(s3: Any, scans: Path, tmp_path: Path, run: Run, statuses: Statuses) -> None:
    s3.put(f"{scans}/", "bucket/scans/", recursive=True)
    expected = local_results(scans, tmp_path, run)
    assert statuses(run("s3://bucket/scans", "s3://bucket/ink", jobs=2)) == ["done"] * 6
    s3.invalidate_cache()
    assert {name: s3.cat_file(f"bucket/ink/{name}") for name in expected} == expected
    assert statuses(run("s3://bucket/scans", "s3://bucket/ink")) == ["skipped"] * 6
    s3.rm("bucket/ink/box/5.png")
    assert statuses(run("s3://bucket/scans", "s3://bucket/ink")) == ["done"] + ["skipped"] * 5
    plan = plan_batch("s3://bucket/scans", "s3://bucket/shards", method="otsu", shard_size=4)
    rows = [row for i in range(plan.shards) for row in run_shard(plan.root, plan.batch, i)]
    assert statuses(rows) == ["done"] * 6
    assert {name: s3.cat_file(f"bucket/shards/{name}") for name in expected} == expected
    assert statuses(run("s3://bucket/scans", "s3://bucket/shards", shard=(1, 1))) == ["skipped"] * 6
    with pytest.raises(OutputError, match=r"s3://missing-bucket/\S+: no such bucket"):
        run("s3://bucket/scans", "s3://missing-bucket/ink")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_s3_killed_and_resumed(s3: Any, scans: Path, tmp_path: Path, run: Run, statuses: Statuses) -> None:
    s3.put(f"{scans}/", "bucket/scans/", recursive=True)
    args = [sys.executable, "-m", "sauvolanet", "binarize", "s3://bucket/scans", "-o", "s3://bucket/ink", "--method",
            "otsu"]  # fmt: skip
    process = subprocess.Popen(args, start_new_session=True, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        s3.invalidate_cache()
        if s3.glob("bucket/ink/*.png"):
            os.killpg(process.pid, signal.SIGKILL)
            break
        time.sleep(0.02)
    process.wait()
    rows = run("s3://bucket/scans", "s3://bucket/ink")
    assert "failed" not in statuses(rows)
    expected = local_results(scans, tmp_path, run)
    s3.invalidate_cache()
    assert {name: s3.cat_file(f"bucket/ink/{name}") for name in expected} == expected
