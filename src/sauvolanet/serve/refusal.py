"""Every way to say no: a status, a short code for programs, one line for people.

400 usage · 401 token · 404 not_found · 405 not_allowed · 408 slow_body · 413 too_large · 415 type · 422 undecodable
· 431 headers · 500 internal · 503 busy · 504 timeout
"""

from __future__ import annotations

from starlette.responses import JSONResponse

from ..errors import InputError, PageTooLarge, SauvolanetError, UsageError

CODES = {400: "usage", 401: "token", 404: "not_found", 405: "not_allowed", 408: "slow_body", 413: "too_large",
         415: "type", 422: "undecodable", 431: "headers", 500: "internal", 503: "busy", 504: "timeout"}  # fmt: skip


class Refusal(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def response(self) -> JSONResponse:
        body = {"error": {"code": CODES.get(self.status, "error"), "message": self.message}}
        return JSONResponse(body, self.status, self.headers)


class ClientGone(Exception):
    """Nobody waits for the answer any more."""


def refusal(problem: Exception) -> Refusal:
    """What a worker raised, as an answer. Anything unforeseen is our bug: the answer says no more than that."""
    if isinstance(problem, Refusal):
        return problem
    if isinstance(problem, MemoryError):
        return Refusal(413, "the page is too large for this machine's memory")
    if isinstance(problem, PageTooLarge):
        return Refusal(413, str(problem))
    if isinstance(problem, UsageError):
        return Refusal(400, str(problem))
    if isinstance(problem, InputError):
        return Refusal(422, str(problem))
    if isinstance(problem, SauvolanetError):
        return Refusal(500, str(problem))
    return Refusal(500, "an internal error; the service's log says more")
