"""Recompute a table or figure of the paper, with the printed values beside ours: Markdown, CSV, and pictures.

Results are kept in the --out folder, one small file per cell; a command that was stopped goes on where it was. 'all'
makes everything but measurements of time and the networks of Table 3, and puts it on one page.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

_NAMES = (*(f"table{i}" for i in range(1, 7)), *(f"figure{i}" for i in range(1, 5)), "claims", "all")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help=f"One of {', '.join(_NAMES)}.")
    parser.add_argument(
        "--data",
        required=True,
        metavar="DIR",
        help="The folder that holds 'documents' and 'paper-gray', or a folder of sets.",
    )
    parser.add_argument(
        "--out",
        default="paper-results",
        metavar="DIR",
        help="Where results are kept and written (default paper-results).",
    )
    parser.add_argument(
        "--minutes",
        type=float,
        metavar="M",
        help="Begin nothing new after this time; what lacks is printed as 'not run'.",
    )
    parser.add_argument(
        "--shard",
        default="1/1",
        metavar="I/N",
        help="Compute this share only; put the 'cells' folders of all shares together afterwards.",
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="Worker processes for scoring (default 1).")
    parser.add_argument(
        "--predictions",
        action="append",
        default=[],
        metavar="NAME=DIR",
        help="Add a row to Tables 4 to 6: a folder of results, of one set at least; may be repeated.",
    )
    parser.add_argument(
        "--model",
        dest="models",
        action="append",
        default=[],
        metavar="PATH",
        help="Add a model to Tables 4 to 6; may be repeated.",
    )
    parser.add_argument(
        "--networks",
        choices=("none", "stated", "leave-one-out"),
        default="none",
        help="Train the networks of Table 3, or go on training them (default none: show the longest training that is there). 'all' never trains: it looks up what is asked for.",
    )
    parser.add_argument("--preset", default="paper", metavar="NAME", help="Recipe of those trainings (default paper).")
    parser.add_argument(
        "--steps", type=int, default=8000, metavar="N", help="Length of each of those trainings (default 8000)."
    )
    parser.add_argument("--page", metavar="FILE", help="The page of Figure 3; without it a synthetic one.")
    parser.add_argument("--truth", metavar="FILE", help="The truth of that page: an image, dark = ink.")
    parser.add_argument("--report", metavar="FILE", help="With 'all': the page to write (default paper.md in --out).")


def run(args: argparse.Namespace) -> int:
    from ..errors import UnknownName, UsageError
    from ..paper import Work, make, parse_shard, report
    from .options import key_values

    if args.name not in _NAMES:
        raise UnknownName("table or figure", args.name, _NAMES)
    if args.report and args.name != "all":
        raise UsageError("--report is the page of 'sauvolanet paper all'")
    if args.truth and not args.page:
        raise UsageError("--truth belongs to --page")
    if args.steps < 1 or args.jobs < 1:
        raise UsageError("--steps and --jobs must be whole numbers, at least 1")
    begun = time.monotonic()
    work = Work(
        Path(args.data), Path(args.out), parse_shard(args.shard), None if args.minutes is None else begun + 60 * args.minutes, args.jobs,
        {name: Path(folder) for name, folder in key_values(args.predictions, "--predictions").items()}, args.models,
        args.networks, args.preset, args.steps, args.page and Path(args.page), args.truth and Path(args.truth),
        lambda text: print(f"{time.monotonic() - begun:6.0f} s  {text}", file=sys.stderr, flush=True),
    )  # fmt: skip
    sections = make(args.name, work)
    if args.name == "all":
        page = Path(args.report or work.out / "paper.md")
        report(sections, work, page)
        print(page)
    else:
        print(sections[0].markdown())
    return 0
