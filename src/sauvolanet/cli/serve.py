"""Open the web page and the HTTP service.

Drop a scan on the page and see what the network did: result, threshold, window attention, each window's own result.
The service takes the same documents as 'sauvolanet binarize' and most of its options: POST /v1/binarize and
/v1/explain, described at /openapi.json. It listens on this machine only unless --host says otherwise, which needs a
--token; it fetches no URLs and keeps nothing after the response. Ctrl-C ends it; what is
under way has some seconds to be finished.
"""

from __future__ import annotations

import argparse
import contextlib
import os

from ..errors import UsageError
from ..options import Option, validate
from ..serve.limits import OPTIONS, Limits
from .options import add_option, given

PORT = Option("port", int, 8765, 0, 65_535, help="Port to listen on; 0 takes a free one.")
_TOKEN = "SAUVOLANET_TOKEN"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--open", action="store_true", help="Open the page in the web browser.")
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="Address to listen on (default 127.0.0.1)."
    )
    add_option(parser, PORT)
    parser.add_argument(
        "--token",
        metavar="TEXT",
        help=f"Ask clients for this token; the variable {_TOKEN} does the same, unseen by other users.",
    )
    parser.add_argument("--model", metavar="NAME_OR_PATH", help="The model to use when a request names none.")
    limits = parser.add_argument_group("limits")
    for option in OPTIONS:
        add_option(limits, option)  # type: ignore[arg-type]


def run(args: argparse.Namespace) -> int:
    limits = Limits(**validate(OPTIONS, given(args, OPTIONS), "option"))
    port = validate((PORT,), given(args, (PORT,)), "option")["port"]
    token = args.token if args.token is not None else os.environ.get(_TOKEN) or None
    if token is not None and (len(token) < 8 or not token.isascii() or not token.isprintable() or " " in token):
        raise UsageError("a token has at least 8 printable characters without spaces")
    from .. import serve

    with contextlib.suppress(KeyboardInterrupt):  # the ordinary way to end it
        serve.run(args.host, port, limits=limits, token=token, model=args.model, open_page=args.open)
    return 0
