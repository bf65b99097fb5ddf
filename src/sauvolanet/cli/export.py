"""Write a training run as a model: MODEL.npz and MODEL.json, checked against torch on a page before it is written.

With --standalone a model becomes one ONNX file for programs that do not run Python: gray in, threshold and attention
out, everything between inside the graph, checked against our runtime on a page before it is written.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from ..core.arrays import Gray
    from ..train.loop import Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="The run's folder; with --standalone a model's name or path.")
    parser.add_argument("-o", "--output", metavar="MODEL", required=True, help="Where to write the model.")
    parser.add_argument(
        "--page", metavar="FILE", help="A page to check on; without it one of the run's own, or a synthetic one."
    )
    parser.add_argument(
        "--source", default="", metavar="TEXT", help="Where the model comes from; without it: how its weights began."
    )
    parser.add_argument("--licence", default="", metavar="NAME", help="Terms of the model, such as MIT.")
    parser.add_argument("--copyright", default="", metavar="TEXT", help="Whose model it is.")
    parser.add_argument(
        "--mean-with",
        nargs="+",
        default=[],
        metavar="MODEL",
        help="The mean of the run's weights and these models': the one it began with, or others that began there.",
    )
    parser.add_argument(
        "--single",
        action="store_true",
        help="Keep single precision. Without it a network of the second kind runs in 8 bits, several times as fast.",
    )
    parser.add_argument("--standalone", action="store_true", help="Write a model as one ONNX file.")


def run(args: argparse.Namespace) -> int:
    return _standalone(args) if args.standalone else _export(args)


def _page(args: argparse.Namespace, job: Run | None = None) -> Gray:
    """The page that is named; else one that the run watched or learnt from, where it is still there."""
    from ..score.datasets import read_image
    from ..synth import example

    page = Path(args.page) if args.page else job.a_page() if job else None
    return read_image(page) if page else example()


def _standalone(args: argparse.Namespace) -> int:
    from ..net import load
    from ..net.standalone import write_standalone

    if args.source or args.licence or args.copyright or args.mean_with or args.single:
        raise UsageError("--source, --licence, --copyright, --mean-with and --single are for a run; an ONNX file is as "
                         "its model is")  # fmt: skip
    model = load(args.run)
    found = write_standalone(model, args.output, _page(args))
    print(f"{args.output}: {model.name}, {found}")
    return 0


def _export(args: argparse.Namespace) -> int:
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtra("train", "export") from None
    from ..net import load
    from ..net.model import base_of, save, shipped
    from ..train.build import folded
    from ..train.export import difference, mean_of
    from ..train.loop import open_run
    from ..train.ranges import in_eight_bits, told_of_rounding

    if args.output in shipped():  # --model would take the shipped one, and nobody would notice
        raise UsageError(f"{args.output} is the name of a shipped model; choose another, or say -o ./{args.output}")
    job = open_run(args.run)
    model = job.model(base_of(args.output).name, args.source, args.licence, args.copyright)
    net = job.average
    if args.mean_with:
        model = mean_of(model, [load(other) for other in args.mean_with])
        net = folded(job.settings, model)
    page = _page(args, job)
    apart = difference(net, model, page)
    single = model
    if not args.single:
        model = in_eight_bits(model, job.settings, job.data, job.composed)
    path = save(model.about, model.weights, args.output)
    print(f"{path}: {model.about['parameters']:,} numbers, {model.about['bits']} bits, step {job.step}, threshold within "
          f"{apart:.1e} of torch's, {told_of_rounding(single, model, page)}")  # fmt: skip
    return 0
