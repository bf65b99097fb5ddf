from __future__ import annotations

from sauvolanet.score.text import distance, errors, normalise


def test_distance() -> None:
    assert distance("kitten", "sitting") == 3
    assert distance("", "abc") == distance("abc", "") == 3
    assert distance("intention", "execution") == 5  # worked out in Jurafsky and Martin's textbook


def test_what_counts_as_the_same() -> None:
    assert normalise("Waſ⸗\n ſer  „gut“ …") == 'Was- ser "gut" ...'
    assert errors("ABC", "abd", fold=True) == (1, 3)
    assert errors("ABC", "abd") == (3, 3)
