"""Find fields that tell the label by themselves: they may be known only after it."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, Final

from service.lab.fields import Field, tells
from service.messages.features import X
from service.messages.labels import Truth
from service.partition.examples import LearnedExamples

_OF_A_CLASS: Final = 250
"""Events that are looked at of each class: the first ones."""
_FEWEST: Final = 20
"""Events of each of two classes from which on it is no accident."""


class Leaks:
    """Looks at the features of labelled events, as the model gets them."""

    def __init__(self) -> None:
        self._rows: list[tuple[X, Truth]] = []
        self._counts: Counter[Truth] = Counter()

    def observe(self, learned: LearnedExamples) -> None:
        """Take the labelled predictions of a batch."""
        for place, truth in enumerate(learned.truths):
            if self._counts[truth] < _OF_A_CLASS:
                self._counts[truth] += 1
                self._rows.append((learned[place].x, truth))

    def found(self) -> list[str]:
        """Return the names of the fields; nothing of a model that hashes them, or of too few events."""
        if len([count for count in self._counts.values() if count >= _FEWEST]) <= 1:
            return []
        truths = {number: truth for number, (_, truth) in enumerate(self._rows)}
        return [each.keys[0] for each in self._fields() if tells(each, truths)]

    def _fields(self) -> list[Field]:
        """Return what is in all events, or in as many as a class has; not what has several values in one."""
        values: defaultdict[str, dict[int, Any]] = defaultdict(dict)
        several = set()
        for number, (x, _) in enumerate(self._rows):
            for name, value in x.items():
                field, is_category, category = str(name).partition("=")
                if number in values[field]:
                    several.add(field)
                values[field][number] = category if is_category else value
        sizes = {len(self._rows), *self._counts.values()}
        known = {name: each for name, each in values.items() if len(each) in sizes and name not in several}
        return [Field((name,), len(self._rows), each) for name, each in known.items()]
