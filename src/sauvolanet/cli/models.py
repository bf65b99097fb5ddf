"""List the shipped models, or show one of them (shipped, or a path) in full."""

from __future__ import annotations

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME_OR_PATH", help="A model to show in full.")
    parser.add_argument("--json", action="store_true", help="Print JSON instead of a table.")


def run(args: argparse.Namespace) -> int:
    from ..errors import one_line
    from ..net import load, shipped
    from ..pipeline import DEFAULT_MODEL

    models = [load(args.name)] if args.name else [load(name) for name in shipped()]
    if args.json:
        print(json.dumps([m.about for m in models], indent=1, ensure_ascii=False))
        return 0
    for model in models:
        about = model.about
        mark = " (default)" if model.name == DEFAULT_MODEL and not args.name else ""
        cost = f"{about['parameters']:,} parameters, {about['macs_per_pixel']:,.0f} multiply-adds per pixel"
        print(one_line(f"{model.name}{mark}: {cost}, trained on {about['training']['partition']}"))
        if args.name:
            for key in (
                "source",
                "licence",
                "copyright",
                "windows",
                "constants",
                "k",
                "r",
                "alpha",
                "scaling",
                "margins",
                "recipe",
                "recipe_sha256",
                "sha256",
            ):
                print(one_line(f"  {key}: {about[key]}"))
            for key, value in about["training"].items():
                print(one_line(f"  training {key}: {value}"))
    return 0
