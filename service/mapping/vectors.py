"""Make features of lists of numbers: `embedding[0]`, `embedding[1]`, … .

The first list at a path decides how many numbers all others there have. That is state of a partition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from service.mapping.features import Features
from service.messages.paths import Path
from service.messages.rejection import Reason, Rejection


class Vectors:
    """The vectors of events.

    Parameters
    ----------
    paths
        Where they are.

    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._names: dict[str, dict[str, None]] = {}
        """By path, in order."""
        self._lengths: dict[str, int] = {}
        self._new: dict[str, int] = {}
        """Lengths of an event that is not accepted yet."""

    def add(self, features: Features, document: object) -> None:
        """Add the features of a document. Raises `Rejection`, and `PathError`."""
        self._new = {}
        for path in self._paths:
            values = path.find(document)
            if values is not None:
                self._add(features, path.expression, values)

    def _add(self, features: Features, path: str, values: Any) -> None:  # noqa: ANN401 - any value
        if not isinstance(values, list):
            raise Rejection(Reason.INVALID_TYPE, f"{path} (events.vectors): expected a list of numbers")
        count = len(values)
        length = self._lengths.get(path)
        if length is None:
            self._new[path] = length = count
        if count != length:
            message = f"{path} (events.vectors): {count} numbers, the first list had {length}"
            raise Rejection(Reason.INVALID_TYPE, message)
        names = self._names.get(path, {})
        if len(names) != count:
            names = self._names[path] = {f"{path}[{n}]": None for n in range(count)}
        try:
            sum(values)
        except TypeError:
            self._add_some(features, dict(zip(names, values, strict=True)))
        else:
            features.add_numbers(names, values)

    @staticmethod
    def _add_some(features: Features, values: Mapping[str, Any]) -> None:
        """Add the numbers of a list in which some are missing."""
        for name, value in values.items():
            if not (isinstance(value, (int, float, type(None))) or features.is_missing(value)):
                raise Rejection(Reason.INVALID_TYPE, f"{name} (events.vectors): expected a number")
            features.add(value, name, "", {})

    def accept(self) -> None:
        """Keep the lengths of the event that was added last: it is valid."""
        if self._new:
            self._lengths |= self._new

    def follow(self, stream: Vectors) -> None:
        """Expect the lengths of a stream's events, from now on, and what they come to be."""
        self._lengths = stream._lengths

    def state(self) -> dict[str, int]:
        """Return how many numbers the lists have, by path."""
        return dict(self._lengths)

    def restore(self, state: Mapping[str, int] | None) -> None:
        """Restore what `state` returned; None from a snapshot that was made without vectors."""
        self._lengths = dict(state or {})
