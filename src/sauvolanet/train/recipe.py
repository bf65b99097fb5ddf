"""A recipe: one file from which one command makes one model, from nothing, stage by stage.

    name = "swift"                      # and title, hours (to expect on two cores), [expect] (figures to expect)
    after = "swift-heldout"             # or none: another recipe, whose stages come first
    until = "varied"                    # or none: the last of them that does

    [[stage]]                           # at most four; each is a training run
    name = "first"
    start = "nothing"                   # or an earlier stage, whose weights it begins with
    preset = "swift"
    steps = 9000
    seed = 1
    data = { sets = ["wide-train"], kinds = ["Nabuco"], composed = { … }, shares = { Nabuco = 0.6 } }
    settings = { rate = 3e-3 }          # names as with --set

    [mean]                              # without it the model is the last stage
    of = ["first", "second"]

    [export]
    name = "swift"                      # and licence, copyright, source

The digest of a recipe covers what decides about the weights, presets included; same digest and same data, same weights.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import BadData, UnknownName, UsageError
from ..score.datasets import CATALOGUE, resolve
from .composed import SET as COMPOSED
from .settings import PRESETS, Settings, with_changes

SHIPPED = Path(__file__).parent.parent / "recipes"
MOST_STAGES = 4
NOTHING = "nothing"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# keys of a stage's data, and the settings that they are
_DATA = {"sets": "train", "kinds": "kinds", "composed": "composed", "shares": "set_weights", "hold_out": "hold_out",
         "validate": "validate"}  # fmt: skip
_OF_THE_STAGE = ("preset", "steps", "seed")
_OF_THE_NETWORK = ("architecture", "scaling", "margins", "reading")  # a stage has them from its start


@dataclass(frozen=True)
class Stage:
    """A training run of a recipe."""

    name: str
    recipe: str  # the name of the recipe that it is of: this one, or one before it
    start: str  # NOTHING, or the name of an earlier stage
    settings: Settings  # those of the network are its start's; α, k and r too, once the start is trained
    changes: Mapping[str, Any]  # of the preset's settings
    teacher: str  # the name of an earlier stage, or ""


@dataclass(frozen=True)
class Recipe:
    """A recipe that makes sense, as `read` gives it."""

    name: str
    title: str
    hours: float
    expect: Mapping[str, float]
    stages: tuple[Stage, ...]
    mean: tuple[str, ...]  # stages whose mean the model is; one for no mean
    export: Mapping[str, str] = field(default_factory=dict)  # name, licence, copyright, source
    after: Recipe | None = None  # the recipe whose stages come first

    def known(self) -> Iterator[Recipe]:
        """This recipe, and those before it."""
        yield self
        if self.after:
            yield from self.after.known()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what decides about the weights."""
        stages = [
            {"name": s.name, "start": s.start, "teacher": s.teacher, "settings": s.settings.to_json()}
            for s in self.stages
        ]
        text = json.dumps({"name": self.name, "stages": stages, "mean": self.mean}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def shipped() -> list[str]:
    """Names of the recipes in the package."""
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def read(name: str) -> Recipe:
    """A recipe of the package by name, or one's own by path; one that makes no sense is a BadData that says where."""
    return _read(name, ())


def _read(name: str, before: tuple[Path, ...]) -> Recipe:
    """before : recipes that come after this one."""
    path = SHIPPED / f"{name}.toml" if name in shipped() else Path(name)
    if not path.is_file() and path.suffix != ".toml":
        raise UnknownName("recipe", name, shipped())
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else problem
        raise BadData(f"{path}: not a recipe ({reason})") from None
    after = None
    if "after" in raw:
        if path in before:
            raise BadData(f"{path}: the recipe comes after itself")
        other = str(raw["after"])
        after = _read(other if other in shipped() else str(path.parent / other), (*before, path))
    try:
        return _recipe(raw, after)
    except (UsageError, TypeError) as problem:
        raise BadData(f"{path}: {problem}") from None


def _recipe(raw: dict[str, Any], after: Recipe | None) -> Recipe:
    _keys(raw, "the recipe", {"name": str, "title": str, "hours": float, "stage": list, "export": dict},
          {"expect": dict, "mean": dict, "after": str, "until": str})  # fmt: skip
    stages = {stage.name: stage for stage in _before(raw, after)}
    count = len(stages) + len(raw["stage"])
    if not (raw["stage"] and count <= MOST_STAGES):
        raise UsageError(f"a recipe has 1 to {MOST_STAGES} stages, this one has {count}")
    for number, one in enumerate(raw["stage"], len(stages) + 1):
        stage = _stage(one, number, stages, raw["name"])
        stages[stage.name] = stage
    mean = raw.get("mean", {"of": [list(stages)[-1]]})
    _keys(mean, "mean", {"of": list}, {})
    of = tuple(mean["of"])
    for name in of:
        if name not in stages:
            raise UnknownName("stage in mean:", str(name), stages)
    if "mean" in raw and (len(of) < 2 or len(set(of)) < len(of)):
        raise UsageError("mean: of must be two or more stages, each once")
    if len({_network(stages[name].settings) for name in of}) > 1:
        raise UsageError("mean: the stages have different networks")
    _all_used(stages, of)
    _keys(raw["export"], "export", {"name": str}, {"licence": str, "copyright": str, "source": str})
    for name in (raw["name"], raw["export"]["name"]):
        _named(name, "the recipe")
    for name, value in raw.get("expect", {}).items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UsageError(f"expect: {name} must be a number, not {value!r}")
    if raw["hours"] <= 0:
        raise UsageError(f"hours must be above 0, not {raw['hours']:g}")
    return Recipe(raw["name"], raw["title"], raw["hours"], raw.get("expect", {}), tuple(stages.values()), of, raw["export"],
                  after)  # fmt: skip


def _before(raw: dict[str, Any], after: Recipe | None) -> tuple[Stage, ...]:
    """The stages of another recipe that come first."""
    stages = after.stages if after else ()
    if "until" not in raw:
        return stages
    names = [stage.name for stage in stages]
    if raw["until"] not in names:
        raise UnknownName("stage in until:", raw["until"], names)
    return stages[: names.index(raw["until"]) + 1]


def _stage(raw: Any, number: int, before: Mapping[str, Stage], recipe: str) -> Stage:
    where = f"stage {number}"
    _keys(
        raw,
        where,
        {"name": str, "start": str, "preset": str, "steps": int, "seed": int, "data": dict},
        {"settings": dict},
    )
    name, start = raw["name"], raw["start"]
    _named(name, where)
    where = f"stage {name}"
    if name in (NOTHING, "composed") or name in before:
        raise UsageError(f"{where}: the name is taken")
    if start != NOTHING and start not in before:
        raise UsageError(f"{where}: start must be '{NOTHING}' or an earlier stage, not '{start}'")
    if raw["preset"] not in PRESETS:
        raise UnknownName(f"preset of {where}:", raw["preset"], PRESETS)
    _keys(raw["data"], f"{where}, data", {"sets": list}, {n: object for n in _DATA if n != "sets"})
    settings = dict(raw.get("settings", {}))
    network = settings.pop("architecture", {})
    if not isinstance(network, dict):
        raise UsageError(f"{where}: architecture must be a table, not {network!r}")
    changes = settings | {f"architecture.{n}": v for n, v in network.items()}
    for taken in (*_DATA.values(), *_OF_THE_STAGE):
        if taken in changes:
            place = f"{where}, data" if taken in _DATA.values() else where
            raise UsageError(f"{where}: the setting {taken} is said in {place}, and only there")
    if start != NOTHING and any(n.partition(".")[0] in _OF_THE_NETWORK for n in changes):
        raise UsageError(
            f"{where} starts from {start} and has its network, scaling, margins and reading; none can change"
        )
    teacher = str(changes.get("teacher", ""))
    if teacher and teacher not in before:
        raise UsageError(f"{where}: the teacher must be an earlier stage, not '{teacher}'")
    changes |= {_DATA[n]: v for n, v in raw["data"].items()} | {"steps": raw["steps"], "seed": raw["seed"]}
    base = PRESETS[raw["preset"]]
    if start != NOTHING:
        base = like(base, before[start].settings)
    try:
        made = with_changes(base, changes)
    except UsageError as problem:
        raise UsageError(f"{where}: {problem}") from None
    if made.frozen and start == NOTHING:
        raise UsageError(f"{where}: a run with frozen normalisation needs an earlier stage to start from")
    _check_shares(made, where)
    return Stage(name, recipe, start, made, changes, teacher)


def like(settings: Settings, start: Settings) -> Settings:
    """Settings with the network of those of a start."""
    names = (*_OF_THE_NETWORK, "alpha", "k", "r")
    return replace(settings, **{name: getattr(start, name) for name in names})


def _check_shares(s: Settings, where: str) -> None:
    """Shares of what the stage does not train on are a contradiction."""
    if not s.train:
        raise UsageError(f"{where}: data: sets must name sets or groups")
    known = {*s.kinds, *((COMPOSED,) if s.composed else ())}
    own = [name for name in s.train if name not in s.kinds]
    for name in own:
        try:
            known.update(resolve([name]))
        except UnknownName:  # a set of the user's own
            known.add(name)
    for name in s.set_weights:
        if name not in known:
            what = "a set of the catalogue" if name in CATALOGUE else "a set"
            raise UsageError(f"{where}: a share for {name}, {what} that the stage does not train on")


def _all_used(stages: Mapping[str, Stage], of: tuple[str, ...]) -> None:
    used, waiting = set[str](), list(of)
    while waiting:
        name = waiting.pop()
        used.add(name)
        waiting += [n for n in (stages[name].start, stages[name].teacher) if n in stages]
    if idle := [name for name in stages if name not in used]:
        raise UsageError(f"stage {idle[0]} is of no use: the model does not come from it")


def _network(s: Settings) -> str:
    return json.dumps([s.to_json().get(name) for name in _OF_THE_NETWORK])


def _named(name: str, where: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{where}: a name is of letters, digits and . _ -, not {name!r}")


def _keys(raw: Any, where: str, must: dict[str, type], may: dict[str, type]) -> None:
    """Check that a table has the keys it must have, none but those it may have, and values of their types."""
    if not isinstance(raw, dict):
        raise UsageError(f"{where} must be a table, not {raw!r}")
    for name in raw:
        if name not in {**must, **may}:
            raise UnknownName(f"key of {where}:", name, {**must, **may})
    for name in must:
        if name not in raw:
            raise UsageError(f"{where} lacks {name}")
    words = {str: "text", int: "a whole number", float: "a number", list: "a list", dict: "a table"}
    for name, value in raw.items():
        kind = {**must, **may}[name]
        fits = isinstance(value, (int, float) if kind is float else kind) and not (
            kind in (int, float) and isinstance(value, bool)
        )
        if not fits:
            raise UsageError(f"{where}: {name} must be {words[kind]}, not {value!r}")
