"""Which pages a run trains on, chooses by, and is scored on at its end."""

from __future__ import annotations

from pathlib import Path

from ..errors import BadData, UnknownName, UsageError
from ..score import datasets
from .composed import composed_pages
from .settings import Settings


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


def documents(data: Path) -> Path:
    """The folder of the sets: ``documents`` where the data have it beside other kinds of data, else their own."""
    return data / "documents" if (data / "documents").is_dir() else data


def of_kinds(names: tuple[str, ...], data: Path) -> list[datasets.Page]:
    """The pages of kinds that may be trained on."""
    found = []
    for name in names:
        kept = datasets.KEPT[name] or ()
        if not (data / "kinds" / name).is_dir():
            raise BadData(f"{data}: no folder 'kinds/{name}'")
        pages = datasets.find(data / "kinds" / name)
        found += [page for page in pages if page.id.isdecimal() and int(page.id) not in kept]
    return found


def split(s: Settings, data: Path, composed: Path = Path()) -> tuple[list[datasets.Page], list[datasets.Page]]:
    """Pages to train on and pages to choose by.

    composed : the folder of the composed pages; they are listed whether they are there yet or not.
    """
    sets = documents(data)
    leave_out = left_out(s.leave_out, sets)
    found = datasets.find(sets, s.train or None)
    more = of_kinds(s.kinds, data) + (composed_pages(s.composed, composed) if s.composed else [])
    if twice := sorted({p.set for p in found} & {p.set for p in more}):
        raise UsageError(f"{sets} has a set {twice[0]}, which the settings kinds and composed add too")
    found += more
    for name in s.set_weights:  # presets weigh sets of the catalogue that a folder need not have
        if name not in datasets.CATALOGUE.keys() | {p.set for p in found}:
            raise UnknownName("data set in set_weights:", name, {p.set for p in found})
    pages = [p for p in found if p.set not in leave_out]
    held = datasets.held_out_pages() if s.hold_out else set()
    validation = [p for p in pages if (p.set, p.id) in held]
    training = [p for p in pages if (p.set, p.id) not in held]
    if s.validate:
        validation += datasets.find(sets, s.validate)
    shared = {p.image for p in training} & {p.image for p in validation}
    if shared:
        raise UsageError(f"{len(shared)} pages are both in training and in validation, such as {min(shared)}")
    if not training:
        raise BadData("no pages are left to train on")
    return training, validation


def pages_of_the_end(s: Settings, data: Path) -> list[datasets.Page]:
    """Pages to score at the end; none of them may be trained on or chosen by."""
    pages = datasets.find(documents(data), s.test) if s.test else []
    used = {p.image for part in split(s, data) for p in part} if pages else set()
    shared = {p.image for p in pages} & used
    if shared:
        raise UsageError(f"{len(shared)} test pages are in training or validation too, such as {min(shared)}")
    return pages
