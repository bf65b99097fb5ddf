"""The text's claims, tested one by one with our figures."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from .. import net
from ..api import explain
from ..core.arrays import Ink
from ..score.datasets import Page, read_gray, read_truth
from ..score.metrics import fm
from .ablation import LEFT_OUT, Single, Trainings, leave_one_out, table2_rows
from .cells import METRICS, Work, engine_key, means, metrics_key, pages_digest
from .networks import COUNTS, networks, recipe
from .tables import PRINTED, Section

_SAID = PRINTED["claims"]  # the numbers in the text
_PRESETS_FAIL = 1  # FM that training must gain before a preset counts as not working well
_COMPARABLE = 2  # FM by which a comparable method may be behind
_ONE = ((True, False), (False, True))  # only k, or only r, is trained
Claim = tuple[str, str, str]  # what the text says, the verdict, our figures
_WAIT = "not run"


def claims(work: Work) -> Section:
    """Every claim with its verdict."""
    section = Section("claims", "The text's claims", ["claim", "verdict", "figures"])
    section.rows = [
        list(claim) for part in (of_training, of_windows, _steps_of_the_network, _tables, _size) for claim in part(work)
    ]
    section.notes = [
        "The authors' weights stand for SauvolaNet. Steps of the network are looked at on the pages of DIBCO 2011, 2014 and 2016."
    ]
    return section


def _verdict(holds: bool) -> str:
    return "holds" if holds else "does not hold"


def untrained_and_trained(trainings: Trainings) -> dict[str, dict[tuple[bool, bool], float]] | None:
    """FM of Table 2 by preset and whether k and r are trained; None where a row is not there yet."""
    by_preset: dict[str, dict[tuple[bool, bool], float]] = {}
    missing = False  # go on all the same: what is not there may be another shard's
    for printed, row in table2_rows():
        found = leave_one_out(trainings.scores(row), LEFT_OUT)
        if found and found[0] is not None:
            by_preset.setdefault(printed["preset"], {})[printed["train_k"], printed["train_r"]] = found[0]
        else:
            missing = True
    return None if missing else by_preset


def of_training(work: Work) -> Iterator[Claim]:
    """Table 2's three trends."""
    trainings = Trainings(work)
    by_preset = untrained_and_trained(trainings)
    texts = ("The library presets do not work well.", "Training k or r is better than neither, both better than one.",
             "Trained k and r differ between window sizes.")  # fmt: skip
    if by_preset is None:
        yield from ((text, _WAIT, "Table 2") for text in texts)
        return
    gains = {p: f[True, True] - f[False, False] for p, f in by_preset.items()}
    yield (
        texts[0],
        _verdict(min(gains.values()) > _PRESETS_FAIL),
        "FM gained by training both: " + _listed(gains, "+.1f"),
    )
    # the text says "k or r": either of them has to help, and both have to beat either
    ordered = [f[False, False] < f[one] < f[True, True] for f in by_preset.values() for one in _ONE]
    figures = "; ".join(
        f"{p} " + ", ".join(f"{f[which]:.1f}" for which in ((False, False), *_ONE, (True, True)))
        for p, f in by_preset.items()
    )
    yield texts[1], _verdict(all(ordered)), f"FM of neither, k trained, r trained, both: {figures}"
    windows = sorted({row.window for _, row in table2_rows()} | {row["windows"][0] for row in PRINTED["table3"]})
    found_values = {w: trainings.values(Single(w)) for w in windows}
    if None in found_values.values():
        yield texts[2], _WAIT, "Table 3"
        return
    values = np.array([list(v.values()) for v in found_values.values() if v])  # window, left-out set, (k, r)
    mean, spread = values.mean(1), values.std(1)
    pairs = list(combinations(range(len(windows)), 2))
    # a pair differs if its means are more than 3 deviations (of both, over the left-out sets) apart
    differ = np.sum([abs(mean[i] - mean[j]) > 3 * np.hypot(spread[i], spread[j]) for i, j in pairs], 0)
    figures = "; ".join(f"w = {w}: k {k:.2f}, r {r:.2f}" for w, (k, r) in zip(windows, mean, strict=True))
    verdict = f"holds for r in {differ[1]}, for k in {differ[0]} of {len(pairs)} pairs of windows"
    yield texts[2], verdict, f"pairs that differ by more than 3 deviations over the left-out sets; {figures}"


def of_windows(work: Work) -> Iterator[Claim]:
    """Table 3: trained windows beat the best preset and are alike except 7; more windows are better."""
    trainings = Trainings(work)
    single = {row["windows"][0]: leave_one_out(trainings.scores(Single(row["windows"][0])), LEFT_OUT)
              for row in PRINTED["table3"] if len(row["windows"]) == 1}  # fmt: skip
    odd = _SAID["odd_window"]
    texts = ("One window of any size with trained k and r beats the best preset.", f"Windows other than {odd} attain similar scores.")  # fmt: skip
    by_preset = untrained_and_trained(trainings)
    if by_preset is None or None in single.values():
        yield from ((text, _WAIT, "Tables 2 and 3") for text in texts)
    else:
        fms = {w: s[0] for w, s in single.items() if s and s[0] is not None}
        untrained = {p: f[False, False] for p, f in by_preset.items()}
        best = max(untrained, key=untrained.__getitem__)
        better = [w for w, v in fms.items() if v > untrained[best]]
        worse = [w for w in fms if w not in better]
        verdict = _verdict(not worse)
        if better and worse:
            verdict = f"holds for w = {_numbers(better)}, not for w = {_numbers(worse)}"
        each = ", ".join(f"w = {w} {v:.1f}" for w, v in fms.items())
        yield texts[0], verdict, f"FM of the best preset ({best}) {untrained[best]:.1f}; {each}"
        rest = [v for w, v in fms.items() if w != odd]
        holds = max(rest) - min(rest) < min(rest) - fms[odd]
        yield texts[1], _verdict(holds), f"FM {min(rest):.1f} to {max(rest):.1f}; w = {odd}: {fms[odd]:.1f}"
    how = recipe(work)
    scores = [leave_one_out(networks(work, how, count), LEFT_OUT) for count in COUNTS] if how else []
    curve = [score[0] for score in scores if score and score[0] is not None]
    text = "The more windows the network has, the better."
    if how is None or len(curve) < len(COUNTS):
        yield text, _WAIT, "`sauvolanet paper table3 --networks leave-one-out` or `stated`"
    else:
        told = ", ".join(f"{v:.1f}" for v in curve)
        where = "; the three test sets" if how.stated else ""
        yield text, rising(curve), f"FM of {COUNTS[0]} … {COUNTS[-1]} windows ({how}{where}): {told}"


def rising(curve: list[float]) -> str:
    """Whether every value is above the one before; where some are, how many."""
    steps = [a < b for a, b in pairwise(curve)]
    if any(steps) and not all(steps):
        return f"holds from one row to the next in {sum(steps)} of {len(steps)} cases"
    return _verdict(all(steps))


def regions(truth: Ink) -> dict[str, Ink]:
    """Border (pixels beside the other kind), inner ink and other paper of a truth (bool, True = ink)."""
    edge = np.zeros(truth.shape, bool)
    down, side = truth[1:] != truth[:-1], truth[:, 1:] != truth[:, :-1]
    for part, differs in ((np.s_[1:], down), (np.s_[:-1], down), (np.s_[:, 1:], side), (np.s_[:, :-1], side)):
        edge[part] |= differs
    return {"paper": ~truth & ~edge, "ink": truth & ~edge, "border": edge}


def looked_at(work: Work, model: str = "original") -> list[dict[str, Any]] | None:
    """Per test page: FM of T and of every single window's threshold, and how often each window is preferred where."""

    def look(pages: list[Page]) -> list[dict[str, Any]]:
        return [_look(page, model) for page in pages]

    found: list[dict[str, Any]] = []
    for name in ("DIBCO2011", "DIBCO2014", "DIBCO2016"):
        pages = work.pages(name)
        depends = {"pages": pages_digest(pages), "engine": engine_key(model), "metrics": metrics_key()}
        part = work.cell(f"steps-{model}-{name}", depends, partial(look, pages)) if pages else None
        if part is None:
            return None
        found += part
    return found


def _look(page: Page, model: str) -> dict[str, Any]:
    gray = read_gray(page)
    truth = read_truth(page, gray.shape)
    steps = explain(gray, model=model, invert="no")
    choice = steps.attention.argmax(0)
    counts = {
        name: np.bincount(choice[mask], minlength=len(steps.attention)).tolist()
        for name, mask in regions(truth).items()
    }
    return {
        "page": f"{page.set}/{page.id}",
        "T": fm(steps.ink, truth),
        "S": [fm(gray < s, truth) for s in steps.surfaces],
        "preferred": counts,
    }


def _steps_of_the_network(work: Work) -> Iterator[Claim]:
    pages = looked_at(work)
    texts = ("The adaptive threshold T beats every single window's threshold.",
             "The attention prefers w = {paper} on paper, w = {ink} on ink and w = {border} on text borders.".format(**_SAID["preferred"]))  # fmt: skip
    if pages is None:
        yield from ((text, _WAIT, "needs DIBCO 2011, 2014 and 2016") for text in texts)
        return
    better = sum(page["T"] > max(page["S"]) for page in pages)
    best = max(range(len(pages[0]["S"])), key=lambda i: np.mean([page["S"][i] for page in pages]))
    windows = net.load("original").architecture.windows
    average = float(np.mean([page["S"][best] for page in pages]))
    yield (texts[0], "holds on every page" if better == len(pages) else f"holds on {better} of {len(pages)} pages",
           f"mean FM of T {np.mean([page['T'] for page in pages]):.2f}, of the best single window (w = {windows[best]}) {average:.2f}")  # fmt: skip
    shares = {}
    for region in _SAID["preferred"]:
        counts = np.sum([page["preferred"][region] for page in pages], 0)
        shares[region] = sorted(zip(counts / counts.sum(), windows, strict=True), reverse=True)[:3]
    right = [region for region, window in _SAID["preferred"].items() if shares[region][0][1] == window]
    figures = "; ".join(f"{region}: " + ", ".join(f"w = {w} {s:.0%}" for s, w in top) for region, top in shares.items())
    yield texts[1], "holds" if len(right) == len(shares) else f"holds for {', '.join(right) or 'none'}", figures


def _tables(work: Work) -> Iterator[Claim]:
    """Sauvola, Sauvola MS and the network; the network and the published others."""
    scores: dict[str, dict[str, list[float | None]]] = {}
    for name in ("table4", "table5", "table6"):
        set_ = PRINTED[name]["set"]
        for label, kind in (("sauvola", "method"), ("sauvola-ms", "method"), ("original", "model")):
            rows = work.scores(label, set_, gray=bool(work.paper_gray) and kind == "model", **{kind: label})  # type: ignore[arg-type]
            if rows:
                scores.setdefault(set_, {})[label] = means(rows)
    texts = ("Sauvola MS does not necessarily beat Sauvola.", "SauvolaNet beats both by large margins in all four scores.",
             "SauvolaNet beats all others on DIBCO 2011 and is comparable on 2014 and 2016.")  # fmt: skip
    if len(scores) < 3 or any(len(s) < 3 for s in scores.values()):
        yield from ((text, _WAIT, "Tables 4 to 6") for text in texts)
        return
    fms = {set_: {n: v[0] or 0.0 for n, v in s.items()} for set_, s in scores.items()}
    behind = [set_ for set_, s in fms.items() if s["sauvola-ms"] <= s["sauvola"]]
    figures = "; ".join(f"{set_} {s['sauvola-ms']:.1f} against {s['sauvola']:.1f}" for set_, s in fms.items())
    yield texts[0], _verdict(bool(behind)), f"FM {figures}"
    signs = np.array([1, 1, 1, -1])
    margins = [
        signs * (np.array(s["original"], float) - np.array(s[n], float))
        for s in scores.values()
        for n in ("sauvola", "sauvola-ms")
    ]
    least = dict(zip(METRICS, np.min(margins, 0), strict=True))
    yield texts[1], _verdict(min(least.values()) > 0), "least margin: " + _listed(least, "+.2f")
    gaps = {}
    for name in ("table4", "table5", "table6"):
        others = {n: v[0] for n, v in PRINTED[name]["rows"].items() if n != "SauvolaNet"}
        best = max(others, key=others.__getitem__)
        gaps[PRINTED[name]["set"]] = (fms[PRINTED[name]["set"]]["original"] - others[best], best)
    holds = gaps["DIBCO2011"][0] > 0 and min(g for g, _ in gaps.values()) > -_COMPARABLE
    yield (
        texts[2],
        _verdict(holds),
        f"FM above the best other row as printed (comparable: at most {_COMPARABLE} below): "
        + "; ".join(f"{s} {g:+.2f} ({n})" for s, (g, n) in gaps.items()),
    )


def _size(work: Work) -> Iterator[Claim]:
    ours = net.load("original").about["parameters"]
    other = PRINTED["outside"]["MobileNetV2"]
    percent = 100 * ours / other["parameters"]
    said, share, faster = (_SAID[n] for n in ("parameters", "percent_of_MobileNetV2", "times_faster"))
    rounded = round(ours, -4) == said
    yield f"It has {said // 1000} K parameters.", _verdict(rounded), f"{ours:,} numbers in the published file"
    yield (f"That is {share} % of MobileNetV2.", _verdict(round(percent) == share),
           f"{percent:.2f} % of {other['parameters'] / 1e6:.1f} M ({other['source']})")  # fmt: skip
    yield (f"It runs at least {faster} times faster than the other networks.", "cannot be tested",
           "the other networks' speeds are in the paper's Figure 1 only, not in its text; our own speeds: Figure 1 here")  # fmt: skip


def _numbers(values: list[int]) -> str:
    return ", ".join(map(str, values))


def _listed(values: dict[str, Any], spec: str) -> str:
    return ", ".join(f"{n} {v:{spec}}" for n, v in values.items())
