"""Rules: long straight lines across or down a page, found in its ink, counted, and taken out.

    ink ▸ eights: pixels side by side, all ink ▸ chains of eights ▸ thin, even, straight ones ▸ long ones     find
    the band of a rule goes; what strokes go through it with, from one side to the other, stays               Rules.without

A rule may be a few degrees askew, bend a little and have small gaps; the long strokes of a pen are shorter for the
height of its letters, or not as straight. Rules down the page are rules across its transpose.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.arrays import Ink
from ..core.components import Indices, Runs, joined, letter_height, runs_of

LETTERS = 8  # a rule is at least so many letters' heights long …
PART = 0.5  # … or this part of the page …
SHAPE = 20  # … and so many times as long as thick
BETWEEN = 2  # from one rule to another so many letters' heights are enough …
BETWEEN_SHAPE = 8  # … and so many times its thickness
THICKEST = 24  # pixels
COVER = 0.85  # part of its length that is ink …
EIGHTS = 0.6  # … and this part is ink for eight pixels on in one row, though it be askew
ALONE = 0.5  # part of its length where nothing touches it
STEEPEST = 0.1  # rows to a column
BEND = 0.012  # how far it bends from straight, as a part of its length
WAVER = 0.7, 2e-4  # pixels by which its middle wavers, and more for each pixel of its length
WAVE, WAVES = 300, 6  # pixels that waves of a long one have at least, and how many it has at most
GAP = 4  # eights that may be missing between two parts of it
MOST = 1000  # more of them across, or down, are the dashes of a screen or a pattern, and no rules

_EIGHT = 8
_FULL = np.uint64(0x0101010101010101)  # eight pixels of ink

Numbers = npt.NDArray[np.float64]


class Rule(NamedTuple):
    """A rule across: its first column, its middle row from there on, column by column, and how many rows thick it is."""

    first: int
    middle: Numbers
    thickness: int

    @property
    def last(self) -> int:
        """The column past its end."""
        return self.first + len(self.middle)

    @property
    def slack(self) -> int:
        """Rows by which its edges may be ragged."""
        return 1 + self.thickness // 4

    def places(self, half: int) -> tuple[Indices, Indices]:
        """Rows and columns of the page within ``half`` rows of the middle, each (2 · half + 1, length)."""
        rows = np.rint(self.middle).astype(np.int64) + np.arange(-half, half + 1)[:, None]
        return rows, np.broadcast_to(np.arange(self.first, self.last), rows.shape)

    def strip(self, page: Ink, half: int) -> Ink:
        """The ink (True) at those places: the rule made straight."""
        rows, columns = self.places(half)
        return page[np.clip(rows, 0, len(page) - 1), columns] & (rows >= 0) & (rows < len(page))

    def clear(self, page: Ink, strip: Ink) -> None:
        """Take the pixels out of a page that are marked (True) in a strip."""
        rows, columns = self.places(len(strip) // 2)
        chosen = strip & (rows >= 0) & (rows < len(page))
        page[rows[chosen], columns[chosen]] = False


class Rules(NamedTuple):
    """The rules of a page; those down it are rules across its transpose."""

    horizontal: tuple[Rule, ...] = ()
    vertical: tuple[Rule, ...] = ()
    long: int = 0  # how many of them are long by themselves; the others lie between two of those

    def without(self, ink: Ink) -> Ink:
        """Ink (bool, True = ink) without the rules; strokes that cross them stay whole."""
        left, beside = ink.copy(), ink.copy()
        for rules, page in ((self.horizontal, beside), (self.vertical, beside.T)):
            for rule in rules:
                half = rule.thickness // 2 + rule.slack
                rule.clear(page, np.ones((2 * half + 1, len(rule.middle)), bool))
        for rules, page, other in ((self.horizontal, left, beside), (self.vertical, left.T, beside.T)):
            for rule in rules:
                rule.clear(page, _band(rule, page, other))
        return left


def find(ink: Ink) -> Rules:
    """The rules in the ink (bool, True = ink) of a page."""
    pages, eights = (ink, ink.T), _eights(ink)
    chains = _long_chains(eights)
    if not any(chains):
        return Rules()
    letters = letter_height(ink)
    long = _long_rules(pages, chains, letters)
    found = []
    for page, full, same, crossing in zip(pages, eights, long, long[::-1], strict=True):
        some = _chains(full, BETWEEN_SHAPE) if len(crossing) > 1 else ()
        short = _rules(page, (c for c in some if c.key not in same), BETWEEN * letters, BETWEEN_SHAPE)
        found.append((*same.values(), *(r for r in short.values() if _between(r, crossing.values()))))
    return Rules(found[0], found[1], sum(len(rules) for rules in long))


def count_long(ink: Ink, letters: int) -> int:
    """How many rules in the ink (bool, True = ink) are long by themselves. letters : how many rows a letter has."""
    return sum(len(rules) for rules in _long_rules((ink, ink.T), _long_chains(_eights(ink)), letters))


# --- finding ---


def _eights(ink: Ink) -> tuple[Ink, Ink]:
    """Where eight pixels side by side are all ink: (H, W / 8), and for eight one below the other (W, H / 8)."""
    height, width = (n - n % _EIGHT for n in ink.shape)
    across = np.ascontiguousarray(ink[:, :width]).view(np.uint64) == _FULL
    down = np.logical_and.reduce(ink[:height].reshape(height // _EIGHT, _EIGHT, ink.shape[1]), axis=1)
    return across, np.ascontiguousarray(down.T)


def _long_chains(eights: tuple[Ink, Ink]) -> list[list[_Chain]]:
    """What may be long rules at first sight, across and down."""
    return [list(_chains(full, SHAPE)) for full in eights]


def _long_rules(pages: tuple[Ink, Ink], chains: list[list[_Chain]], letters: int) -> list[dict[tuple[int, int], Rule]]:
    """Those of the chains across and down that are rules and long enough, by their keys."""
    long = []
    for page, some in zip(pages, chains, strict=True):
        least = min(LETTERS * letters, PART * page.shape[1])
        rules = _rules(page, some, least - 2 * _EIGHT, SHAPE)
        long.append({key: rule for key, rule in rules.items() if len(rule.middle) >= least})
    return long


def _rules(page: Ink, chains: Iterable[_Chain], least: float, shape: int) -> dict[tuple[int, int], Rule]:
    """Those of the chains of at least so many pixels that are rules, by their keys; none if there are too many to be."""
    likely = [c for c in chains if c.length >= least]
    tried = {c.key: _rule(page, c, shape) for c in likely} if len(likely) <= MOST else {}
    return {key: rule for key, rule in tried.items() if rule is not None}


class _Chain(NamedTuple):
    """Eights that follow each other closely, in runs: row, first and past-the-end column of each."""

    row: Indices
    first: Indices
    last: Indices

    @property
    def length(self) -> int:
        """In pixels."""
        return _EIGHT * int(self.last.max() - self.first.min())

    @property
    def key(self) -> tuple[int, int]:
        """A place that no other chain has."""
        return int(self.row[0]), int(self.first[0])


def _chains(full: Ink, shape: int) -> Iterator[_Chain]:
    """The chains of eights that may be rules at first sight: long, without many gaps, thin."""
    runs = runs_of(full & ~_thick(full))
    some = runs.last - runs.first >= 2
    if not some.any():
        return
    row, first, last = runs.row[some], runs.first[some], runs.last[some]
    # runs of one row with small gaps between them are one; then those of neighbouring rows that touch
    begins = np.ones(len(row), bool)
    begins[1:] = (row[1:] != row[:-1]) | (first[1:] > last[:-1] + GAP)
    ends = np.append(begins[1:], True)
    chain = joined(row[begins], first[begins], last[ends] + GAP)[np.cumsum(begins) - 1]
    count = int(begins.sum())
    _, _, left, right = Runs(row, first, last, chain).boxes()[:, :count]
    extent = np.maximum(right - left, 0)
    area = np.bincount(chain, last - first, count)
    likely = (_EIGHT * extent >= 4 * shape) & (area >= EIGHTS * extent) & (shape / 2 * area <= _EIGHT * extent**2)
    chosen = np.flatnonzero(likely[chain])
    columns = _each(first[chosen], last[chosen])
    places = np.unique(np.repeat(chain[chosen], (last - first)[chosen]) * full.shape[1] + columns)
    likely &= np.bincount(places // full.shape[1], minlength=count) >= EIGHTS * extent
    chosen = chosen[likely[chain[chosen]]]
    chosen = chosen[np.argsort(chain[chosen], kind="stable")]
    if len(chosen):
        for one in np.split(chosen, np.flatnonzero(np.diff(chain[chosen])) + 1):
            yield _Chain(row[one], first[one], last[one])


def _each(first: Indices, last: Indices) -> Indices:
    """Every number of every range, one range after the other."""
    length = last - first
    every: Indices = np.arange(length.sum()) + np.repeat(first - length.cumsum() + length, length)
    return every


def _thick(full: Ink) -> Ink:
    """What is in columns of more than so many rows (True): no rule, but an area."""
    count = THICKEST + 1
    if len(full) < count:
        return np.zeros_like(full)
    whole, have = full, 1
    while have < count:
        step = min(have, count - have)
        whole, have = whole[:-step] & whole[step:], have + step
    if not whole.any():
        return np.zeros_like(full)
    whole, have = np.pad(whole, ((count - 1, count - 1), (0, 0))), 1
    while have < count:
        step = min(have, count - have)
        whole, have = whole[:-step] | whole[step:], have + step
    return whole


def _rule(page: Ink, chain: _Chain, shape: int) -> Rule | None:
    """The rule that a chain of eights is, whatever its length; None if it is thick, uneven or not straight."""
    length = chain.last - chain.first
    columns, rows, weight = _each(chain.first, chain.last), np.repeat(chain.row, length), np.repeat(length, length)
    near = np.ones(len(rows), bool)
    for _ in range(4):  # the eights of letters that touch it are left out by and by
        off = np.abs(rows - _curve(columns[near], rows[near], weight[near], _waves(chain.length))(columns))
        near = off <= max(1.5, 2 * float(np.median(off[near])))
    at, where = np.unique(columns[near], return_inverse=True)
    if len(at) < EIGHTS * (at[-1] + 1 - at[0]):
        return None
    middle = np.bincount(where, rows[near]) / np.bincount(where)
    x = np.arange(_EIGHT * at[0], _EIGHT * (at[-1] + 1))
    rough = Rule(int(x[0]), np.interp(x, _EIGHT * at + (_EIGHT - 1) / 2, _smooth(middle, 5)), 1)
    top, bottom = _edges(rough.strip(page, THICKEST + 1))
    high = bottom - top
    if (high > 0).mean() < COVER:
        return None
    thickness = int(np.percentile(high[high > 0], 40))
    alone = (high > 0) & (high <= thickness + 1 + thickness // 4)
    if thickness > THICKEST or len(x) < shape * thickness or alone.mean() < ALONE:
        return None
    middles = np.rint(rough.middle)[alone] + (top + bottom - 1)[alone] / 2
    plain, bent, close = (_curve(x[alone], middles, None, degree) for degree in (1, 2, _waves(len(x))))
    waver = np.sqrt(np.mean((middles - close(x[alone])) ** 2))
    slope = float(plain(x[-1]) - plain(x[0])) / len(x)
    bend = np.ptp(bent(x) - plain(x)) / len(x)
    if abs(slope) > STEEPEST or bend > BEND or waver > WAVER[0] + WAVER[1] * len(x):
        return None
    exact = np.interp(x, x[alone], _smooth(middles, 2 * thickness + 15))
    return _to_its_ends(Rule(rough.first, exact, thickness), page)


def _curve(
    x: Indices, y: npt.NDArray[np.int64] | Numbers, weight: Indices | None, degree: int
) -> np.polynomial.Polynomial:
    """The polynomial through points, by least squares."""
    return np.polynomial.Polynomial.fit(x, y, min(degree, len(np.unique(x)) - 1), w=weight)


def _waves(length: int) -> int:
    """The degree of the polynomial that a rule of that length may follow."""
    return 2 + min(length // WAVE, WAVES)


def _smooth(values: Numbers, side: int) -> Numbers:
    """The median of so many neighbours, an odd number, of each value."""
    padded = np.pad(values, side // 2, mode="edge")
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, side), axis=1)


def _edges(strip: Ink) -> tuple[Indices, Indices]:
    """In each column of a strip the rows, from its middle, where the ink that is there begins and is past its end.

    Ink one row above or below the middle is there too. Equal where there is none.
    """
    half = len(strip) // 2
    rows = np.arange(-half, half + 1)[:, None]
    at = np.where(strip[half], 0, np.where(strip[half - 1], -1, np.where(strip[half + 1], 1, half + 1)))
    top = np.where(~strip & (rows < at), rows + 1, -half).max(axis=0)
    bottom = np.where(~strip & (rows > at), rows, half + 1).min(axis=0)
    none = at == half + 1
    return np.where(none, 0, top), np.where(none, 0, bottom)


def _to_its_ends(rule: Rule, page: Ink) -> Rule:
    """The rule from its first to its last pixel of ink, where eights do not reach."""
    reach = 2 * _EIGHT
    near = min(len(rule.middle), 8 * _EIGHT)
    before, after = min(reach, rule.first), min(reach, page.shape[1] - rule.last)
    slopes = [(part[-1] - part[0]) / (near - 1) for part in (rule.middle[:near], rule.middle[-near:])]
    middle = np.concatenate([rule.middle[0] + slopes[0] * np.arange(-before, 0), rule.middle,
                             rule.middle[-1] + slopes[1] * np.arange(1, after + 1)])  # fmt: skip
    longer = Rule(rule.first - before, middle, rule.thickness)
    top, bottom = _edges(longer.strip(page, rule.thickness + rule.slack))
    alone = (bottom > top) & (bottom - top <= rule.thickness + rule.slack)
    first = before - int(np.logical_and.accumulate(alone[:before][::-1]).sum())
    last = len(middle) - after + int(np.logical_and.accumulate(alone[len(middle) - after :]).sum())
    return Rule(longer.first + first, middle[first:last], rule.thickness)


def _between(rule: Rule, crossing: Iterable[Rule]) -> bool:
    """Whether both ends of a rule are on other rules, which go down where it goes across."""
    ends = ((rule.first, rule.middle[0]), (rule.last - 1, rule.middle[-1]))
    return all(any(_meets(other, row, column) for other in crossing) for column, row in ends)


def _meets(rule: Rule, along: float, across: float) -> bool:
    """Whether a place is on a rule or near it."""
    near = rule.thickness / 2 + _EIGHT
    at = int(np.clip(round(along), rule.first, rule.last - 1))
    return abs(at - along) <= near and abs(float(rule.middle[at - rule.first]) - across) <= near


# --- taking out ---


def _band(rule: Rule, page: Ink, other: Ink) -> Ink:
    """A strip of a page: what of its ink is the rule (True). other : the page's ink that is no rule.

    Where ink goes on above or below the rule, its edge is a straight line; and between the places where a stroke comes in
    at one side and goes out at the other the ink is the stroke's.
    """
    inner = rule.thickness // 2
    outer = inner + rule.slack
    half = outer + 1
    strip = rule.strip(page, half)
    beside = rule.strip(other, half)
    above, below = beside[half - outer - 1], beside[half + outer + 1]  # strokes that come close
    band = strip.copy()
    band[: half - outer] = band[half + outer + 1 :] = False
    for rows, stroke in (
        (slice(half - outer, half - inner), above),
        (slice(half + inner + 1, half + outer + 1), below),
    ):
        band[rows] &= ~stroke
    _mend(band, half, outer, above, below)
    return band


def _mend(band: Ink, half: int, outer: int, above: Ink, below: Ink) -> None:
    """Leave out of a band (True = rule) what joins strokes above it to strokes below it."""
    thick = 2 * outer + 1
    uppers, lowers = (runs_of(contact[None]) for contact in (above, below))
    near = (uppers.first[:, None] <= lowers.last + thick) & (lowers.first <= uppers.last[:, None] + thick)
    for upper, lower in np.argwhere(near).tolist():
        for row in range(thick):
            share = (row + 1) / (thick + 1)
            first = (1 - share) * uppers.first[upper] + share * lowers.first[lower]
            last = (1 - share) * uppers.last[upper] + share * lowers.last[lower]
            band[half - outer + row, int(first) : int(np.ceil(last))] = False
