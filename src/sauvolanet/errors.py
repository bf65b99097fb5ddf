"""Every exception a user can meet; an exception *is* an exit code.

::

    SauvolanetError              1  our bug, when nothing more precise is known
    ├── UsageError               2  the request cannot be understood
    │   ├── UnknownName          2  no such model, method, option or data set; says the nearest
    │   └── MissingExtra         2  an optional package is not installed; says the pip command
    ├── SomeFailed               3  a batch ended, some of its inputs failed
    ├── InputError               4  an input cannot be used
    │   ├── UnreadablePage       4  the file is not an image we can decode
    │   ├── PageTooLarge         4  more pixels than allowed
    │   ├── BadModel             4  a model file is damaged, foreign or from a newer version
    │   └── BadData              4  a data set is empty, incomplete or contradicts itself
    ├── OutputError              5  a result cannot be written
    │   └── ForeignOutput        5  a file that is not ours is already there
    └── RunFailed                6  a run stopped: loss is not a number, scheduler lost
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def one_line(text: str) -> str:
    """The text as it may be shown to people: a line break or an escape in a file's name is written out, not obeyed.

    >>> one_line("a\\x1b[2Jb\\n.png")
    'a\\\\x1b[2Jb\\\\n.png'
    """
    if text.isprintable():
        return text
    # the two joiners are part of how Persian and Indian names are written
    return "".join(c if c.isprintable() or c in "\u200c\u200d" else ascii(c)[1:-1] for c in text)


class SauvolanetError(Exception):
    """Base of all errors; the message is one line for the person at the terminal."""

    exit_code = 1

    def __str__(self) -> str:
        return one_line(super().__str__())


class UsageError(SauvolanetError):
    """The request cannot be understood."""

    exit_code = 2


class UnknownName(UsageError):
    """No such model, method, option or data set; the message says the nearest names."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.name = kind, name
        names = sorted(known)
        near = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
        if not near:  # capitals matter in some names, not in a typo
            lower = {n.lower(): n for n in names}
            near = [lower[n] for n in difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.5)]
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names) or 'none'}"
        super().__init__(f"unknown {kind} '{name}'; {hint}")


class MissingExtra(UsageError):
    """An optional package is not installed; the message gives the exact pip command."""

    def __init__(self, extra: str, needed_for: str) -> None:
        super().__init__(f"{needed_for} needs an optional package: pip install 'sauvolanet[{extra}]'")


class SomeFailed(SauvolanetError):
    """A batch ended and some of its inputs failed."""

    exit_code = 3


class InputError(SauvolanetError):
    """An input cannot be used."""

    exit_code = 4


class UnreadablePage(InputError):
    """The file is not an image we can decode."""


class PageTooLarge(InputError):
    """The page has more pixels than allowed."""


class BadModel(InputError):
    """A model file is damaged, foreign or from a newer version."""


class BadData(InputError):
    """A data set is empty, incomplete or contradicts itself."""


class OutputError(SauvolanetError):
    """A result cannot be written."""

    exit_code = 5


class ForeignOutput(OutputError):
    """A file that is not ours is already there; nothing is overwritten in silence."""


class RunFailed(SauvolanetError):
    """A run stopped: the loss is not a number, the scheduler is lost."""

    exit_code = 6
