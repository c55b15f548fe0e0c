r"""Compile regular expressions for tokens, and refuse those that may not run in linear time.

Python's `re` backtracks: `(\w+\s?)+!` tries every way to cut forty letters into words, and `\w+!` reads the
rest of a long word again from each of its letters. The process is held meanwhile, and no signal gets
through. So a pattern is accepted only if whatever follows an unbounded repetition can always match at once:
then no repetition is ever undone. Design record 041 has the rejected alternatives.
"""

from __future__ import annotations

import re
from typing import Any, Final

try:
    from re import _parser as standard_parser  # type: ignore[attr-defined]  # not published: 3.11 to 3.14
except ImportError:  # `compile_pattern` says so
    standard_parser = None

_MAX_WAYS: Final = 1000
"""Ways in which an attempt may match a bounded part of a pattern: what a token costs at most."""

_WORD_CATEGORIES: Final = frozenset({"CATEGORY_WORD", "CATEGORY_DIGIT"})
_SINGLE: Final = frozenset({"LITERAL", "NOT_LITERAL", "IN", "ANY"})
_REPEATS: Final = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})

_parser: Any = standard_parser
_MAXREPEAT: Final = getattr(_parser, "MAXREPEAT", None)

_USUAL: Final = r"\w+"

Item = tuple[Any, Any]
"""An operator of a parsed pattern, and what it is applied to."""


def compile_pattern(pattern: str) -> re.Pattern[str]:
    r"""Compile a pattern that finds tokens. Raises `ValueError` for one that may backtrack without bound.

    >>> compile_pattern(r"\d+(?:\.\d+)?|\w+").findall("pi is 3.14")
    ['pi', 'is', '3.14']
    >>> compile_pattern(r"(\w+\s?)+!")
    Traceback (most recent call last):
    ...
    ValueError: ... without bound: what follows a repetition without an end must be optional...

    """
    try:
        compiled = re.compile(pattern)
        if _parser is None:
            return _unchecked(compiled)
        parsed = [*_parser.parse(pattern)]
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"not a regular expression: {error}") from None
    if not _is_word_between_boundaries(parsed):
        _Check().sequence(parsed, follows=True)
    return compiled


def _unchecked(compiled: re.Pattern[str]) -> re.Pattern[str]:
    """Return the usual pattern, which needs no check. Raises `ValueError` for any other."""
    if compiled.pattern != _USUAL:
        raise ValueError("cannot be checked: re of this Python has no _parser, as that of 3.11 to 3.14 has")
    return compiled


class _Check:
    """Walks through a pattern from its end; `follows` is whether the rest can always match at once."""

    def __init__(self) -> None:
        self.ways = 1

    def sequence(self, items: list[Item], *, follows: bool) -> bool:
        """Check items in a row; return whether they and what follows can match at once, reading nothing."""
        after: Item | None = None
        before_boundary = follows
        for item in reversed(items):
            ends_run = after is not None and str(after[1]) == "AT_BOUNDARY" and _is_run_of_words(item)
            here = follows or (ends_run and before_boundary)
            before_boundary = follows
            follows = self.item(item, follows=here)
            after = item
        return follows

    def item(self, item: Item, *, follows: bool) -> bool:
        """Check an item as `sequence` does."""
        operator, operand = str(item[0]), item[1]
        if operator in _SINGLE or operator in {"AT", "GROUPREF"}:
            return False
        if operator == "SUBPATTERN":
            return self.sequence([*operand[-1]], follows=follows)
        if operator == "ATOMIC_GROUP":
            return self.sequence([*operand], follows=follows)
        if operator == "BRANCH":
            self._count(1 if follows else len(operand[1]))
            at_once = [self.sequence([*branch], follows=follows) for branch in operand[1]]
            return any(at_once)
        if operator in _REPEATS:
            return self.repeat(*operand, follows=follows)
        if operator in {"ASSERT", "ASSERT_NOT"}:
            self.sequence([*operand[1]], follows=False)
            return False
        raise ValueError(f"{operator.lower()} is not supported in a pattern that finds tokens")

    def repeat(self, least: int, most: Any, body: Any, *, follows: bool) -> bool:
        """Check a repetition as `sequence` does."""
        items = [*body]
        if follows:
            # One that has to come several times is followed by itself, which must read something.
            can_be_empty = self.sequence(items, follows=least <= 1 or _is_single(items))
            self._count(least or 1)
            return least == 0 or can_be_empty
        if most == _MAXREPEAT:
            raise ValueError(
                "it may take time without bound: what follows a repetition without an end must be optional, "
                r"as in \d+(?:\.\d+)?, or the repetition bounded, as in <[^>]{1,99}>"
            )
        before, self.ways = self.ways, 1
        self.sequence(items, follows=False)
        self._count(self.ways ** min(most, _MAX_WAYS))
        self._count(before)
        self._count(most - least + 1)
        return least == 0 and follows

    def _count(self, ways: int) -> None:
        self.ways *= ways
        if self.ways > _MAX_WAYS:
            raise ValueError(
                f"it may take too long, as it can match one place in more than {_MAX_WAYS} ways; "
                "use fewer optional parts and smaller counts"
            )


def _is_single(items: list[Item]) -> bool:
    return len(items) == 1 and str(items[0][0]) in _SINGLE


def _is_word_character(item: Item) -> bool:
    r"""Return whether an item reads one character, and only one of \w."""
    operator, operand = str(item[0]), item[1]
    if operator == "LITERAL":
        return _is_word(operand)
    return operator == "IN" and all(_is_word_member(*member) for member in operand)


def _is_word_member(operator: Any, operand: Any) -> bool:
    if str(operator) == "RANGE":
        first, last = operand
        return last <= ord("z") and all(_is_word(point) for point in range(first, last + 1))
    if str(operator) == "LITERAL":
        return _is_word(operand)
    return str(operator) == "CATEGORY" and str(operand) in _WORD_CATEGORIES


def _is_word(point: int) -> bool:
    return chr(point).isalnum() or point == ord("_")


def _is_run_of_words(item: Item) -> bool:
    r"""Return whether an item is such as `\w+`, after which there is always a boundary."""
    if str(item[0]) != "MAX_REPEAT" or item[1][1] != _MAXREPEAT or item[1][0] < 1:
        return False
    body = [*item[1][2]]
    return len(body) == 1 and str(body[0][0]) == "IN" and [str(m[1]) for m in body[0][1]] == ["CATEGORY_WORD"]


def _is_word_between_boundaries(items: list[Item]) -> bool:
    r"""Return whether a pattern is such as `\b[a-z]+\b`: tried once a word, which it reads in a row."""
    if not items or any(str(item[1]) != "AT_BOUNDARY" for item in (items[0], items[-1])):
        return False
    endless = 0
    for item in items[1:-1]:
        single = item
        if str(item[0]) in _REPEATS:
            endless += item[1][0] != item[1][1]
            body = [*item[1][2]]
            if len(body) != 1:
                return False
            (single,) = body
        if not _is_word_character(single):
            return False
    return endless <= 1
