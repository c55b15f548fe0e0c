"""The base class of immutable features that stand for a dictionary.

This is the interpreted form, in which they are dictionaries; `feature_array.pyx` is the compiled one.
"""

from __future__ import annotations

from typing import Any


class FeatureArray(dict[Any, Any]):
    """Immutable features with a number each, in order."""

    def as_dict(self) -> dict[Any, Any]:
        """Return a new dictionary of the same features and numbers in the same order."""
        return dict(self)
