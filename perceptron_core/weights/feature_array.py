"""The base class of immutable features, which replace a dictionary.

`feature_array.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any


class FeatureArray:
    """An ordered immutable mapping of features to numbers."""

    n: int
    """Number of features."""

    def as_dict(self) -> dict[Any, Any]:
        """Return a new dictionary of the features and numbers, in the same order."""
        raise NotImplementedError

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[Any]:
        return iter(self.as_dict())

    def __contains__(self, name: object) -> bool:
        return name in self.as_dict()

    def __getitem__(self, name: Any) -> Any:
        return self.as_dict()[name]

    def __eq__(self, other: object) -> bool:
        return self.as_dict() == (other.as_dict() if isinstance(other, FeatureArray) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.as_dict())

    def get(self, name: Any, default: Any = None) -> Any:
        """Return the value of a feature; `default` if it is missing."""
        return self.as_dict().get(name, default)

    def keys(self) -> KeysView[Any]:
        """Return the names."""
        return self.as_dict().keys()

    def values(self) -> ValuesView[Any]:
        """Return the values, in the order of the names."""
        return self.as_dict().values()

    def items(self) -> ItemsView[Any, Any]:
        """Return (name, value), in order."""
        return self.as_dict().items()


Mapping.register(FeatureArray)
