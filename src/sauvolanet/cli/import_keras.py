"""Read the authors' Keras checkpoint (.h5) and write it as a model: MODEL.npz and MODEL.json."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.h5", help="The Keras file.")
    parser.add_argument("-o", "--output", metavar="MODEL", required=True, help="Where to write the model.")


def run(args: argparse.Namespace) -> int:
    from ..net.model import base_of, save
    from ..train.keras import read_keras

    about, weights = read_keras(args.file)
    path = save({**about, "name": base_of(args.output).name}, weights, args.output)
    print(f"{path}: {about['parameters']:,} numbers, windows {', '.join(map(str, about['windows']))}")
    return 0
