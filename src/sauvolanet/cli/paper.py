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
_TESTS = ("table4", "table5", "table6")
_BELONG = {  # option -> what it changes; elsewhere it would be dropped in silence
    "predictions": (*_TESTS, "all"),
    "model": (*_TESTS, "figure1", "figure2", "figure4", "all"),
    "networks": ("table3", "claims", "all"),
    "page": ("figure3", "all"),
    "report": ("all",),
}


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
        help="Compute this share only; put the 'cells' folders of all shares together afterwards, and run the command once more without --shard.",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help="Worker processes that score models, methods and results (default 1).",
    )
    parser.add_argument(
        "--predictions",
        action="append",
        default=[],
        metavar="NAME=DIR",
        help="Add a row to Tables 4 to 6: a folder of results named SET/ID.*, of one set at least; may be repeated.",
    )
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="PATH",
        help="Add a model to Tables 4 to 6 and Figures 1, 2 and 4; may be repeated.",
    )
    parser.add_argument(
        "--networks",
        choices=("none", "stated", "leave-one-out"),
        default="none",
        help="Train the networks of Table 3, or go on training them (default none: show the longest training that is there). Only table3 trains; 'claims' and 'all' look up what is asked for.",
    )
    parser.add_argument("--preset", metavar="NAME", help="Recipe of those trainings (default paper).")
    parser.add_argument("--steps", type=int, metavar="N", help="Length of each of those trainings (default 8000).")
    parser.add_argument("--page", metavar="FILE", help="The page of Figure 3; without it a synthetic one.")
    parser.add_argument("--truth", metavar="FILE", help="The truth of that page: an image, dark = ink.")
    parser.add_argument("--report", metavar="FILE", help="With 'all': the page to write (default paper.md in --out).")


def run(args: argparse.Namespace) -> int:
    from ..errors import UnknownName, UsageError
    from ..paper import Work, make, parse_shard, report
    from .options import key_values

    if args.name not in _NAMES:
        raise UnknownName("table or figure", args.name, _NAMES)
    for option, names in _BELONG.items():
        if getattr(args, option) not in (None, [], "none") and args.name not in names:
            raise UsageError(f"--{option} does nothing for {args.name}; it belongs to {', '.join(names)}")
    if args.truth and not args.page:
        raise UsageError("--truth belongs to --page")
    training = {n: v for n in ("preset", "steps") if (v := getattr(args, n)) is not None}
    if training and args.networks == "none":
        raise UsageError("--preset and --steps belong to --networks")
    if training.get("steps", 1) < 1 or args.jobs < 1:
        raise UsageError("--steps and --jobs must be whole numbers, at least 1")
    if args.minutes is not None and not args.minutes >= 0:
        raise UsageError(f"--minutes must be a number, at least 0, not {args.minutes:g}")
    begun = time.monotonic()
    work = Work(
        Path(args.data), Path(args.out), parse_shard(args.shard), None if args.minutes is None else begun + 60 * args.minutes, args.jobs,
        {name: Path(folder) for name, folder in key_values(args.predictions, "--predictions").items()}, args.model,
        args.networks, page=args.page and Path(args.page), truth=args.truth and Path(args.truth),
        say=lambda text: print(f"{time.monotonic() - begun:6.0f} s  {text}", file=sys.stderr, flush=True), **training,
    )  # fmt: skip
    sections = make(args.name, work)
    if args.name == "all":
        page = Path(args.report or work.out / "paper.md")
        report(sections, work, page)
        print(page)
    else:
        print(sections[0].markdown())
    return 0
