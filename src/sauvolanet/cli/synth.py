"""Write synthetic pages with exact truth.

sauvolanet synth -o DIR --pages 20           ID.png and ID.gt.png (1 bit, 0 = ink), readable as a data set
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path

from ..errors import ForeignOutput, UsageError
from ..options import Option
from ..synth import KINDS

PAGES = Option("pages", int, 10, 1, 1_000_000, help="How many pages to write.")
SEED = Option("seed", int, 0, help="Seed of the first page; the next ones follow it.")
HEIGHT = Option("height", int, 800, 32, 20_000, help="Height of a page in pixels.")
WIDTH = Option("width", int, 600, 32, 20_000, help="Width of a page in pixels.")
_OPTIONS = (PAGES, SEED, HEIGHT, WIDTH)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "kinds:\n" + "\n".join(f"  {kind.name:<10}  {kind.help}" for kind in KINDS.values())
    parser.add_argument("-o", "--output", metavar="DIR", help="The folder to write pages and truths to.")
    for option in _OPTIONS:
        text = f"{option.help} Takes {option.expected()} (default {option.default})."
        parser.add_argument(f"--{option.name}", default=option.default, metavar="N", help=text)
    parser.add_argument(
        "--kind", nargs="+", metavar="KIND", help="Only these kinds, in turn; without it the seeds choose."
    )
    parser.add_argument("--force", action="store_true", help="Replace files that are already there.")


def run(args: argparse.Namespace) -> int:
    if args.output is None:
        raise UsageError("say where to write the pages: sauvolanet synth -o DIR")
    values = {option.name: option.parse(getattr(args, option.name)) for option in _OPTIONS}
    return _write(Path(args.output), args.kind, args.force, **values)


def _write(
    folder: Path, kinds: list[str] | None, force: bool, *, pages: int, seed: int, height: int, width: int
) -> int:
    import numpy as np
    from PIL import Image
    from tqdm import tqdm

    from ..errors import UnknownName
    from ..files.folders import Folder
    from ..synth import page

    for wanted in kinds or ():
        if wanted not in KINDS:
            raise UnknownName("kind of page", wanted, KINDS)
    output = Folder(str(folder), None)
    for i in tqdm(range(seed, seed + pages), desc="synth", unit="page", file=sys.stderr, disable=None, leave=False):
        kind = kinds[i % len(kinds)] if kinds else None
        name = f"{kind or 'page'}-{i:06d}"
        if not force and output.size(f"{name}.png") is not None:
            raise ForeignOutput(f"{folder / name}.png is already there; choose another folder, or use --force")
        gray, truth = page(i, kind=kind, height=height, width=width)
        for ending, picture in ((".gt.png", np.logical_not(truth)), (".png", gray)):  # the page last: a pair is whole
            png = io.BytesIO()
            Image.fromarray(picture).save(png, "PNG")
            output.put(name + ending, [png.getvalue()])
    print(f"{pages} pages written to {folder}", file=sys.stderr)
    return 0
