"""Write a training run as a model: MODEL.npz and MODEL.json, checked against torch on a page before it is written."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ..errors import MissingExtra


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="The run's folder.")
    parser.add_argument("-o", "--output", metavar="MODEL", required=True, help="Where to write the model.")
    parser.add_argument("--page", metavar="FILE", help="A page to check on; without it a synthetic one.")


def run(args: argparse.Namespace) -> int:
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtra("train", "export") from None
    from ..datasets import read_image
    from ..net.model import save
    from ..synth import example
    from ..train.export import difference
    from ..train.loop import open_run

    job = open_run(args.run)
    model = job.model(Path(args.output).stem)
    gray = read_image(Path(args.page)) if args.page else example()
    apart = difference(job.average, model, gray)
    path = save(model.about, model.weights, args.output)
    print(f"{path}: {model.about['parameters']:,} numbers, step {job.step}, threshold within {apart:.1e} of torch's")
    return 0
