"""The lower half of Table 3: a network per number of windows and left-out set, trained here, on one machine or many."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ..errors import MissingExtra, UnknownName, UsageError
from ..evaluate import evaluate
from ..net.architecture import PAPER
from .cells import METRICS, Rows, Work, fingerprint, page_rows


def networks(work: Work, count: int) -> tuple[str, dict[str, Rows] | None]:
    """How the networks with the first ``count`` windows are trained, in words, and their page scores by set."""
    stated = work.networks == "stated"
    rows = (network_on_stated if stated else networks_left_out)(work, count)
    return f"{'stated partition' if stated else 'leave one out'}, {work.steps} steps of {work.preset}", rows


def networks_left_out(work: Work, count: int) -> dict[str, Rows] | None:
    """Page scores by set of networks with the first ``count`` windows, each trained on the other sets."""
    found = {
        name: _network(work, count, tuple(work.sets), name, [name], turn)
        for turn, name in enumerate(work.sets, count * len(work.sets))
    }
    return None if None in found.values() else {n: rows for n, rows in found.items() if rows}


def network_on_stated(work: Work, count: int) -> dict[str, Rows] | None:
    """Page scores on the test sets of a network trained on the stated partition."""
    rows = _network(work, count, ("stated-train",), "", ["test"], count)
    by_set: dict[str, Rows] = {}
    for row in rows or []:
        by_set.setdefault(row["dataset"], []).append(row)
    return by_set or None


def _network(work: Work, count: int, train: tuple[str, ...], leave_out: str, test: list[str], turn: int) -> Rows | None:
    depends = {
        "pages": {n: fingerprint(p) for n, p in work.sets.items()}, "windows": count, "preset": work.preset,
        "steps": work.steps, "train": train, "leave_out": leave_out,
    }  # fmt: skip
    name = f"network-{work.preset}-{work.steps}-{count}-{leave_out or 'stated'}"
    asked = work.networks == ("leave-one-out" if leave_out else "stated")
    train_it = partial(_train_network, work, name, count, train, leave_out, test)
    return work.cell(name, depends, train_it if asked else None, turn)  # type: ignore[no-any-return]


def _train_network(
    work: Work, name: str, count: int, train: tuple[str, ...], leave_out: str, test: list[str]
) -> Rows | None:
    """Train, or go on training, until it is done or time is up (then None); then score the model."""
    try:
        from ..net.model import save
        from ..train.loop import Run
        from ..train.settings import PRESETS
    except ImportError:
        raise MissingExtra("train", "training the networks of Table 3") from None

    if work.preset not in PRESETS:
        raise UnknownName("preset", work.preset, PRESETS)
    preset = PRESETS[work.preset]
    if preset.architecture.windows != PAPER.windows:
        raise UsageError(f"Table 3 counts the paper's windows; preset {work.preset} has others")
    k, r = (v[:count] if isinstance(v, tuple) else v for v in (preset.k, preset.r))
    settings = replace(
        preset, architecture=replace(preset.architecture, windows=PAPER.windows[:count]), k=k, r=r, steps=work.steps,
        warmup=min(preset.warmup, work.steps // 10),
        train=train, validate=(), hold_out=False, leave_out=(leave_out,) if leave_out else (),
    )  # fmt: skip
    folder = work.out / "runs" / name
    run = Run(settings, work.documents, folder, f"sauvolanet paper table3 --preset {work.preset} --steps {work.steps}")
    while run.step < work.steps:
        if work.late:
            return None
        run.train(stop_after=min(run.step + 5 * settings.checkpoint_every, work.steps))
        run.save()
    model = run.model(name)
    path = save(model.about, model.weights, folder / "model")
    return page_rows(evaluate(work.documents, test, model=str(path), metrics=METRICS))
