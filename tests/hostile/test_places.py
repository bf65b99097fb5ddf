"""Where results are written, whatever names, links and folders an attacker has put in the way."""

from __future__ import annotations

import io
import json
import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from sauvolanet import cli
from sauvolanet.core.atomic import part_name
from sauvolanet.errors import OutputError, UnreadablePage, one_line
from sauvolanet.files import binarize_many
from sauvolanet.files.folders import Folder

from . import making

EVIL = ["../up.png", "../../../up.png", "inner/../../up.png", "/root.png"]
PLAIN = ["./dot.png", "sub/./dot.png", "twice//slash.png", "plain.png"]


def archive(kind: str, folder: Path, names: list[str]) -> str:
    """An archive with a page under each name, as the first part of a URL; ``{}`` stands for a pattern."""
    data = making.image()
    path = folder / f"box.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as box:
            for name in names:
                box.writestr(zipfile.ZipInfo(name), data)
    else:
        with tarfile.open(path, "w") as box:
            for name in names:
                member = tarfile.TarInfo(name)
                member.size = len(data)
                box.addfile(member, io.BytesIO(data))
    return f"{kind}://{{}}::{path}"


def bucket(names: list[str]) -> str:
    import fsspec

    store = fsspec.filesystem("memory")
    store.store.clear()
    for name in names:
        store.pipe_file(f"/bucket/{name}", making.image())
    return "memory://bucket/{}"


def run(inputs: str | Path, output: Path, **options: object) -> list[dict]:
    return list(binarize_many(str(inputs), output, **{"method": "otsu", **options}))


def files_below(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and ".sauvolanet" not in p.parts}


@pytest.mark.parametrize("pattern", ["**/*.png", ""], ids=["pattern", "folder"])
@pytest.mark.parametrize("kind", ["zip", "tar", "memory"])
def test_no_name_leads_out_of_the_output_folder(tmp_path, kind, pattern):
    pytest.importorskip("fsspec")
    (tmp_path / "deep" / "er" / "out").mkdir(parents=True)
    before = files_below(tmp_path)
    names = [*EVIL, *PLAIN]
    url = bucket(names) if kind == "memory" else archive(kind, tmp_path, names)
    rows = run(url.format(pattern), tmp_path / "deep" / "er" / "out")
    written = files_below(tmp_path) - before - {f"box.{kind}"}
    assert all(name.startswith("deep/er/out/") for name in written)
    failed = [row for row in rows if row["status"] == "failed"]
    assert len(rows) == len(names) and len(failed) >= 3
    assert all("below" in row["error"] or "no such file" in row["error"] for row in failed)
    done = {row["output"] for row in rows if row["status"] == "done"}
    assert {"dot.png", "sub/dot.png", "twice/slash.png", "plain.png"} <= done
    assert {"deep/er/out/" + name for name in done} == written


@pytest.mark.parametrize("name", ["../a", "a/../b", "/a", "a//b", "./a", "a\0b", ".."])
def test_one_place_decides_where_a_result_may_be_written(tmp_path, name):
    folder = Folder(str(tmp_path / "out"), None)
    with pytest.raises(OutputError, match="below"):
        folder.write(name, lambda file: [])
    with pytest.raises(OutputError, match="below"):
        folder.put(name, [b"x"])
    assert list(tmp_path.iterdir()) == []


def test_results_in_a_store_stay_below_their_prefix():
    fsspec = pytest.importorskip("fsspec")
    from sauvolanet.files.folders import open_folder

    fsspec.filesystem("memory").store.clear()
    folder = open_folder("memory://bucket/out", None)
    with pytest.raises(OutputError, match="below"):
        folder.put("../other", [b"x"])
    assert fsspec.filesystem("memory").store == {}


@pytest.mark.parametrize("pattern", ["**/*.png", ""], ids=["pattern", "folder"])
@pytest.mark.parametrize("kind", ["zip", "tar", "memory"])
def test_the_same_name_twice_is_one_result_and_a_failed_row(tmp_path, kind, pattern):
    pytest.importorskip("fsspec")
    names = ["a.png", "./a.png"]
    url = bucket(names) if kind == "memory" else archive(kind, tmp_path, names)
    rows = run(url.format(pattern), tmp_path / "out")
    assert sorted(row["status"] for row in rows) == ["done", "failed"]
    assert len(files_below(tmp_path / "out")) == 1


@pytest.fixture
def scans(tmp_path: Path) -> Path:
    folder = tmp_path / "scans"
    folder.mkdir()
    (folder / "a.png").write_bytes(making.image())
    return folder


@pytest.mark.parametrize("link", [os.symlink, os.link], ids=["symbolic", "hard"])
def test_temporary_file_follows_no_link(tmp_path, scans, link):
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    (tmp_path / "out").mkdir()
    link(precious, tmp_path / "out" / part_name("a.png"))
    assert [row["status"] for row in run(scans, tmp_path / "out")] == ["done"]
    assert precious.read_bytes() == b"precious"
    result = tmp_path / "out" / "a.png"
    assert not result.is_symlink() and result.read_bytes()[:4] == b"\x89PNG" and result.stat().st_nlink == 1


def test_temporary_file_is_no_pipe(tmp_path, scans):
    (tmp_path / "out").mkdir()
    os.mkfifo(tmp_path / "out" / part_name("a.png"))
    assert [row["status"] for row in run(scans, tmp_path / "out")] == ["done"]
    assert stat.S_ISREG((tmp_path / "out" / "a.png").lstat().st_mode)


def test_temporary_file_is_a_folder(tmp_path, scans):
    (tmp_path / "out" / part_name("a.png")).mkdir(parents=True)
    assert [row["status"] for row in run(scans, tmp_path / "out")] == ["failed"]


def test_journal_follows_no_link(tmp_path, scans):
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    (tmp_path / "out" / ".sauvolanet").mkdir(parents=True)
    (tmp_path / "out" / ".sauvolanet" / "journal.jsonl").symlink_to(precious)
    with pytest.raises(OutputError):
        run(scans, tmp_path / "out")
    assert precious.read_bytes() == b"precious"


@pytest.mark.parametrize("pattern", ["", "/**/*.png"], ids=["folder", "pattern"])
@pytest.mark.parametrize("way", ["output by a link", "input by a link"])
def test_output_inside_the_input_is_known_through_links(tmp_path, scans, way, pattern):
    (tmp_path / "link").symlink_to(scans)
    source, target = (scans, tmp_path / "link") if way.startswith("output") else (tmp_path / "link", scans)
    for expected in (["done"], ["skipped"]):
        assert [row["status"] for row in run(f"{source}{pattern}", target / "out")] == expected


ESCAPES = "a\x1b[31m\x1b]0;title\x07\n\r\x9b2J\u202eb"


def test_names_are_printed_on_one_line_without_escapes(tmp_path, capsys):
    folder = tmp_path / "scans"
    folder.mkdir()
    (folder / f"{ESCAPES}.png").write_bytes(b"no image")
    (folder / f"{ESCAPES}2.png").write_bytes(making.image())
    (folder / f"{ESCAPES}link").symlink_to(tmp_path)
    for dry in ([], ["--dry-run"]):
        assert cli.main(["binarize", str(folder), "-o", str(tmp_path / "out"), "--method", "otsu", *dry]) == 3
        told = capsys.readouterr()
        for line in (told.out + told.err).splitlines():
            assert line.isprintable(), repr(line)
            assert line.startswith("sauvolanet: ") or " -> " in line
    assert cli.main(["binarize", str(tmp_path / ESCAPES), "-o", str(tmp_path / "out")]) == 4
    assert all(line.isprintable() for line in capsys.readouterr().err.splitlines())
    assert cli.main(["binarize", str(folder), "-o", str(tmp_path / "json"), "--method", "otsu", "--json"]) == 3
    assert {json.loads(line)["input"] for line in capsys.readouterr().out.splitlines()} >= {
        str(folder / f"{ESCAPES}.png")
    }


def test_every_message_is_one_line():
    assert str(UnreadablePage(f"{ESCAPES} is damaged")).isprintable()
    assert one_line("Handschrift äöü 手 \u200cنامه") == "Handschrift äöü 手 \u200cنامه"
