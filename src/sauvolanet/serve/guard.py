"""What every request passes: host, origin, token, verb and query are checked, security headers added, one line logged."""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Receive, Scope, Send

from ..errors import one_line
from .refusal import Refusal

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_MOST_HEADERS = 100  # a browser sends some twenty
_HEADER_BYTES = 32_000
_POSTED = ("/v1/binarize", "/v1/explain")  # pages are sent there; everything else is only read


class Guard:
    """Wraps the application; see `create_app` for the arguments."""

    def __init__(
        self, app: Starlette, token: str | None, hosts: tuple[str, ...] | None, log: Callable[[str], Any] | None
    ) -> None:
        self.app, self.token, self.hosts, self.log = app, token, hosts, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin, status, sent = time.perf_counter(), 0, 0

        async def guarded(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store" if scope["path"].startswith("/v1/") else "no-cache")
            sent += len(message.get("body", b""))
            await send(message)

        try:
            try:
                self.check(scope["path"], Headers(scope=scope))
                _check_verb(scope["path"], scope["method"])
                _check_query(scope["path"], scope.get("query_string", b""))
            except Refusal as refused:
                await refused.response()(scope, receive, guarded)
            else:
                await self.app(scope, receive, guarded)
        finally:
            if self.log and not scope["path"].startswith("/v1/progress/"):
                client = scope["client"][0] if scope.get("client") else "-"
                path = scope.get("raw_path", b"").decode("ascii", "replace").split("?")[0]
                self.log(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {client} {scope['method']} {path} {status or 'gone'} "
                         f"{time.perf_counter() - begin:.3f} s {sent} bytes")  # fmt: skip

    def check(self, path: str, headers: Headers) -> None:
        """Refuse requests under a foreign name (a page that rebinds DNS), from other pages, and without the token."""
        if len(headers) > _MOST_HEADERS or sum(len(n) + len(v) for n, v in headers.raw) > _HEADER_BYTES:
            raise Refusal(431, f"the request has more than {_MOST_HEADERS} headers or {_HEADER_BYTES} bytes of them")
        host, origin = headers.get("host", ""), headers.get("origin")
        try:
            name, place = urlsplit(f"//{host}").hostname, urlsplit(origin or "").netloc
        except ValueError:
            raise Refusal(400, "the Host or Origin header cannot be understood") from None
        if self.hosts is not None and name not in self.hosts:
            raise Refusal(400, f"this service does not answer to that host name; known: {', '.join(self.hosts)}")
        if origin is not None and place != host:
            raise Refusal(400, "requests from other web pages are refused")
        if self.token is not None and path.startswith("/v1/"):
            scheme, _, given = headers.get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self.token.encode()):
                raise Refusal(401, "the token is missing or wrong", WWW_Authenticate="Bearer")


def _check_verb(path: str, verb: str) -> None:
    if path in _POSTED and verb != "POST":
        raise Refusal(405, "send the page with POST", Allow="POST")


def _check_query(path: str, query: bytes) -> None:
    """Refuse parameters in the address that nobody reads."""
    names = [name for name, _ in parse_qsl(query.decode("latin-1"), keep_blank_values=True)]
    known = ("job",) if path in _POSTED else ()
    for name in names:
        if name not in known:
            hint = "; options are fields of the form" if path in _POSTED else ""
            raise Refusal(400, f"unknown parameter '{one_line(name)}' in the address{hint}")
        if names.count(name) > 1:
            raise Refusal(400, f"the parameter '{name}' is there twice")
