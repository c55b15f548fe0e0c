"""Choose which features are categories, and number their values.

`categories.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from perceptron_core.linear import restored

OTHER: Final = 63
"""Code of values without one of the 62 codes. 0 stands for a missing value."""
_LONG_AGO: Final = 1000
"""Events of a feature after which the code of a value that did not occur can be reused."""
_FEWEST_SEEN: Final = 16
"""Smallest number of events with a feature before it can be a category."""


class Categories:
    """The categorical features, which are booleans or strings with few values, and a code for each value.

    A feature is a category once half of its events had a known value. When all codes are in use, a new value
    gets the code of the value that occurred longest ago, if that was at least 1,000 events ago: then no event
    in `Window` has it.

    Parameters
    ----------
    limit
        Largest number of features that are considered: the first to occur.

    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.names: list[str] = []
        self.numbers: dict[str, int] = {}
        self.codes: list[dict[str, int]] = []
        self.seen: list[int] = []
        """Number of events with each feature."""
        self.uncoded: list[int] = []
        """Number of events whose value was new or has no code, by feature."""
        self.lasts: list[list[int]] = []
        """The feature's last event with each value, by code − 1."""
        self._none_before: list[int] = []
        """The event of each feature before which no code can be reused."""
        self.freed: list[tuple[int, int]] = []
        """Features and codes that the last learned event assigned to another value."""
        self.chosen: list[int] = []
        """Numbers of the features that are categories."""
        self.version = 0
        self._event: list[tuple[str, str]] = []

    def clear(self) -> None:
        """Begin an event."""
        self._event = []

    def observe(self, name: str, value: str) -> None:
        """Add a value of the event."""
        self._event.append((name, value))

    def write_codes(self, bins: bytearray, first: int) -> None:
        """Write the codes of the categories, from `first` on."""
        for number in self.chosen:
            bins[first + number] = 0
        for name, value in self._event:
            number = self.numbers.get(name, -1)
            if number >= 0:
                bins[first + number] = self.codes[number].get(value, OTHER)

    @property
    def in_event(self) -> bool:
        """Whether the event has a category."""
        for name, _ in self._event:  # noqa: SIM110  compiled, a generator keeps its iterable
            if self.numbers.get(name, -1) in self.chosen:
                return True
        return False

    def commit(self) -> None:
        """Learn the values of the event."""
        self.freed = []
        for name, value in self._event:
            number = self.numbers.get(name, -1)
            if number < 0 and len(self.names) < self.limit:
                number = self._add(name)
            if number >= 0:
                self._count(number, value)

    def _add(self, name: str) -> int:
        number = len(self.names)
        try:
            self.codes.append({})
            self.lasts.append([])
            self._none_before.append(0)
            self.seen.append(0)
            self.uncoded.append(0)
            self.names.append(name)
            self.numbers[name] = number
        except MemoryError:
            for each in (self.codes, self.lasts, self._none_before, self.seen, self.uncoded, self.names):
                del each[number:]
            raise
        return number

    def _count(self, number: int, value: str) -> None:
        self.seen[number] += 1
        code = self.codes[number].get(value, 0)
        if code == 0:
            self.uncoded[number] += 1
            code = self._give_code(number, value)
        if code > 0:
            self.lasts[number][code - 1] = self.seen[number]
        enough = self.seen[number] >= _FEWEST_SEEN and 2 * self.uncoded[number] <= self.seen[number]
        if enough and number not in self.chosen:
            self.chosen.append(number)
            self.version += 1

    def _give_code(self, number: int, value: str) -> int:
        """Return the code of a new value, 0 if no code is free."""
        codes, lasts = self.codes[number], self.lasts[number]
        if len(lasts) < OTHER - 1:
            lasts.append(0)
            codes[value] = len(lasts)
            return len(lasts)
        if self.seen[number] < self._none_before[number]:
            return 0
        oldest = min(lasts)
        if self.seen[number] < oldest + _LONG_AGO:
            self._none_before[number] = oldest + _LONG_AGO
            return 0
        code = lasts.index(oldest) + 1
        for former, other in codes.items():
            if other == code:
                del codes[former]
                break
        codes[value] = code
        self.freed.append((number, code))
        return code

    def get_state(self) -> dict[str, Any]:
        """Return the learned state as plain values."""
        return {
            "names": [*self.names],
            "values": [sorted(codes, key=codes.__getitem__) for codes in self.codes],
            "lasts": [[*lasts] for lasts in self.lasts],
            "seen": [*self.seen],
            "uncoded": [*self.uncoded],
            "chosen": [*self.chosen],
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Set a state from `get_state`. Raises `ValueError` if it is invalid."""
        self.__init__(self.limit)  # type: ignore[misc]
        n = len(state["names"])
        names = restored.several(state["names"], restored.text, n)
        values = restored.several(state["values"], _values, n)
        chosen = restored.several(state["chosen"], restored.whole(n - 1), len(state["chosen"]))
        if n > self.limit or len({*names}) < n or len({*chosen}) < len(chosen):
            raise ValueError(f"{n} categories, at most {self.limit}, are {names!r:.200}")
        self.names = names
        self.numbers = {name: number for number, name in enumerate(names)}
        self.codes = [{value: code for code, value in enumerate(each, 1)} for each in values]
        self.seen = restored.several(state["seen"], restored.count, n)
        self.uncoded = restored.several(state["uncoded"], restored.count, n)
        lasts = restored.several(state["lasts"], list, n)
        for each, codes, now in zip(lasts, self.codes, self.seen, strict=True):
            self.lasts.append(restored.several(each, restored.whole(now), len(codes)))
        self._none_before = [0] * n
        self.chosen = chosen
        self.version = 1


def _values(values: Any) -> list[str]:
    """Return the values of a category, in the order of their codes."""
    found = restored.several(values, restored.text, len(values))
    if len({*found}) < len(found) or len(found) >= OTHER:
        raise ValueError(f"values of a category are {values!r:.200}")
    return found
