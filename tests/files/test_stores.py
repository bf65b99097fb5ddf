"""Object stores: fsspec's own memory and archive file systems, and http."""

from __future__ import annotations

import errno
import http.server
import os
import signal
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from sauvolanet.errors import MissingExtra, UsageError
from sauvolanet.files import plan_batch, pool, stores
from sauvolanet.files.batch import run_batch
from sauvolanet.files.inputs import Item
from sauvolanet.files.worker import BatchSettings, Worker
from sauvolanet.pipeline import Selection

from .conftest import local_results

Run = Callable[..., list[dict[str, Any]]]
Statuses = Callable[[list[dict[str, Any]]], list[str]]

fsspec = pytest.importorskip("fsspec")


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
    monkeypatch.setitem(fsspec.config.conf, "gcs", {"token": "anon"})  # no search for an account over the network
    monkeypatch.setitem(fsspec.config.conf, "gs", {"token": "anon"})
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
    for row in run_batch(items, "memory://ink", BatchSettings(Selection.of(method="otsu")), group=3):
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
    monkeypatch.setattr(pool, "work_off", _serve_and_die)
    rows = run(scans, ink, jobs=2, shard=(1, 1))
    assert statuses(rows) == ["done"] * 9 + ["failed"]
    assert all((tmp_path / "ink" / row["output"]).exists() for row in rows if row["status"] == "done")


def _serve_and_die(*args: Any) -> None:
    """A worker that the system kills on the third page of a book (it runs in a process of its own)."""
    real = Worker.in_own_file

    def apart(self: Worker, task: Any, document: Any, row: dict[str, Any]) -> list[dict[str, Any]]:
        if row["page"] == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(self, task, document, row)

    Worker.in_own_file = apart  # type: ignore[method-assign]
    pool_serve(*args)


pool_serve = pool.work_off


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
