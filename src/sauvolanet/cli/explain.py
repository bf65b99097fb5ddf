"""Show how a model decided on a page: input, each window's threshold and result, attention, threshold, output."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..files.read import PAGE
from ..options import CHANNEL, INVERT, QUALITY, STRENGTH
from .options import add_option, given, keep_inputs, one_page, picture_format

_OPTIONS = (STRENGTH, INVERT, CHANNEL, QUALITY)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="The page: an image, TIFF or PDF.")
    add_option(parser, PAGE)
    parser.add_argument(
        "-o", "--output", metavar="PICTURE", required=True, help="The picture to write, such as explained.png."
    )
    parser.add_argument("--model", metavar="NAME_OR_PATH", help="The model; without it the default model.")
    parser.add_argument("--truth", metavar="FILE", help="Truth to show beside the input: an image, dark = ink.")
    parser.add_argument(
        "--arrays", metavar="FILE.npz", help="Also write gray, surfaces, attention, threshold and ink as arrays."
    )
    for option in _OPTIONS:
        add_option(parser, option)


def run(args: argparse.Namespace) -> int:
    import numpy as np

    from ..api import Binarizer
    from ..core.atomic import atomic
    from ..errors import BadData
    from ..score.datasets import PAPER_ABOVE, read_image
    from ..show.explanation import picture

    keep_inputs((args.file, args.truth), (args.output, args.arrays))
    target = picture_format(args.output)
    tool = Binarizer(model=args.model, **given(args, _OPTIONS))
    page = one_page(args.file, args.page, tool)
    truth = None
    if args.truth:
        truth = read_image(Path(args.truth)) <= PAPER_ABOVE
        if truth.shape != page.gray.shape:
            raise BadData(f"{args.truth}: the truth and the page differ in size")
    result = tool.explain(page)
    with atomic(args.output) as file:
        picture(result, truth).save(file, format=target)
    print(args.output)
    if args.arrays:
        with atomic(args.arrays) as file:
            np.savez_compressed(file, gray=result.gray, windows=result.windows, constants=result.constants,
                                surfaces=result.surfaces, attention=result.attention, threshold=result.threshold,
                                ink=result.ink)  # fmt: skip
        print(args.arrays)
    return 0
