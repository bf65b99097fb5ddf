"""One picture with several methods and models side by side; with truth also their scores, and errors in colour.

False ink is red, missed ink is blue.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..files.read import PAGE
from ..options import CHANNEL, INVERT, STRENGTH
from .options import add_option, given, keep_inputs, one_page, picture_format

_DEFAULT_METHODS = ("otsu", "sauvola", "isauvola", "wolf", "nick", "su", "gatos")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="The page: an image, TIFF or PDF.")
    add_option(parser, PAGE)
    parser.add_argument(
        "-o", "--output", metavar="SHEET", required=True, help="The picture to write, such as sheet.png."
    )
    some = f"Classic methods, or 'all', or nothing for none (default: {' '.join(_DEFAULT_METHODS)})."
    parser.add_argument("--methods", nargs="*", metavar="NAME", help=some)
    parser.add_argument(
        "--models", nargs="*", metavar="NAME_OR_PATH", help="Models, or nothing for none (default: all shipped)."
    )
    parser.add_argument("--truth", metavar="FILE", help="The truth of the page: an image, dark = ink.")
    parser.add_argument("--width", type=int, default=480, metavar="PIXELS", help="Width of a panel (default 480).")
    add_option(parser, STRENGTH)
    add_option(parser, INVERT)
    add_option(parser, CHANNEL)


def run(args: argparse.Namespace) -> int:
    from .. import classic, net
    from ..api import Binarizer
    from ..core.atomic import atomic
    from ..errors import BadData, UsageError
    from ..score.datasets import PAPER_ABOVE, read_image
    from ..show.sheet import sheet

    target = picture_format(args.output)
    keep_inputs((args.file, args.truth), (args.output,))
    if not 16 <= args.width <= 10_000:
        raise UsageError(f"--width must be a whole number from 16 to 10000, not {args.width}")
    methods = list(_DEFAULT_METHODS if args.methods is None else args.methods)
    if methods == ["all"]:
        methods = [name for name, method in classic.METHODS.items() if classic.available(method)]
    models = net.shipped() if args.models is None else args.models
    if not methods and not models:
        raise UsageError("nothing to compare: give --methods or --models")
    options = given(args, (STRENGTH, INVERT, CHANNEL))
    # names first: a typo must not cost the time of the others
    tools = [Binarizer(model=name, **options) for name in models]
    for name in methods:
        ink_only = name in classic.METHODS and not classic.METHODS[name].surface  # strength needs a surface
        tools.append(Binarizer(method=name, **{n: v for n, v in options.items() if n != "strength" or not ink_only}))
    page = one_page(args.file, args.page, tools[0])
    gray = page.gray
    truth = None
    if args.truth:
        truth = read_image(Path(args.truth)) <= PAPER_ABOVE
        if truth.shape != gray.shape:
            raise BadData(
                f"{args.truth}: the truth is {truth.shape[1]}×{truth.shape[0]} pixels, its page {gray.shape[1]}×{gray.shape[0]}"
            )
    results = {}
    for asked, tool in zip([*models, *methods], tools, strict=True):
        print(f"{tool.name} …", file=sys.stderr)
        results[asked if tool.name in results else tool.name] = tool(page)  # two files may hold models of one name
    with atomic(args.output) as file:
        sheet(gray, results, truth, title=Path(args.file).name, width=args.width).save(file, format=target)
    print(args.output)
    return 0
