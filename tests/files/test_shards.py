"""Shards: the plan, shares for job arrays, and a real Dask cluster that loses a worker."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sauvolanet.cli import main
from sauvolanet.errors import BadData, RunFailed, UsageError
from sauvolanet.files import binarize_many, plan_batch, run_shard, shards
from sauvolanet.net.model import SHIPPED, load, load_once

Run = Callable[..., list[dict[str, Any]]]
Statuses = Callable[[list[dict[str, Any]]], list[str]]


def results(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*.png")}


def test_shards_follow_from_the_list(scans: Path, tmp_path: Path) -> None:
    plans = [plan_batch(scans, tmp_path / name, method="otsu", shard_size=4) for name in "ab"]
    assert plans[0].batch == plans[1].batch
    assert [len(plans[0].items(i)) for i in range(plans[0].shards)] == [4, 2]
    assert plans[0].items(0) == plans[1].items(0)
    assert (shards.size_for(6), shards.size_for(1000), shards.size_for(10_000_000)) == (1, 15, 500)
    assert all(-(-count // shards.size_for(count)) >= 64 for count in range(64, 3000))


def test_options_may_be_numpy_numbers_or_text(scans: Path, tmp_path: Path, statuses: Statuses) -> None:
    for window, strength in ((np.int64(25), np.float32(0.5)), ("25", "0.5")):
        plan = plan_batch(scans, tmp_path / "ink", method="nick", window=window, strength=strength)
        chosen = plan.settings.selection
        assert (chosen.method, chosen.params["window"], chosen.options.strength) == ("nick", 25, 0.5)
    assert statuses(run_shard(plan.root, plan.batch, 0)) == ["done"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_shares_make_the_whole(scans: Path, tmp_path: Path, jobs: int, run: Run, statuses: Statuses) -> None:
    parts = [run(scans, tmp_path / "ink", shard=(i, 4), jobs=jobs) for i in (1, 2, 3, 4)]
    outputs = Counter(row["output"] for rows in parts for row in rows)
    assert len(outputs) == 6
    assert set(outputs.values()) == {1}
    run(scans, tmp_path / "whole")
    assert results(tmp_path / "ink") == results(tmp_path / "whole")
    assert statuses(run(scans, tmp_path / "ink", shard=(1, 1))) == ["skipped"] * 6
    assert statuses(run(scans, tmp_path / "ink")) == ["skipped"] * 6  # a plain run knows what the shares did
    assert statuses(run(scans, tmp_path / "ink", shard=(1, 1), force=True)) == ["done"] * 6


def test_marker_has_a_row_per_page(scans: Path, tmp_path: Path) -> None:
    plan = plan_batch(scans, tmp_path / "ink", method="otsu", shard_size=4)
    rows = run_shard(plan.root, plan.batch, 1)
    marker = tmp_path / "ink/.sauvolanet" / f"{plan.batch}/000001.done"
    assert [json.loads(line) for line in marker.read_text().splitlines()] == rows
    assert len(list(marker.parent.glob("*.done"))) == 1


def test_an_unfinished_shard_goes_on_where_it_stood(scans: Path, tmp_path: Path, statuses: Statuses) -> None:
    plan = plan_batch(scans, tmp_path / "ink", method="otsu", shard_size=6)
    run_shard(plan.root, plan.batch, 0)
    marker = tmp_path / "ink/.sauvolanet" / f"{plan.batch}/000000.done"
    marker.unlink()  # as if the machine was lost just before the end
    (tmp_path / "ink/1.png").unlink()
    assert statuses(run_shard(plan.root, plan.batch, 0)) == ["done"] + ["skipped"] * 5


def test_shards_of_one_process_share_the_model(scans: Path, tmp_path: Path, statuses: Statuses) -> None:
    plan = plan_batch(scans, tmp_path / "ink", shard_size=3)
    load_once.cache_clear()
    for shard in range(plan.shards):
        assert set(statuses(run_shard(plan.root, plan.batch, shard))) == {"done"}
    assert load_once.cache_info().misses == 1


def test_the_caller_is_told_how_many_inputs_there_are(scans: Path, tmp_path: Path, run: Run) -> None:
    told: list[int] = []
    plan_batch(scans, tmp_path / "ink", method="otsu", shard_size=4)
    for share in (1, 2):
        run(scans, tmp_path / "ink", shard=(share, 2), on_count=told.append)
    run(scans, tmp_path / "ink", on_count=told.append)
    assert told == [4, 2, 6]


def test_a_finished_shard_is_looked_at(scans: Path, tmp_path: Path, run: Run, statuses: Statuses) -> None:
    ink = tmp_path / "ink"
    plan_batch(scans, ink, method="otsu", shard_size=6)
    assert statuses(run(scans, ink, shard=(1, 1))) == ["done"] * 6
    (ink / "1.png").unlink()
    assert statuses(run(scans, ink, shard=(1, 1))) == ["done"] + ["skipped"] * 5
    os.utime(scans / "0.png", (1, 1))
    (ink / "3.png").write_text("another's")
    assert statuses(run(scans, ink, shard=(1, 1))) == ["failed"] * 2 + ["skipped"] * 4


def test_rows_of_a_share_come_one_by_one(scans: Path, tmp_path: Path) -> None:
    plan = plan_batch(scans, tmp_path / "ink", method="otsu", shard_size=6)
    marker = tmp_path / f"ink/.sauvolanet/{plan.batch}/000000.done"
    rows = binarize_many(scans, tmp_path / "ink", method="otsu", shard=(1, 1))
    next(rows)
    assert len(results(tmp_path / "ink")) == 1
    assert not marker.exists()
    assert len(list(rows)) == 5
    assert len(marker.read_text().splitlines()) == 6


@pytest.mark.parametrize("name", ["mine", "mine.json", "./mine.npz"])
def test_a_model_is_found_from_other_folders(
    scans: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for suffix in (".json", ".npz"):
        shutil.copy(SHIPPED / f"original{suffix}", tmp_path / f"mine{suffix}")
    about = json.loads((tmp_path / "mine.json").read_text())
    (tmp_path / "mine.json").write_text(json.dumps({**about, "file": "mine.npz"}))
    monkeypatch.chdir(tmp_path)
    plan = plan_batch(scans, "ink", model=name)
    assert plan.settings.selection.model == str(tmp_path / "mine.json")


def test_failed_pages_of_a_finished_shard_are_tried_again(
    scans: Path, tmp_path: Path, run: Run, statuses: Statuses
) -> None:
    good = (scans / "0.png").read_bytes()
    (scans / "0.png").write_bytes(b"bad")
    assert statuses(run(scans, tmp_path / "ink", shard=(1, 1))).count("failed") == 1
    (scans / "0.png").write_bytes(good)
    assert statuses(run(scans, tmp_path / "ink", shard=(1, 1))) == ["done"] + ["skipped"] * 5


def test_a_shard_that_ends_every_worker_says_what_is_not_done(scans: Path, tmp_path: Path) -> None:
    pages = [Image.open(scans / f"{i}.png") for i in (0, 1, 3)]
    pages[0].save(scans / "book.tif", save_all=True, append_images=pages[1:])
    plan = plan_batch(scans, tmp_path / "ink", method="otsu", shard_size=7)
    run_shard(plan.root, plan.batch, 0)
    for lost in ("book-0003.png", "0.png"):  # recorded, and their worker was killed before they appeared
        (tmp_path / "ink" / lost).unlink()
    rows = shards.rows_of_lost(plan, 0)
    assert {row["output"] for row in rows if row["status"] == "done"} == set(results(tmp_path / "ink"))
    failed = {(row["input"], row["page"]) for row in rows if row["status"] == "failed"}
    assert failed == {(str(scans / "0.png"), 1), (str(scans / "book.tif"), 3)}
    assert len(rows) == 9


def test_edited_manifest(scans: Path, tmp_path: Path, run: Run, statuses: Statuses) -> None:
    plan_batch(scans, tmp_path / "ink", method="otsu")
    state = tmp_path / "ink/.sauvolanet"
    (lines,) = state.glob("manifest-*.list")
    text = lines.read_text()
    lines.write_text(text.replace("0.png", "9.png"))
    with pytest.raises(BadData, match=r"list of inputs .* was changed"):
        run(scans, tmp_path / "ink", shard=(1, 1))
    lines.unlink()
    with pytest.raises(BadData, match=r"list of inputs .* was changed"):
        run(scans, tmp_path / "ink", shard=(1, 1))
    lines.write_text(text)
    head = state / "manifest.json"
    head.write_text(head.read_text().replace('"otsu"', '"nick"'))
    with pytest.raises(BadData, match=r"manifest\.json was changed"):
        run(scans, tmp_path / "ink", shard=(1, 1))
    assert not results(tmp_path / "ink")
    assert statuses(run(scans, tmp_path / "ink", shard=(1, 1), force=True)) == ["done"] * 6


def test_other_inputs_or_options(scans: Path, tmp_path: Path, run: Run) -> None:
    plan_batch(scans, tmp_path / "ink", method="otsu")
    for inputs, options in [(scans, {"strength": 0.5}), (scans / "box", {})]:
        with pytest.raises(UsageError, match="began with other inputs or options"):
            run(inputs, tmp_path / "ink", shard=(1, 1), **options)


def test_shards_need_a_folder(scans: Path, tmp_path: Path, run: Run) -> None:
    with pytest.raises(UsageError, match="output folder"):
        run(scans / "0.png", tmp_path / "a.png", shard=(1, 1))
    with pytest.raises(UsageError, match="every machine"):
        run("-", tmp_path / "ink", shard=(1, 1))
    with pytest.raises(UsageError, match="every machine"):
        run(scans, "memory://ink", shard=(1, 1))
    with pytest.raises(UsageError, match="every machine"):
        run("memory://scans", tmp_path / "ink", shard=(1, 1))
    assert not (tmp_path / "ink").exists()


def test_a_loaded_model_stays_on_its_machine(scans: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a model's name, or a path"):
        plan_batch(scans, tmp_path / "ink", model=load("original"))
    assert not (tmp_path / "ink").exists()


def test_another_version_on_a_machine(scans: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_batch(scans, tmp_path / "ink", method="otsu")
    monkeypatch.setattr(shards, "__version__", "9.9")
    shards.checked_plan.cache_clear()
    with pytest.raises(RunFailed, match=r"this machine has sauvolanet 9\.9"):
        run_shard(plan.root, plan.batch, 0)


class FakeClient:
    """A client whose workers answer as told."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers

    def wait_for_workers(self, count: int, timeout: float) -> None:
        if not self.answers:
            raise TimeoutError

    def run(self, *args: Any, **options: Any) -> dict[str, Any]:
        return self.answers


@pytest.mark.parametrize(
    ("answers", "message"),
    [({}, "no workers"), ({"tcp://w:1": "0.0.1"}, r"has sauvolanet 0\.0\.1"), ({"tcp://w:1": ImportError()}, "lacks"),
     ({"tcp://w:1": OSError("Timed out")}, "cannot say its version of sauvolanet: Timed out")],
)  # fmt: skip
def test_workers_must_fit(answers: dict[str, Any], message: str) -> None:
    with pytest.raises(RunFailed, match=message):
        shards.check_workers(FakeClient(answers))  # type: ignore[arg-type]


def test_a_client_does_all_shares(scans: Path, tmp_path: Path, run: Run) -> None:
    with pytest.raises(UsageError, match="shard or client, not both"):
        run(scans, tmp_path / "ink", client=FakeClient({}), shard=(1, 2))


@pytest.mark.parametrize("address", ["", "host", "tcp://host", "http://host:80", "tcp://host:80/"])
def test_what_is_no_address_of_a_scheduler(address: str, scans: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(UsageError, match=f"takes tcp://HOST:PORT, not '{address}'"), shards.connect(address):
        pass
    assert main(["binarize", str(scans), "-o", str(tmp_path / "ink"), "--scheduler", address]) == 2
    assert not (tmp_path / "ink").exists()


def test_unreachable_scheduler(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    assert shards.ANSWER_SECONDS <= 8  # seconds; ten are allowed for the whole command
    monkeypatch.setattr(shards, "ANSWER_SECONDS", 1)

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]  # nobody else gets it, and nobody listens
        assert main(["binarize", "x", "-o", "y", "--scheduler", f"tcp://127.0.0.1:{port}"]) == 6
    assert f"no Dask scheduler answers at tcp://127.0.0.1:{port}" in capsys.readouterr().err


def test_a_scheduler_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(shards, "ANSWER_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with (
            pytest.raises(RunFailed, match=f"no Dask scheduler answers at {address}") as raised,
            shards.connect(address),
        ):
            pass
    assert type(raised.value.__context__) is TimeoutError  # our own limit, not that of Dask (OSError, after 30 seconds)


@pytest.mark.parametrize("greeting", [b"SSH-2.0-OpenSSH_9.2\r\n", bytes(64)], ids=["ssh", "zeros"])
def test_a_server_that_is_no_scheduler(greeting: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(shards, "ANSWER_SECONDS", 5)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            with server.accept()[0] as caller:
                caller.sendall(greeting)
                caller.recv(1)

        threading.Thread(target=greet, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(RunFailed, match=f"no Dask scheduler answers at {address}"), shards.connect(address):
            pass


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    with running_cluster(tmp_path, "", "") as found:
        yield found


@contextlib.contextmanager
def running_cluster(tmp_path: Path, *workers: str) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address and processes of a scheduler and workers over TCP; each worker runs the given code first."""
    pytest.importorskip("distributed")
    log = (tmp_path / "scheduler.log").open("w+b")
    started: list[subprocess.Popen[bytes]] = []

    def start(kind: str, *args: str, first: str = "") -> None:
        code = f"{first}\nfrom distributed.cli.dask_{kind} import main; main()"
        command = [sys.executable, "-c", code, *args]
        started.append(subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True))

    try:
        start("scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1")
        address = None
        for _ in range(600):
            found = re.search(rb"tcp://127\.0\.0\.1:\d+", (tmp_path / "scheduler.log").read_bytes())
            if found:
                address = found.group().decode()
                break
            time.sleep(0.1)
        assert address, (tmp_path / "scheduler.log").read_text()
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(tmp_path)]
        for first in workers:
            start("worker", address, *options, first=first)
        yield address, started
    finally:
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.close()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of distributed, not ours
def test_a_cluster_that_loses_a_worker(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], tmp_path: Path, run: Run, statuses: Statuses
) -> None:
    address, (_, worker, _) = cluster
    pages = tmp_path / "pages"
    pages.mkdir()
    rng = np.random.default_rng(0)
    for i in range(200):
        Image.fromarray(rng.integers(0, 256, (300, 300), np.uint8)).save(pages / f"{i:03d}.png", compress_level=1)
    with shards.connect(address) as client:
        client.wait_for_workers(2, timeout=60)
        rows = []
        for row in binarize_many(pages, tmp_path / "ink", method="otsu", client=client):
            rows.append(row)
            if len(rows) == 60:
                os.killpg(worker.pid, signal.SIGKILL)
        assert len(client.scheduler_info()["workers"]) == 1
    assert Counter(row["input"] for row in rows) == Counter(str(p) for p in pages.iterdir())
    assert set(statuses(rows)) <= {"done", "skipped"}
    journal = [json.loads(line)["output"] for f in (tmp_path / "ink/.sauvolanet").rglob("*.jsonl") for line in f.open()]
    assert len(set(journal)) == 200
    assert len(journal) <= 201  # at most the page that was under way when its worker died was begun twice
    markers = [json.loads(line) for f in (tmp_path / "ink/.sauvolanet").rglob("*.done") for line in f.open()]
    assert sorted(row["output"] for row in markers) == sorted(row["output"] for row in rows)
    run(pages, tmp_path / "whole")
    assert results(tmp_path / "ink") == results(tmp_path / "whole")
    assert not list((tmp_path / "ink").glob(".*.part"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("worker", "message"),
    [("import sys; sys.modules['sauvolanet'] = None", "lacks sauvolanet"),
     ("import sauvolanet; sauvolanet.__version__ = '0.0.1'", "has sauvolanet 0.0.1")],
)  # fmt: skip
def test_a_worker_that_does_not_fit(worker: str, message: str, scans: Path, tmp_path: Path, run: Run) -> None:
    with running_cluster(tmp_path, worker) as (address, _), shards.connect(address) as client:
        client.wait_for_workers(1, timeout=60)
        with pytest.raises(RunFailed, match=message):
            run(scans, tmp_path / "ink", client=client)
    assert not (tmp_path / "ink").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_cluster_from_the_command_line(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], scans: Path, tmp_path: Path, statuses: Statuses
) -> None:
    args = [sys.executable, "-m", "sauvolanet", "binarize", str(scans), "-o", str(tmp_path / "ink"), "--method", "otsu",
            "--scheduler", cluster[0], "--json"]  # fmt: skip
    done = subprocess.run(args, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert statuses([json.loads(line) for line in done.stdout.splitlines()]) == ["done"] * 6
    shutil.rmtree(tmp_path / "ink")
    (tmp_path / "ink").write_text("a file where the folder should be")
    done = subprocess.run(args, capture_output=True, text=True)
    assert done.returncode == 5, done.stderr
    assert "cannot write" in done.stderr


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_lost_scheduler_is_one_line_and_code_6(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], tmp_path: Path
) -> None:
    address, (scheduler, *_) = cluster
    (tmp_path / "pages").mkdir()
    noise = np.random.default_rng(0).integers(0, 256, (500, 500), np.uint8)
    for i in range(100):
        Image.fromarray(noise).save(tmp_path / f"pages/{i}.png", compress_level=1)
    args = [sys.executable, "-m", "sauvolanet", "binarize", str(tmp_path / "pages"), "-o", str(tmp_path / "ink"),
            "--method", "otsu", "--scheduler", address]  # fmt: skip
    process = subprocess.Popen(args, stderr=subprocess.PIPE, text=True)
    while len(list((tmp_path / "ink").glob("*.png"))) < 10:
        assert process.poll() is None
        time.sleep(0.05)
    scheduler.kill()
    error = process.communicate(timeout=100)[1]
    assert process.returncode == 6, error
    assert "the cluster is lost" in error
    assert "Traceback" not in error
