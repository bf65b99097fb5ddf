"""The command line: one module per command, each with ``add_arguments(parser)`` and ``run(args) -> int``.

A command's module is imported only when that command is asked for, so ``sauvolanet --help`` stays light.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import sys
from collections.abc import Sequence
from typing import NoReturn

from .. import __version__
from ..errors import OutputError, SauvolanetError, UnknownName, UsageError
from .streams import kept_streams

# name -> one line for --help; the module is sauvolanet.cli.NAME with "_" for "-".
COMMANDS = {
    "binarize": "turn scans into black ink on white paper: files, folders, TIFF, PDF",
    "explain": "show how a model decided: thresholds, window attention, result, as one picture",
    "compare": "one picture with several methods side by side",
    "evaluate": "score a model, a method or a folder of results on data sets with truth",
    "panel": "score models and methods on pages of many kinds, one table",
    "datasets": "list the known data sets, or check a folder of them",
    "methods": "list the methods with their options, or one of them in full",
    "models": "list the shipped models, or one of them in full",
    "train": "train a model on pages with truth",
    "export": "write a training run as a model, or a model as one ONNX file",
    "import-keras": "read the authors' Keras checkpoint and write a model",
    "synth": "write synthetic pages with exact truth",
    "paper": "recompute a table or figure of the paper",
    "serve": "open the web page and the HTTP service",
}


# a result that cannot be written is an OutputError; these are of standard output, or of a temporary file
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, like all others; it leaves the usage to --help."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see '{self.prog} --help'")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the result is the process's exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)
    width = max(map(len, COMMANDS))
    listing = "\n".join(f"  {name:<{width}}  {line}" for name, line in COMMANDS.items())
    parser = _Parser(
        prog="sauvolanet",
        description="Document binarization: black ink on white paper from gray or colour scans.",
        epilog=f"commands:\n{listing}\n\n'sauvolanet COMMAND --help' tells more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"sauvolanet {__version__}")
    parser.add_argument("command", metavar="COMMAND", help="see below")
    try:
        with kept_streams():
            args = parser.parse_args(argv[:1])
            if args.command not in COMMANDS:
                raise UnknownName("command", args.command, COMMANDS)
            module = importlib.import_module(f"{__name__}.{args.command.replace('-', '_')}")
            sub = _Parser(prog=f"sauvolanet {args.command}", description=module.__doc__,
                          formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
            module.add_arguments(sub)
            given = sub.parse_args(argv[1:])
            try:
                return int(module.run(given) or 0)
            except UnknownName as problem:
                raise _of_the_other_kind(problem, given) from None
    except SauvolanetError as problem:
        print(f"sauvolanet: {problem}", file=sys.stderr)
        return problem.exit_code
    except KeyboardInterrupt:
        print("sauvolanet: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output went away, as `| head` does, and something may be left to do
        sys.stderr.close()
        return 130
    except OSError as problem:
        if problem.errno not in _FULL:
            raise
        print(f"sauvolanet: cannot write the output: {problem.strerror}", file=sys.stderr)
        return OutputError.exit_code


def _of_the_other_kind(problem: UnknownName, given: argparse.Namespace) -> UsageError:
    """What to write where a model is named as a method, or a method as a model; else the problem itself."""
    from .. import classic, net

    others = {"method": ("model", net.shipped()), "model": ("method", classic.METHODS)}
    kind, names = others.get(problem.kind, ("", ()))
    options = [option for option in (kind, f"{kind}s") if hasattr(given, option)]  # as this command calls it
    if problem.name not in names or not options:
        return problem
    return UsageError(f"{problem.name} is a {kind}: --{options[0]} {problem.name}")
