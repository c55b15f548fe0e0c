"""Label values: the class that a label denotes, and how outputs spell a class.

`labels.pxd` gives this module its C types.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Final

LabelValue = bool | int | float | str
"""A label as a message has it."""

TrueLabel = bool | str
"""A class: False or True of two classes, the name of several."""

Spelling = tuple[LabelValue, LabelValue]
"""The label values of two classes: (negative, positive)."""

BINARY: Final = 2
"""Classes of a binary problem."""

MAX_WEIGHT: Final = 1e12
"""Largest weight of an event or a class; the product of two is a weight that every learner accepts."""

_MAX_TYPO_LENGTH: Final = 64
"""Longest label in characters that is compared with the classes."""

BOOLEANS: Final[Spelling] = (False, True)
_SIGNS: Final[Spelling] = (-1, 1)
_BITS: Final[Spelling] = (0, 1)
_BINARY: Final[Mapping[LabelValue, bool]] = {True: True, False: False, -1: False}


_IN_TEXT: Final[Mapping[str, LabelValue]] = {"true": True, "false": False, "1": 1, "-1": -1, "0": 0}
_NUMBER: Final = re.compile("true|false|0|-?[1-9][0-9]{0,14}")
"""Class names that are also a number or boolean in JSON."""


class UnknownLabelError(ValueError):
    """A label value that denotes no class."""


class Vocabulary:
    """The label values that a stream may use.

    Parameters
    ----------
    classes
        Class names. None: `true/false`, `1/-1` and `1/0`. Two, negative first: these names too; but if
        a name is a number or boolean that denotes the other class, as with `1,0` or `1,2`, numbers and
        booleans denote classes by their names alone. More than two: these names only, and the problem is
        multiclass.

    Attributes
    ----------
    is_by_name : bool
        Whether numbers and booleans denote one of two classes by their names alone.

    """

    def __init__(self, classes: Sequence[str] = ()) -> None:
        self.classes = tuple(classes)
        self.is_multiclass = len(self.classes) > BINARY
        self.is_by_name = False
        self._truths: dict[LabelValue, TrueLabel] = {}
        if self.is_multiclass:
            self._truths.update((name, name) for name in self.classes)
        else:
            named = dict(zip(self.classes, (False, True), strict=bool(self.classes)))
            numbers = {_number_of(name): truth for name, truth in named.items() if _NUMBER.fullmatch(name)}
            self.is_by_name = any(_BINARY.get(number) != truth for number, truth in numbers.items())
            self._truths.update(numbers if self.is_by_name else _BINARY)
            self._truths.update(named)

    @property
    def values(self) -> Sequence[LabelValue]:
        """All label values, distinct as in JSON, where 1 is not true."""
        return [*self._truths] if self.is_multiclass or self.is_by_name else [*self._truths, 1, 0]

    def truth(self, label: LabelValue) -> TrueLabel:
        """Return the class that `label` denotes.

        Raises
        ------
        UnknownLabelError
            It denotes no class.

        """
        try:
            return self._truths[label]
        except KeyError:
            raise UnknownLabelError(
                f"unknown label {label!r}, expected {self._known()}{self._meant(label)}"
            ) from None

    def truth_of_text(self, text: str) -> TrueLabel:
        """Return the class that a text denotes: its name, or a label value as JSON writes it.

        >>> Vocabulary().truth_of_text("-1"), Vocabulary(["ham", "spam"]).truth_of_text("spam")
        (False, True)

        Raises
        ------
        UnknownLabelError
            It denotes no class.

        """
        return self.truth(self.value_of_text(text))

    def value_of_text(self, text: str) -> LabelValue:
        """Return the label value of a text, for formats in which all values are text.

        >>> Vocabulary().value_of_text("0"), Vocabulary(["0", "1", "2"]).value_of_text("0")
        (0, '0')
        """
        value = _IN_TEXT.get(text, text)
        return value if value in self._truths and text not in self._truths else text

    def spelling(self, label: LabelValue, current: Spelling) -> Spelling:
        """Return the spelling in outputs after `label` was seen: class names, or as the stream's labels.

        A 1 leaves open whether the other class is −1 or 0: booleans are replaced by ±1, any other spelling
        stays.
        """
        if self.classes or isinstance(label, str):
            return current
        if isinstance(label, bool):
            return BOOLEANS
        if label == 1:
            return _SIGNS if isinstance(current[1], bool) else current  # (False, True) == (0, 1)
        return _SIGNS if label == -1 else _BITS

    def first_spelling(self) -> Spelling:
        """Return the spelling in outputs before any label was seen."""
        if self.classes and not self.is_multiclass:
            return (self.classes[0], self.classes[1])
        return BOOLEANS

    def spell(self, truth: TrueLabel, spelling: Spelling) -> LabelValue:
        """Return the label value of a class in a spelling."""
        return spelling[truth] if isinstance(truth, bool) else truth

    def name(self, truth: TrueLabel) -> str:
        """Return the name of a class: the configured one, or `true` and `false`."""
        if isinstance(truth, str):
            return truth
        return self.classes[truth] if self.classes else str(truth).lower()

    def _meant(self, label: LabelValue) -> str:
        """Return a suggestion if a class name is similar to the label."""
        short = isinstance(label, str) and len(label) <= _MAX_TYPO_LENGTH
        close = difflib.get_close_matches(str(label), self.classes, n=1) if short else []
        return "".join(f"; did you mean {name!r}?" for name in close)

    def _known(self) -> str:
        numbers = "" if self.is_multiclass or self.is_by_name else "true/false, 1/-1, 1/0"
        return ", ".join(filter(None, [numbers, *map(repr, self.classes)]))


def log_odds_of(predicted: TrueLabel, score: float) -> float:
    """Return the log-odds of the predicted class; with two classes, a score belongs to True."""
    return abs(score) if isinstance(predicted, bool) else score


def _number_of(name: str) -> LabelValue:
    return name == "true" if name in {"true", "false"} else int(name)


class UnreadLabels(Vocabulary):
    """Accepts any label, for events that are only predicted: the label is ignored."""

    def truth(self, label: LabelValue) -> TrueLabel:  # noqa: ARG002 - whatever it is
        """Return False."""
        return False
