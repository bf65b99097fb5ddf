"""Object stores: fsspec's own memory and archive file systems, and the S3 protocol against a real server."""

from __future__ import annotations

import errno
import http.server
import os
import re
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from PIL import Image

from sauvolanet.cli import main
from sauvolanet.errors import MissingExtra, OutputError, UsageError
from sauvolanet.files import plan_batch, pool, run_shard, stores
from sauvolanet.files.batch import Settings, Worker, run_batch
from sauvolanet.files.inputs import Item

Run = Callable[..., list[dict[str, Any]]]
Statuses = Callable[[list[dict[str, Any]]], list[str]]

fsspec = pytest.importorskip("fsspec")


def local_results(scans: Path, tmp_path: Path, run: Run) -> dict[str, bytes]:
    """The oracle: the same batch on disk."""
    return {row["output"]: (tmp_path / "local" / row["output"]).read_bytes() for row in run(scans, tmp_path / "local")}


@pytest.fixture
def memory(scans: Path) -> Iterator[Any]:
    fs = fsspec.filesystem("memory")
    fs.store.clear()
    fs.pseudo_dirs[:] = [""]
    fs.put(str(scans), "/scans", recursive=True)
    yield fs
    fs.store.clear()


def test_memory_to_memory(memory: Any, scans: Path, tmp_path: Path, run: Run, statuses: Statuses) -> None:
    rows = run("memory://scans", "memory://ink", jobs=2)
    assert statuses(rows) == ["done"] * 6
    expected = local_results(scans, tmp_path, run)
    assert {name: memory.cat_file(f"/ink/{name}") for name in expected} == expected
    assert statuses(run("memory://scans", "memory://ink")) == ["skipped"] * 6
    memory.rm("/ink/box/2.png")
    memory.pipe_file("/ink/0.png", b"another's")
    assert statuses(run("memory://scans", "memory://ink")) == ["done", "failed"] + ["skipped"] * 4
    assert memory.cat_file("/ink/0.png") == b"another's"


def test_patterns_and_single_files(memory: Any, tmp_path: Path, run: Run) -> None:
    assert {r["output"] for r in run("memory://scans/**/*.png", tmp_path / "a")} >= {"0.png", "box/2.png"}
    run("memory://scans/0.png", "memory://one/page.tif")
    assert memory.cat_file("/one/page.tif")[:2] == b"II"
    (row,) = run("memory://scans/none.png", tmp_path / "b")
    assert "none.png: no such file" in row["error"]


def test_output_inside_the_input_is_left_out(memory: Any, run: Run, statuses: Statuses) -> None:
    for expected in ("done", "skipped"):
        assert statuses(run("memory://scans", "memory://scans/ink")) == [expected] * 6
    with pytest.raises(UsageError, match="both input and output"):
        run("memory://scans", "memory://scans/")


@pytest.mark.parametrize("source", ["memory:///scans/0.png", "local://{scans}/0.png"])
def test_no_page_replaces_itself_by_another_name(memory: Any, scans: Path, source: str, run: Run) -> None:
    output = "memory://scans" if "memory" in source else f"{scans}/"
    before = memory.cat_file("/scans/0.png"), (scans / "0.png").read_bytes()
    (row,) = run(source.format(scans=scans), output, force=True)
    assert "would replace its own input" in row["error"]
    with pytest.raises(UsageError, match="both input and output"):
        run(source.format(scans=scans).removesuffix("0.png"), output, force=True)
    assert (memory.cat_file("/scans/0.png"), (scans / "0.png").read_bytes()) == before


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("s3a://bucket/a", "s3://bucket/a", True),
        ("s3://bucket/a", "s3://bucket/b", False),
        ("gcs://bucket/a/", "gs://bucket/a", True),
        ("ftp://one/a", "ftp://two/a", False),
        ("memory://a", "/a", False),
    ],
)
def test_same_file(a: str, b: str, same: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip({"s3": "s3fs", "gc": "gcsfs"}.get(a[:2], "fsspec"))
    monkeypatch.setattr("ftplib.FTP.connect", lambda *args: None)
    monkeypatch.setattr("ftplib.FTP.login", lambda *args: None)
    assert stores.same_file(a, b) == same


def test_output_at_the_root_of_a_store(
    memory: Any, tmp_path: Path, run: Run, statuses: Statuses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert statuses(run("memory://scans", "memory://")) == ["done"] * 6
    assert {"/0.png", "/box/2.png"} <= set(memory.store)
    assert statuses(run("memory://scans", "memory://")) == ["skipped"] * 6
    run("memory://scans/0.png", "memory://page.tif")
    assert memory.cat_file("/page.tif")[:2] == b"II"
    assert not (tmp_path / "memory:").exists()


def test_patterns_at_the_root_of_a_store(memory: Any, scans: Path, tmp_path: Path, run: Run) -> None:
    memory.put(str(scans / "0.png"), "/0.png")
    assert [r["output"] for r in run("memory://*.png", tmp_path / "a")] == ["0.png"]
    with zipfile.ZipFile(tmp_path / "box.zip", "w") as file:
        for page in sorted(scans.rglob("*.png")):
            file.write(page, page.relative_to(scans))
    for pattern, count in {"*.png": 4, "**": 6, "box/*": 2}.items():
        rows = run(f"zip://{pattern}::{tmp_path}/box.zip", tmp_path / f"zip{count}")
        assert [r["status"] for r in rows] == ["done"] * count


@pytest.mark.parametrize("protocol", ["file", "local"])
def test_folders_and_patterns_of_this_machine_as_urls(
    scans: Path, tmp_path: Path, protocol: str, run: Run, statuses: Statuses
) -> None:
    expected = local_results(scans, tmp_path, run)
    assert {row["output"] for row in run(f"{protocol}://{scans}", tmp_path / "a")} == set(expected)
    assert all((tmp_path / "a" / name).read_bytes() == data for name, data in expected.items())
    assert statuses(run(f"{protocol}://{scans}/*.png", tmp_path / "b")) == ["done"] * 4
    with pytest.raises(UsageError, match="several inputs need a folder"):
        run(f"{protocol}://{scans}", tmp_path / "a.pdf")


def test_output_inside_a_pattern_is_left_out(memory: Any, run: Run, statuses: Statuses) -> None:
    for expected in ("done", "skipped"):
        assert statuses(run("memory://scans/**/*.png", "memory://scans/ink")) == [expected] * 6


def test_a_row_comes_when_its_result_is_there(memory: Any, statuses: Statuses) -> None:
    items = [Item(f"memory://scans/{i}.png", str(i)) for i in (0, 1, 3, 4)]
    rows = []
    for row in run_batch(items, "memory://ink", Settings({"method": "otsu"}), group=3):
        rows.append(row)
        assert memory.exists(f"/ink/{row['output']}")
    assert statuses(rows) == ["done"] * 4
    assert len(memory.find("/ink/.sauvolanet/journal")) == 2  # three results, and the last


def test_a_folder_that_may_not_be_listed_is_one_row(
    memory: Any, monkeypatch: pytest.MonkeyPatch, run: Run, statuses: Statuses
) -> None:
    real = type(memory).ls

    def ls(self: Any, path: str, *args: Any, **options: Any) -> Any:
        if path.endswith("/box"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(self, path, *args, **options)

    monkeypatch.setattr(type(memory), "ls", ls)
    rows = run("memory://scans", "memory://ink")
    assert statuses(rows) == ["done"] * 4 + ["failed"]
    assert rows[-1]["error"] == "cannot read memory://scans/box: Permission denied"


def test_a_killed_worker_takes_no_finished_page_along(
    scans: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, statuses: Statuses
) -> None:
    """A store that all processes share: fsspec's view of this machine's folders."""
    monkeypatch.setenv("FSSPEC_LOCAL_AUTO_MKDIR", "1")
    monkeypatch.setitem(fsspec.config.conf, "local", {"auto_mkdir": True})
    pages = [Image.open(scans / f"{i}.png") for i in (0, 1, 3, 4)]
    pages[0].save(scans / "book.tif", save_all=True, append_images=pages[1:])
    ink = f"local://{tmp_path}/ink"
    plan_batch(scans, ink, method="otsu", shard_size=7)
    monkeypatch.setattr(pool, "_serve", _serve_and_die)
    rows = run(scans, ink, jobs=2, shard=(1, 1))
    assert statuses(rows) == ["done"] * 9 + ["failed"]
    assert all((tmp_path / "ink" / row["output"]).exists() for row in rows if row["status"] == "done")


def _serve_and_die(*args: Any) -> None:
    """A worker that the system kills on the third page of a book (it runs in a process of its own)."""
    real = Worker._apart

    def apart(self: Worker, task: Any, document: Any, row: dict[str, Any]) -> list[dict[str, Any]]:
        if row["page"] == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(self, task, document, row)

    Worker._apart = apart  # type: ignore[method-assign]
    pool_serve(*args)


pool_serve = pool._serve


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_archives_are_read(scans: Path, tmp_path: Path, kind: str, run: Run, statuses: Statuses) -> None:
    archive = tmp_path / f"scans.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(archive, "w") as file:
            for page in sorted(scans.rglob("*.png")):
                file.write(page, page.relative_to(scans))
    else:
        with tarfile.open(archive, "w") as file:
            for page in sorted(scans.rglob("*.png")):
                file.add(page, page.relative_to(scans))
    rows = run(f"{kind}://::{archive}", tmp_path / "ink")
    expected = local_results(scans, tmp_path, run)
    assert {row["output"] for row in rows} == set(expected)
    assert all((tmp_path / "ink" / name).read_bytes() == data for name, data in expected.items())
    assert statuses(run(f"{kind}://::{archive}", tmp_path / "ink")) == ["skipped"] * 6
    with pytest.raises(UsageError, match="can be read but not written"):
        run(scans, f"{kind}://::{archive}")


def test_http_fetches_what_was_named_and_nothing_else(
    scans: Path, tmp_path: Path, run: Run, statuses: Statuses
) -> None:
    pytest.importorskip("aiohttp")
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=str(scans))

        def log_message(self, *args: Any) -> None:
            asked.append(self.path)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        rows = run([f"{base}/0.png", f"{base}/missing.png"], tmp_path / "ink")
        server.shutdown()
    assert statuses(rows) == ["done", "failed"]
    assert set(asked) <= {"/0.png", "/missing.png"}
    assert (tmp_path / "ink/0.png").read_bytes() == local_results(scans, tmp_path, run)["0.png"]


def test_http_failures_are_told_apart(tmp_path: Path, run: Run) -> None:
    pytest.importorskip("aiohttp")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404 if "missing" in self.path else 403)

        do_HEAD = do_GET

        def log_message(self, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        refused, missing = run([f"{base}/refused.png", f"{base}/missing.png"], tmp_path / "ink")
        server.shutdown()
    assert refused["error"] == f"cannot read {base}/refused.png: the server answers 403 Forbidden"
    assert missing["error"] == f"cannot read {base}/missing.png: no such file"
    (down,) = run(f"{base}/page.png", tmp_path / "ink")
    assert down["error"].startswith(f"cannot read {base}/page.png: ")
    assert "no such file" not in down["error"]


def test_unknown_protocol(tmp_path: Path, run: Run) -> None:
    with pytest.raises(UsageError, match="nosuch"):
        run("nosuch://a/b", tmp_path / "ink")


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sauvolanet\[store\]'"):
        run("s3://bucket/scans", tmp_path / "ink")


@pytest.mark.parametrize(
    ("location", "name", "expected"),
    [
        ("/a", "b", "/a/b"),
        ("s3://k/a", "b", "s3://k/a/b"),
        ("zip://::/x.zip", "b/c.png", "zip://b/c.png::/x.zip"),
        ("zip://a::s3://k/x.zip", "b", "zip://a/b::s3://k/x.zip"),
    ],
)
def test_join(location: str, name: str, expected: str) -> None:
    assert stores.join(location, name) == expected


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """A moto server on loopback, and a bucket in it."""
    pytest.importorskip("moto.server", exc_type=ImportError)
    s3fs = pytest.importorskip("s3fs")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    log = (tmp_path / "moto.log").open("wb")
    server = subprocess.Popen([sys.executable, "-m", "moto.server", "-p", str(port)], stdout=log, stderr=log)
    for name, value in {"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
                        "AWS_DEFAULT_REGION": "us-east-1"}.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    try:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert server.poll() is None, (tmp_path / "moto.log").read_text()
                time.sleep(0.1)
        fs = s3fs.S3FileSystem(skip_instance_cache=True)
        fs.mkdir("bucket")
        yield fs
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        server.kill()
        server.wait()
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
