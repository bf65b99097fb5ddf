"""Serve the application with uvicorn: bind, announce, shut down gracefully."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import sys
import webbrowser
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..errors import UsageError
from .app import create_app
from .limits import Limits

LOCAL = ("127.0.0.1", "localhost", "::1")


def run(host: str = "127.0.0.1", port: int = 8765, *, limits: Limits | None = None, token: str | None = None,
        model: str | None = None, open_page: bool = False) -> None:  # fmt: skip
    """Serve until interrupted; what is under way then is finished first."""
    limits = limits or Limits()
    if not _is_local(host) and not token:
        raise UsageError(f"{host} can be reached by others: set a token with --token")
    try:
        listening = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=128
        )
    except (OSError, OverflowError) as problem:
        raise UsageError(f"cannot listen on {host}, port {port}: {problem}; choose another with --port") from None
    app = create_app(limits, token=token, model=model, hosts=None if token else LOCAL, log=say, warm=True)
    config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False, lifespan="on",
                            http=patient_for(limits.idle_seconds), ws="none",
                            timeout_graceful_shutdown=int(limits.work_seconds) + 1)  # fmt: skip
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listening.getsockname()[1]}/"
    say(f"sauvolanet serves {address} (Ctrl-C ends it)")
    if open_page:  # the socket listens already, so the browser finds it
        webbrowser.open(f"{address}#token={token}" if token else address)
    uvicorn.Server(config).run(sockets=[listening])


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def patient_for(seconds: float) -> type[H11Protocol]:
    """uvicorn's protocol, except that a connection without a complete request head is closed after a while."""

    class Patient(H11Protocol):
        timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            if self.timer:
                self.timer.cancel()

        def _watch(self) -> None:
            waiting = self.conn.their_state is h11.IDLE and (self.cycle is None or self.cycle.response_complete)
            if waiting and self.timer is None:
                self.timer = self.loop.call_later(seconds, self.transport.close)
            elif not waiting and self.timer is not None:
                self.timer.cancel()
                self.timer = None

    return Patient
