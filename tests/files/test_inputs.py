from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from sauvolanet.errors import InputError, UsageError
from sauvolanet.files.inputs import find_items, output_names


def tree(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


def outputs(*inputs: Path | str, output: str = "/elsewhere", apart: bool = True) -> list[str]:
    return [item.output for item in find_items([str(i) for i in inputs], output, apart)]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a.jpg"], ["a"]),
        (["a.jpg", "a.tif"], ["a.jpg", "a.tif"]),
        (["a.jpg", "a.tif", "a.jpg.tif"], ["a.jpg", "a.tif", "a.jpg.tif"]),
        (["A.jpg", "a.tif"], ["A.jpg", "a.tif"]),  # one name on some file systems
        (["a.b.jpg", "a.jpg"], ["a.b", "a"]),
        (["a.pdf", "a-0001.jpg", "b-0001.jpg"], ["a", "a-0001.jpg", "b-0001"]),
        (["a", ".jpg"], ["a", ".jpg"]),
    ],
)
def test_names(names: list[str], expected: list[str]) -> None:
    assert output_names(names, pages_apart=True) == expected
    assert output_names(names[::-1], pages_apart=True) == expected[::-1]  # the order does not matter


def test_page_numbers_do_not_clash_where_pages_stay_together() -> None:
    assert output_names(["a.pdf", "a-0001.jpg"], pages_apart=False) == ["a", "a-0001"]


def test_a_folder_keeps_its_structure(tmp_path: Path) -> None:
    tree(tmp_path, "b.png", "a.JPG", "x/y/c.tif", "x/notes.txt", ".hidden.png", "._a.jpg", ".cache/d.png")
    assert outputs(tmp_path) == ["a", "b", "x/y/c"]


def test_folders_beside_others_keep_their_names(tmp_path: Path) -> None:
    tree(tmp_path, "one/a.png", "two/a.png", "a.png")
    assert outputs(tmp_path / "one", tmp_path / "two", tmp_path / "a.png") == ["one/a", "two/a", "a"]


def test_an_output_folder_inside_is_left_out(tmp_path: Path) -> None:
    tree(tmp_path, "a.png", "ink/a.png")
    assert outputs(tmp_path, output=str(tmp_path / "ink")) == ["a"]
    with pytest.raises(UsageError, match="both input and output"):
        outputs(tmp_path, output=str(tmp_path))


def test_an_output_folder_around_the_input_leaves_nothing_out(tmp_path: Path) -> None:
    tree(tmp_path, "scans/a.png", "scans/x/b.png")
    assert outputs(tmp_path / "scans", output=str(tmp_path)) == ["a", "x/b"]


def test_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, "x/a.png", "x/y/b.png", "x/y/c.jpg", "x/y/d.txt", "q[1].png")
    assert outputs(f"{tmp_path}/x/**/*.png") == ["a", "y/b"]
    assert outputs(f"{tmp_path}/x/y/*") == ["b", "c"]
    assert outputs(f"{tmp_path}/q[1].png") == ["q[1]"]  # a file of that very name
    monkeypatch.chdir(tmp_path)
    assert outputs("x/*.png") == ["a"]
    with pytest.raises(InputError, match="nothing matches"):
        outputs(f"{tmp_path}/*.gif")


def test_patterns_and_files_share_their_names(tmp_path: Path) -> None:
    tree(tmp_path, "x/a.jpg", "x/a.tif", "x/z/b.jpg", "x/z/b.tif", "y/a.jpg", "q.png")
    assert outputs(f"{tmp_path}/x/*.jpg", f"{tmp_path}/x/*.tif") == ["a.jpg", "a.tif"]
    assert outputs(f"{tmp_path}/x/**/*.jpg", f"{tmp_path}/x/**/*.tif") == ["a.jpg", "a.tif", "z/b.jpg", "z/b.tif"]
    assert outputs(f"{tmp_path}/x/*.jpg", tmp_path / "x/a.jpg") == ["a"]
    assert outputs(tmp_path / "x/z", f"{tmp_path}/x/**/b.*") == ["z/b.jpg", "z/b.tif"]  # a folder lends its name
    with pytest.raises(UsageError, match=r"would both become a\.jpg"):
        outputs(f"{tmp_path}/x/*.jpg", f"{tmp_path}/y/*.jpg")


def test_an_output_folder_inside_a_pattern_is_left_out(tmp_path: Path) -> None:
    tree(tmp_path, "a.png", "ink/a.png", "ink/x/b.png", "inkwell/c.png")
    assert outputs(f"{tmp_path}/**/*.png", output=str(tmp_path / "ink")) == ["a", "inkwell/c"]
    assert outputs(f"{tmp_path}/*.png", output=str(tmp_path)) == ["a"]  # beside the pages, as the user asked
    assert outputs(f"{tmp_path}/ink/*.png", output=str(tmp_path)) == ["a"]


def test_what_cannot_be_read_is_one_item_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, "scans/a.png", "scans/shut/b.png", "scans/z/c.png")
    real = os.scandir

    def refuse(path: str) -> object:  # a folder's mode would not stop root
        if str(path).endswith("shut"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    items = list(find_items([f"{tmp_path}/scans", f"{tmp_path}/*.gif"], "/elsewhere", True))
    assert [item.output for item in items] == ["scans/a", "scans/z/c", "", ""]
    assert [item.problem for item in items[2:]] == [
        f"nothing matches {tmp_path}/*.gif", f"cannot read {tmp_path}/scans/shut: Permission denied"]  # fmt: skip
    with pytest.raises(InputError, match="shut: Permission denied"):
        outputs(tmp_path / "scans/shut")


def test_links_to_folders_are_named_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tree(tmp_path, "scans/a.png", "far/b.png")
    for name in ("one", "two"):
        (tmp_path / "scans" / name).symlink_to(tmp_path / "far")
    assert outputs(tmp_path / "scans") == ["a"]
    (line,) = caplog.messages
    assert f"not followed (2, such as {tmp_path}/scans/one)" in line


def test_named_files_may_have_any_suffix_and_count_once(tmp_path: Path) -> None:
    tree(tmp_path, "a.scan")
    assert outputs(tmp_path / "a.scan", tmp_path / "a.scan") == ["a"]


def test_a_file_named_in_two_ways_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree(tmp_path, "a.png"))
    assert outputs("a.png", "./a.png", tmp_path / "a.png") == ["a"]
    assert outputs(tmp_path, f"{tmp_path}/") == [f"{tmp_path.name}/a"]


def test_same_name_from_two_folders(tmp_path: Path) -> None:
    tree(tmp_path, "x/a.png", "y/a.png", "x/z/a.png", "y/z/a.png")
    with pytest.raises(UsageError, match="would both become"):
        outputs(tmp_path / "x/a.png", tmp_path / "y/a.png")
    with pytest.raises(UsageError, match="are called 'z'"):
        outputs(tmp_path / "x/z", tmp_path / "y/z")


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no images or PDFs"):
        outputs(tmp_path)
