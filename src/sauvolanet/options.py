"""Every option and every method is declared once, here or with `Option` and `Method` in the method's own file.

The command line, the HTTP service, the plugins, the documentation and Python's own validation read these
declarations; no default, range or help text is repeated anywhere else.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import UnknownName, UsageError

YES_OR_NO = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}


@dataclass(frozen=True)
class Option:
    """One option: its name, type, default, range or choices, and a whole sentence of help.

    ``type`` is int, float, str or bool. ``odd`` asks for an odd int (a window). A default of None means "not given".
    ``words`` are taken as they are, in place of a number that is found by looking at the page.
    """

    name: str
    type: type
    default: Any
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    help: str = ""
    odd: bool = False
    words: tuple[str, ...] = ()

    def parse(self, value: Any) -> Any:
        """The value in the option's own type, or a UsageError that says what was expected.

        Accepts text (from a command line or a form) as well as Python and numpy scalars.
        """
        if value is None and self.default is None:
            return None
        if isinstance(value, str) and value in self.words:
            return value
        try:
            result = self._convert(value)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise UsageError(f"{self.name} must be {self.expected()}, not {value!r}") from None
        if self.choices and result not in self.choices:
            raise UsageError(f"{self.name} must be {self.expected()}, not {value!r}")
        if self.type in (int, float):
            outside = (self.low is not None and result < self.low) or (self.high is not None and result > self.high)
            if outside or (self.odd and result % 2 == 0) or not -math.inf < result < math.inf:
                raise UsageError(f"{self.name} must be {self.expected()}, not {value!r}")
        return result

    def _convert(self, value: Any) -> Any:
        if self.type is bool:
            if isinstance(value, str):
                return YES_OR_NO[value.lower()]
            if value not in (True, False):
                raise ValueError
            return bool(value)
        if isinstance(value, bool):
            raise ValueError
        if self.type is int:
            try:
                return int(value) if isinstance(value, str) else operator.index(value)
            except (TypeError, ValueError):
                number = float(value)  # 5e8, 3.0
            if number != int(number):
                raise ValueError
            return int(number)
        if self.type is str and not isinstance(value, str):
            raise ValueError
        return self.type(value)

    def expected(self) -> str:
        """What a valid value looks like, in words: ``an odd whole number, at least 3``."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        kind = {int: "a whole number", float: "a number", str: "text", bool: "yes or no"}[self.type]
        if self.odd:
            kind = "an odd whole number"
        if self.low is not None and self.high is not None:
            kind = f"{kind} from {self.low:g} to {self.high:g}"
        elif self.low is not None:
            kind = f"{kind}, at least {self.low:g}"
        elif self.high is not None:
            kind = f"{kind}, at most {self.high:g}"
        return " or ".join((kind, *self.words))


def validate(options: Iterable[Option], given: Mapping[str, Any], what: str) -> dict[str, Any]:
    """All options with their values: the given ones parsed, the others at their default.

    An unknown name is an error that says the nearest; ``what`` names the owner in it ("option of nick").
    """
    known = {o.name: o for o in options}
    for name in given:
        if name not in known:
            raise UnknownName(what, name, known)
    return {n: o.parse(given[n]) if n in given else o.default for n, o in known.items()}


@dataclass(frozen=True)
class Method:
    """A way to binarize: ``function(gray, *, threads, **options)`` gives a surface or ink.

    surface : True if the function returns a float32 surface on the 0–255 scale (ink is ``gray < surface``),
        False if it returns ink (bool, True = ink) itself.
    presets : named sets of option values, chosen with ``preset=NAME``.
    fused : the function takes ``ink=True`` and then returns exactly ``gray < surface`` without building the surface.
    extra : the optional install the method needs, or "".
    table1 : the method's row of the paper's Table 1, if it has one: trainable, w, k, r, scales, preproc, postproc.
    """

    name: str
    function: Callable[..., Any]
    options: tuple[Option, ...]
    title: str
    doi: str
    surface: bool
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    extra: str = ""
    table1: Mapping[str, str] | None = None
    fused: bool = False

    @property
    def all_options(self) -> tuple[Option, ...]:
        """The options, with ``preset`` first where the method has presets."""
        if not self.presets:
            return self.options
        names = tuple(self.presets)
        return (
            Option("preset", str, None, choices=names, help="A named set of values used by a library."),
            *self.options,
        )

    def values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Option values for a call: defaults, then the preset's, then those given."""
        checked = validate(self.all_options, given, f"option of {self.name}")
        preset = checked.pop("preset", None)
        if preset is not None:
            checked.update({n: v for n, v in self.presets[preset].items() if n not in given})
        return checked


# Options of the verb, shared by Python, the command line, HTTP and the plugins.
STRENGTH = Option("strength", float, 0.0, -1.0, 1.0,
                  help="Heavier (+) or lighter (-) ink: one slider from -1 to 1, 0 leaves the method's own decision.")  # fmt: skip
INVERT = Option("invert", str, "auto", choices=("auto", "yes", "no"),
                help="Whether the page is light writing on a dark ground; auto looks at the page.")  # fmt: skip
CHANNEL = Option("channel", str, "auto", choices=("auto", "gray", "min", "red", "green", "blue"),
                 help="Which channel of a colour page is read; min is the darkest of red, green and blue. auto looks at "
                      "the page: gray, unless gray would lose coloured writing.")  # fmt: skip
DESPECKLE = Option("despeckle", int, 0, 0, 10_000,
                   help="Drop 8-connected specks of ink of at most this many pixels.")  # fmt: skip
LINES = Option("lines", str, "keep", choices=("keep", "drop"),
               help="drop takes out long straight rules, across and down; the letters they cross stay whole.")  # fmt: skip
QUALITY = Option("quality", str, "fast", choices=("fast", "best"),
                 help="best averages the model over flipped copies of the page: slower, slightly more accurate.")  # fmt: skip
# heights in pixels that can be read, but close up or break in ink of that resolution
SMALL_LETTERS = range(5, 15)
ENLARGE = Option("enlarge", int, 1, 1, 4, words=("auto",),
                 help="Enlarge the page this many times first, for scans of low resolution; the result has that many "
                      f"times the resolution. auto doubles it where letters are {SMALL_LETTERS[0]} to {SMALL_LETTERS[-1]} "
                      "pixels high.")  # fmt: skip
THREADS = Option("threads", int, None, 1, 1024,
                 help="Threads for one page; without it all cores are used. The result never depends on it.")  # fmt: skip
MAX_PIXELS = Option("max_pixels", int, 500_000_000, 1, None,
                    help="Refuse pages with more pixels than this.")  # fmt: skip

VERB_OPTIONS = (STRENGTH, INVERT, CHANNEL, LINES, DESPECKLE, QUALITY, ENLARGE, THREADS)
