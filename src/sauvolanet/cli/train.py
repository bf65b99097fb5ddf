"""Train a model on pages with truth. A run that was interrupted goes on when the same command is given again.

With --recipe it walks all stages of a recipe, from nothing to the model's file. Under torchrun the same command trains on
several processes or machines.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtra, UnknownName, UsageError
from .options import key_values

if TYPE_CHECKING:
    from ..net.model import Model
    from ..train.settings import Settings

# what a recipe's file says, and no option beside it
_FIXED = ("preset", "train", "validate", "test", "leave_out", "init", "minutes", "steps", "seed", "stop_after")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        metavar="DIR",
        required=True,
        help="Folder with the data sets (see 'sauvolanet datasets'), or with documents (these sets), kinds, papers, ink.",
    )
    parser.add_argument("--out", metavar="RUN", required=True, help="Folder of the run: checkpoint, log, manifest.")
    parser.add_argument(
        "--recipe",
        metavar="NAME",
        help="Make the model of a recipe: paper, swift, swift-heldout, or a path. Its file says all that follows.",
    )
    parser.add_argument("-o", "--output", metavar="MODEL", help="Where to write a recipe's model (default: in RUN).")
    parser.add_argument(
        "--preset",
        metavar="NAME",
        help="Settings to begin with: paper, authors, better or swift (default: that of the model of --init, else paper).",
    )
    parser.add_argument("--train", nargs="+", metavar="SET", help="Sets or groups to train on.")
    parser.add_argument("--validate", nargs="*", metavar="SET", help="Sets or groups to watch.")
    parser.add_argument(
        "--test", nargs="+", metavar="SET", help="Sets or groups to score once, when the run has ended."
    )
    parser.add_argument(
        "--leave-out",
        nargs="+",
        metavar="SET",
        help="Sets to leave out of training; without --validate they are validated on.",
    )
    parser.add_argument("--init", metavar="MODEL", help="Begin with this model's network, scaling and weights.")
    parser.add_argument("--minutes", type=float, metavar="M", help="Fit the length of the run to this time.")
    parser.add_argument("--steps", type=int, help="Length of the run in steps.")
    parser.add_argument("--seed", type=int, help="Seed of everything random.")
    parser.add_argument(
        "--set",
        dest="changes",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="Change any setting of the preset.",
    )
    parser.add_argument("--stop-after", type=int, metavar="STEPS", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # spinning threads slow everything else down
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtra("train", "training") from None
    from ..net import load
    from ..train.interrupts import Stopped
    from ..train.loop import Run
    from ..train.memory import keep_memory

    keep_memory()
    # a model tells how it was made, not how its maker's folders are called
    words = [without_folders(word) for word in sys.argv[1:]]
    command = "sauvolanet " + shlex.join(words)
    if args.recipe:
        return _walk(args, command)
    if args.output:
        raise UsageError("-o is for a recipe; write the model of a run with 'sauvolanet export RUN -o MODEL'")
    model = load(args.init) if args.init else None
    job = Run(_settings(args, model), args.data, args.out, command, other_length=args.steps is not None)
    if model:
        job.start_from(model)
    try:
        job.train(args.minutes, args.stop_after)
    except Stopped:
        if job.processes.first:
            print(f"stopped at step {job.step}; the same command goes on from there", file=sys.stderr)
        return 130
    return 0


def _walk(args: argparse.Namespace, command: str) -> int:
    from ..net.model import shipped
    from ..train.interrupts import Stopped
    from ..train.recipe import read
    from ..train.walk import walk

    given = [name for name in _FIXED if getattr(args, name) is not None] + (["set"] if args.changes else [])
    if given:
        option = f"--{given[0].replace('_', '-')}"
        raise UsageError(f"{option} would change the recipe; write a recipe of your own and give its path to --recipe")
    if args.output in shipped():  # as with export
        raise UsageError(f"{args.output} is the name of a shipped model; choose another, or say -o ./{args.output}")
    try:
        path = walk(read(args.recipe), Path(args.data), Path(args.out), command, args.output and Path(args.output))
    except Stopped:
        if not int(os.environ.get("RANK", "0")):
            print("stopped; the same command goes on from there", file=sys.stderr)
        return 130
    print(path)
    return 0


def without_folders(word: str) -> str:
    """``a/b`` as ``b``, ``--out=a/b`` as ``--out=b``, ``teacher=a/b`` as ``teacher=b``; other words stay."""
    option, sign, path = word.partition("=")
    if os.sep in option:  # no option, but a folder with "=" in its name
        option, sign, path = "", "", word
    return option + sign + (Path(path).name if os.sep in path else path)


def _settings(args: argparse.Namespace, model: Model | None) -> Settings:
    """The preset with what the options change; the network is that of the model to begin with, unless it is changed."""
    from ..train.build import like_model
    from ..train.settings import PRESETS, with_changes

    made_by = str(model.about["training"].get("preset")) if model else ""
    preset = args.preset or (made_by if made_by in PRESETS else "paper")
    if preset not in PRESETS:
        raise UnknownName("preset", preset, PRESETS)
    settings = PRESETS[preset]
    if model and not any(change.startswith("architecture.") for change in args.changes):
        settings = like_model(settings, model)
    sets = {"train": args.train, "validate": args.validate, "leave_out": args.leave_out, "test": args.test}
    given: dict[str, Any] = {name: tuple(value) for name, value in sets.items() if value is not None}
    settings = replace(settings, **given)
    if args.train and args.validate is None:
        settings = replace(settings, validate=())
    if args.leave_out and args.validate is None:
        settings = replace(
            settings, validate=(*settings.validate, *(s for s in args.leave_out if s not in settings.validate))
        )
    settings = replace(settings, **{n: getattr(args, n) for n in ("steps", "seed") if getattr(args, n) is not None})
    return with_changes(settings, key_values(args.changes, "--set"))
