"""Recognise the event that was scored last, so that `learn_one` after `predict_one` does not score it again.

`last_event.pxd` gives this module its C types.
"""

from __future__ import annotations

from itertools import chain
from typing import Any, Final

from perceptron_core import memory

_IMMUTABLE: Final = frozenset({str, float, int, bool, type(None)})


class LastEvent:
    """The event scored last: a text, or a dictionary of names and of values that cannot change."""

    def __init__(self) -> None:
        self._text: str | None = None
        self._state = 0
        """Of the dictionary, where states are told apart; else 0."""
        self._items: list[Any] | None = None
        """Names and values by turns."""

    def forget(self) -> None:
        """Take no event for the one scored last: something was learned since."""
        self._text = self._items = None
        self._state = 0

    def keep(self, x: Any) -> None:
        """Take an event for the one scored last."""
        self.forget()
        if type(x) is str:
            self._text = x
        elif type(x) is dict:
            for name, value in x.items():
                if type(name) is not str or not (type(value) is float or type(value) in _IMMUTABLE):
                    return
            self._state = memory.state_of(x)
            if not self._state:
                self._items = [*chain.from_iterable(x.items())]

    def is_same(self, x: Any) -> bool:
        """Return whether an event has the same objects as the one scored last, in the same order."""
        if type(x) is not dict:
            return self._text is not None and x is self._text
        if self._items is None:
            return self._state != 0 and memory.state_of(x) == self._state
        items, at = self._items, 0
        if len(items) != 2 * len(x):
            return False
        for name, value in x.items():
            if items[at] is not name or items[at + 1] is not value:
                return False
            at += 2
        return True
