"""The ASGI application: routes, and the guard that every request passes."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import AsyncIterator, Callable
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from ..api import explain
from ..errors import SauvolanetError, UnknownName
from ..files.apart import start_child
from ..options import Option
from ..page.found import Found
from .describe import methods_json, openapi
from .guard import Guard
from .jobs import Job, Jobs
from .limits import Limits
from .refusal import ClientGone, Refusal, refusal
from .upload import Body, Upload
from .work import BINARIZE, SHAPES, Order, Result, binarize_upload, explain_upload, known_models, read_order

STATIC = Path(__file__).parent / "static"
EXAMPLES = {"letter": "An old letter: stains, show-through, uneven light",
            "print": "Book print with worn type",
            "typescript": "Typewriting, unevenly inked"}  # fmt: skip
_CHUNK = 256 * 1024
_JOB = re.compile(r"[A-Za-z0-9_-]{8,64}")
_NAMED = 500  # pages that a header names at most: proxies refuse long ones
_JOB_MEANT = "job takes 8 to 64 letters, digits, - and _"

Work = Callable[[Upload, Order, Limits, Job], Result]


def create_app(limits: Limits | None = None, *, token: str | None = None, model: str | None = None,
               hosts: tuple[str, ...] | None = None, log: Callable[[str], Any] | None = None,
               warm: bool = False) -> Guard:  # fmt: skip
    """The service as an ASGI application.

    token : asked for on /v1 (``Authorization: Bearer``), compared in constant time. model : the default model, a
    shipped name or a path. hosts : names the Host header may have, None for any. log : takes one line per request.
    warm : start a decoder, and run the default model on a small page, so that the first visitor need not wait for them.
    """
    limits = limits or Limits()
    models = known_models(model)
    jobs = Jobs(limits)

    def posting(work: Work, options: tuple[Option, ...]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            body = Body(request)
            try:
                return await _answer(body, jobs, limits, work, lambda fields: read_order(fields, options, models))
            except (Refusal, SauvolanetError) as problem:
                if refusal(problem).status not in (408, 504):
                    await body.drain(limits)
                raise

        return endpoint

    async def methods(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(methods_json, models, limits) | {"examples": EXAMPLES})

    async def health(request: Request) -> Response:
        return JSONResponse(
            {"status": "stuck" if jobs.stuck else "ok", "taken": jobs.taken}, 503 if jobs.stuck else 200
        )

    async def progress(request: Request) -> Response:
        name = request.path_params["job"]
        if not _JOB.fullmatch(name):
            raise Refusal(400, _JOB_MEANT)
        job = jobs.known.get(name)  # a job that has just ended is no error
        return JSONResponse(job.progress() if job else {"state": "none", "page": 0, "pages": 0, "fraction": None})

    async def description(request: Request) -> Response:
        return JSONResponse(openapi(models, token is not None))

    async def example(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in EXAMPLES:
            raise Refusal(404, str(UnknownName("example", name, EXAMPLES)))
        return Response(await run_in_threadpool(example_png, name), media_type="image/png")

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if warm:
            small = np.tile(np.arange(0, 256, 4, dtype=np.uint8), (64, 1))
            jobs.prepare(start_child)
            jobs.prepare(lambda: explain(small, model=next(iter(models.values()))))
        yield
        await run_in_threadpool(jobs.close)

    app = Starlette(
        routes=[
            Route("/v1/binarize", posting(binarize_upload, BINARIZE), methods=["POST"]),
            Route("/v1/explain", posting(explain_upload, SHAPES), methods=["POST"]),
            Route("/v1/methods", methods),
            Route("/v1/progress/{job}", progress),
            Route("/healthz", health),
            Route("/openapi.json", description),
            Route("/examples/{name}.png", example),
            Mount("/", StaticFiles(directory=STATIC, html=True)),
        ],
        exception_handlers={Refusal: _refused, SauvolanetError: _refused, HTTPException: _http, Exception: _refused,
                            ClientDisconnect: _gone, ClientGone: _gone},
        lifespan=lifespan,
    )  # fmt: skip
    app.state.jobs = jobs
    return Guard(app, token, hosts, log)


async def _answer(
    body: Body, jobs: Jobs, limits: Limits, work: Work, read: Callable[[dict[str, str]], Order]
) -> Response:
    name = body.request.query_params.get("job")
    if name is not None and not _JOB.fullmatch(name):
        raise Refusal(400, _JOB_MEANT)
    with contextlib.ExitStack() as stack:
        job = stack.enter_context(jobs.admit(name))
        upload = await body.read(limits)
        stack.callback(upload.close)
        order = await run_in_threadpool(read, upload.fields)
        result = await jobs.run(job, lambda job: work(upload, order, limits, job), body.disconnected())
        stack.callback(result.close)
        return _FileResponse(result, stack.pop_all())


def _told(found: dict[int, Found]) -> dict[str, str]:
    """Headers that say what was found on the one page of an answer, and which of its pages a person should look at."""
    told = {}
    if len(found) == 1:
        told["Sauvolanet-Found"] = json.dumps(next(iter(found.values())).to_json())
    pages = [str(page) for page, one in found.items() if one.look]
    if pages:
        more = ["..."] if len(pages) > _NAMED else []
        told["Sauvolanet-Look"] = ", ".join([*pages[:_NAMED], *more])
    return told


class _FileResponse(Response):
    """A result in pieces; frees everything at its end, which comes soon for a client that takes none (`patient_for`)."""

    def __init__(self, result: Result, stack: contextlib.ExitStack) -> None:
        self.result, self.stack = result, stack
        self.length = result.file.seek(0, io.SEEK_END) or result.file.tell()
        result.file.seek(0)
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(result.name)}", **_told(result.found)}
        super().__init__(None, 200, headers, result.media)
        self.headers["Content-Length"] = str(self.length)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self.stack:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            left = self.length
            while left > 0:
                chunk = self.result.file.read(_CHUNK)
                left -= len(chunk)
                await send({"type": "http.response.body", "body": chunk, "more_body": left > 0})


async def _refused(request: Request, problem: Exception) -> Response:
    return refusal(problem).response()


async def _http(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    messages = {404: "there is nothing here", 405: f"{request.method} is not possible here"}
    refused = Refusal(problem.status_code, messages.get(problem.status_code, problem.detail))
    if problem.status_code == 405:
        refused.headers["Allow"] = (problem.headers or {}).get("Allow", "GET, HEAD")  # without it: the page's files
    return refused.response()


async def _gone(request: Request, problem: Exception) -> Response:
    return Response(status_code=400)  # goes nowhere: the client has hung up


@lru_cache
def example_png(name: str) -> bytes:
    """A synthetic page as PNG, at 150 dpi."""
    from PIL import Image

    from .. import synth

    gray = synth.example() if name == "letter" else synth.page(3, kind=name, height=1100, width=800)[0]
    encoded = io.BytesIO()
    Image.fromarray(gray).save(encoded, "PNG", dpi=(150, 150))
    return encoded.getvalue()
