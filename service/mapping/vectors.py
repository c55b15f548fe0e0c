"""Make features of lists of numbers: `embedding[0]`, `embedding[1]`, … .

The first list at a path decides how many numbers all others there have. That is state of a partition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from service.mapping.features import Features
from service.messages.paths import Path
from service.messages.rejection import Reason, Rejection
from service.messages.vector_features import VectorFeatures, VectorNames, listed_values


class Vectors:
    """The vectors of events.

    Parameters
    ----------
    paths
        Where they are.

    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._are_distinct = len({path.expression for path in paths}) == len(paths)
        self._names: dict[str, VectorNames] = {}
        """By path."""
        self._several: tuple[list[VectorNames], VectorNames] = ([], VectorNames(()))
        """Names of an event's vectors, and all of them together."""
        self._lengths: dict[str, int] = {}
        self._new: dict[str, int] = {}
        """Lengths of an event that is not accepted yet."""

    def add(self, features: Features, document: object) -> None:
        """Add the features of a document. Raises `Rejection`, and `PathError`."""
        self._new = {}
        for path in self._paths:
            values = path.find(document)
            if values is not None:
                self._add(features, self._names_of(path.expression, values), values)

    def pack(self, features: Features, document: object) -> VectorFeatures | None:
        """Return the vectors of a document as arrays, which stand behind the features that it is given.

        None where `add` has to judge: values are missing, or are no numbers, or two features are alike.
        Raises as `add` does.
        """
        self._new, name_chars = {}, features.name_chars
        names, vectors = [], []
        for path in self._paths:
            values = path.find(document)
            if values is not None:
                names.append(self._names_of(path.expression, values))
                vector = listed_values(names[-1].names, values) if self._are_distinct else None
                if vector is None or not features.takes_array(names[-1], values):
                    features.name_chars = name_chars
                    return None
                vectors.append(vector)
        return VectorFeatures(features.found, self._together(names), tuple(vectors)) if any(vectors) else None

    def _together(self, names: list[VectorNames]) -> VectorNames:
        if len(names) == 1:
            return names[0]
        if self._several[0] != names:
            self._several = names, VectorNames(name for each in names for name in each.names)
        return self._several[1]

    def _names_of(self, path: str, values: object) -> VectorNames:
        """Return the names of a list's numbers. Raises `Rejection` if it is none, or of another length."""
        if not isinstance(values, list):
            raise Rejection(Reason.INVALID_TYPE, f"{path} (events.vectors): expected a list of numbers")
        count = len(values)
        length = self._lengths.get(path)
        if length is None:
            self._new[path] = length = count
        if count != length:
            message = f"{path} (events.vectors): {count} numbers, the first list had {length}"
            raise Rejection(Reason.INVALID_TYPE, message)
        names = self._names.get(path)
        if names is None or len(names.names) != count:
            names = self._names[path] = VectorNames(f"{path}[{n}]" for n in range(count))
        return names

    def _add(self, features: Features, names: VectorNames, values: list[Any]) -> None:
        try:
            sum(values)
        except (TypeError, OverflowError):  # the latter of an integer beyond every double
            self._add_some(features, dict(zip(names.names, values, strict=True)))
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
