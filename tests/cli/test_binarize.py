"""The command as its users run it: exit codes, streams, interruption. Oracles: other programs, an unbroken run."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sauvolanet.cli import main
from sauvolanet.cli.binarize import Progress
from sauvolanet.errors import RunFailed

COMMAND = [sys.executable, "-m", "sauvolanet", "binarize", "--method", "otsu"]


def run(*args: object) -> int:
    return main(["binarize", "--method", "otsu", *map(str, args)])


@pytest.fixture
def scans(tmp_path: Path) -> Path:
    folder = tmp_path / "scans"
    folder.mkdir()
    for i in range(4):
        page = np.full((60, 80), 220, np.uint8)
        page[10 + i : 20, 10:60] = 40
        Image.fromarray(page).save(folder / f"{i}.png", dpi=(150, 150))
    return folder


def many(folder: Path, count: int, side: int = 800) -> Path:
    """Pages that take a moment each."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    for i in range(count):
        Image.fromarray(rng.integers(0, 256, (side, side), np.uint8)).save(folder / f"{i:03d}.png", compress_level=1)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


def test_done_and_done_again(scans: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(scans, "-o", tmp_path / "ink") == 0
    assert capsys.readouterr() == ("", "sauvolanet: 4 done\n")
    assert run(scans, "-o", tmp_path / "ink") == 0
    assert capsys.readouterr().err == "sauvolanet: 4 skipped\n"


def test_it_says_how_many_pages_a_person_should_look_at(
    scans: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Image.new("L", (80, 60), 220).save(scans / "empty.png")
    for status in ("done", "skipped"):
        assert run(scans, "-o", tmp_path / "ink") == 0
        told = "sauvolanet: a person should look at 1 page; --json says which and why\n"
        assert capsys.readouterr() == ("", f"sauvolanet: 5 {status}\n{told}")
    assert run(scans, "-o", tmp_path / "ink", "--json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    named = {row["output"]: row["found"]["look"] for row in rows if row["found"]["look"]}
    assert named == {"empty.png": ["nearly blank"]}


def test_json_rows(scans: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (scans / "bad.png").write_text("no image")
    assert run(scans, "-o", tmp_path / "ink", "--json", "--jobs", 2) == 3
    told = capsys.readouterr()
    rows = [json.loads(line) for line in told.out.splitlines()]
    assert len(rows) == 5
    assert set(rows[0]) >= {"input", "page", "output", "status", "error", "seconds", "options", "model"}
    assert "1 of 5 pages failed" in told.err
    assert "bad.png is not an image" in told.err


def test_dry_run(scans: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(scans, "-o", tmp_path / "ink", "--dry-run", "--format", "pdf") == 0
    assert capsys.readouterr().out.splitlines() == [f"{scans}/{i}.png -> {i}.pdf" for i in range(4)]
    assert not (tmp_path / "ink").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "the following arguments are required: INPUT; see 'sauvolanet binarize --help'"),
        (["{scans}", "-o", "ink", "--bogus"], "unrecognized arguments: --bogus"),
        (["{scans}", "-o", "ink", "--model", "swift"], "not allowed with argument --method"),
        (["{scans}"], "say where the results go"),
        (["{scans}", "-o", "x.pdf"], "several inputs need a folder"),
        (["{scans}", "-o", "-"], "only one file can go to standard output"),
        (["-", "--json"], "need -o"),
        (["{scans}", "-o", "ink", "--strength", "2"], "strength must be a number from -1 to 1, not '2'"),
        (["{scans}", "-o", "ink", "--invert", "maybe"], "invert must be one of auto, yes, no"),
        (["{scans}", "-o", "ink", "-p", "window"], "-p takes KEY=VALUE"),
        (["{scans}", "-o", "ink", "-p", "window=3"], "window"),
        (["{scans}", "-o", "ink", "-p", "strength=1"], "write --strength 1"),
        (["{scans}", "-o", "ink", "-p", "self=1"], "unknown option of otsu 'self'"),
        (["{scans}", "-o", "ink", "-p", "client=1"], "unknown option of otsu 'client'"),
        (["{scans}", "-o", "ink", "-p", "on_count=1"], "unknown option of otsu 'on_count'"),
        (["{scans}", "-o", "ink", "--shard", "3/2"], "from 1 to 2"),
        (["{scans}", "-o", "ink", "--shard", "x"], "takes I/N"),
        (["{scans}", "-o", "ink", "--max-pixels", "0"], "max_pixels must be"),
    ],
)
def test_wrong_usage_is_one_line_and_code_2(
    scans: Path, args: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scans.parent)
    assert run(*(a.format(scans=scans) for a in args)) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert [p.name for p in scans.parent.iterdir()] == ["scans"]


def test_nothing_readable_is_4(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.png").write_text("no image")
    assert run(tmp_path / "a.png", tmp_path / "missing.png", "-o", tmp_path / "ink") == 4
    assert "missing.png: no such file" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert run(tmp_path / "empty", "-o", tmp_path / "ink") == 4


def test_a_pattern_without_a_match_does_not_stop_the_others(
    scans: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(scans, f"{scans}/*.gif", "-o", tmp_path / "ink") == 3
    told = capsys.readouterr().err
    assert f"sauvolanet: nothing matches {scans}/*.gif\n" in told
    assert "4 done, 1 failed" in told
    assert run(f"{scans}/*.gif", f"{scans}/*.bmp", "-o", tmp_path / "ink") == 4
    assert "nothing matches" in capsys.readouterr().err


def test_linked_folders_are_one_line(scans: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (scans / "far").symlink_to(tmp_path)
    assert run(scans, "-o", tmp_path / "ink") == 0
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith(f"sauvolanet: links to folders are not followed (1, such as {scans}/far)")
    assert last == "sauvolanet: 4 done"


def book_of(scans: Path, path: Path) -> Path:
    pages = [Image.open(scans / f"{i}.png") for i in range(3)]
    pages[0].save(path, save_all=True, append_images=pages[1:])
    return path


def test_a_book_with_a_bad_page_counts_its_pages(
    scans: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book = book_of(scans, scans / "book.tif")
    with Image.open(book) as image:
        image.seek(2)
        (start,) = image.tag_v2[273]
    book.write_bytes(book.read_bytes()[:start])
    assert run(scans, "-o", tmp_path / "ink", "--format", "tiff") == 3
    told = capsys.readouterr().err
    assert "4 done, 3 failed" in told
    assert told.count("book.tif: not written: page 3 failed") == 1  # of two pages, told once
    assert "3 of 7 pages failed" in told


def test_what_failed_is_told_when_a_run_ends_early(
    scans: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*args: object, **options: object) -> Iterator[dict[str, object]]:
        yield {"input": "a", "pages": 1, "page": 1, "status": "done"}
        yield {"input": "b", "pages": 1, "page": 1, "status": "failed", "error": "b is damaged", "code": 4}
        raise RunFailed("the cluster is lost")

    monkeypatch.setattr("sauvolanet.cli.binarize.binarize_many", lost)
    assert run(scans, "-o", tmp_path / "ink") == 6
    assert capsys.readouterr().err.splitlines() == [
        "sauvolanet: b is damaged", "sauvolanet: 1 done, 1 failed", "sauvolanet: run the same command again to go on",
        "sauvolanet: the cluster is lost"]  # fmt: skip


@pytest.mark.parametrize(("codes", "code"), [([1, 1], 1), ([2], 2), ([4], 4), ([5], 5), ([6, 6], 6), ([1, 4], 4)])
def test_where_all_fail_alike_that_is_the_code(
    codes: list[int], code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failed(*args: object, **options: object) -> Iterator[dict[str, object]]:
        for i, each in enumerate(codes):
            yield {"input": f"{i}", "pages": 1, "page": 1, "status": "failed", "error": f"{i} failed", "code": each}

    monkeypatch.setattr("sauvolanet.cli.binarize.binarize_many", failed)
    assert run("a", "b", "-o", "ink") == code
    assert "0 failed" in capsys.readouterr().err


def test_the_bar_counts_pages_before_their_rows() -> None:
    from tqdm import tqdm

    with tqdm(total=2, file=io.StringIO()) as bar:
        progress = Progress(bar)
        for page in (1, 2, 3):
            progress.begin("book", page, 4)
        assert (bar.n, bar.total) == (2, 5)
        for page in (4, 1, 2, 3):  # a store may hold rows back
            progress.row({"input": "book", "page": page, "pages": 4})
        progress.row({"input": "bad", "page": 1, "pages": None})
        assert (bar.n, bar.total) == (5, 5)
        assert not progress.counted


def test_nothing_writable_is_5(scans: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert run(scans, "-o", tmp_path / "file" / "ink") == 5
    capsys.readouterr()
    assert run(scans, "-o", tmp_path / "file") == 5
    assert capsys.readouterr().err == f"sauvolanet: cannot write into {tmp_path}/file: it is a file, not a folder\n"
    (tmp_path / "out.png").write_text("mine")
    assert run(scans / "0.png", "-o", tmp_path / "out.png") == 5
    assert "out.png exists" in capsys.readouterr().err
    assert (tmp_path / "out.png").read_text() == "mine"


def test_max_pixels(scans: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(scans, "-o", tmp_path / "ink", "--max-pixels", 4799) == 4
    assert "80 × 60 pixels, more than 4799; allow it with --max-pixels" in capsys.readouterr().err
    assert run(scans, "-o", tmp_path / "ink", "--max-pixels", 4800) == 0


def test_method_options(scans: Path, tmp_path: Path) -> None:
    from sauvolanet import binarize
    from sauvolanet.classic import METHODS

    if "nick" not in METHODS:
        pytest.skip("no method with options is registered")
    assert (
        main(["binarize", str(scans / "0.png"), "-o", str(tmp_path / "a.png"), "--method", "nick", "-p", "window=9"])
        == 0
    )
    with Image.open(scans / "0.png") as page, Image.open(tmp_path / "a.png") as ink:
        assert (np.asarray(ink) != binarize(page, method="nick", window=9)).all()


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        ("--strength -1", {"strength": -1}),
        ("--strength 1", {"strength": 1}),
        ("--strength=-0.9", {"strength": -0.9}),
        ("--invert yes", {"invert": "yes"}),
        ("--invert no", {"invert": "no"}),
        ("--despeckle 9", {"despeckle": 9}),
        ("--enlarge 2", {"enlarge": 2}),
    ],
)
def test_options_are_those_of_the_verb(tmp_path: Path, flags: str, options: dict[str, object]) -> None:
    from sauvolanet import binarize, normalize

    slope = np.linspace(40, 220, 80).astype(np.uint8)
    page = np.tile(slope, (60, 1))
    page[20:24, 60:75] = page[50:53, 70:73] = 10
    page[19, 60:75] = page[24, 60:75] = 110  # a soft edge, which strength moves
    Image.fromarray(page).save(tmp_path / "page.png")
    assert run(tmp_path / "page.png", "-o", tmp_path / "ink.png", *flags.split()) == 0
    assert run(tmp_path / "page.png", "-o", tmp_path / "gray.png", "--keep-gray", *flags.split()) == 0
    expected = binarize(page, method="otsu", **options)
    with Image.open(tmp_path / "ink.png") as ink, Image.open(tmp_path / "gray.png") as gray:
        assert np.array_equal(~np.asarray(ink), expected)
        assert np.array_equal(np.asarray(gray), normalize(page, method="otsu", **options))
    if options != {"invert": "no"}:
        assert not np.array_equal(expected, binarize(page, method="otsu"))


def test_default_model(scans: Path, tmp_path: Path) -> None:
    from sauvolanet import binarize

    assert main(["binarize", str(scans / "0.png"), "-o", str(tmp_path / "a.tif")]) == 0
    with Image.open(scans / "0.png") as page, Image.open(tmp_path / "a.tif") as ink:
        assert (np.asarray(ink) != binarize(page)).all()


def test_pipe(scans: Path, tmp_path: Path) -> None:
    for format, start in {"png": b"\x89PNG", "tiff": b"II*\0", "pdf": b"%PDF"}.items():
        data = (scans / "1.png").read_bytes()
        done = subprocess.run([*COMMAND, "-", "--format", format], input=data, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.startswith(start)
        assert run(scans / "1.png", "-o", tmp_path / f"a.{format}") == 0
        assert (tmp_path / f"a.{format}").read_bytes() == done.stdout
    for data, reason in {b"no image": b"standard input is not an image", b"": b"standard input is empty"}.items():
        done = subprocess.run([*COMMAND, "-"], input=data, capture_output=True)
        assert (done.returncode, done.stdout) == (4, b"")
        assert reason in done.stderr


def test_a_pipe_with_a_name_is_read(scans: Path, tmp_path: Path) -> None:
    """As the shell's <(…): it cannot be read twice."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes")
    os.mkfifo(tmp_path / "pipe")
    process = subprocess.Popen(
        [*COMMAND, str(tmp_path / "pipe"), "-o", str(tmp_path / "a.png")], stderr=subprocess.PIPE
    )
    (tmp_path / "pipe").write_bytes((scans / "1.png").read_bytes())
    assert process.communicate(timeout=60)[1] == b"sauvolanet: 1 done\n"
    assert run(scans / "1.png", "-o", tmp_path / "b.png") == 0
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


@pytest.mark.parametrize(("args", "closed", "code"), [("- -o a.png", 0, 4), ("scans/1.png -o -", 1, 5)])
def test_closed_streams_are_one_clear_error(scans: Path, args: str, closed: int, code: int) -> None:
    done = subprocess.run([*COMMAND, *args.split()], cwd=scans.parent, stdin=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, preexec_fn=lambda: os.close(closed))  # fmt: skip
    assert done.returncode == code
    assert b"standard %s is closed\n" % (b"output" if closed else b"input") in done.stderr
    assert [p.name for p in scans.parent.iterdir()] == ["scans"]


def test_standard_input_after_other_files(scans: Path, tmp_path: Path) -> None:
    args = [*COMMAND, *(str(scans / f"{i}.png") for i in (0, 1, 2)), "-", "-o", str(tmp_path / "ink"), "--jobs", "2"]
    done = subprocess.run(args, input=(scans / "3.png").read_bytes(), capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"sauvolanet: 4 done\n")
    assert set(contents(tmp_path / "ink")) == {"0.png", "1.png", "2.png", "stdin.png"}


def test_several_pages_are_no_single_png(scans: Path, tmp_path: Path) -> None:
    book_of(scans, tmp_path / "book.tif")
    done = subprocess.run([*COMMAND, str(tmp_path / "book.tif"), "-o", "-"], capture_output=True)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"book.tif has 3 pages and PNG holds one; use --format tiff or pdf\n" in done.stderr
    done = subprocess.run([*COMMAND, str(tmp_path / "book.tif"), "-o", "-", "--format", "tiff"], capture_output=True)
    with Image.open(io.BytesIO(done.stdout)) as book:
        assert book.n_frames == 3


def test_full_pipe_is_5(scans: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*COMMAND, str(scans / "1.png"), "-o", "-"], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 5
    assert b"cannot write standard output" in done.stderr


def test_progress_in_a_terminal(scans: Path, tmp_path: Path) -> None:
    """Pages a second and the time left, on a terminal only (the other tests have none)."""
    pty, fcntl, termios = (pytest.importorskip(name) for name in ("pty", "fcntl", "termios"))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    done = subprocess.run([*COMMAND, str(scans), "-o", str(tmp_path / "ink")], stderr=theirs)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert done.returncode == 0
    assert re.search(r"binarize: .*\| \d/4 \[\d\d:\d\d<.*(page/s|s/page)\]", shown)


MANY = 60  # enough that a batch is not done before it can be stopped


def _heed_interrupt() -> None:
    """A test run in the background of a shell ignores Ctrl-C, and so would the program it starts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def wait_for_results(folder: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(3000):
        if folder.is_dir() and len(list(folder.glob("*.png"))) >= count:
            return
        assert process.poll() is None, "ended before it could be stopped"
        time.sleep(0.02)
    raise AssertionError("no results within a minute")


@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_killed_half_way_and_resumed(tmp_path: Path, jobs: int) -> None:
    pages = many(tmp_path / "pages", MANY)
    args = [*COMMAND, str(pages), "-o", str(tmp_path / "ink"), "--jobs", str(jobs)]
    process = subprocess.Popen(args, stderr=subprocess.DEVNULL, start_new_session=True)
    wait_for_results(tmp_path / "ink", 5, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    finished = len(list((tmp_path / "ink").glob("*.png")))
    done = subprocess.run([*args, "--json"], capture_output=True, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert len(rows) == MANY
    assert 5 <= sum(row["status"] == "skipped" for row in rows) == finished < MANY
    assert run(pages, "-o", tmp_path / "unbroken") == 0
    assert contents(tmp_path / "ink") == contents(tmp_path / "unbroken")  # the same bytes, and nothing else


@pytest.mark.parametrize(("jobs", "kind"), [
    pytest.param(1, signal.SIGINT, marks=pytest.mark.slow), (2, signal.SIGINT),
    pytest.param(2, signal.SIGTERM, marks=pytest.mark.slow),
])  # fmt: skip
def test_interrupted(tmp_path: Path, jobs: int, kind: signal.Signals) -> None:
    pages = many(tmp_path / "pages", MANY)
    args = [*COMMAND, str(pages), "-o", str(tmp_path / "ink"), "--jobs", str(jobs)]
    process = subprocess.Popen(args, stderr=subprocess.PIPE, start_new_session=True, preexec_fn=_heed_interrupt)
    wait_for_results(tmp_path / "ink", 3, process)
    if kind == signal.SIGINT:
        os.killpg(process.pid, kind)  # as the terminal does
    else:
        process.send_signal(kind)
    error = process.communicate(timeout=60)[1]
    assert process.returncode == 130, error
    assert b"Traceback" not in error
    assert b"run the same command again" in error
    assert all(name.endswith(".png") and not name.startswith(".") for name in contents(tmp_path / "ink"))
    for result in (tmp_path / "ink").glob("*.png"):
        with Image.open(result) as image:
            image.load()


def test_the_channel_of_a_colour_page(tmp_path: Path) -> None:
    page = np.full((40, 60, 3), 230, np.uint8)
    page[10:14, 5:50, 0] = page[20:24, 5:50, 2] = 20
    Image.fromarray(page).save(tmp_path / "page.png")
    for name, rows in (("red", {10, 11, 12, 13}), ("blue", {20, 21, 22, 23}), ("green", set())):
        assert run(tmp_path / "page.png", "-o", tmp_path / f"{name}.png", "--channel", name) == 0
        with Image.open(tmp_path / f"{name}.png") as ink:
            assert set(np.nonzero(~np.asarray(ink))[0]) == rows


def test_a_reader_that_goes_away_ends_the_batch(tmp_path: Path) -> None:
    """As with `| head -1`: not all was done, so the exit code is not 0."""
    pages = many(tmp_path / "pages", MANY, side=200)
    args = [*COMMAND, str(pages), "-o", str(tmp_path / "ink"), "--json"]
    process = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    error = process.stderr.read()
    assert process.wait(60) == 130, error
    assert b"Traceback" not in error and b"Exception" not in error
    process.stderr.close()


def test_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["binarize", "--help"])
    told = capsys.readouterr().out
    for name in (
        "strength",
        "invert",
        "channel",
        "despeckle",
        "quality",
        "keep-gray",
        "dpi",
        "jobs",
        "json",
        "dry-run",
        "force",
    ):
        assert f"--{name}" in told
    assert "from -1 to 1 (default 0.0)" in " ".join(told.split())


def test_help_of_the_whole_stays_light() -> None:
    code = "import sys, sauvolanet.cli as c\ntry: c.main(['--help'])\nexcept SystemExit: pass\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "PIL", "pypdfium2", "fsspec", "distributed", "tqdm"} & set(loaded)


def test_a_page_loads_what_it_needs_and_nothing_more(tmp_path: Path) -> None:
    Image.fromarray(np.full((40, 60), 200, np.uint8)).save(tmp_path / "page.png")
    code = "import sys, sauvolanet.cli as c; c.main(sys.argv[1:]); print(*sys.modules)"
    words = [sys.executable, "-c", code, "binarize", str(tmp_path / "page.png"), "-o", str(tmp_path / "ink.png")]
    loaded = set(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())
    assert {"numpy", "PIL.PngImagePlugin"} <= loaded
    others = {"tqdm", "asyncio", "ssl", "socket", "multiprocessing", "pypdfium2", "fsspec", "numpy.ma", "scipy"}
    assert not loaded & (others | {"PIL.EpsImagePlugin", "PIL.PdfImagePlugin", "sauvolanet.files.apart"})
