"""Decoding in a process of its own: limits of memory and time, and an end that can be put to it from outside.

A file can make a decoder loop for hours, take all memory or crash, and no thread can be stopped. So documents that are
not trusted are decoded by a small pool of processes, which live on from one document to the next:

    parent ── the file, by its descriptor; then questions ──▶ child
           ◀── one line of JSON, and the page's gray as it is ──

Nothing that comes back is code. A child that takes too long is killed; the document fails and another child is started
for the next one. Where descriptors cannot be handed on (Windows), documents are decoded here, without these limits.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import math
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from ..errors import PageTooLarge, SauvolanetError, UnreadablePage, UsageError
from .decode import open_here
from .document import DecodedPage, Document, Patience

POSSIBLE = hasattr(socket, "send_fds")

_MEMORY = 1_000_000_000  # bytes that a document may take before its pages are looked at
_BYTES_A_PIXEL = 32  # and for each pixel of the page: JPEG 2000 in colour is the greediest
_IN_MEMORY = 2**28  # what is not a file here becomes one: in memory up to this size, else on the disk
_ANSWER_BYTES = 2**26  # the longest description of a page comes with it
_DOCUMENTS = 500  # that one child decodes
_LOOK_SECONDS = 0.1  # how often a wait looks whether it is cancelled
_ERRORS: dict[str, type[SauvolanetError]] = {e.__name__: e for e in (UnreadablePage, PageTooLarge, UsageError)}
_CHILD = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from sauvolanet.files import apart; apart.serve()"


@contextlib.contextmanager
def open_apart(file: IO[bytes], name: str, patience: Patience, **options: Any) -> Iterator[Document]:
    """As `open_here`, decoded by a child process; `options` are those of `open_here`."""
    if not POSSIBLE:
        with open_here(file, name, **options) as document:
            yield document
        return
    with contextlib.ExitStack() as stack:
        document = _Remote(_descriptor(file, stack), name, patience, options)
        stack.callback(document.close)
        document.open()
        yield document


def _descriptor(file: IO[bytes], stack: contextlib.ExitStack) -> int:
    """A descriptor of the file, from its beginning; what has none is copied."""
    file.seek(0)
    try:
        return file.fileno()
    except (OSError, AttributeError, io.UnsupportedOperation):
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        if size <= _IN_MEMORY and hasattr(os, "memfd_create"):
            copy: IO[bytes] = os.fdopen(os.memfd_create("page"), "w+b")
        else:
            copy = tempfile.TemporaryFile()  # noqa: SIM115
        stack.enter_context(copy)
        shutil.copyfileobj(file, copy)
        copy.flush()
        copy.seek(0)
        return copy.fileno()


class _Remote:
    """A document that a child has opened; another opens it again where the first one had to be killed over a page."""

    def __init__(self, handle: int, name: str, patience: Patience, options: dict[str, Any]) -> None:
        self.handle, self.name, self.patience, self.options = handle, name, patience, options
        self.pages = 0
        self.child: _Child | None = None

    def open(self) -> _Child:
        if self.child is None:
            self.child = CHILDREN.take()
            question = {"do": "open", "name": self.name, **self.options}
            self.pages = int(self._ask(self.child, question, self.name, self.handle)["pages"])
        return self.child

    def close(self) -> None:
        if self.child is not None:
            with contextlib.suppress(SauvolanetError):
                self._ask(self.child, {"do": "close"}, self.name)
        if self.child is not None:
            CHILDREN.give_back(self.child)

    def _ask(self, child: _Child, question: dict[str, Any], name: str, handle: int | None = None) -> dict[str, Any]:
        try:
            return child.ask(question, name, self.patience, handle)
        finally:
            if not child.alive:
                self.child = None

    def __len__(self) -> int:
        return self.pages

    def check(self, index: int) -> None:
        self._ask(self.open(), {"do": "check", "index": index}, self._page(index))

    def page(self, index: int) -> DecodedPage:
        told = self._ask(self.open(), {"do": "page", "index": index}, self._page(index))
        dpi = told["dpi"] and (float(told["dpi"][0]), float(told["dpi"][1]))
        return DecodedPage(told["gray"], str(told["channel"]), dpi, str(told["description"]))

    def _page(self, index: int) -> str:
        return f"page {index + 1} of {self.name}" if self.pages > 1 else self.name


class _Child:
    """A child process as its parent sees it."""

    def __init__(self) -> None:
        self.socket, theirs = socket.socketpair()
        path = json.dumps([os.path.abspath(place) for place in sys.path])  # noqa: PTH100
        with theirs, self._closed_on_failure():
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-c", _CHILD, path, str(theirs.fileno())],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()], env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )  # fmt: skip
        self.documents = 0
        self.alive = True

    @contextlib.contextmanager
    def _closed_on_failure(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            self.socket.close()
            raise UnreadablePage(f"no process can be started to decode it: {problem.strerror or problem}") from None

    def ask(self, question: dict[str, Any], name: str, patience: Patience, handle: int | None = None) -> dict[str, Any]:
        """The answer; or the error it is, or what became of the child, said of ``name``."""
        end = time.monotonic() + patience.seconds
        try:
            message = _packed({**question, "seconds": patience.seconds})
            self.socket.settimeout(patience.seconds)
            if handle is None:
                self.socket.sendall(message)
            else:
                socket.send_fds(self.socket, [message[:1]], [handle])
                self.socket.sendall(message[1:])
            told: dict[str, Any] = json.loads(self._receive(self._length(end, patience), end, patience))
            if "shape" in told:
                height, width = (int(side) for side in told["shape"])
                data = self._receive(height * width, end, patience)
                told["gray"] = np.frombuffer(data, np.uint8).reshape(height, width)
        except TimeoutError:
            self.kill()
            raise UnreadablePage(f"{name} takes longer than {patience.seconds:g} seconds to decode") from None
        except (OSError, EOFError):
            self.kill()
            code = -self.process.returncode
            how = signal.Signals(code).name if code in list(signal.Signals) else f"exit code {-code}"
            raise UnreadablePage(
                f"{name} is damaged or takes too much memory: its decoder came to an end ({how})"
            ) from None
        except BaseException:
            self.kill()
            raise
        if "error" in told:
            if told["error"] == "MemoryError":
                self.kill()
                raise UnreadablePage(f"{name} takes more memory to decode than a page of its size can need")
            raise _ERRORS.get(told["error"], UnreadablePage)(str(told["message"]))
        return told

    def _length(self, end: float, patience: Patience) -> int:
        length = int(struct.unpack(">I", self._receive(4, end, patience))[0])
        if length > _ANSWER_BYTES:
            raise EOFError
        return length

    def _receive(self, count: int, end: float, patience: Patience) -> bytearray:
        data = bytearray(count)
        view, got = memoryview(data), 0
        while got < count:
            left = end - time.monotonic()
            if left <= 0 or (patience.cancelled is not None and patience.cancelled.is_set()):
                raise TimeoutError
            self.socket.settimeout(min(left, _LOOK_SECONDS) if patience.cancelled else left)
            try:
                part = self.socket.recv_into(view[got:])
            except TimeoutError:
                continue
            if not part:
                raise EOFError
            got += part
        return data

    def kill(self) -> None:
        self.alive = False
        self.process.kill()
        self.process.wait()
        self.socket.close()


class _Children:
    """The children that wait for a document."""

    def __init__(self) -> None:
        self.idle: list[_Child] = []
        self.lock = threading.Lock()

    def take(self) -> _Child:
        with self.lock:
            child = self.idle.pop() if self.idle else None
        if child is not None and child.process.poll() is not None:  # somebody has killed it meanwhile
            child.kill()
            child = None
        child = child or _Child()
        child.documents += 1
        return child

    def give_back(self, child: _Child) -> None:
        if child.alive and child.documents >= _DOCUMENTS:
            child.kill()
        if child.alive:
            with self.lock:
                self.idle.append(child)

    def end(self) -> None:
        with self.lock:
            while self.idle:
                self.idle.pop().kill()

    def forget(self) -> None:
        """After a fork: they are the parent's."""
        self.lock = threading.Lock()
        self.idle = []


CHILDREN = _Children()
atexit.register(CHILDREN.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=CHILDREN.forget)


def start_child() -> None:
    """Have a child ready for the next document."""
    if POSSIBLE:
        CHILDREN.give_back(CHILDREN.take())


def _packed(message: dict[str, Any]) -> bytes:
    text = json.dumps(message).encode()
    return struct.pack(">I", len(text)) + text


def serve() -> None:
    """What the child does until its parent hangs up; started by `_Child`."""
    import resource

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal interrupts everybody; the parent ends us
    _first_decoding()
    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC):  # writes nothing, starts nothing
        resource.setrlimit(limit, (0, 0))
    before = _address_space()

    def allow(pixels: int) -> None:
        _set_soft(resource.RLIMIT_AS, before + _MEMORY + _BYTES_A_PIXEL * pixels)

    with socket.socket(fileno=int(sys.argv[2])) as line, contextlib.suppress(OSError, EOFError):
        document: Document | None = None
        stack = contextlib.ExitStack()
        while True:
            question, handle = _next_question(line)
            used = resource.getrusage(resource.RUSAGE_SELF)
            _set_soft(resource.RLIMIT_CPU, math.ceil(used.ru_utime + used.ru_stime + question.pop("seconds")) + 2)
            answer: dict[str, Any] = {}
            gray = None
            try:
                what = question.pop("do")
                if what == "open":
                    allow(0)
                    file = stack.enter_context(os.fdopen(handle, "rb"))
                    file.seek(0)
                    document = stack.enter_context(open_here(file, question.pop("name"), sized=allow, **question))
                    answer["pages"] = len(document)
                elif what == "close":
                    document = None
                    stack.close()
                elif document is not None:
                    if what == "check":
                        document.check(question["index"])
                    else:
                        page = document.page(question["index"])
                        gray = page.gray
                        answer = {
                            "shape": gray.shape,
                            "channel": page.channel,
                            "dpi": page.dpi,
                            "description": page.description,
                        }
            except MemoryError:
                answer = {"error": "MemoryError", "message": ""}
            except SauvolanetError as problem:
                answer = {"error": type(problem).__name__, "message": str(problem)}
            line.sendall(_packed(answer))
            if gray is not None:
                line.sendall(np.ascontiguousarray(gray).reshape(-1).data)


def _next_question(line: socket.socket) -> tuple[dict[str, Any], int]:
    first, handles, _, _ = socket.recv_fds(line, 1, 1)
    data = bytearray(first)
    while len(data) < 4 or len(data) < 4 + struct.unpack(">I", data[:4])[0]:
        part = line.recv(65536)
        if not part:
            raise EOFError
        data += part
    return json.loads(data[4:]), handles[0] if handles else -1


def _first_decoding() -> None:
    """Have the decoders loaded before the limits hold."""
    import pypdfium2  # noqa: F401
    from PIL import Image

    Image.preinit()


def _set_soft(limit: int, value: int) -> None:
    import resource

    hard = resource.getrlimit(limit)[1]
    resource.setrlimit(limit, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _address_space() -> int:
    """Bytes that this process has mapped."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # another system than Linux
        return 1_000_000_000
