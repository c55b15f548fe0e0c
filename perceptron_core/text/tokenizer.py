"""Split a text into words, characters or tokens of any script: its bytes, and the positions where they start.

`tokenizer.pxd` gives C types: if compiled, objects are made per text, never per token.
"""

from __future__ import annotations

import re
from array import array
from typing import Literal

from perceptron_core import memory
from perceptron_core.text import scripts
from perceptron_core.text.scripts import PART_OF_A_WORD, SEPARATOR, SPACELESS

Bytes = bytes | bytearray

_FIRST_CAPACITY = 1 << 10
SPARE_BYTES = 32
"""Readable bytes after the result of `cut`: code that reads several bytes at once goes past the end."""

_BLANK = ord(" ")
_CODE_POINTS = 0x110000

Analyzer = Literal["words", "chars", "scripts"]

_find_words = re.compile(r"\w+").finditer
_is_in_word = re.compile(r"\w").fullmatch


class Tokenizer:
    r"""Cuts texts into words or characters.

    Parameters
    ----------
    analyzer
        Whether tokens are the matches of ``\w+``, characters (code points), or the tokens of
        `scripts.tokens_of`.
    fewest
        Smallest useful number of tokens; fewer count as none.
    lowercase
        Whether text is converted to lower case first, by `str.lower` or, for any script, by `folded`.

    """

    starts: array[int]
    """Start of each token in the bytes that `cut` returns, then the start of the next one."""
    count: int
    """Number of tokens in the text."""
    gap: int
    """Bytes between two tokens: one space between words. Tokens i to j end at `starts[j + 1] - gap`."""

    def __init__(self, analyzer: Analyzer, fewest: int, lowercase: bool) -> None:
        self._scripts = analyzer == "scripts"
        self._words = analyzer != "chars"
        self._kind_of = bytearray(_CODE_POINTS if self._words else 0)
        """Kind of each code point as in `scripts.kind_of`; 0 if not known yet."""
        self._fewest = fewest
        self._lowercase = lowercase
        self.gap = 1 if self._words else 0
        self.count = 0
        self.starts = array("i")
        self._reserve(_FIRST_CAPACITY)

    def _reserve(self, size: int) -> None:
        """Reserve memory for a text of `size` bytes; the old content is lost."""
        if len(self.starts) < size + 2:
            capacity = 2 * size + 2
            starts = array("i", [0]) * capacity
            joined, copy = bytearray(capacity), bytearray(capacity + SPARE_BYTES)
            self.starts, self._joined, self._copy, self._n_in_a_row = starts, joined, copy, 0

    def cut(self, text: str) -> Bytes:
        """Set `starts` and `count`; return the bytes they refer to, which the next call may overwrite.

        Raises `UnicodeEncodeError` for a token with a lone surrogate.
        """
        if self._scripts:
            return self._cut_any_script(text)
        size = len(text)
        self._reserve(size)
        if memory.copy_ascii(text, self._copy, self._lowercase):
            self.count = size
            if not self._words and self._n_in_a_row <= size:
                self._count_bytes(size)
        else:
            text = text.lower() if self._lowercase else text
            try:
                data = text.encode()
            except UnicodeEncodeError:  # a lone surrogate; it does no harm outside tokens
                return self._cut_into_objects(text)
            size = len(data)
            self._reserve(size)
            self._copy[:size] = data
            if not self._words:
                self._cut_into_characters(self._copy, size)
        if self._words:
            self._cut_into_words(self._copy, size)
            return self._joined
        return self._copy

    def _cut_any_script(self, text: str) -> Bytes:
        size = len(text)
        self._reserve(3 * size)  # for every three bytes, a pair of three bytes each and a space
        if not memory.copy_ascii(text, self._copy, self._lowercase):
            folded = scripts.folded(text, self._lowercase)
            data = folded.encode(errors="replace")  # of a lone surrogate, which is in no token
            size = len(data)
            self._reserve(3 * size)
            self._copy[:size] = data
        self._cut_into_tokens(self._copy, size)
        return self._joined

    def _cut_into_objects(self, text: str) -> bytes:
        self._n_in_a_row = 0
        tokens = [word.group() for word in _find_words(text)] if self._words else [*text]
        self.count = len(tokens) if len(tokens) >= self._fewest else 0
        encoded = [token.encode() for token in tokens[: self.count]]
        self._reserve(self.count)
        start = 0
        for number in range(self.count):
            self.starts[number] = start
            start += len(encoded[number]) + self.gap
        self.starts[self.count] = start
        return (b" " if self._words else b"").join(encoded)

    def _count_bytes(self, size: int) -> None:
        """Set `starts` to 0, 1, 2, …, the starts of one-byte characters, as far as they are not set yet."""
        starts = self.starts
        for at in range(self._n_in_a_row, size + 1):
            starts[at] = at
        self._n_in_a_row = size + 1

    def _cut_into_characters(self, data: Bytes, size: int) -> None:
        starts = self.starts
        self._n_in_a_row = 0
        count = 0
        for at in range(size):
            if data[at] & 0xC0 != 0x80:  # noqa: PLR2004  every byte of a code point but its first is 10xxxxxx
                starts[count] = at
                count += 1
        starts[count] = size
        self.count = count

    def _cut_into_words(self, data: Bytes, size: int) -> None:
        """Copy the words, each followed by a space, to `joined`."""
        starts, joined, kind_of = self.starts, self._joined, self._kind_of
        count = end = at = 0
        inside = False
        while at < size:
            point = data[at]
            width = 1
            if point >= 0x80:  # noqa: PLR2004  not ASCII
                width = 2 + (point >= 0xE0) + (point >= 0xF0)  # noqa: PLR2004  as UTF-8 has it
                point = _code_point(data, at, width)
            kind = kind_of[point]
            if not kind:
                kind = self._classify(point)
            if kind == PART_OF_A_WORD:
                if not inside:
                    starts[count] = end
                    count += 1
                for byte in range(at, at + width):
                    joined[end] = data[byte]
                    end += 1
            elif inside:
                joined[end] = _BLANK
                end += 1
            inside = kind == PART_OF_A_WORD
            at += width
        starts[count] = end + inside
        self.count = count

    def _cut_into_tokens(self, data: Bytes, size: int) -> None:
        """Copy the tokens of any script, each followed by a space, to `joined`."""
        starts, joined, kind_of = self.starts, self._joined, self._kind_of
        count = end = at = last = run = 0
        before = SEPARATOR
        while at < size:
            point = data[at]
            width = 1
            if point >= 0x80:  # noqa: PLR2004  as in `_cut_into_words`
                width = 2 + (point >= 0xE0) + (point >= 0xF0)  # noqa: PLR2004
                point = _code_point(data, at, width)
            kind = kind_of[point]
            if not kind:
                kind = self._classify(point)
            run = run + 1 if kind == SPACELESS else 0
            if kind != SEPARATOR:
                if run != 2 and (kind != PART_OF_A_WORD or before != kind):  # noqa: PLR2004  the second of a pair
                    if count:
                        joined[end] = _BLANK
                        end += 1
                    starts[count] = end
                    count += 1
                for byte in range(last if run > 2 else at, at + width):  # noqa: PLR2004  with the one before
                    joined[end] = data[byte]
                    end += 1
            before, last = kind, at
            at += width
        starts[count] = end + (count > 0)
        self.count = count

    def _classify(self, point: int) -> int:
        """Find the kind of a code point and cache it."""
        if self._scripts:
            kind = scripts.kind_of(point)
        else:
            kind = PART_OF_A_WORD if _is_in_word(chr(point)) else SEPARATOR
        self._kind_of[point] = kind
        return kind


def _code_point(data: Bytes, at: int, width: int) -> int:
    """Decode a code point of 2, 3 or 4 bytes."""
    point = data[at] & (0x7F >> width)
    for byte in range(at + 1, at + width):
        point = point << 6 | data[byte] & 0x3F
    return point
