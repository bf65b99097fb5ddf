"""How far a text read by a machine is from the true one."""

from __future__ import annotations

import re
import unicodedata

import numpy as np

_ALIKE = str.maketrans({**dict.fromkeys("⸗‐‑¬—–", "-"), **dict.fromkeys("’‘‚", "'"), **dict.fromkeys("“”„»«", '"'),
                        "ſ": "s", "ꝛ": "r", "…": "...", "\u0364": ""})  # fmt: skip


def normalise(text: str, fold: bool = False) -> str:
    """The text as it is compared: NFC, one form of each dash, quote and s, single spaces; without case if ``fold``.

    >>> normalise("Waſ⸗\\n ſer  „gut“")
    'Was- ser "gut"'
    """
    text = re.sub(r"\s+", " ", unicodedata.normalize("NFC", text).translate(_ALIKE)).strip()
    return text.casefold() if fold else text


def distance(a: str, b: str) -> int:
    """Levenshtein distance: the least number of insertions, deletions and substitutions.

    >>> distance("kitten", "sitting"), distance("", "abc"), distance("same", "same")
    (3, 3, 0)
    """
    column = np.array([ord(c) for c in b], np.int32)
    steps = np.arange(len(b) + 1)
    row = steps.copy()
    for i, letter in enumerate(a, 1):
        row[1:] = np.minimum(row[1:] + 1, row[:-1] + (column != ord(letter)))
        row[0] = i
        row = np.minimum.accumulate(row - steps) + steps  # insertions, all at once
    return int(row[-1])


def errors(read: str, truth: str, fold: bool = False) -> tuple[int, int]:
    """Distance between the compared texts, and the length of the truth; their ratio is the character error rate."""
    truth = normalise(truth, fold)
    return distance(normalise(read, fold), truth), len(truth)
