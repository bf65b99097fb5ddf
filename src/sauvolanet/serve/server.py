"""Serve the application with uvicorn: bind, announce, shut down gracefully."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import sys
import webbrowser
from typing import Any
from urllib.parse import quote

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..errors import UsageError
from .app import create_app
from .limits import Limits

_TAKEN = 256 * 1024  # bytes of an answer, or its rest, that a client takes in `idle_seconds`
_GRACE_SECONDS = 7  # systems that stop a service kill it after ten
LOCAL = ("127.0.0.1", "localhost", "::1")


def run(host: str = "127.0.0.1", port: int = 8765, *, limits: Limits | None = None, token: str | None = None,
        model: str | None = None, open_page: bool = False) -> None:  # fmt: skip
    """Serve until interrupted; what is under way then has some seconds to be finished."""
    limits = limits or Limits()
    if not _is_local(host) and not token:
        raise UsageError(f"{host} can be reached by others: set a token with --token")
    try:
        listening = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=128
        )
    except (OSError, OverflowError) as problem:
        raise UsageError(f"cannot listen on {host}, port {port}: {problem}; choose another with --port") from None
    hosts = None if token else tuple(dict.fromkeys((*LOCAL, host)))
    app = create_app(limits, token=token, model=model, hosts=hosts, log=say, warm=True)
    config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False, lifespan="on",
                            http=patient_for(limits.idle_seconds), ws="none",
                            timeout_graceful_shutdown=_GRACE_SECONDS)  # fmt: skip
    in_address = f"[{host}]" if ":" in host else host
    address = f"http://{in_address}:{listening.getsockname()[1]}/"
    say(f"sauvolanet serves {address} (Ctrl-C ends it)")
    if open_page:  # the socket listens already, so the browser finds it
        webbrowser.open(f"{address}#token={quote(token, safe='')}" if token else address)
    uvicorn.Server(config).run(sockets=[listening])
    if app.app.state.jobs.running:
        os._exit(0)  # a thread is in the middle of a page; nobody waits for it any more, but Python would


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def patient_for(seconds: float) -> type[H11Protocol]:
    """uvicorn's protocol, except that it hangs up on who sends no complete request head or takes no answer for a while."""

    class Patient(H11Protocol):
        timer: asyncio.TimerHandle | None = None
        unread: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            transport.set_write_buffer_limits(0)  # then `pause_writing` tells of every byte that is not taken
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._watch_reader()

        def resume_writing(self) -> None:
            super().resume_writing()
            if self.unread:
                self.unread.cancel()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            for timer in (self.timer, self.unread):
                if timer:
                    timer.cancel()

        def _watch_reader(self) -> None:
            most = self.transport.get_write_buffer_size() - _TAKEN
            self.unread = self.loop.call_later(seconds, self._look, most)

        def _look(self, most: int) -> None:
            if self.transport.get_write_buffer_size() > most:
                self.transport.abort()  # `close` would wait for the client
            else:
                self._watch_reader()

        def _watch(self) -> None:
            waiting = self.conn.their_state is h11.IDLE and (self.cycle is None or self.cycle.response_complete)
            if waiting and self.timer is None:
                self.timer = self.loop.call_later(seconds, self.transport.close)
            elif not waiting and self.timer is not None:
                self.timer.cancel()
                self.timer = None

    return Patient
