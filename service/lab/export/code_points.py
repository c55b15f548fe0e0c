r"""Tables of code points for programs in other languages: what is in a word, what is a lower case letter.

They are those of Python's `re` and `str.lower` when the model is exported, so that texts are cut alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final, NamedTuple

from perceptron_core.text.tokenizer import RUN_OF_ONE_CLASS
from service.lab.export.linear import LinearModel

Range = tuple[int, int]
"""First and last."""

_N_CODE_POINTS: Final = 0x110000
_SIGMA: Final = "Σ"


class Mapped(NamedTuple):
    """Code points from `first` to `last`, `step` apart, to each of which `offset` is added."""

    first: int
    last: int
    step: int
    offset: int


@cache
def _all() -> str:
    return "".join(map(chr, range(_N_CODE_POINTS)))


def word_ranges(model: LinearModel, target: str) -> list[Range]:
    r"""Return what words are made of; nothing where a text is cut into characters.

    Raises
    ------
    ConfigurationError
        The pattern is more than a run of one class, such as `\w+`.

    """
    if not model.has_text or model.settings.text == "chars":
        return []
    if model.settings.text == "scripts":
        raise model.refuse(target, "text=scripts is cut by Python's tables of Unicode")
    pattern = model.settings.token_pattern
    if not RUN_OF_ONE_CLASS.fullmatch(pattern):
        reason = f"token_pattern {pattern!r} is for Python's re; there only runs of one class, such as \\w+"
        raise model.refuse(target, reason)
    return [(match.start(), match.end() - 1) for match in re.finditer(pattern, _all())]


def ranges_of(has: Callable[[str], bool]) -> list[Range]:
    """Return the ranges of the characters that have a property."""
    found: list[Range] = []
    for point, character in enumerate(_all()):
        if has(character):
            first = found.pop()[0] if found and found[-1][1] == point - 1 else point
            found.append((first, point))
    return found


def lower_case() -> list[Mapped]:
    """Return how capital letters become small ones, without those that become two."""
    found: list[Mapped] = []
    for point, character in enumerate(_all()):
        lower = character.lower()
        if lower == character or len(lower) > 1:
            continue
        offset = ord(lower) - point
        last = found[-1] if found else None
        if last and last.offset == offset and _continues(last, point):
            found[-1] = Mapped(last.first, point, point - last.last, offset)
        else:
            found.append(Mapped(point, point, 1, offset))
    return found


def _continues(run: Mapped, point: int) -> bool:
    gap = point - run.last
    return gap in {1, 2} and (run.first == run.last or gap == run.step)


def cased(character: str) -> bool:
    """Return whether a Σ after it is the end of a word, and becomes ς."""
    return f"{character}{_SIGMA}".lower().endswith("ς")


def case_ignorable(character: str) -> bool:
    """Return whether it is looked through for a letter before a Σ."""
    return not cased(character) and f"A{character}{_SIGMA}".lower().endswith("ς")


def lines_of(values: Iterator[str], width: int = 100) -> str:
    """Lay values out in lines."""
    lines, line = [], ""
    for value in values:
        if line and len(line) + len(value) > width:
            lines.append(line)
            line = ""
        line += f"{value}, "
    return "\n".join(f"    {each.rstrip()}" for each in [*lines, line] if each)
