"""The lower half of Table 3: a network per number of windows and left-out set, trained here, on one machine or many."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from ..errors import MissingExtra, UnknownName, UsageError
from ..net.architecture import PAPER
from ..score.evaluation import evaluate
from .cells import METRICS, Rows, Work, metrics_key, page_rows, pages_digest
from .tables import PRINTED

if TYPE_CHECKING:
    from ..train.settings import Settings

COUNTS = [len(row["windows"]) for row in PRINTED["table3"] if len(row["windows"]) > 1]
KINDS = ("leave-one-out", "stated")
PIECE = 50  # steps between two looks at the clock; each piece reads the pages anew, which takes seconds
_CELL = re.compile(r"network-(.+)-(\d+)-(\d+)-([^-]+)-[0-9a-f]{16}\.json")


@dataclass(frozen=True)
class Recipe:
    """How all networks of the table are trained: kind "leave-one-out" or "stated", a preset, equal steps for each."""

    kind: str
    preset: str
    steps: int

    @property
    def stated(self) -> bool:
        return self.kind == "stated"

    @property
    def options(self) -> str:
        """The same as options of the command."""
        return f"--networks {self.kind} --preset {self.preset} --steps {self.steps}"

    @property
    def budget(self) -> str:
        """The same in words, with what a step is."""
        from ..train.settings import PRESETS  # needs no torch

        one = PRESETS[self.preset]
        return f"{self.steps} steps of preset {self.preset} (a step: {one.batch} patches of {one.patch}×{one.patch} pixels)"

    def __str__(self) -> str:
        return f"{'stated partition' if self.stated else 'leave one out'}, {self.steps} steps of {self.preset}"


def recipe(work: Work) -> Recipe | None:
    """What the work asks for; where it asks for nothing, the longest training that has a row: left out, else stated."""
    if work.networks != "none":
        how = Recipe(work.networks, work.preset, work.steps)
        _settings(how, COUNTS[0], (), "")  # a preset that cannot be used is told before anything is computed
        return how
    for kind in KINDS:
        for found in _on_disk(work, kind):
            if any(networks(work, found, count) for count in COUNTS):
                return found
    return None


def _on_disk(work: Work, kind: str) -> list[Recipe]:
    """Recipes of which there are cells: most steps first, then most cells."""
    from ..train.settings import PRESETS  # needs no torch

    seen: Counter[Recipe] = Counter()
    for path in (work.out / "cells").glob("network-*.json"):
        name = _CELL.fullmatch(path.name)
        if name and name[1] in PRESETS and (name[4] == "stated") == (kind == "stated"):
            seen[Recipe(kind, name[1], int(name[2]))] += 1
    return sorted(seen, key=lambda r: (-r.steps, -seen[r], r.preset))


def networks(work: Work, how: Recipe, count: int) -> dict[str, Rows] | None:
    """Page scores by set of the networks with the first ``count`` windows, None where one is not there yet.

    Left out: each set by the network trained on the others. Stated: the test sets by the one network.
    """
    if how.stated:
        rows = _network(work, how, count, ("stated-train",), "", ["test"], count)
        by_set: dict[str, Rows] = {}
        for row in rows or []:
            by_set.setdefault(row["dataset"], []).append(row)
        return by_set or None
    found = {
        name: _network(work, how, count, tuple(work.sets), name, [name], turn)
        for turn, name in enumerate(work.sets, count * len(work.sets))
    }
    return None if None in found.values() else {n: rows for n, rows in found.items() if rows}


def _network(
    work: Work, how: Recipe, count: int, train: tuple[str, ...], leave_out: str, test: list[str], turn: int
) -> Rows | None:
    settings = _settings(how, count, train, leave_out)
    depends = {"pages": {n: pages_digest(p) for n, p in work.sets.items()}, "settings": settings.to_json(),
               "metrics": metrics_key()}  # fmt: skip
    name = f"network-{how.preset}-{how.steps}-{count}-{leave_out or 'stated'}"
    asked = work.networks == how.kind and work.may_train
    return work.cell(  # type: ignore[no-any-return]
        name, depends, partial(train_network, work, name, how, settings, test) if asked else None, turn
    )


def _settings(how: Recipe, count: int, train: tuple[str, ...], leave_out: str) -> Settings:
    from ..train.settings import PRESETS

    if how.preset not in PRESETS:
        raise UnknownName("preset", how.preset, PRESETS)
    preset = PRESETS[how.preset]
    if preset.architecture.windows != PAPER.windows:
        raise UsageError(f"Table 3 counts the paper's windows; preset {how.preset} has others")
    k, r = (v[:count] if isinstance(v, tuple) else v for v in (preset.k, preset.r))
    return replace(
        preset, architecture=replace(preset.architecture, windows=PAPER.windows[:count]), k=k, r=r, steps=how.steps,
        warmup=min(preset.warmup, how.steps // 10),
        train=train, validate=(), hold_out=False, leave_out=(leave_out,) if leave_out else (),
    )  # fmt: skip


def train_network(work: Work, name: str, how: Recipe, settings: Settings, test: list[str]) -> Rows | None:
    """Train, or go on training, until it is done or time is up (then None); then score the model."""
    try:
        from ..net.model import save
        from ..train.loop import Run
    except ImportError:
        raise MissingExtra("train", "training the networks of Table 3") from None

    folder = work.out / "runs" / name
    run = Run(settings, work.documents, folder, f"sauvolanet paper table3 {how.options}")
    while run.step < settings.steps:
        if work.late:
            return None
        piece = settings.steps if work.deadline is None else PIECE
        run.train(stop_after=min(run.step + piece, settings.steps))
        run.save()
    model = run.model(name)
    path = save(model.about, model.weights, folder / "model")
    return page_rows(evaluate(work.documents, test, model=str(path), jobs=work.jobs, metrics=METRICS))
