"""Where results go: a folder of this machine, an object store, or standard output.

Results appear whole or not at all. On disk: a temporary name in the same folder, flushed, renamed. In a store: one
upload of the whole object. Before a result appears, its status rows are in the journal, so that a run killed at any
moment can be continued: a row without its file is done again, a file without a row is somebody else's.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import stat
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from io import FileIO
from pathlib import Path, PurePath
from typing import IO, Any

from ..core.atomic import part_name
from ..errors import OutputError, SauvolanetError, UsageError
from .stores import absolute, filesystem, is_url, join, reason

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

Row = dict[str, Any]
STATE = ".sauvolanet"  # the folder below the output that holds journal, manifest and markers

_NEEDED = {"input": str, "page": int, "pages": int, "output": str, "status": str, "output_size": int}  # of a row
_ABSENT = (FileNotFoundError, NotADirectoryError)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # not on Windows
_READ_ONLY = ("http", "https", "zip", "tar", "libarchive")
SYNC_SECONDS = 1.0  # a journal is flushed to disk no more often: for each page it would cost small ones a tenth
_GROUP_SECONDS = 10.0  # no result waits longer for others to share its journal object
# a name that the file system refuses concerns one page; any other failure to write would meet every page
_PAGE_ERRORS = {errno.ENAMETOOLONG, errno.EINVAL, errno.EISDIR, errno.ENOTDIR, errno.EILSEQ, errno.EEXIST}


class Folder:
    """Where results go: names are relative, with "/"; ``journal`` is the name of its list of finished pages.

    Without a journal (one output file that was named itself) nothing is remembered between runs.
    """

    def __init__(self, root: str, journal: str | None) -> None:
        self.root, self.journal = absolute(root), journal
        self.synced = 0.0  # when the journal was last flushed to disk
        self.given: dict[str, int] = {}  # how much of each journal file has been given by `rows`

    def where(self, name: str) -> str:
        """The full location of a name: below the root, or an OutputError. Names come from archives and buckets."""
        return join(self.root, self._below(name))

    def _below(self, name: str) -> str:
        parts = name.replace(os.sep, "/").split("/")
        if "\0" in name or any(part in ("", ".", "..") for part in parts) or PurePath(name).drive:
            raise OutputError(f"{name} is not written: it would not lie below {self.root}")
        return name

    def size(self, name: str) -> int | None:
        """Size of a result that is there, else None."""
        try:
            return Path(self.where(name)).stat().st_size
        except OSError:
            return None

    def write(self, name: str, fill: Callable[[IO[bytes]], list[Row]]) -> list[Row]:
        """Have ``fill`` write a file and give its rows; record them; then let the file appear.

        The rows, completed, of all that has appeared: a store may hold some back, see `flush`.
        """
        path = Path(self.where(name))
        with self._writing(str(path)):
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(part_name(path.name))
            try:
                with _open_alone(part) as file:
                    rows = fill(file)
                    file.flush()
                    os.fsync(file.fileno())
                    _complete(rows, file.seek(0, io.SEEK_END))
                    self._record(rows)
                    part.replace(path)
            except BaseException:
                _remove_unused(part)
                raise
        return rows

    def flush(self) -> list[Row]:
        """Make everything written so far appear (on disk it already has) and last, and give its rows."""
        if self.synced:
            with self._using(), self._open_journal(Path(self.where(f"{STATE}/{self.journal}.jsonl"))) as file:
                os.fsync(file.fileno())
        return []

    def rows(self, *names: str) -> Iterator[Row]:
        """The rows of these journals that were not given before, oldest first; a line cut short is passed over."""
        for name in names:
            with (
                self._using(),
                contextlib.suppress(*_ABSENT),
                Path(self.where(f"{STATE}/{name}.jsonl")).open("rb") as file,
            ):
                file.seek(self.given.get(name, 0))
                for line in file:
                    if line.endswith(b"\n"):  # else its rest may still come
                        self.given[name] = self.given.get(name, 0) + len(line)
                        yield from _parse([line])

    def journals(self) -> list[str]:
        """The names of all journals of this folder."""
        state = Path(self.where(STATE))
        return sorted(str(p.relative_to(state).with_suffix("")) for p in state.rglob("*.jsonl"))

    def read(self, name: str) -> bytes | None:
        """A file's bytes, or None if there is none."""
        with self._using(), contextlib.suppress(*_ABSENT):
            return Path(self.where(name)).read_bytes()
        return None

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """Some bytes of a file; fewer where it ends before, none if there is no file."""
        with self._using(), contextlib.suppress(*_ABSENT), Path(self.where(name)).open("rb") as file:
            file.seek(start)
            return file.read(length)
        return b""

    def put(self, name: str, data: Iterable[bytes]) -> None:
        """Write a file of our own, whole or not at all; not recorded."""

        def fill(file: IO[bytes]) -> list[Row]:
            file.writelines(data)
            return []

        Folder(self.root, None).write(name, fill)

    def _record(self, rows: list[Row]) -> None:
        if self.journal is None:
            return
        path = Path(self.where(f"{STATE}/{self.journal}.jsonl"))
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = _lines(rows)
        with self._open_journal(path) as file:
            if file.tell() and _last_byte(path) != b"\n":
                lines = b"\n" + lines
            if file.write(lines) != len(lines):  # a full disk may take part of it; the next write says so
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if time.monotonic() - self.synced > SYNC_SECONDS:
                os.fsync(file.fileno())  # before the result appears: after a power cut as well it is known as ours
                self.synced = time.monotonic()

    @staticmethod
    def _open_journal(path: Path) -> FileIO:
        return FileIO(path, "ab", opener=lambda name, flags: os.open(name, flags | _NO_LINK, 0o666))

    @contextlib.contextmanager
    def _using(self) -> Iterator[None]:
        try:
            yield
        except SauvolanetError:
            raise
        except Exception as problem:  # each store has exceptions of its own
            raise OutputError(f"cannot use {self.where(STATE)}: {reason(problem)}") from problem

    @contextlib.contextmanager
    def _writing(self, location: str) -> Iterator[None]:
        try:
            yield
        except SauvolanetError:
            raise
        except OSError as problem:
            raise OutputError(f"cannot write {location}: {reason(problem)}") from problem


class StoreFolder(Folder):
    """Results in an object store. Up to ``group`` wait to share one journal object: `flush` when they must be there."""

    def __init__(self, root: str, journal: str | None, group: int = 1) -> None:
        super().__init__(re.sub(r"(?<![:/])/+$", "", root), journal)  # memory:// stays whole
        self.group = group
        protocol = root.partition("://")[0]
        if protocol in _READ_ONLY:
            raise UsageError(f"{protocol}:// can be read but not written; give a folder or a store such as s3://")
        self.fs, self.path = filesystem(self.root)
        self.path = self.path.rstrip("/")
        self.waiting: list[tuple[str, bytes, list[Row]]] = []
        self.since = 0.0

    def _key(self, name: str) -> str:
        return f"{self.path}/{self._below(name)}"

    def size(self, name: str) -> int | None:
        with self._using(), contextlib.suppress(FileNotFoundError):
            self.fs.invalidate_cache()
            return int(self.fs.info(self._key(name))["size"])
        return None

    def write(self, name: str, fill: Callable[[IO[bytes]], list[Row]]) -> list[Row]:
        buffer = io.BytesIO()
        rows = fill(buffer)
        _complete(rows, buffer.seek(0, io.SEEK_END))
        if not self.waiting:
            self.since = time.monotonic()
        self.waiting.append((name, buffer.getvalue(), rows))
        if len(self.waiting) >= self.group or time.monotonic() - self.since > _GROUP_SECONDS:
            return self.flush()
        return []

    def flush(self) -> list[Row]:
        waiting, self.waiting = self.waiting, []
        if waiting and self.journal is not None:
            unique = f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}"
            self._upload(f"{STATE}/{self.journal}/{unique}.jsonl", _lines(r for _, _, rows in waiting for r in rows))
        for name, data, _ in waiting:
            self._upload(name, data)
        return [row for _, _, rows in waiting for row in rows]

    def rows(self, *names: str) -> Iterator[Row]:
        for name in names:
            with self._using(), contextlib.suppress(FileNotFoundError):
                self.fs.invalidate_cache()
                for part in sorted(set(self.fs.find(f"{self.path}/{STATE}/{name}")) - self.given.keys()):
                    self.given[part] = 1  # an object is there whole
                    yield from _parse(self.fs.cat_file(part).splitlines())

    def journals(self) -> list[str]:
        parts: list[str] = []
        with self._using(), contextlib.suppress(FileNotFoundError):
            self.fs.invalidate_cache()
            parts = self.fs.find(f"{self.path}/{STATE}")
        start = len(f"{self.path}/{STATE}/")
        return sorted({p[start:].rpartition("/")[0] for p in parts if p.endswith(".jsonl") and "/" in p[start:]})

    def read(self, name: str) -> bytes | None:
        with self._using(), contextlib.suppress(FileNotFoundError):
            return self.fs.cat_file(self._key(name))  # type: ignore[no-any-return]
        return None

    def read_range(self, name: str, start: int, length: int) -> bytes:
        with self._using(), contextlib.suppress(FileNotFoundError):
            return self.fs.cat_file(self._key(name), start=start, end=start + length)  # type: ignore[no-any-return]
        return b""

    def put(self, name: str, data: Iterable[bytes]) -> None:
        self._upload(name, b"".join(data))

    def _upload(self, name: str, data: bytes) -> None:
        try:
            self.fs.pipe_file(self._key(name), data)
        except SauvolanetError:
            raise
        except FileNotFoundError as problem:
            raise OutputError(f"cannot write {self.where(name)}: no such bucket or folder") from problem
        except Exception as problem:
            raise OutputError(f"cannot write {self.where(name)}: {reason(problem)}") from problem


class StandardOutput(Folder):
    """One result, to standard output."""

    def __init__(self) -> None:
        super().__init__("-", None)

    def where(self, name: str) -> str:
        return "-"

    def size(self, name: str) -> int | None:
        return None

    def write(self, name: str, fill: Callable[[IO[bytes]], list[Row]]) -> list[Row]:
        buffer = io.BytesIO()
        rows = fill(buffer)
        _complete(rows, len(buffer.getbuffer()))
        if sys.stdout is None:
            raise OutputError("standard output is closed")
        with self._writing("standard output"):
            sys.stdout.buffer.write(buffer.getbuffer())
            sys.stdout.buffer.flush()
        return rows


def open_folder(root: str, journal: str | None, group: int = 1) -> Folder:
    """The output folder on this machine, in a store, or ``-``; in a store ``group`` results share a journal object."""
    if root == "-":
        return StandardOutput()
    return StoreFolder(root, journal, group) if is_url(root) else Folder(root, journal)


def stops_batch(problem: OutputError) -> bool:
    """Whether every further page would fail as well: disk full, no permission, store out of reach."""
    cause = problem.__cause__
    return cause is not None and getattr(cause, "errno", None) not in _PAGE_ERRORS


def _open_alone(part: Path) -> IO[bytes]:
    """The temporary file, emptied, and ours until closed: what a killed run left is used again, a second run waits.

    Anything else that bears its name (a link, a file with a second name, somebody else's file) is removed, not opened:
    its name can be foretold, and who may write into the folder could have it lead elsewhere.
    """
    flags = os.O_RDWR | getattr(os, "O_BINARY", 0) | _NO_LINK
    while True:
        try:
            file = os.fdopen(os.open(part, flags | os.O_CREAT | os.O_EXCL, 0o666), "w+b")
        except FileExistsError:
            try:
                if not _is_left(part):
                    part.unlink()
                    continue
                file = os.fdopen(os.open(part, flags), "w+b")
            except FileNotFoundError:  # the other run has renamed it meanwhile
                continue
        try:
            if fcntl is None:
                return file
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(file.fileno()), part.lstat()):
                file.truncate(0)
                return file
        except FileNotFoundError:  # the other run has renamed it meanwhile
            pass
        except BaseException:
            file.close()
            raise
        file.close()


def _is_left(part: Path) -> bool:
    """Whether this is what a run of ours leaves, or has under way: a plain file of this user with one name."""
    info = part.lstat()
    ours = not hasattr(os, "geteuid") or info.st_uid == os.geteuid()
    return stat.S_ISREG(info.st_mode) and info.st_nlink == 1 and ours


def _remove_unused(part: Path) -> None:
    """Remove the temporary file, unless it is another run's: an interrupt may come before we know whose it is."""
    if fcntl is None:
        part.unlink(missing_ok=True)
        return
    with (
        contextlib.suppress(FileNotFoundError, IsADirectoryError),
        FileIO(part, opener=lambda name, flags: os.open(name, flags | _NO_LINK | os.O_NONBLOCK)) as file,
    ):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        except OSError:  # a file system without locks
            pass
        part.unlink()


def _complete(rows: list[Row], size: int) -> None:
    for row in rows:
        row["output_size"] = size


def _lines(rows: Iterable[Row]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _parse(lines: Iterable[bytes]) -> Iterator[Row]:
    for line in lines:
        with contextlib.suppress(ValueError):
            row = json.loads(line)
            if isinstance(row, dict) and all(isinstance(row.get(name), kind) for name, kind in _NEEDED.items()):
                yield row


def _last_byte(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-1, io.SEEK_END)
        return file.read()
