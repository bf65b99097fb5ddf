"""Turn scans into black ink on white paper.

INPUT is a file, a folder (searched through, its structure kept), a pattern in quotes ('scans/**/*.jpg'), an fsspec
URL (s3://bucket/scans) or '-' for standard input: PNG, JPEG, TIFF with any number of pages, JPEG 2000, WebP, BMP,
PNM, GIF and PDF. OUTPUT is a folder, or for one input a file whose suffix tells the format: 1-bit PNG, Group 4 TIFF
or Group 4 PDF; '-' is standard output. Resolution, page count and page size are kept.

Run the same command again to go on after an interruption: finished pages are skipped. A file that this command did
not make is never replaced without --force. A page that cannot be read does not stop the others; it is reported at
the end.

exit codes: 0 all done, 2 wrong usage, 3 some inputs failed, 4 no input readable, 5 cannot write, 6 cluster failed,
130 interrupted
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import logging
import signal
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from typing import Any, Protocol

from ..errors import InputError, OutputError, RunFailed, SauvolanetError, SomeFailed, UsageError, one_line
from ..files.convert import KEEP_GRAY
from ..files.many import OPTIONS, binarize_many
from ..options import THREADS, VERB_OPTIONS
from ..pipeline import DEFAULT_MODEL, Selection
from .options import add_option, given, key_values
from .streams import forget_output

_LISTED = 50  # failures listed at the end
_OF_INK = tuple(o for o in VERB_OPTIONS if o is not THREADS)
_OF_FILES = tuple(o for o in OPTIONS if o is not KEEP_GRAY)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("inputs", nargs="+", metavar="INPUT", help="Files, folders, patterns, URLs, or '-'.")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUTPUT",
        help="Folder, file or URL; '-' is standard output, and the default if the only INPUT is '-'.",
    )
    what = parser.add_mutually_exclusive_group()
    model = f"A shipped model's name, or the path of a model (default {DEFAULT_MODEL})."
    what.add_argument("--model", metavar="NAME_OR_PATH", help=model)
    what.add_argument("--method", metavar="NAME", help="A classic method instead, see 'sauvolanet methods'.")
    repeat = "An option of the method, see 'sauvolanet methods NAME'; may be repeated."
    parser.add_argument("-p", dest="params", action="append", default=[], metavar="KEY=VALUE", help=repeat)
    for option in (*_OF_INK, *_OF_FILES):
        add_option(parser, option)
    parser.add_argument("--keep-gray", action="store_true", help=KEEP_GRAY.help)
    parser.add_argument("--force", action="store_true", help="Do finished pages again and replace existing files.")
    parser.add_argument("--dry-run", action="store_true", help="Say what would be done, and do nothing.")
    parser.add_argument("--json", action="store_true", help="Print a JSON object per page, one a line.")
    parser.add_argument("--shard", metavar="I/N", help="Do share I of N (from 1) of the batch, as in a Slurm array.")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="Hand the batch to the Dask cluster at tcp://HOST:PORT.")


def run(args: argparse.Namespace) -> int:
    selection = Selection.of(model=args.model, method=args.method, **given(args, _OF_INK), **_params(args))
    options = given(args, _OF_FILES) | {"keep_gray": args.keep_gray}
    output = args.output or ("-" if args.inputs == ["-"] else None)
    if output is None:
        raise UsageError("say where the results go: -o FOLDER, or -o FILE for one input")
    if output == "-" and (args.json or args.dry_run):
        raise UsageError("the result goes to standard output; --json and --dry-run need -o")
    shard = _shard(args.shard)
    if shard and args.scheduler is not None:
        raise UsageError("give --shard or --scheduler, not both")
    with contextlib.ExitStack() as stack:
        bar = stack.enter_context(_bar())
        stack.enter_context(_terminate_as_interrupt())
        progress = Progress(bar)
        client = None
        if args.scheduler is not None:
            from ..files.shards import connect

            client = stack.enter_context(connect(args.scheduler))
        rows = binarize_many(args.inputs, output, client=client, shard=shard, force=args.force, dry_run=args.dry_run,
                             on_count=bar.reset, on_page=progress.begin, selection=selection, **options)  # fmt: skip
        return _report(stack.enter_context(contextlib.closing(rows)), progress, args)


def _params(args: argparse.Namespace) -> dict[str, str]:
    if args.params and not args.method:
        raise UsageError("-p sets an option of a classic method; give --method NAME with it")
    params = key_values(args.params, "-p")
    for key, value in params.items():
        if hasattr(args, key):
            raise UsageError(f"-p is for the method's own options: write --{key.replace('_', '-')} {value}")
    return params


def _shard(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    share, sign, count = text.partition("/")
    if not (sign and share.isascii() and share.isdigit() and count.isascii() and count.isdigit()):
        raise UsageError(f"--shard takes I/N, as 3/8, not '{text}'")
    return int(share), int(count)


@contextlib.contextmanager
def _bar() -> Iterator[Bar]:
    """The bar, with what is logged above it; without a terminal there is none, and nothing is loaded for it."""
    bar: Bar = NoBar()
    if sys.stderr.isatty():
        from tqdm import tqdm

        bar = tqdm(desc="binarize", unit="page", leave=False, smoothing=0.05)
    above = logging.Handler()
    above.emit = lambda record: bar.write(above.format(record), file=sys.stderr)  # type: ignore[method-assign]
    logger = logging.getLogger("sauvolanet")
    logger.addHandler(above)
    try:
        yield bar
    finally:
        logger.removeHandler(above)
        bar.close()


class Bar(Protocol):
    """What a batch asks of the bar that counts its pages."""

    total: float | None

    def reset(self, total: float | None = None) -> None: ...
    def update(self, n: float | None = 1) -> Any: ...
    def write(self, text: str, file: Any) -> None: ...
    def close(self) -> None: ...


class NoBar:
    """Where nobody watches."""

    total: float | None = None

    def reset(self, total: float | None = None) -> None: ...
    def update(self, n: float | None = 1) -> None: ...
    def close(self) -> None: ...
    def write(self, text: str, file: Any) -> None:
        print(text, file=file)


@contextlib.contextmanager
def _terminate_as_interrupt() -> Iterator[None]:
    """A polite kill (Slurm's time limit, a shutdown) ends the run as Ctrl-C does: no unfinished file stays."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not the main thread: leave signals alone
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Progress:
    """Has the bar count pages: by their rows, or before, where the rows of a document come all at its end."""

    def __init__(self, bar: Bar) -> None:
        self.bar = bar
        self.counted: dict[str, int] = {}  # pages of a document that the bar has counted
        self.rows: Counter[str] = Counter()

    def begin(self, input: str, page: int, pages: int) -> None:
        self._count(input, page - 1, pages)

    def row(self, row: dict[str, Any]) -> None:
        input, pages = row["input"], row["pages"] or 1
        self.rows[input] += 1
        self._count(input, self.rows[input], pages)
        if self.rows[input] == pages:
            del self.counted[input], self.rows[input]

    def _count(self, input: str, done: int, pages: int) -> None:
        if input not in self.counted:  # how many pages it has is known now
            self.bar.total = (self.bar.total or 1) + pages - 1
        before = self.counted.get(input, 0)
        self.counted[input] = max(before, done)
        self.bar.update(self.counted[input] - before)


def _report(rows: Generator[dict[str, Any]], progress: Progress, args: argparse.Namespace) -> int:
    """Print rows as they come, then what failed and a summary; the exit code, or the error that carries it."""
    count = dict.fromkeys(("done", "skipped", "failed", "planned"), 0)
    failed: Counter[int] = Counter()  # exit code -> pages
    errors: dict[str, None] = {}  # each once: pages that share a file fail for the same reason
    to_look_at = 0
    bar = progress.bar
    stopped: BaseException | None = None
    try:
        for row in rows:
            progress.row(row)
            count[row["status"]] += 1
            to_look_at += bool((row.get("found") or {}).get("look"))
            if row["status"] == "failed":
                failed[row["code"]] += 1
                errors[row["error"]] = None
            if args.json:
                bar.write(json.dumps(row), file=sys.stdout)
            elif row["status"] == "planned":
                bar.write(one_line(f"{row['input']} -> {row['output']}"), file=sys.stdout)
    except (KeyboardInterrupt, SauvolanetError) as problem:
        stopped = problem
        rows.close()
    except BrokenPipeError:  # nobody reads the rows any more, as behind `| head`: the same as Ctrl-C
        forget_output(sys.stdout)
        stopped = KeyboardInterrupt()
        rows.close()
    bar.close()
    for error in itertools.islice(errors, _LISTED):
        print(f"sauvolanet: {one_line(error)}", file=sys.stderr)
    if len(errors) > _LISTED:
        print(f"sauvolanet: … and {len(errors) - _LISTED} more; --json shows all", file=sys.stderr)
    quiet = args.output in (None, "-") or args.json
    summary = ", ".join(f"{n} {status}" for status, n in count.items() if n)
    if summary and not quiet:
        print(f"sauvolanet: {summary}", file=sys.stderr)
        if to_look_at:
            pages = "1 page" if to_look_at == 1 else f"{to_look_at} pages"
            print(f"sauvolanet: a person should look at {pages}; --json says which and why", file=sys.stderr)
    if stopped is not None:
        if count["done"]:
            print("sauvolanet: run the same command again to go on", file=sys.stderr)
        raise stopped
    if not failed:
        return 0
    good = sum(n for status, n in count.items() if status != "failed")
    if good:
        raise SomeFailed(f"{failed.total()} of {good + failed.total()} pages failed")
    for kind in (SauvolanetError, UsageError, OutputError, RunFailed):
        if set(failed) == {kind.exit_code}:
            raise kind("nothing was written")
    raise InputError("no input could be used")
