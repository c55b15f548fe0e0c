"""Features of an event that end with vectors: its other features by name, and arrays of numbers.

A vector has hundreds of numbers, the same names in every event. So these are made once and shared, and no
dictionary has them. `vector_features.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from math import sqrt
from typing import Any

from perceptron_core.validation import MAX_MAGNITUDE
from perceptron_core.weights.feature_array import FeatureArray
from perceptron_core.weights.values import IndexedValues, NamedValues

_MOST_JOINED = 64
_LARGEST = float(MAX_MAGNITUDE)


class VectorNames:
    """Names of the numbers of vectors.

    Parameters
    ----------
    names
        In order, no two alike.

    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self._set = frozenset(self.names)
        self._joined: dict[tuple[str, ...], tuple[str, ...]] = {}
        self.hashed: HashedNames | None = None
        """Their indices where features are hashed, kept by whoever hashes them."""

    def are_new(self, features: dict[str, Any]) -> bool:
        """Return whether no feature has one of the names."""
        return self._set.isdisjoint(features)

    def behind(self, features: dict[str, Any]) -> tuple[str, ...] | None:
        """Return the names of features and these, mostly the same object; None if two are alike."""
        first = tuple(features)
        joined = self._joined.get(first)
        if joined is None and self.are_new(features):
            if len(self._joined) >= _MOST_JOINED:
                self._joined.clear()
            joined = self._joined[first] = first + self.names
        return joined


class HashedNames:
    """Indices of the numbers of vectors; those of names that collide add up.

    Parameters
    ----------
    indices
        Of each name.
    mask
        The largest that there may be.

    """

    def __init__(self, indices: Iterable[int], mask: int) -> None:
        self.mask = mask
        places: dict[int, int] = {}
        self._places = array("i", [places.setdefault(index, len(places)) for index in indices])
        """Of each number, among the indices."""
        self._indices = array("i", places)
        self._set = frozenset(places)
        self._n = len(places)

    def joined(
        self,
        first: dict[int, float],
        vectors: tuple[NamedValues, ...],
        last: dict[int, float],
        is_scaled: bool,  # noqa: FBT001  C has no keywords
    ) -> IndexedValues | None:
        """Make values of hashed features and, behind them, of vectors and of a text, as `joined_values` does.

        None if two of the three have an index in common.
        """
        if not (self._set.isdisjoint(first) and self._set.isdisjoint(last)):
            return None
        if last and not last.keys().isdisjoint(first):
            return None
        made = IndexedValues.__new__(IndexedValues)
        made._allocate(len(first) + self._n + len(last))  # noqa: SLF001  what makes it in C
        n = k = 0
        for index, value in first.items():
            made.indices[n], made.numbers[n] = index, value
            n += 1
        for place in range(self._n):
            made.indices[n + place], made.numbers[n + place] = self._indices[place], 0.0
        for vector in vectors:
            for at in range(vector.n):
                made.numbers[n + self._places[k + at]] += vector.numbers[at]
            k += vector.n
        n += self._n
        for index, value in last.items():
            made.indices[n], made.numbers[n] = index, value
            n += 1
        if is_scaled:
            _scale_to_unit_length(made.numbers, made.n)
        return made


class VectorFeatures(FeatureArray):
    """An immutable mapping of features and, behind them, of the numbers of vectors.

    Parameters
    ----------
    first
        The features as a message has them: numbers, booleans and texts.
    names
        Those of all vectors, none of which is that of a feature.
    vectors
        Their numbers.

    """

    def __init__(self, first: dict[str, Any], names: VectorNames, vectors: tuple[NamedValues, ...]) -> None:
        self.first = first
        self.names = names
        self.vectors = vectors
        self.n = len(first) + len(names.names)

    def as_dict(self) -> dict[str, Any]:
        """Return a new dictionary of the same features and values in the same order."""
        made = self.first.copy()
        for vector in self.vectors:
            made.update(vector.as_dict())
        return made


def listed_values(names: tuple[str, ...], values: list[Any]) -> NamedValues | None:
    """Make values of a list; None if one of them is no float or integer of at most `MAX_MAGNITUDE`.

    Names are strings, no two alike, one for each.
    """
    if len(values) != len(names):
        return None
    made = NamedValues.__new__(NamedValues)
    made._allocate(names)  # noqa: SLF001  what makes it in C
    try:
        for k in range(made.n):
            value = values[k]
            if type(value) is not float and type(value) is not int:
                return None
            number = float(value)
            if not -_LARGEST <= number <= _LARGEST:
                return None
            made.numbers[k] = number
    except OverflowError:
        return None
    return made


def joined_values(
    names: tuple[str, ...],
    first: dict[str, float],
    others: tuple[NamedValues, ...],
    last: dict[str, float],
    is_scaled: bool,  # noqa: FBT001  as above
) -> NamedValues:
    """Make values of a dictionary's numbers, which are doubles, of others and of another, under these names.

    Scaled, they have the length 1.
    """
    made = NamedValues.__new__(NamedValues)
    made._allocate(names)  # noqa: SLF001  what makes it in C
    n = 0
    for value in first.values():
        made.numbers[n] = value
        n += 1
    for other in others:
        for k in range(other.n):
            made.numbers[n + k] = other.numbers[k]
        n += other.n
    for value in last.values():
        made.numbers[n] = value
        n += 1
    if is_scaled:
        _scale_to_unit_length(made.numbers, made.n)
    return made


def _scale_to_unit_length(numbers: array[float], n: int) -> None:
    """Divide by ‖x‖₂, as the extractor does with a dictionary."""
    squares = 0.0
    for k in range(n):
        squares += numbers[k] * numbers[k]
    norm = sqrt(squares)
    if norm:
        for k in range(n):
            numbers[k] /= norm
