"""Tables 1, 4, 5 and 6: the methods of the registry, the models, and the published rows side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .. import classic, net
from .cells import Rows, Work, has_results, means
from .tables import PRINTED, SCORES, Section, beside

# our name -> the row of Tables 4 to 6 it is compared with
_PRINTED_AS = {
    "otsu": "Otsu",
    "howe": "Howe",
    "sauvola": "Sauvola",
    "sauvola-ms": "Sauvola MS",
    "original": "SauvolaNet",
}
_RECOMPUTED = set(_PRINTED_AS.values())
TEST_TABLES = ("table4", "table5", "table6")


def table1(work: Work) -> Section:
    """The Sauvola family, from the registry, beside what is printed."""
    names = {"trainable": "end-to-end trainable", "w": "w", "k": "k", "r": "r", "scales": "scales",
             "preproc": "without preprocessing", "postproc": "without postprocessing"}  # fmt: skip
    section = Section("table1", "Table 1: Sauvola approaches", ["approach", "name here", *names.values(), "as printed"])
    for printed in PRINTED["table1"]:
        method = classic.METHODS.get(printed["method"])
        ours = dict(method.table1 or {}) if method else _of_model(printed["method"])
        same = all(ours[n] == printed[n] for n in names)
        title = method.title if method else "SauvolaNet 2021"
        section.rows.append([title, printed["method"], *(ours[n] for n in names), "yes" if same else "no"])
    section.notes = [
        "The rows of the methods come from their declarations. Of the network's row, w and scales come from the windows of the model and k and r from the recipe that it names; "
        "that it is trainable and has no step before or after it is not in the model's file: this is written here for every network."
    ]
    return section


def _of_model(name: str) -> dict[str, str]:
    """A network in the words of Table 1: the attention chooses where there is more than one window."""
    from ..train.settings import PRESETS  # needs no torch

    model = net.load(name)
    recipe = PRESETS[model.about["training"]["preset"]]
    several = len(model.architecture.windows) > 1
    k, r = ("learned" if trained else "fixed" for trained in (recipe.train_k, recipe.train_r))
    # the rest is the same for all: the file says nothing of it, because the runtime has no such steps
    return {"trainable": "yes", "w": "auto" if several else "fixed", "k": k, "r": r,
            "scales": "multiple" if several else "single", "preproc": "yes", "postproc": "yes"}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A row that we compute: a model, a method or somebody's results, on one kind of gray."""

    label: str
    what: str
    gray: bool = False
    model: str | None = None
    method: str | None = None
    predictions: Path | None = None

    def given(self, work: Work, set_: str) -> bool:
        """Whether there is anything to score: somebody's results may be of other sets only."""
        if self.predictions is None or has_results(self.predictions, work.pages(set_)):
            return True
        # results of none of the sets are a mistake, about which evaluate has a message
        return not any(has_results(self.predictions, work.pages(PRINTED[t]["set"])) for t in TEST_TABLES)

    def scores(self, work: Work, set_: str) -> Rows | None:
        return work.scores(
            self.label, set_, gray=self.gray, model=self.model, method=self.method, predictions=self.predictions
        )


def models(work: Work) -> tuple[list[str], list[str]]:
    """Models that may be compared on the test sets, and those that were trained on them."""
    names = [*net.shipped(), *work.models]
    told = {n: net.load(n).about["training"] for n in names}
    seen = [
        n
        for n in names
        if told[n]["partition"] == "all" or {PRINTED[t]["set"] for t in TEST_TABLES} & set(told[n]["train"])
    ]
    return [n for n in names if n not in seen], seen


def entries(work: Work) -> Iterator[Entry]:
    """Every row that we compute, in the order of the tables; howe last, because it takes longest."""
    for name in models(work)[0]:
        partition = net.load(name).about["training"]["partition"]
        what = f"model, trained on partition {partition}"
        label = net.load(name).name
        if work.paper_gray:
            yield Entry(label, f"{what}; gray of the authors' loader", gray=True, model=name)
        yield Entry(label, what, model=name)
    for name, path in work.predictions.items():
        yield Entry(name, "results given by the user", predictions=path)
    for name in sorted(classic.METHODS, key=lambda n: n == "howe"):
        yield Entry(name, f"classic, {classic.METHODS[name].title}", method=name)


def table(work: Work, name: str) -> Section:
    """Table 4, 5 or 6."""
    printed, set_ = PRINTED[name]["rows"], PRINTED[name]["set"]
    section = Section(name, f"Table {name[-1]}: {set_}", ["method", "what", *SCORES])
    for entry in entries(work):
        if not entry.given(work, set_):
            section.rows.append([entry.label, entry.what, *["not given"] * len(SCORES)])
            continue
        rows = entry.scores(work, set_)
        section.rows.append(
            [
                entry.label,
                entry.what,
                *beside(means(rows) if rows else None, printed.get(_PRINTED_AS.get(entry.model or entry.method or ""))),
            ]
        )
    for label, values in printed.items():
        if label not in _RECOMPUTED:
            section.rows.append([label, "as printed in the paper, not recomputed", *(float(v) for v in values)])
    section.notes = ["Cells: ours · printed · difference where the paper prints the row; means over the pages of the set. "
                     "Classic methods run with the defaults of `sauvolanet methods`."]  # fmt: skip
    if not work.pages(set_):
        section.notes.append(f"{set_} is not in the data folder: nothing of this table can be computed.")
    seen = models(work)[1]
    if seen:
        section.notes.append(f"Left out, because trained on these pages too: {', '.join(seen)}.")
    return section
