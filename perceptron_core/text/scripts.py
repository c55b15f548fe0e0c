"""Tokens of a text in any script: words, pairs of characters where a script has no spaces, and symbols.

The input is a text. The output is the folded text, and the kind of each code point, by which `Tokenizer`
cuts it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import groupby, pairwise
from typing import Final
from unicodedata import category, combining, normalize

SEPARATOR: Final = 1
PART_OF_A_WORD: Final = 2
SYMBOL: Final = 3
"""A single token, such as an emoji or a currency sign."""
SPACELESS: Final = 4
"""Kind of a code point of a script without spaces between words."""

_SPACELESS: Final = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x1980, 0x19FF),  # New Tai Lue
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x3005, 0x3007),  # iteration marks and zero of Han
    (0x3040, 0x312F),  # Hiragana, Katakana, Bopomofo
    (0x31A0, 0x31BF),  # Bopomofo
    (0x31F0, 0x31FF),  # Katakana
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),  # Han
    (0xA980, 0xA9FF),  # Javanese, Myanmar
    (0xAA60, 0xAA7F),  # Myanmar
    (0xF900, 0xFAFF),  # Han
    (0x16FE0, 0x18D8F),  # Tangut, Khitan
    (0x1AFF0, 0x1B2FF),  # Kana, Nushu
    (0x20000, 0x3FFFF),  # Han
)
_VARIATION_SELECTORS: Final = ((0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
MAX_NON_STARTERS: Final = 30
"""Longest run, as in the Stream-Safe Text Format of Unicode Standard Annex #15; the time of NFKC grows with
the square of a run."""
_COMBINING_GRAPHEME_JOINER: Final = "\u034f"
_LONG: Final = 256
"""Characters above which a text may have a run that takes long."""
_LAST_NON_STARTER: Final = 0x1FFFF


def folded(text: str, lowercase: bool) -> str:
    """Return a text in the form NFKC and, with `lowercase`, without distinctions of case.

    In texts of more than 256 characters, a run of more than 30 combining marks is interrupted after each 30
    by a COMBINING GRAPHEME JOINER, so that the time is linear in the length (Unicode Standard Annex #15,
    Stream-Safe Text Process).
    """
    if not text.isascii():
        if len(text) > _LONG:
            text = _long_runs().sub(rf"\g<0>{_COMBINING_GRAPHEME_JOINER}", text)
        text = normalize("NFKC", text)
    return text.casefold() if lowercase else text


@cache
def _long_runs() -> re.Pattern[str]:
    """Return the pattern of 30 characters that decompose into non-starters, before one more."""
    points = map(chr, range(_LAST_NON_STARTER + 1))
    marks = "".join(point for point in points if combining(normalize("NFKD", point)[0]))
    return re.compile(f"[{marks}]{{{MAX_NON_STARTERS}}}(?=[{marks}])")


@lru_cache(1 << 16)
def kind_of(point: int) -> int:
    """Return the kind of a code point: letters, marks and digits are in words or in runs without spaces."""
    kind = category(chr(point))
    if kind[0] == "S":
        return SYMBOL
    is_in_word = kind[0] in "LMN" or point == ord("_")
    if not is_in_word or _is_in(point, _VARIATION_SELECTORS):
        return SEPARATOR
    return SPACELESS if kind != "Nd" and _is_in(point, _SPACELESS) else PART_OF_A_WORD


def tokens_of(text: str) -> Iterator[str]:
    """Cut a folded text as `Tokenizer` does: in a run without spaces, each two neighbours are a token."""
    for kind, characters in groupby(text, lambda character: kind_of(ord(character))):
        run = "".join(characters)
        if kind == PART_OF_A_WORD:
            yield run
        elif kind == SYMBOL:
            yield from run
        elif kind == SPACELESS:
            yield from map("".join, pairwise(run)) if len(run) > 1 else [run]


def _is_in(point: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= point <= last for first, last in ranges)
