"""Declared options as arguments of a command: name, help, range and default come from the declaration."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..options import Option

if TYPE_CHECKING:
    from ..api import Binarizer
    from ..files.read import DecodedPage


def add_option(parser: argparse.ArgumentParser, option: Option) -> None:
    """``--name VALUE`` for a declared option; the value arrives as text, see `given`."""
    default = "" if option.default is None else f" (default {option.default})"
    parser.add_argument(f"--{option.name.replace('_', '-')}", metavar=option.name.upper(),
                        help=f"{option.help} Takes {option.expected()}{default}.".replace("%", "%%"))  # fmt: skip


def given(args: argparse.Namespace, options: tuple[Option, ...]) -> dict[str, Any]:
    """The options that were given, as text: whoever takes them checks them."""
    return {o.name: value for o in options if (value := getattr(args, o.name)) is not None}


class Once(argparse.Action):
    """An option that is given once: of several values all but the last would be lost in silence.

    ``parser.register("action", None, Once)`` makes it what a parser takes where nothing else is said.
    """

    given = False

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any,
                 option_string: str | None = None) -> None:  # fmt: skip
        if self.given:
            raise argparse.ArgumentError(self, "is given twice")
        self.given = True
        setattr(namespace, self.dest, values)


def key_values(texts: list[str], flag: str) -> dict[str, str]:
    """``KEY=VALUE`` texts as a dictionary."""
    found = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key:
            raise UsageError(f"{flag} takes KEY=VALUE, not '{text}'")
        found[key] = value
    return found


def keep_inputs(inputs: Sequence[str | None], outputs: Sequence[str | None]) -> None:
    """A UsageError if an output is the same file as an input; None is one that was not given."""
    from ..files.stores import same_file

    for output in filter(None, outputs):
        if any(same_file(output, input) for input in filter(None, inputs)):
            raise UsageError(f"{output} would replace an input; give another name")


def one_page(file: str, number: str | None, tool: Binarizer) -> DecodedPage:
    """A page of a file as ``tool`` wants it read; without a number it is the first, and a line tells of others."""
    from ..files.convert import Conversion
    from ..files.read import PAGE, index_of
    from ..files.stores import open_input

    wanted = PAGE.parse(number)
    with open_input(file) as opened, Conversion(tool).open(opened, file) as document:
        page = document.page(index_of(wanted or 1, document, file))
        if wanted is None and len(document) > 1:
            print(f"sauvolanet: page 1 of {len(document)}; --page shows another", file=sys.stderr)
    return page


def picture_format(path: str) -> str:
    """PIL's name of the format that a picture's suffix asks for; an unknown suffix is a UsageError."""
    from PIL import Image

    suffix = Path(path).suffix.lower()
    known = Image.registered_extensions()
    if known.get(suffix) not in Image.SAVE:
        raise UsageError(f"{path}: no picture format has the suffix '{suffix}'; use .png")
    return known[suffix]
