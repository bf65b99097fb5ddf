"""Which pages a run trains on, chooses by, and is scored on at its end."""

from __future__ import annotations

from pathlib import Path

from .. import datasets
from ..errors import BadData, UnknownName, UsageError
from .settings import Settings, held_out_pages


def left_out(names: tuple[str, ...], data: Path) -> set[str]:
    """The sets that names, aliases and groups stand for; one that stands for no set of the folder is an UnknownName."""
    if not names:
        return set()
    there = {name for name, entry in datasets.scan(data).items() if entry.pages or entry.ambiguous}
    found: set[str] = set()
    for name in names:
        sets = there.intersection(datasets.resolve([name], there))
        if not sets:
            raise UnknownName("data set", name, there)
        found |= sets
    return found


def split(s: Settings, data: Path) -> tuple[list[datasets.Page], list[datasets.Page]]:
    """Pages to train on and pages to choose by."""
    leave_out = left_out(s.leave_out, data)
    found = datasets.find(data, s.train or None)
    for name in s.set_weights:  # presets weigh sets of the catalogue that a folder need not have
        if name not in datasets.CATALOGUE.keys() | {p.set for p in found}:
            raise UnknownName("data set in set_weights:", name, {p.set for p in found})
    pages = [p for p in found if p.set not in leave_out]
    held = held_out_pages() if s.hold_out else set()
    validation = [p for p in pages if (p.set, p.id) in held]
    training = [p for p in pages if (p.set, p.id) not in held]
    if s.validate:
        validation += datasets.find(data, s.validate)
    shared = {p.image for p in training} & {p.image for p in validation}
    if shared:
        raise UsageError(f"{len(shared)} pages are both in training and in validation, such as {min(shared)}")
    if not training:
        raise BadData("no pages are left to train on")
    return training, validation


def pages_of_the_end(s: Settings, data: Path) -> list[datasets.Page]:
    """Pages to score at the end; none of them may be trained on or chosen by."""
    pages = datasets.find(data, s.test) if s.test else []
    used = {p.image for part in split(s, data) for p in part} if pages else set()
    shared = {p.image for p in pages} & used
    if shared:
        raise UsageError(f"{len(shared)} test pages are in training or validation too, such as {min(shared)}")
    return pages
