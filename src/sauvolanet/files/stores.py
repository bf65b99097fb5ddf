"""Where pages come from: this machine's files and folders, and object stores by fsspec URL (extra ``store``).

Nothing is fetched that the user did not name: folders are listed, http is not.
"""

from __future__ import annotations

import contextlib
import glob as local_glob
import io
import logging
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import IO, Any, NamedTuple

from ..errors import MissingExtra, SauvolanetError, UnreadablePage, UsageError, one_line

log = logging.getLogger(__name__)

_WHOLE = 2**28  # larger inputs in a store are read piece by piece


class Stat(NamedTuple):
    """Size in bytes, and a text that changes when the file does."""

    size: int
    time: str


def is_url(location: str) -> bool:
    """Whether the location is in a store; ``file://`` counts as this machine, see `absolute`."""
    return re.match(r"[a-z][a-z0-9+.-]+://", location) is not None and not location.startswith("file://")


def absolute(location: str) -> str:
    """The location as it is written in status rows: an absolute path, or the URL."""
    if is_url(location) or location == "-":
        return location
    return os.path.abspath(location.removeprefix("file://"))  # noqa: PTH100  links are not followed


def join(location: str, name: str) -> str:
    """The location of a name below a folder; in ``zip://FOLDER::ARCHIVE`` the name belongs to the first part."""
    if not is_url(location):
        return str(Path(location, name))
    first, chain, rest = location.partition("::")
    inside = first if first.endswith("/") else first + "/"
    return inside + name + chain + rest


def base_name(location: str) -> str:
    """The file's own name, without folders, archive or query."""
    if is_url(location):
        location = re.sub(r"[?#].*", "", location.partition("::")[0])
    return location.rstrip("/").replace(os.sep, "/").rpartition("/")[2]


def suffix(location: str) -> str:
    """The suffix of the file's name, in small letters."""
    return PurePath(base_name(location)).suffix.lower()


def filesystem(url: str) -> tuple[Any, str]:
    protocol = url.partition("://")[0]
    try:
        from fsspec.core import url_to_fs

        fs, path = url_to_fs(url)
    except ImportError:
        raise MissingExtra("store", f"{protocol}://") from None
    except ValueError as problem:
        raise UsageError(f"cannot use {url}: {problem}") from None
    except Exception as problem:  # opening an archive reads it
        raise UnreadablePage(f"cannot read {url}: {reason(problem)}") from None
    return fs, path


def reason(problem: BaseException) -> str:
    if isinstance(problem, FileNotFoundError):
        cause: Any = problem.__cause__  # over http fsspec says "not found" of every failure
        status = getattr(cause, "status", 404)
        if status != 404:
            return f"the server answers {status} {cause.message}"
        if not isinstance(cause, OSError) or isinstance(cause, FileNotFoundError):
            return "no such file"
        problem = cause
    text = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
    return str(text).splitlines()[0]


@contextlib.contextmanager
def reading(location: str) -> Iterator[None]:
    try:
        yield
    except SauvolanetError:
        raise
    except Exception as problem:  # each store has exceptions of its own
        raise UnreadablePage(f"cannot read {location}: {reason(problem)}") from None


def open_input(location: str) -> IO[bytes]:
    """The file, seekable; ``-`` is standard input."""
    if location == "-":
        if sys.stdin is None:
            raise UnreadablePage("standard input is closed")
        return io.BytesIO(sys.stdin.buffer.read())
    with reading(location):
        if not is_url(location):
            here = Path(location)  # a pipe, as the shell's <(…) is, can be read only once
            return here.open("rb") if here.is_file() else io.BytesIO(here.read_bytes())
        fs, path = filesystem(location)
        size = fs.info(path).get("size")
        if size is None or size <= _WHOLE:
            return io.BytesIO(fs.cat_file(path))
        return fs.open(path, "rb")  # type: ignore[no-any-return]


def stat(location: str) -> Stat:
    """Size and time of a file, or an UnreadablePage that says why not."""
    if location == "-":
        return Stat(0, f"stdin {time.time_ns()}")
    with reading(location):
        if not is_url(location):
            found = Path(location).stat()
            return Stat(found.st_size, str(found.st_mtime_ns))
        fs, path = filesystem(location)
        info = fs.info(path)
        times = ("LastModified", "last_modified", "mtime", "updated", "created", "date_time", "ETag")
        return Stat(info.get("size") or 0, next((str(info[name]) for name in times if info.get(name)), ""))


def same_file(a: str, b: str) -> bool:
    """Whether two locations are one file or folder, also by links and by another way to write its URL."""
    a, b = (filesystem(x)[1] if x.startswith("local://") else x for x in (a, b))
    if is_url(a) and is_url(b):
        if "::" in a + b:  # an archive is never written, and opening it again would cost
            return False
        (one, x), (other, y) = filesystem(a), filesystem(b)
        return one == other and x.rstrip("/") == y.rstrip("/")
    try:
        return a == b or (not is_url(a) and not is_url(b) and Path(a).samefile(b))
    except OSError:
        return False


def real(location: str) -> str:
    """The location with links followed, or the URL as its store writes it: one text for one file."""
    if not is_url(location):
        return os.path.realpath(location)
    if "::" in location or location.startswith("http"):  # nothing is written there
        return location
    fs, path = filesystem(location)
    return str(fs.unstrip_protocol(path))


def is_folder(location: str) -> bool:
    """Whether the location is a folder; over http there are none, so nothing is fetched that was not named."""
    if not is_url(location):
        return Path(location).is_dir()
    if location.startswith("http"):
        return False
    fs, path = filesystem(location)
    with reading(location), contextlib.suppress(PermissionError):  # who may not list a bucket may still read a page
        return not path.strip("/") or bool(fs.isdir(path))
    return False


def is_below(location: str, folder: str) -> bool:
    """Whether the location is inside the folder, at any depth."""
    return location.replace(os.sep, "/").startswith(folder.replace(os.sep, "/").rstrip("/") + "/")


def tidy(name: str) -> str:
    """A name below some folder without parts that mean nothing: ``./a//b`` is ``a/b``; ``..`` stays, and is refused."""
    return "/".join(part for part in name.split("/") if part not in ("", "."))


def same_name(a: str, b: str) -> bool:
    """Whether two locations in a store differ by parts that mean nothing."""
    return is_url(a) and is_url(b) and tidy(a) == tidy(b)


def walk(location: str, leave_out: str, refused: dict[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Folders below and the locations of their files, hidden ones left out, in a fixed order: ("", […]), ("sub", […]).

    leave_out : the output folder, passed over if it is inside, by whatever links. refused : gets the folders that cannot
    be listed, and why.
    """
    top, leave_out = real(location), real(leave_out)
    inner = is_below(leave_out, top)
    if not is_url(location):
        found = _local_walk(location, leave_out if inner else "", refused)
    elif "::" in location:
        found = _archive_walk(location)
    else:
        found = _store_walk(location, refused)
    for below, files in found:
        if not (inner and is_below(f"{join(top, below)}/" if below else f"{top}/", leave_out)):
            yield below, sorted(files)


def _hidden(name: str) -> bool:
    return name.startswith(".") and name not in (".", "..")


def _local_walk(location: str, leave_out: str, refused: dict[str, str]) -> Iterator[tuple[str, list[str]]]:
    linked = []

    def refuse(problem: OSError) -> None:
        refused[problem.filename] = f"cannot read {problem.filename}: {reason(problem)}"

    for folder, folders, files in os.walk(location, onerror=refuse):
        # not even looked into: an output folder may hold millions of files
        folders[:] = sorted(
            f for f in folders if not _hidden(f) and not (leave_out and real(join(folder, f)) == leave_out)
        )
        linked += [path for f in folders if (path := Path(folder, f)).is_symlink()]
        below = Path(folder).relative_to(location).as_posix()
        yield ("" if below == "." else below), [join(folder, f) for f in files if not _hidden(f)]
    if linked:  # a link may lead back up, so following it might never end
        log.warning("sauvolanet: links to folders are not followed (%d, such as %s); name their targets as inputs",
                    len(linked), one_line(str(linked[0])))  # fmt: skip


def _store_walk(location: str, refused: dict[str, str]) -> Iterator[tuple[str, list[str]]]:
    fs, root = filesystem(location)
    root = root.rstrip("/") + "/" if root else ""  # a slash at the start stays: in some stores paths are absolute
    fs.invalidate_cache()
    waiting = [""]
    while waiting:
        below = waiting.pop()
        folder = (root + below).rstrip("/") or root
        try:  # one folder at a time: fsspec passes over what is refused further down in silence
            _, folders, files = next(fs.walk(folder, maxdepth=1, on_error="raise", detail=True))
            # a key with "//" looks like a nameless folder, which no store can list
            odd = {"", ".", ".."} & {*folders, *(f for f in files if files[f]["type"] == "directory")}
            keys = fs.find(folder) if odd else []
        except Exception as problem:  # each store has exceptions of its own
            place = join(location, below) if below else location
            refused[place] = f"cannot read {place}: {reason(problem)}"
            continue
        if odd:  # such names belong to folders further up: all that is below, put in order
            yield from _grouped(location, (key[len(root) :] for key in keys))
            continue
        place = join(location, below) if below else location
        yield below, [join(place, f) for f in files if f and not _hidden(f)]
        waiting += (f"{below}/{f}".strip("/") for f in sorted(folders, reverse=True) if not _hidden(f))
        fs.invalidate_cache(folder)  # a listing of millions is not kept


def _archive_walk(location: str) -> Iterator[tuple[str, list[str]]]:
    """All at once: an archive's listing is in memory as it is, and its names may begin with anything."""
    fs, root = filesystem(location)
    with reading(location):
        return _grouped(location, [_below(name, root) for name in fs.find(root)])


def _below(key: str, root: str) -> str:
    return key[len(root) :].removeprefix("/") if root else key  # a member of an archive may begin with a slash


def _grouped(location: str, names: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    groups: dict[str, list[str]] = {}
    for name in names:
        folder, _, file = tidy(name).rpartition("/")
        if file and not any(_hidden(part) for part in tidy(name).split("/")):
            groups.setdefault(folder, []).append(join(location, name))
    yield from sorted(groups.items())


def glob(pattern: str) -> Iterator[str]:
    """Files that match a pattern with ``*``, ``?``, ``[…]`` and ``**``, in a fixed order."""
    if not is_url(pattern):
        found = local_glob.glob(pattern, recursive=True)  # noqa: PTH207  patterns may be absolute
        yield from sorted(p for p in found if Path(p).is_file())
        return
    fs, path = filesystem(pattern)
    with reading(pattern):
        root = path.partition("*")[0].partition("?")[0].partition("[")[0].rpartition("/")[0]
        base = glob_root(pattern)
        if "**" in path:  # all is listed in any case; names with "./" and "//" are those that they mean
            from fsspec.utils import glob_translate

            wanted = re.compile(glob_translate(tidy(path[len(root) :])))
            files = [name for key in fs.find(root) if wanted.fullmatch(tidy(name := _below(key, root)))]
        else:
            files = [_below(key, root) for key in fs.glob(path) if not fs.isdir(key)]
        yield from (join(base, name) for name in sorted(files))


def glob_root(pattern: str) -> str:
    """The folder before the first wildcard, with its slash: that of ``zip://*.png::box.zip`` is ``zip://::box.zip``."""
    first, chain, rest = pattern.partition("::")
    folder, slash, _ = re.split(r"[*?\[]", first)[0].rpartition("/")
    return folder + slash + chain + rest or "."
