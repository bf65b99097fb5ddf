"""Words that look like a language and mean nothing: syllables drawn by how often a language uses them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Language:
    """Beginnings, vowels and ends of syllables, each repeated as often as it is common, and the commonest words."""

    onsets: tuple[str, ...]
    vowels: tuple[str, ...]
    codas: tuple[str, ...]
    common: tuple[str, ...]


def _language(onsets: str, vowels: str, codas: str, common: str) -> Language:
    return Language(*(tuple(part.replace("_", "").split(" ")) for part in (onsets, vowels, codas, common)))


# "_" is nothing at all: a syllable without that part
LANGUAGES = {
    "english": _language("t t th th s s h w w b c d f g l m n p r st tr pr br cl sh wh pl gr k _ _ _",
                         "e e e a a o o i i u ea ou ee ai", "_ _ _ n s t r d l ng nd st nt ll ck th m y p",
                         "the of and to in a is that was he for it with as his on be at by I had not you which"),
    "german": _language("d d s s g g b w w m n h st sch v f r l k z t br tr pf gr _ _",
                        "e e e e i i a a u o ei ie au ä ö ü", "_ _ n n r r en er t s ch ng st nd l cht m ß",
                        "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch"),
    "french": _language("l d s p m r t v c qu ch pr tr n f b j gr pl _ _ _",
                        "e e e a a i o u é ai ou eu oi an en on è", "_ _ _ _ s r t nt l n re ne que le tte",
                        "de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se"),
    "latin": _language("t s c m p v r n d l f qu pr st gr _ _ _", "e e i i a a u u o ae",
                       "_ _ _ s t m n r us um is it nt tur rum bus que",
                       "et in est non ad cum ut quod sed qui ex per si"),
}  # fmt: skip
PLAIN = ("english", "latin")  # written without accents


def sentence_words(rng: np.random.Generator, language: Language, count: int) -> list[str]:
    """``count`` words with capitals, commas, full stops, numbers and brackets, as they would run on a page."""
    dice = rng.integers(0, 1 << 30, (count, 8)).tolist()  # one by one they would cost more than the text
    parts = rng.integers(0, 1 << 30, (count, 4, 3)).tolist()
    words: list[str] = []
    begin = True
    for d, syllables in zip(dice, parts, strict=True):
        if d[0] % 100 < 38:
            word = language.common[d[1] % len(language.common)]
        elif d[0] % 100 < 42:
            word = str(d[1] % (10, 100, 1000, 1900)[d[2] % 4] + 1)
        else:
            word = "".join(
                language.onsets[a % len(language.onsets)] + language.vowels[b % len(language.vowels)]
                + (language.codas[c % len(language.codas)] if d[3] % 3 else "")
                for a, b, c in syllables[: (1, 2, 2, 2, 3, 3, 4)[d[2] % 7]]
            )  # fmt: skip
        if begin or d[4] % 11 == 0:
            word = word[:1].upper() + word[1:]
        begin = d[5] % 11 == 0
        if d[6] % 60 == 0:
            word = f"({word})"
        if begin:
            word += (".", ".", ".", "?", "!")[d[7] % 5]
        elif d[7] % 9 == 0:
            word += (",", ",", ",", ";", ":", "-")[d[6] % 6]
        words.append(word)
    return words
