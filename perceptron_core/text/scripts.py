"""Tokens of a text in any script: words, pairs of characters where a script has no spaces, and symbols.

In: texts. Out: the folded text, and the kind of each code point, by which `Tokenizer` cuts it.
"""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import Final
from unicodedata import category, normalize

SEPARATOR: Final = 1
PART_OF_A_WORD: Final = 2
SYMBOL: Final = 3
"""A token by itself, such as an emoji or a sign of a currency."""
SPACELESS: Final = 4
"""Of a script that has no spaces between words."""

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


def folded(text: str, lowercase: bool) -> str:
    """Return a text in the form NFKC and, if asked for, without distinctions of case."""
    if not text.isascii():
        text = normalize("NFKC", text)
    return text.casefold() if lowercase else text


def kind_of(point: int) -> int:
    """Return the kind of a code point: a letter, mark or digit is in a word, or in a run without spaces."""
    kind = category(chr(point))
    if kind[0] == "S":
        return SYMBOL
    is_in_word = kind[0] in "LMN" or point == ord("_")
    if not is_in_word or _is_in(point, _VARIATION_SELECTORS):
        return SEPARATOR
    return SPACELESS if kind != "Nd" and _is_in(point, _SPACELESS) else PART_OF_A_WORD


def tokens_of(text: str) -> list[str]:
    """Cut a folded text as `Tokenizer` does: of a run without spaces, each two neighbours are a token."""
    tokens: list[str] = []
    for kind, characters in groupby(text, lambda character: kind_of(ord(character))):
        run = "".join(characters)
        if kind == PART_OF_A_WORD:
            tokens.append(run)
        elif kind == SYMBOL:
            tokens += run
        elif kind == SPACELESS:
            tokens += map("".join, pairwise(run)) if len(run) > 1 else [run]
    return tokens


def _is_in(point: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= point <= last for first, last in ranges)
